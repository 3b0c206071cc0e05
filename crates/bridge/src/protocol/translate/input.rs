//! The items of an input as chat messages.

use serde_json::{Value, json};

use super::{TranslateBodyError, TranslationPlan, not_carried};

/// Messages in the making. Calls that follow each other are one message on this wire, and
/// so are instructions at the start.
#[derive(Debug, Default)]
pub(super) struct Messages {
    list: Vec<Value>,
}

impl Messages {
    /// The chat messages, in order.
    pub(super) fn finish(self) -> Vec<Value> {
        self.list
    }

    /// Appends a user message.
    pub(super) fn user(&mut self, text: &str) {
        self.list.push(json!({"role": "user", "content": text}));
    }

    /// Many servers take one system message, at the start.
    pub(super) fn system(&mut self, text: &str) {
        if let [only] = &mut self.list[..]
            && only["role"] == "system"
            && let Some(before) = only["content"].as_str()
        {
            only["content"] = json!(format!("{before}\n\n{text}"));
            return;
        }
        self.list.push(json!({"role": "system", "content": text}));
    }

    /// Appends one input item. Fails on an item that chat completions cannot carry.
    pub(super) fn item(&mut self, item: &Value, plan: &mut TranslationPlan) -> Result<(), TranslateBodyError> {
        match item["type"].as_str().unwrap_or("message") {
            "message" => self.message(item),
            "function_call" => {
                let arguments = item["arguments"].as_str().unwrap_or("{}").to_owned();
                self.call(item, &arguments);
                Ok(())
            }
            "custom_tool_call" => {
                let arguments = json!({"input": item["input"].as_str().unwrap_or_default()}).to_string();
                self.call(item, &arguments);
                Ok(())
            }
            "function_call_output" | "custom_tool_call_output" => {
                let content = plain_text(&item["output"], "an output")?;
                self.list.push(json!({"role": "tool", "tool_call_id": item["call_id"], "content": content}));
                Ok(())
            }
            "reasoning" if item["encrypted_content"].is_string() => not_carried("encrypted reasoning"),
            "reasoning" => {
                plan.leave_out("input.reasoning");
                Ok(())
            }
            other => not_carried(format_args!("an item of type {other}")),
        }
    }

    fn message(&mut self, item: &Value) -> Result<(), TranslateBodyError> {
        match item["role"].as_str() {
            Some("system" | "developer") => {
                let text = plain_text(&item["content"], "a system message")?;
                self.system(&text);
            }
            Some("assistant") => {
                let text = plain_text(&item["content"], "an answer")?;
                self.list.push(json!({"role": "assistant", "content": text}));
            }
            Some("user") => self.list.push(json!({"role": "user", "content": user_content(&item["content"])?})),
            _ => return not_carried("a message of this role"),
        }
        Ok(())
    }

    fn call(&mut self, item: &Value, arguments: &str) {
        let call = json!({
            "id": item["call_id"],
            "type": "function",
            "function": {"name": item["name"], "arguments": arguments},
        });
        if let Some(last) = self.list.last_mut()
            && last["role"] == "assistant"
        {
            match last["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call),
                None => last["tool_calls"] = json!([call]),
            }
            return;
        }
        self.list.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    }
}

/// Text, or parts that are all text.
fn plain_text(content: &Value, what: &str) -> Result<String, TranslateBodyError> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => parts
            .iter()
            .map(|part| match (part["type"].as_str(), part["text"].as_str(), part["refusal"].as_str()) {
                (Some("input_text" | "output_text" | "text"), Some(text), _) => Ok(text),
                (Some("refusal"), _, Some(text)) => Ok(text),
                (other, ..) => not_carried(format_args!("{} in {what}", other.unwrap_or("?"))),
            })
            .collect(),
        Value::Null => Ok(String::new()),
        _ => not_carried(what),
    }
}

fn user_content(content: &Value) -> Result<Value, TranslateBodyError> {
    let Value::Array(parts) = content else { return plain_text(content, "a message").map(Value::String) };
    if let [only] = &parts[..]
        && let Some(text) = only["text"].as_str()
    {
        return Ok(json!(text));
    }
    parts.iter().map(user_part).collect()
}

fn user_part(part: &Value) -> Result<Value, TranslateBodyError> {
    match (part["type"].as_str(), part["text"].as_str(), part["image_url"].as_str()) {
        (Some("input_text" | "text"), Some(text), _) => Ok(json!({"type": "text", "text": text})),
        (Some("input_image"), _, Some(url)) => {
            let detail = part["detail"].as_str().unwrap_or("auto");
            Ok(json!({"type": "image_url", "image_url": {"url": url, "detail": detail}}))
        }
        (other, ..) => not_carried(format_args!("{} in a message", other.unwrap_or("?"))),
    }
}
