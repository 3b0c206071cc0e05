//! A stream of chat chunks as a stream of response events.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::document::reasoning_text;
use super::events::Events;
use super::{ChatHead, Item, TranslateBodyError, TranslationPlan, ending, usage};
use crate::protocol::sse::Frames;

/// The upstream's limits bound what is kept here; this bounds one frame.
const LONGEST_FRAME: usize = 16 << 20;
/// More calls in one answer than any model makes.
const MOST_CALLS: usize = 128;

/// Turns one stream over.
#[derive(Debug)]
pub(crate) struct Translator {
    plan: TranslationPlan,
    frames: Option<Frames>,
    events: Events,
    head: ChatHead,
    items: Vec<Item>,
    /// The item text goes to.
    open: Option<usize>,
    /// Calls by the index chunks name them with.
    calls: BTreeMap<u64, usize>,
    usage: Value,
    finish: Option<String>,
    begun: bool,
    ended: bool,
}

impl Translator {
    /// Translator for the answer to one request.
    pub(crate) fn new(plan: TranslationPlan) -> Self {
        Self {
            plan,
            frames: Some(Frames::new(LONGEST_FRAME)),
            events: Events::default(),
            head: ChatHead::default(),
            items: Vec::new(),
            open: None,
            calls: BTreeMap::new(),
            usage: Value::Null,
            finish: None,
            begun: false,
            ended: false,
        }
    }

    /// Takes a piece in and gives the events that are ready.
    pub(crate) fn piece(&mut self, piece: &[u8]) -> Result<Vec<u8>, TranslateBodyError> {
        let Some(mut frames) = self.frames.take() else { return Ok(Vec::new()) };
        let mut fault = None;
        let fed = frames.feed(piece, |data| {
            if let Err(error) = self.frame(data) {
                fault.get_or_insert(error);
            }
        });
        self.frames = Some(frames);
        if fed.is_err() {
            return Err(TranslateBodyError("a frame is too long".to_owned()));
        }
        fault.map_or_else(|| Ok(self.events.take_bytes()), Err)
    }

    /// The upstream is done.
    pub(crate) fn end_stream(&mut self) -> Vec<u8> {
        self.close();
        self.events.take_bytes()
    }

    fn frame(&mut self, data: &[u8]) -> Result<(), TranslateBodyError> {
        if data == b"[DONE]" {
            self.close();
            return Ok(());
        }
        let bad = |_| TranslateBodyError("a frame is not JSON".to_owned());
        let chunk: Value = serde_json::from_slice(data).map_err(bad)?;
        if !chunk["error"].is_null() {
            let message = chunk["error"]["message"].as_str().unwrap_or("the provider reported an error");
            return Err(TranslateBodyError(message.to_owned()));
        }
        self.head.take(&chunk);
        self.begin();
        if chunk["usage"].is_object() {
            self.usage = usage(&chunk["usage"]);
        }
        let choice = &chunk["choices"][0];
        self.delta(&choice["delta"])?;
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    fn begin(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let response = self.plan.response(&self.head, "in_progress", Vec::new(), Value::Null);
        self.events.push_event("response.created", json!({"response": response}));
        self.events.push_event("response.in_progress", json!({"response": response}));
    }

    fn delta(&mut self, delta: &Value) -> Result<(), TranslateBodyError> {
        if let Some(text) = reasoning_text(delta) {
            let open = self.open_item(
                |item| matches!(item, Item::Reasoning { .. }),
                |plan, index| Item::Reasoning { id: plan.id("rs", index), text: String::new() },
            );
            self.append(open, text);
        }
        let content = delta["content"].as_str().or(delta["refusal"].as_str()).unwrap_or_default();
        if !content.is_empty() {
            let open = self.open_item(
                |item| matches!(item, Item::Message { .. }),
                |plan, index| Item::Message { id: plan.id("msg", index), text: String::new() },
            );
            self.append(open, content);
        }
        delta["tool_calls"].as_array().into_iter().flatten().try_for_each(|call| self.call(call))
    }

    /// The open item if it is of this kind, else a new one.
    fn open_item(&mut self, fits: impl Fn(&Item) -> bool, make: impl Fn(&TranslationPlan, usize) -> Item) -> usize {
        match self.open {
            Some(index) if fits(&self.items[index]) => index,
            _ => {
                self.close_text();
                let index = self.add(make(&self.plan, self.items.len()));
                self.open = Some(index);
                index
            }
        }
    }

    fn add(&mut self, item: Item) -> usize {
        let index = self.items.len();
        self.events.begin_item(index, &item);
        self.items.push(item);
        index
    }

    fn append(&mut self, index: usize, delta: &str) {
        match &mut self.items[index] {
            Item::Reasoning { text, .. } | Item::Message { text, .. } => text.push_str(delta),
            Item::Call { arguments, .. } => arguments.push_str(delta),
        }
        self.events.delta(index, &self.items[index], delta);
    }

    fn call(&mut self, call: &Value) -> Result<(), TranslateBodyError> {
        let number = call["index"].as_u64().unwrap_or(0);
        let index = match self.calls.get(&number) {
            Some(index) => *index,
            None => self.new_call(number, call)?,
        };
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        if !arguments.is_empty() {
            self.append(index, arguments);
        }
        Ok(())
    }

    fn new_call(&mut self, number: u64, call: &Value) -> Result<usize, TranslateBodyError> {
        if self.calls.len() >= MOST_CALLS {
            return Err(TranslateBodyError("too many calls in one answer".to_owned()));
        }
        let Some(name) = call["function"]["name"].as_str() else {
            return Err(TranslateBodyError("a call without a name".to_owned()));
        };
        self.close_text();
        let place = self.items.len();
        let call_id = call["id"].as_str().map_or_else(|| self.plan.id("call", place), str::to_owned);
        let index = self.add(Item::Call {
            id: self.plan.id("fc", place),
            call_id,
            name: name.to_owned(),
            arguments: String::new(),
            custom: self.plan.custom.contains(name),
        });
        self.calls.insert(number, index);
        Ok(index)
    }

    fn close_text(&mut self) {
        if let Some(index) = self.open.take() {
            self.events.end_item(index, &self.items[index]);
        }
    }

    fn close(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.begin();
        self.close_text();
        for index in std::mem::take(&mut self.calls).into_values() {
            self.events.end_item(index, &self.items[index]);
        }
        let output = self.items.iter().map(|item| item.value("completed")).collect();
        let (status, details) = self.finish.as_deref().map_or(("failed", Value::Null), ending);
        let mut response = self.plan.response(&self.head, status, output, self.usage.take());
        response["incomplete_details"] = details;
        if self.finish.is_none() {
            response["error"] = json!({"code": "server_error", "message": "the provider's answer ends early"});
        }
        self.events.push_event(&format!("response.{status}"), json!({"response": response}));
    }
}
