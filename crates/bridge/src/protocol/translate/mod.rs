//! From the responses wire to chat completions and back, for providers that speak only the
//! second.
//!
//! [`request`] translates a request, [`document`] a whole answer, [`Translator`] a stream.
//! Losses are in one list, [`LEFT_OUT`], and named in the record of each request that has
//! one. Anything else that cannot be carried is an error that names it.

mod document;
mod events;
mod input;
mod request;
mod stream;

use std::collections::HashSet;
use std::fmt;

use serde_json::{Value, json};

pub(crate) use document::translate_document;
pub(crate) use request::translate_request;
pub(crate) use stream::Translator;

/// Everything that a translation may lose, and how it is handled.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("store", "nothing is stored, and an earlier response cannot be referred to"),
    ("include", "encrypted reasoning does not exist on this wire"),
    ("reasoning.summary", "reasoning is passed on as it comes, without a summary"),
    ("text.verbosity", "the wire has no such setting"),
    ("prompt_cache_key", "the wire has no such setting"),
    ("prompt_cache_retention", "the wire has no such setting"),
    ("service_tier", "the wire has no such setting"),
    ("stream_options", "the usage is always asked for"),
    ("input.reasoning", "earlier reasoning is not sent again"),
    ("tools.custom.format", "a grammar becomes part of the tool's description and is not enforced"),
];

/// Request that the chat wire cannot carry, or an answer that does not belong to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TranslateBodyError(pub(super) String);

fn not_carried<T>(what: impl fmt::Display) -> Result<T, TranslateBodyError> {
    Err(TranslateBodyError(format!("It cannot carry {what}.")))
}

/// Facts of the request that the translation of its answer needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct TranslationPlan {
    /// Tools that take free text and were sent as functions with one text parameter.
    custom: HashSet<String>,
    /// Names of [`LEFT_OUT`].
    pub(crate) left_out: Vec<&'static str>,
    /// Source of generated ids.
    seed: String,
    /// Fields of the request that a response repeats.
    tools: Value,
    tool_choice: Value,
    parallel_tool_calls: Value,
}

impl TranslationPlan {
    fn leave_out(&mut self, name: &'static str) {
        if !self.left_out.contains(&name) {
            self.left_out.push(name);
        }
    }

    fn id(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}_{}{index:02}", self.seed)
    }

    /// A response object, in whatever state.
    fn response(&self, head: &ChatHead, status: &str, output: Vec<Value>, usage: Value) -> Value {
        json!({
            "id": self.id("resp", 0),
            "object": "response",
            "created_at": head.created,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "model": head.model,
            "output": output,
            "parallel_tool_calls": self.parallel_tool_calls,
            "tool_choice": self.tool_choice,
            "tools": self.tools,
            "usage": usage,
        })
    }
}

/// Facts of a chat answer about itself.
#[derive(Debug, Clone, Default)]
struct ChatHead {
    model: String,
    created: u64,
}

impl ChatHead {
    fn take(&mut self, chat: &Value) {
        if let Some(model) = chat["model"].as_str() {
            model.clone_into(&mut self.model);
        }
        self.created = chat["created"].as_u64().unwrap_or(self.created);
    }
}

/// End of an answer, in the words of the responses wire.
fn ending(finish_reason: &str) -> (&'static str, Value) {
    match finish_reason {
        "length" => ("incomplete", json!({"reason": "max_output_tokens"})),
        "content_filter" => ("incomplete", json!({"reason": "content_filter"})),
        _ => ("completed", Value::Null),
    }
}

/// Unknown stays unknown: no usage is `null`.
fn usage(chat: &Value) -> Value {
    let (Some(input), Some(output)) = (chat["prompt_tokens"].as_u64(), chat["completion_tokens"].as_u64()) else {
        return Value::Null;
    };
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": chat["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0)},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": chat["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap_or(0)},
        "total_tokens": input.saturating_add(output),
    })
}

/// A finished item of a response's output.
#[derive(Debug, Clone)]
enum Item {
    Reasoning { id: String, text: String },
    Message { id: String, text: String },
    Call { id: String, call_id: String, name: String, arguments: String, custom: bool },
}

impl Item {
    fn value(&self, status: &str) -> Value {
        match self {
            Self::Reasoning { id, text } => json!({
                "id": id, "type": "reasoning", "summary": [], "status": status,
                "content": if text.is_empty() { json!([]) } else { json!([{"type": "reasoning_text", "text": text}]) },
            }),
            Self::Message { id, text } => json!({
                "id": id, "type": "message", "status": status, "role": "assistant",
                "content": if status == "in_progress" { json!([]) } else { json!([text_part(text)]) },
            }),
            Self::Call { id, call_id, name, arguments, custom: false } => json!({
                "id": id, "type": "function_call", "status": status, "call_id": call_id, "name": name,
                "arguments": arguments,
            }),
            Self::Call { id, call_id, name, arguments, custom: true } => json!({
                "id": id, "type": "custom_tool_call", "status": status, "call_id": call_id, "name": name,
                "input": free_text(arguments),
            }),
        }
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// The text inside the one parameter a custom tool was given; a model that did not keep to
/// it is passed on as it is.
fn free_text(arguments: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(arguments).ok();
    parsed.and_then(|value| value["input"].as_str().map(str::to_owned)).unwrap_or_else(|| arguments.to_owned())
}

#[cfg(test)]
mod tests;
