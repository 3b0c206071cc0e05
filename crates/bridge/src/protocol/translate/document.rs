//! A whole chat completion as a response.

use serde_json::Value;

use super::{ChatHead, Item, TranslateBodyError, TranslationPlan, ending, usage};

/// Translates a whole chat completion. Fails if the body is none.
pub(crate) fn translate_document(plan: &TranslationPlan, body: &[u8]) -> Result<Vec<u8>, TranslateBodyError> {
    let chat: Value =
        serde_json::from_slice(body).map_err(|_| TranslateBodyError("the answer is not JSON".to_owned()))?;
    let choice = &chat["choices"][0];
    let message = &choice["message"];
    if !message.is_object() {
        return Err(TranslateBodyError("the answer is no chat completion".to_owned()));
    }
    let mut head = ChatHead::default();
    head.take(&chat);
    let items = items(plan, message);
    let (status, details) = ending(choice["finish_reason"].as_str().unwrap_or("stop"));
    let output = items.iter().map(|item| item.value("completed")).collect();
    let mut response = plan.response(&head, status, output, usage(&chat["usage"]));
    response["incomplete_details"] = details;
    Ok(response.to_string().into_bytes())
}

fn items(plan: &TranslationPlan, message: &Value) -> Vec<Item> {
    let mut items = Vec::new();
    if let Some(text) = reasoning_text(message) {
        items.push(Item::Reasoning { id: plan.id("rs", items.len()), text: text.to_owned() });
    }
    let content = message["content"].as_str().or(message["refusal"].as_str()).unwrap_or_default();
    if !content.is_empty() {
        items.push(Item::Message { id: plan.id("msg", items.len()), text: content.to_owned() });
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = text(&call["function"]["name"]);
        items.push(Item::Call {
            id: plan.id("fc", items.len()),
            call_id: text(&call["id"]),
            custom: plan.custom.contains(&name),
            arguments: text(&call["function"]["arguments"]),
            name,
        });
    }
    items
}

/// Servers call it by different names.
pub(super) fn reasoning_text(message: &Value) -> Option<&str> {
    ["reasoning_content", "reasoning", "reasoning_text"]
        .iter()
        .find_map(|name| message[*name].as_str().filter(|text| !text.is_empty()))
}
