//! What a request used and what came of it: one record for each request, the bridge's evidence.

use contract::{Digest, Stamp};
use serde::{Serialize, Serializer};

use crate::admission::{Feature, Served};
use crate::json::Node;
use crate::refusal::RefusalCode;
use crate::shim::ShimApplied;
use crate::wire::Wire;

/// The largest number our documents hold.
const LARGEST: u64 = (1 << 53) - 1;

/// Tokens as the upstream reported them. What it did not report is unknown, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tokens {
    /// All of the prompt, cached parts included.
    pub prompt: Option<u64>,
    pub completion: Option<u64>,
    /// The part of the prompt that was read from the provider's cache.
    pub cached: Option<u64>,
    /// The part of the prompt that was written to the provider's cache.
    pub cache_written: Option<u64>,
    /// The part of the completion that was reasoning.
    pub reasoning: Option<u64>,
}

impl Tokens {
    /// Prompt and completion together, when both are known.
    pub fn total(&self) -> Option<u64> {
        Some(self.prompt?.saturating_add(self.completion?))
    }

    /// Takes over what a `usage` object reports; later reports in one answer are cumulative and win.
    pub(crate) fn take(&mut self, wire: Wire, usage: Node<'_>) {
        let read = |path: &[&str]| usage.find(path).and_then(|node| node.integer()).map(|count| count.min(LARGEST));
        let (prompt, completion, cached, written, reasoning) = match wire {
            Wire::ChatCompletions => (
                read(&["prompt_tokens"]),
                read(&["completion_tokens"]),
                read(&["prompt_tokens_details", "cached_tokens"]),
                None,
                read(&["completion_tokens_details", "reasoning_tokens"]),
            ),
            Wire::Responses => (
                read(&["input_tokens"]),
                read(&["output_tokens"]),
                read(&["input_tokens_details", "cached_tokens"]),
                None,
                read(&["output_tokens_details", "reasoning_tokens"]),
            ),
            Wire::Messages => {
                let (cached, written) = (read(&["cache_read_input_tokens"]), read(&["cache_creation_input_tokens"]));
                // This wire counts cached parts beside the prompt, not inside it.
                let beside = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
                let prompt = read(&["input_tokens"]).map(|fresh| fresh.saturating_add(beside).min(LARGEST));
                (prompt, read(&["output_tokens"]), cached, written, None)
            }
        };
        self.prompt = prompt.or(self.prompt);
        self.completion = completion.or(self.completion);
        self.cached = cached.or(self.cached);
        self.cache_written = written.or(self.cache_written);
        self.reasoning = reasoning.or(self.reasoning);
    }
}

/// What a request cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Micro-units of the price table's currency, rounded up.
    Micros(u64),
    /// The model has no price.
    Unpriced,
    /// The model has a price, and the upstream did not say what was used.
    Unknown,
    /// Nothing was sent.
    Nothing,
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Micros(micros) => serializer.serialize_u64((*micros).min(LARGEST)),
            Self::Unpriced => serializer.serialize_str("unpriced"),
            Self::Unknown => serializer.serialize_str("unknown"),
            Self::Nothing => serializer.serialize_u64(0),
        }
    }
}

/// Who sent the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Engine,
    Probe,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The model's answer was passed on to its end.
    Answered,
    /// The upstream's own error was passed on.
    UpstreamError,
    /// Answered by the bridge itself: the list of models, a greeting.
    Local,
    /// Refused before anything was sent.
    Refused,
    /// Sent, and ended by a fault of the upstream.
    Failed,
    /// The engine went away before the end.
    Disconnected,
}

/// What kinds of content an answer had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct AnswerShape {
    pub content: bool,
    pub reasoning: bool,
    pub tool_calls: bool,
}

impl AnswerShape {
    /// Reasoning and nothing a person or a tool could use.
    pub fn is_reasoning_only(&self) -> bool {
        self.reasoning && !self.content && !self.tool_calls
    }
}

/// One line of `model-usage.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UsageRecord {
    pub seq: u64,
    pub time: Stamp,
    pub purpose: Purpose,
    pub route: String,
    pub wire: Option<Wire>,
    pub provider: String,
    pub model_asked: Option<String>,
    pub model_answered: Option<String>,
    pub served: Served,
    pub outcome: Outcome,
    pub refused: bool,
    pub refusal: Option<RefusalCode>,
    /// What exactly was refused or wrong, bounded and printable.
    pub detail: Option<String>,
    /// What the engine got; null when it was gone before.
    pub status: Option<u16>,
    pub streamed: bool,
    /// Answered from a recording, nothing was sent.
    pub replayed: bool,
    /// The provider speaks another wire.
    pub translated: bool,
    /// What a translation left out, each named by the table of translations.
    pub left_out: Vec<&'static str>,
    pub shim: Vec<ShimApplied>,
    pub allowed_features: Vec<Feature>,
    pub stripped_headers: u32,
    pub stripped_fields: u32,
    pub tokens: Tokens,
    pub cost_micros: Cost,
    pub finish_reason: Option<String>,
    pub answer: AnswerShape,
    pub first_byte_ms: Option<u64>,
    pub total_ms: u64,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub request_sha256: Option<Digest>,
    pub response_sha256: Option<Digest>,
}

impl UsageRecord {
    /// Whether the admitted model answered; a model-backed run needs at least one such record.
    pub fn is_evidence(&self) -> bool {
        self.outcome == Outcome::Answered
            && self.purpose == Purpose::Engine
            && matches!(self.served, Served::Exact | Served::DeclaredAlias)
    }
}

/// Foreign text as a record holds it: printable, one line, bounded.
pub(crate) fn noted(text: &str) -> String {
    const LONGEST: usize = 200;
    let cut: String = text.chars().take(LONGEST).collect();
    contract::text::shown(&cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Strictness, Tape};

    fn check(wire: Wire, reports: &[&str]) -> Tokens {
        let mut tokens = Tokens::default();
        for report in reports {
            let mut tape = Tape::default();
            tokens.take(wire, tape.read(report.as_bytes(), Strictness::Answer).unwrap());
        }
        tokens
    }

    #[test]
    fn each_wire_reports_in_its_own_words() {
        let chat = check(
            Wire::ChatCompletions,
            &[
                r#"{"prompt_tokens":10,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}"#,
            ],
        );
        assert_eq!((chat.prompt, chat.completion, chat.cached, chat.reasoning), (Some(10), Some(4), Some(3), Some(2)));
        let messages = check(
            Wire::Messages,
            &[
                r#"{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":1,"output_tokens":1}"#,
                r#"{"output_tokens":9}"#,
            ],
        );
        assert_eq!((messages.prompt, messages.completion, messages.cached), (Some(16), Some(9), Some(5)));
        assert_eq!(messages.total(), Some(25));
    }

    #[test]
    fn what_is_not_reported_is_unknown() {
        let tokens = check(Wire::Responses, &[r#"{"input_tokens":-1,"output_tokens":"9"}"#, "{}", "null", "[]"]);
        assert_eq!(tokens, Tokens::default());
        assert_eq!(tokens.total(), None);
        assert_eq!(check(Wire::Responses, &[r#"{"input_tokens":18446744073709551615}"#]).prompt, Some(LARGEST));
    }
}
