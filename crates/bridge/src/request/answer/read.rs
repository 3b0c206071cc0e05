//! Positions of the model's name, the usage and the content on each wire, in documents and
//! in frames.

use super::AnswerWatcher;
use crate::protocol::json::{JsonKind, JsonNode};
use crate::protocol::usage::take_usage;
use crate::protocol::wire::Wire;

/// Reads a whole answer.
pub(super) fn watch_document(watcher: &mut AnswerWatcher, wire: Wire, root: JsonNode<'_>) {
    match wire {
        Wire::ChatCompletions => chat(watcher, root),
        Wire::Responses => response(watcher, root),
        Wire::Messages => message(watcher, root),
    }
}

/// Reads one frame of a stream.
pub(super) fn frame(watcher: &mut AnswerWatcher, wire: Wire, root: JsonNode<'_>) {
    match wire {
        Wire::ChatCompletions => chat(watcher, root),
        Wire::Responses => responses_frame(watcher, root),
        Wire::Messages => messages_frame(watcher, root),
    }
}

fn model(watcher: &mut AnswerWatcher, node: JsonNode<'_>) {
    if let Some(name) = node.text() {
        watcher.see_model(&name);
    }
}

fn usage(watcher: &mut AnswerWatcher, wire: Wire, node: JsonNode<'_>) {
    take_usage(&mut watcher.seen.tokens, wire, node);
}

fn finish(watcher: &mut AnswerWatcher, node: JsonNode<'_>) {
    if let Some(reason) = node.text() {
        watcher.seen.finish = Some(reason.into_owned());
        watcher.seen.complete = true;
    }
}

/// An error ends an answer, on every wire.
fn fail(watcher: &mut AnswerWatcher) {
    watcher.seen.error = true;
    watcher.seen.terminal = true;
}

/// True for text that is not empty; the quotes count two.
fn says_something(node: JsonNode<'_>) -> bool {
    match node.kind() {
        JsonKind::Text => node.span().len() > 2,
        JsonKind::List => node.items().next().is_some(),
        JsonKind::Object => true,
        _ => false,
    }
}

/// A chat completion and a chunk of one differ only in `message` and `delta`.
fn chat(watcher: &mut AnswerWatcher, root: JsonNode<'_>) {
    for (key, value) in root.members() {
        match key.raw() {
            b"\"model\"" => model(watcher, value),
            b"\"usage\"" => usage(watcher, Wire::ChatCompletions, value),
            b"\"error\"" if says_something(value) => fail(watcher),
            b"\"choices\"" => value.items().for_each(|choice| chat_choice(watcher, choice)),
            _ => {}
        }
    }
}

fn chat_choice(watcher: &mut AnswerWatcher, choice: JsonNode<'_>) {
    for (key, value) in choice.members() {
        match key.raw() {
            b"\"finish_reason\"" => finish(watcher, value),
            b"\"delta\"" | b"\"message\"" => chat_message(watcher, value),
            _ => {}
        }
    }
}

fn chat_message(watcher: &mut AnswerWatcher, message: JsonNode<'_>) {
    let shape = &mut watcher.seen.shape;
    for (key, value) in message.members() {
        match key.raw() {
            b"\"content\"" | b"\"refusal\"" => shape.content |= says_something(value),
            b"\"tool_calls\"" | b"\"function_call\"" => shape.tool_calls |= says_something(value),
            b"\"reasoning\"" | b"\"reasoning_content\"" | b"\"reasoning_text\"" | b"\"reasoning_details\"" => {
                shape.reasoning |= says_something(value);
            }
            _ => {}
        }
    }
}

fn response(watcher: &mut AnswerWatcher, root: JsonNode<'_>) {
    for (key, value) in root.members() {
        match key.raw() {
            b"\"model\"" => model(watcher, value),
            b"\"usage\"" => usage(watcher, Wire::Responses, value),
            b"\"error\"" if says_something(value) => fail(watcher),
            b"\"id\"" => id(watcher, value),
            b"\"status\"" if !value.is_text("in_progress") && !value.is_text("queued") => response_end(watcher, value),
            b"\"output\"" => value.items().for_each(|item| response_item(watcher, item)),
            _ => {}
        }
    }
}

/// End of a response. Only a completed one is an answer: a failed, cancelled or incomplete
/// one is the provider's statement that there is none.
fn response_end(watcher: &mut AnswerWatcher, status: JsonNode<'_>) {
    finish(watcher, status);
    watcher.seen.error |= !status.is_text("completed");
}

fn id(watcher: &mut AnswerWatcher, node: JsonNode<'_>) {
    if let Some(id) = node.text() {
        watcher.see_id(&id);
    }
}

fn response_item(watcher: &mut AnswerWatcher, item: JsonNode<'_>) {
    if let Some(value) = item.get_member("id") {
        id(watcher, value);
    }
    let kind = item.get_member("type").and_then(|kind| kind.text()).unwrap_or_default();
    match &*kind {
        "message" => {
            let mut parts = item.get_member("content").into_iter().flat_map(JsonNode::items);
            watcher.seen.shape.content |= parts
                .any(|part| part.get_member("text").or_else(|| part.get_member("refusal")).is_some_and(says_something));
        }
        "reasoning" => watcher.seen.shape.reasoning = true,
        kind if kind.ends_with("_call") => watcher.seen.shape.tool_calls = true,
        _ => {}
    }
}

fn responses_frame(watcher: &mut AnswerWatcher, root: JsonNode<'_>) {
    let kind = root.get_member("type").and_then(|kind| kind.text()).unwrap_or_default();
    match &*kind {
        "response.output_text.delta" | "response.refusal.delta" => {
            watcher.seen.shape.content |= root.get_member("delta").is_some_and(says_something);
        }
        kind if kind.starts_with("response.reasoning") => watcher.seen.shape.reasoning = true,
        "response.output_item.added" | "response.output_item.done" => {
            if let Some(item) = root.get_member("item") {
                response_item(watcher, item);
            }
        }
        "error" => fail(watcher),
        kind => {
            root.get_member("response").into_iter().for_each(|inner| response(watcher, inner));
            match kind {
                "response.completed" => watcher.seen.terminal = true,
                "response.failed" | "response.incomplete" | "response.cancelled" => fail(watcher),
                _ => {}
            }
        }
    }
}

fn message(watcher: &mut AnswerWatcher, root: JsonNode<'_>) {
    for (key, value) in root.members() {
        match key.raw() {
            b"\"model\"" => model(watcher, value),
            b"\"usage\"" => usage(watcher, Wire::Messages, value),
            b"\"error\"" if says_something(value) => fail(watcher),
            b"\"stop_reason\"" => finish(watcher, value),
            b"\"content\"" => value.items().for_each(|block| message_block(watcher, block)),
            _ => {}
        }
    }
}

fn message_block(watcher: &mut AnswerWatcher, block: JsonNode<'_>) {
    let kind = block.get_member("type").and_then(|kind| kind.text()).unwrap_or_default();
    let shape = &mut watcher.seen.shape;
    match &*kind {
        "text" | "text_delta" => shape.content |= block.get_member("text").is_some_and(says_something),
        "thinking" | "thinking_delta" | "redacted_thinking" => shape.reasoning = true,
        "tool_use" => shape.tool_calls = true,
        _ => {}
    }
}

fn messages_frame(watcher: &mut AnswerWatcher, root: JsonNode<'_>) {
    let kind = root.get_member("type").and_then(|kind| kind.text()).unwrap_or_default();
    match &*kind {
        "message_start" => root.get_member("message").into_iter().for_each(|start| message(watcher, start)),
        "content_block_start" => {
            root.get_member("content_block").into_iter().for_each(|block| message_block(watcher, block))
        }
        "content_block_delta" => root.get_member("delta").into_iter().for_each(|delta| message_block(watcher, delta)),
        "message_delta" => {
            root.find_path(&["delta", "stop_reason"]).into_iter().for_each(|reason| finish(watcher, reason));
            root.get_member("usage").into_iter().for_each(|report| usage(watcher, Wire::Messages, report));
        }
        "message_stop" => watcher.seen.terminal = true,
        "error" => fail(watcher),
        _ => {}
    }
}
