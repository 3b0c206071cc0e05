//! The events of a response's stream, numbered, in the order clients rely on.

use serde_json::{Value, json};

use super::{Item, text_part};

/// Events on their way out.
#[derive(Debug, Default)]
pub(super) struct Events {
    out: Vec<u8>,
    number: u64,
}

impl Events {
    /// Returns the bytes written so far.
    pub(super) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Appends an event with the next sequence number.
    pub(super) fn push_event(&mut self, kind: &str, fields: Value) {
        let mut event = json!({"type": kind, "sequence_number": self.number});
        if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
            event.extend(fields);
        }
        self.number += 1;
        self.out.extend_from_slice(format!("event: {kind}\ndata: {event}\n\n").as_bytes());
    }

    /// An item begins. A client drops text whose part was not announced.
    pub(super) fn begin_item(&mut self, index: usize, item: &Item) {
        self.push_event(
            "response.output_item.added",
            json!({"output_index": index, "item": item.value("in_progress")}),
        );
        if let Item::Message { id, .. } = item {
            let place = json!({"item_id": id, "output_index": index, "content_index": 0, "part": text_part("")});
            self.push_event("response.content_part.added", place);
        }
    }

    /// Appends the delta event that belongs to the item's type.
    pub(super) fn delta(&mut self, index: usize, item: &Item, delta: &str) {
        match item {
            Item::Reasoning { id, .. } => self.push_event(
                "response.reasoning_text.delta",
                json!({"item_id": id, "output_index": index, "content_index": 0, "delta": delta}),
            ),
            Item::Message { id, .. } => self.push_event(
                "response.output_text.delta",
                json!({"item_id": id, "output_index": index, "content_index": 0, "delta": delta, "logprobs": []}),
            ),
            Item::Call { id, custom: false, .. } => self.push_event(
                "response.function_call_arguments.delta",
                json!({"item_id": id, "output_index": index, "delta": delta}),
            ),
            // Its text lies inside a JSON string that is not whole yet; it comes in one
            // piece at the end.
            Item::Call { custom: true, .. } => {}
        }
    }

    /// An item is whole.
    pub(super) fn end_item(&mut self, index: usize, item: &Item) {
        match item {
            Item::Reasoning { id, text } => self.push_event(
                "response.reasoning_text.done",
                json!({"item_id": id, "output_index": index, "content_index": 0, "text": text}),
            ),
            Item::Message { id, text } => {
                let place =
                    json!({"item_id": id, "output_index": index, "content_index": 0, "text": text, "logprobs": []});
                self.push_event("response.output_text.done", place);
                let place = json!({"item_id": id, "output_index": index, "content_index": 0, "part": text_part(text)});
                self.push_event("response.content_part.done", place);
            }
            Item::Call { id, arguments, name, custom: false, .. } => self.push_event(
                "response.function_call_arguments.done",
                json!({"item_id": id, "output_index": index, "name": name, "arguments": arguments}),
            ),
            Item::Call { id, custom: true, .. } => {
                let input = item.value("completed")["input"].clone();
                self.push_event(
                    "response.custom_tool_call_input.delta",
                    json!({"item_id": id, "output_index": index, "delta": input}),
                );
                self.push_event(
                    "response.custom_tool_call_input.done",
                    json!({"item_id": id, "output_index": index, "input": input}),
                );
            }
        }
        self.push_event("response.output_item.done", json!({"output_index": index, "item": item.value("completed")}));
    }
}
