//! Output of `cto bridge`: one line for each request, and on a terminal a summary below
//! them, redrawn in place.

use std::io::{self, Write as _};
use std::time::Instant;

use bridge::{ModelEvent, UsageRecord};
use contract::model::ModelUse;
use contract::text::show_controls;
use serde_json::{Value, json};

use crate::output::{Output, duration, duration_text};

/// The summary on a terminal; draws nothing elsewhere.
#[derive(Debug)]
pub(crate) struct BridgeView {
    output: Output,
    title: String,
    began: Instant,
    open: u64,
    used: ModelUse,
    drawn: bool,
}

impl BridgeView {
    /// View without any request.
    pub(crate) fn new(output: Output, title: String) -> Self {
        Self { output, title, began: Instant::now(), open: 0, used: ModelUse::default(), drawn: false }
    }

    /// Counts an event, and prints a line for an ended request.
    pub(crate) fn note_event(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Requested(_) => self.open += 1,
            ModelEvent::Ended(record) => {
                if record.was_sent() {
                    self.open = self.open.saturating_sub(1);
                }
                self.used.add_record(record);
            }
        }
    }

    /// A line above the summary.
    pub(crate) fn print(&mut self, line: &str) {
        self.clear_summary();
        self.output.print(line);
        self.draw_summary();
    }

    /// Draws the summary, if progress is wanted.
    pub(crate) fn draw_summary(&mut self) {
        if !self.output.progress {
            return;
        }
        self.clear_summary();
        let (paint, used) = (self.output.paint_errors, &self.used);
        let tokens = used.tokens.prompt.saturating_add(used.tokens.completion);
        let counts = format!("{} open  {} sent  {} refused  {tokens} tokens", self.open, used.requests, used.refused);
        let took = paint.dim(&duration(self.began.elapsed()));
        let _ = writeln!(io::stderr().lock(), "{}  {}  {counts}  {took}", paint.running(), self.title);
        self.drawn = true;
    }

    /// Removes the summary before other lines are printed.
    pub(crate) fn clear_summary(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr().lock(), "\x1b[1A\x1b[J");
        }
    }
}

/// One line for each request that has ended. Names come from the engine and from the
/// upstream: nothing of them is printed as it is.
pub(crate) fn event_line(event: &ModelEvent) -> Option<String> {
    let ModelEvent::Ended(record) = event else { return None };
    let name = |name: &Option<String>| show_controls(name.as_deref().unwrap_or("-"));
    let status = record.status.map_or_else(|| "gone".to_owned(), |status| status.to_string());
    let mut text = format!(
        "{} {status} {} {} -> {} {} {}",
        record.time,
        show_controls(&record.route),
        name(&record.model_asked),
        name(&record.model_answered),
        tokens(record),
        duration_text(record.total_ms)
    );
    if let Some(code) = record.refusal {
        text.push_str(&format!(" {}", code.code()));
    }
    if let Some(detail) = &record.detail {
        text.push_str(&format!(" ({})", show_controls(detail)));
    }
    text.push('\n');
    Some(text)
}

fn tokens(record: &UsageRecord) -> String {
    let count = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    format!("{}+{} tokens", count(record.tokens.prompt), count(record.tokens.completion))
}

/// One object for each request: the line of `model-usage.jsonl`, and its kind.
pub(crate) fn event_document(event: &ModelEvent) -> Option<Value> {
    match event {
        ModelEvent::Requested(_) => None,
        ModelEvent::Ended(record) => {
            let mut value = serde_json::to_value(record).ok()?;
            value["type"] = json!(event.kind().map_or("model.local", |kind| kind.name()));
            Some(value)
        }
    }
}
