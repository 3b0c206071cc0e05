//! Reads the usage that an answer reports. The record of a request is [`UsageRecord`],
//! whose format is the contract's.

use std::borrow::Cow;

use contract::model::LARGEST;
pub use contract::model::{
    AnswerShape, Cost, RequestOutcome as Outcome, RequestPurpose as Purpose, Tokens, UsageRecord,
};

use crate::protocol::json::JsonNode;
use crate::protocol::wire::Wire;

/// Takes over what a `usage` object reports; later reports in one answer are cumulative and
/// win.
pub(crate) fn take_usage(tokens: &mut Tokens, wire: Wire, usage: JsonNode<'_>) {
    let read = |path: &[&str]| usage.find_path(path).and_then(|node| node.integer()).map(|count| count.min(LARGEST));
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
    tokens.prompt = prompt.or(tokens.prompt);
    tokens.completion = completion.or(tokens.completion);
    tokens.cached = cached.or(tokens.cached);
    tokens.cache_written = written.or(tokens.cache_written);
    tokens.reasoning = reasoning.or(tokens.reasoning);
}

/// Foreign text as a record holds it: printable, one line, bounded.
pub(crate) fn noted<'a>(text: impl Into<Cow<'a, str>>) -> String {
    let text = text.into();
    const LONGEST: usize = 200;
    // Nearly every name there is: nothing to cut and nothing to show.
    if text.len() <= LONGEST && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return text.into_owned();
    }
    let cut: String = text.chars().take(LONGEST).collect();
    contract::text::show_controls(&cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::{JsonSpans, Strictness};

    fn check(wire: Wire, reports: &[&str]) -> Tokens {
        let mut tokens = Tokens::default();
        for report in reports {
            let mut spans = JsonSpans::default();
            take_usage(&mut tokens, wire, spans.read_document(report.as_bytes(), Strictness::Answer).unwrap());
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
