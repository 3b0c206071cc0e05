//! The declared shape shim: small, named changes to a request that make a reasoning model
//! give visible content.
//!
//! Off unless the operator declares it, recorded with each request it changes. It never
//! turns reasoning into an answer.

pub use contract::model::ShimApplied;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::json::{Edits, JsonKind, JsonNode};
use crate::protocol::wire::Wire;

/// Declared changes to requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShapeShim {
    /// Raise an output budget below this to it.
    #[serde(default)]
    pub least_output_tokens: Option<u64>,
    /// Ask the server not to think, where the wire has a way to say so.
    #[serde(default)]
    pub ask_for_content: bool,
}

/// The fields of a wire that limit its output.
pub(crate) const fn budget_fields(wire: Wire) -> &'static [&'static str] {
    match wire {
        Wire::ChatCompletions => &["max_completion_tokens", "max_tokens"],
        Wire::Responses => &["max_output_tokens"],
        Wire::Messages => &["max_tokens"],
    }
}

/// The output budget a request declares.
pub(crate) fn declared_budget(wire: Wire, body: JsonNode<'_>) -> Option<u64> {
    budget_fields(wire).iter().find_map(|name| body.get_member(name)?.integer())
}

impl ShapeShim {
    /// Adds the declared changes to `edits` and returns those that apply.
    pub(crate) fn apply_changes(&self, wire: Wire, body: JsonNode<'_>, edits: &mut Edits) -> Vec<ShimApplied> {
        let mut applied = Vec::new();
        if let Some(least) = self.least_output_tokens {
            for field in budget_fields(wire).iter().filter_map(|name| body.get_member(name)) {
                if field.kind() == JsonKind::Number && field.integer().is_some_and(|budget| budget < least) {
                    edits.replace_value(field, least.to_string());
                    applied.push(ShimApplied::RaisedBudget);
                }
            }
        }
        if self.ask_for_content && wire == Wire::ChatCompletions && body.get_member("chat_template_kwargs").is_none() {
            edits.insert(body, "chat_template_kwargs", r#"{"enable_thinking":false}"#);
            applied.push(ShimApplied::AskedForContent);
        }
        applied
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::{JsonSpans, Strictness};

    fn check(wire: Wire, body: &str) -> (String, Vec<ShimApplied>) {
        let shim = ShapeShim { least_output_tokens: Some(1024), ask_for_content: true };
        let mut spans = JsonSpans::default();
        let node = spans.read_document(body.as_bytes(), Strictness::Request).unwrap();
        let mut edits = Edits::default();
        let applied = shim.apply_changes(wire, node, &mut edits);
        (String::from_utf8(edits.apply_edits(body.as_bytes())).unwrap(), applied)
    }

    #[test]
    fn only_what_is_too_small_or_unsaid_changes() {
        use ShimApplied::{AskedForContent, RaisedBudget};
        let (text, applied) = check(Wire::ChatCompletions, r#"{"model":"m","max_tokens": 32}"#);
        assert_eq!(text, r#"{"chat_template_kwargs":{"enable_thinking":false},"model":"m","max_tokens": 1024}"#);
        assert_eq!(applied, [RaisedBudget, AskedForContent]);
        let same = r#"{"max_tokens":4096,"chat_template_kwargs":{}}"#;
        assert_eq!(check(Wire::ChatCompletions, same), (same.to_owned(), vec![]));
        assert_eq!(check(Wire::Responses, r#"{"max_output_tokens":1}"#).1, [RaisedBudget]);
    }
}
