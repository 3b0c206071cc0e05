//! A reply in the words of each wire.

use serde_json::{Value, json};

use super::script::{Call, Reply};
use crate::wire::Wire;

/// An answer that is not a stream.
pub(super) fn whole(wire: Wire, reply: &Reply, model: &str) -> Value {
    let mut body = match wire {
        Wire::ChatCompletions => json!({
            "id": "chatcmpl-scripted", "object": "chat.completion", "created": 1, "model": model,
            "choices": [{"index": 0, "finish_reason": finish(wire, reply), "message": chat_message(reply)}],
        }),
        Wire::Responses => response(reply, model, "completed"),
        Wire::Messages => json!({
            "id": "msg_scripted", "type": "message", "role": "assistant", "model": model,
            "content": blocks(reply), "stop_reason": finish(wire, reply), "stop_sequence": null,
        }),
    };
    if let Some(usage) = usage(wire, reply) {
        body["usage"] = usage;
    }
    body
}

/// The frames of a stream.
pub(super) fn frames(wire: Wire, reply: &Reply, model: &str, request: &Value) -> Vec<String> {
    match wire {
        Wire::ChatCompletions => chat_frames(reply, model, request["stream_options"]["include_usage"] == json!(true)),
        Wire::Responses => response_frames(reply, model),
        Wire::Messages => message_frames(reply, model),
    }
}

fn finish(wire: Wire, reply: &Reply) -> String {
    let usual = match (wire, reply.calls.is_empty()) {
        (Wire::ChatCompletions, true) => "stop",
        (Wire::ChatCompletions, false) => "tool_calls",
        (Wire::Messages, true) => "end_turn",
        (Wire::Messages, false) => "tool_use",
        (Wire::Responses, _) => "completed",
    };
    reply.finish.clone().unwrap_or_else(|| usual.to_owned())
}

fn usage(wire: Wire, reply: &Reply) -> Option<Value> {
    let (prompt, completion) = reply.usage?;
    Some(match wire {
        Wire::ChatCompletions => {
            json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
        }
        Wire::Responses => json!({
            "input_tokens": prompt, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": completion, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + completion,
        }),
        Wire::Messages => json!({"input_tokens": prompt, "output_tokens": completion}),
    })
}

/// A text in as many pieces as the reply wants.
fn pieces<'a>(reply: &Reply, text: &'a str) -> impl Iterator<Item = &'a str> {
    let size = text.len().div_ceil(reply.frames.max(1)).max(1);
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = size.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}

fn event(body: &Value) -> String {
    format!("event: {}\ndata: {body}\n\n", body["type"].as_str().unwrap_or("message"))
}

fn chat_call(number: usize, call: &Call) -> Value {
    json!({
        "index": number, "id": format!("call_{number}"), "type": "function",
        "function": {"name": call.name, "arguments": call.arguments.to_string()},
    })
}

fn chat_message(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text});
    if let Some(reasoning) = &reply.reasoning {
        message["reasoning_content"] = json!(reasoning);
    }
    if !reply.calls.is_empty() {
        message["tool_calls"] = reply.calls.iter().enumerate().map(|(number, call)| chat_call(number, call)).collect();
    }
    message
}

fn chat_frames(reply: &Reply, model: &str, with_usage: bool) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices,
        });
        if !usage.is_null() {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null);
    let mut frames = vec![delta(json!({"role": "assistant", "content": ""}))];
    let reasoning = reply.reasoning.iter().flat_map(|text| pieces(reply, text));
    frames.extend(reasoning.map(|piece| delta(json!({"reasoning_content": piece}))));
    let text = reply.text.iter().flat_map(|text| pieces(reply, text));
    frames.extend(text.map(|piece| delta(json!({"content": piece}))));
    for (number, call) in reply.calls.iter().enumerate() {
        frames.push(delta(json!({"tool_calls": [chat_call(number, call)]})));
    }
    let last = json!([{"index": 0, "delta": {}, "finish_reason": finish(Wire::ChatCompletions, reply)}]);
    frames.push(chunk(last, Value::Null));
    if let (true, Some(usage)) = (with_usage, usage(Wire::ChatCompletions, reply)) {
        frames.push(chunk(json!([]), usage));
    }
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

fn response_items(reply: &Reply) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        items.push(json!({
            "id": "rs_scripted", "type": "reasoning", "summary": [{"type": "summary_text", "text": reasoning}],
        }));
    }
    if let Some(text) = &reply.text {
        items.push(json!({
            "id": "msg_scripted", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
        }));
    }
    for (number, call) in reply.calls.iter().enumerate() {
        items.push(json!({
            "id": format!("fc_{number}"), "type": "function_call", "status": "completed", "call_id": format!("call_{number}"),
            "name": call.name, "arguments": call.arguments.to_string(),
        }));
    }
    items
}

fn response(reply: &Reply, model: &str, status: &str) -> Value {
    let output = if status == "completed" { response_items(reply) } else { Vec::new() };
    json!({
        "id": "resp_scripted", "object": "response", "created_at": 1, "status": status, "model": model, "output": output,
        "error": null, "incomplete_details": null, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
    })
}

fn response_frames(reply: &Reply, model: &str) -> Vec<String> {
    let mut number = 0;
    let mut frames = Vec::new();
    let mut push = |mut body: Value| {
        body["sequence_number"] = json!(number);
        number += 1;
        frames.push(event(&body));
    };
    push(json!({"type": "response.created", "response": response(reply, model, "in_progress")}));
    for (index, item) in response_items(reply).into_iter().enumerate() {
        let id = item["id"].clone();
        push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
        let place = |kind: &str| json!({"type": kind, "item_id": id, "output_index": index, "content_index": 0});
        if let Some(text) = item["content"][0]["text"].as_str() {
            let mut part = place("response.content_part.added");
            part["part"] = json!({"type": "output_text", "text": "", "annotations": []});
            push(part);
            for piece in pieces(reply, text) {
                let mut delta = place("response.output_text.delta");
                delta["delta"] = json!(piece);
                delta["logprobs"] = json!([]);
                push(delta);
            }
            let mut done = place("response.output_text.done");
            done["text"] = json!(text);
            done["logprobs"] = json!([]);
            push(done);
        }
        if let Some(arguments) = item["arguments"].as_str() {
            let mut delta = place("response.function_call_arguments.delta");
            delta["delta"] = json!(arguments);
            push(delta);
            let mut done = place("response.function_call_arguments.done");
            done["arguments"] = json!(arguments);
            done["name"] = item["name"].clone();
            push(done);
        }
        push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let mut last = response(reply, model, "completed");
    last["usage"] = usage(Wire::Responses, reply).unwrap_or(Value::Null);
    push(json!({"type": "response.completed", "response": last}));
    frames
}

fn blocks(reply: &Reply) -> Vec<Value> {
    let mut blocks = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        blocks.push(json!({"type": "thinking", "thinking": reasoning, "signature": "scripted"}));
    }
    if let Some(text) = &reply.text {
        blocks.push(json!({"type": "text", "text": text}));
    }
    for (number, call) in reply.calls.iter().enumerate() {
        blocks.push(
            json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": call.name, "input": call.arguments}),
        );
    }
    blocks
}

fn message_frames(reply: &Reply, model: &str) -> Vec<String> {
    let mut start = json!({
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null,
    });
    if let Some((prompt, _)) = reply.usage {
        start["usage"] = json!({"input_tokens": prompt, "output_tokens": 1});
    }
    let mut frames = vec![event(&json!({"type": "message_start", "message": start}))];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        let kind = block["type"].as_str().unwrap_or_default().to_owned();
        let empty = match kind.as_str() {
            "thinking" => json!({"type": "thinking", "thinking": "", "signature": ""}),
            "text" => json!({"type": "text", "text": ""}),
            _ => json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
        };
        frames.push(event(&json!({"type": "content_block_start", "index": index, "content_block": empty})));
        let input = block["input"].to_string();
        let (text, delta, field) = match kind.as_str() {
            "thinking" => (block["thinking"].as_str().unwrap_or_default(), "thinking_delta", "thinking"),
            "text" => (block["text"].as_str().unwrap_or_default(), "text_delta", "text"),
            _ => (input.as_str(), "input_json_delta", "partial_json"),
        };
        for piece in pieces(reply, text) {
            let delta = json!({"type": delta, field: piece});
            frames.push(event(&json!({"type": "content_block_delta", "index": index, "delta": delta})));
        }
        frames.push(event(&json!({"type": "content_block_stop", "index": index})));
    }
    let mut last = json!({
        "type": "message_delta", "delta": {"stop_reason": finish(Wire::Messages, reply), "stop_sequence": null},
    });
    if let Some((_, completion)) = reply.usage {
        last["usage"] = json!({"output_tokens": completion});
    }
    frames.push(event(&last));
    frames.push(event(&json!({"type": "message_stop"})));
    frames
}
