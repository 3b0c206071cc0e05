//! The meaning of a request: its body without what an agent makes anew each time it asks
//! the same.
//!
//! Three rules, each a closed list. Members that only name something for the provider are
//! left out ([`LEFT_OUT`]). Ids that tie parts of a conversation together are numbered in
//! the order in which they first appear ([`LINKS`]): which result belongs to which call
//! still counts, what they are called does not. Words in texts whose shape says that they
//! belong to one run ([`words::SHAPES`]) are replaced by the name of their shape. The rest
//! is compared to the byte, whatever the order of members.

mod words;

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Members at the top of a body, on every wire.
pub(crate) const LEFT_OUT: &[&str] = &["prompt_cache_key"];

/// Members at any depth whose text is an id.
pub(crate) const LINKS: &[&str] =
    &["id", "call_id", "item_id", "tool_call_id", "tool_use_id", "previous_response_id", "approval_request_id"];

/// Members at the top that are compared as they stand.
const EXACT: &[&str] = &["model"];

/// Representative of all bodies with the same meaning; the body itself if it is no JSON
/// object.
pub(crate) fn meaning_of(body: &[u8]) -> Vec<u8> {
    let Ok(Value::Object(mut root)) = serde_json::from_slice::<Value>(body) else { return body.to_vec() };
    root.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
    let (exact, mut said): (Map<String, Value>, Map<String, Value>) =
        root.into_iter().partition(|(name, _)| EXACT.contains(&name.as_str()));
    Ids::default().rewrite_members(&mut said);
    said.extend(exact);
    contract::canonical_bytes(&said).unwrap_or_else(|_| body.to_vec())
}

/// Ids in the order of their first appearance.
#[derive(Debug, Default)]
struct Ids(HashMap<String, usize>);

impl Ids {
    /// In the order of their names, so that numbers do not rest on the order in which
    /// members were written.
    fn rewrite_members(&mut self, members: &mut Map<String, Value>) {
        let mut sorted: Vec<(&String, &mut Value)> = members.iter_mut().collect();
        sorted.sort_by_key(|(name, _)| *name);
        for (name, value) in sorted {
            match value {
                Value::String(text) if LINKS.contains(&name.as_str()) => *text = self.numbered(text),
                value => self.rewrite(value),
            }
        }
    }

    fn rewrite(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(plain) = words::without_shapes(text) {
                    *text = plain;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.rewrite(item)),
            Value::Object(members) => self.rewrite_members(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn numbered(&mut self, id: &str) -> String {
        let next = self.0.len() + 1;
        let number = *self.0.entry(id.to_owned()).or_insert(next);
        format!("<id {number}>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two requests of one agent in two runs, and whether they mean the same.
    fn check(one: &str, other: &str, same: bool) {
        assert_eq!(meaning_of(one.as_bytes()) == meaning_of(other.as_bytes()), same, "{one}\n{other}");
        assert_eq!(meaning_of(one.as_bytes()), meaning_of(&meaning_of(one.as_bytes())), "{one}");
    }

    #[test]
    fn what_is_new_in_each_run_does_not_count() {
        let rows = [
            (r#"{"a":1,"prompt_cache_key":"x"}"#, r#"{"prompt_cache_key":"y","a":1}"#),
            (r#"{"input":[{"id":"msg_1","x":1}]}"#, r#"{"input":[{"x":1,"id":"msg_2"}]}"#),
            (
                r#"{"input":[{"type":"function_call","id":"fc_a","call_id":"c1"},{"type":"function_call_output","call_id":"c1"}]}"#,
                r#"{"input":[{"type":"function_call","id":"fc_b","call_id":"c2"},{"type":"function_call_output","call_id":"c2"}]}"#,
            ),
            (
                r#"{"messages":[{"content":[{"type":"tool_use","id":"toolu_1"}]},{"content":[{"tool_use_id":"toolu_1"}]}]}"#,
                r#"{"messages":[{"content":[{"type":"tool_use","id":"toolu_9"}]},{"content":[{"tool_use_id":"toolu_9"}]}]}"#,
            ),
            (r#"{"system":"Today is 2026-11-16."}"#, r#"{"system":"Today is 2027-01-02."}"#),
        ];
        for (one, other) in rows {
            check(one, other, true);
        }
    }

    #[test]
    fn what_is_asked_counts() {
        let rows = [
            (r#"{"model":"gpt-2026-11-16"}"#, r#"{"model":"gpt-2026-11-17"}"#),
            (r#"{"input":"a"}"#, r#"{"input":"b"}"#),
            (r#"{"input":[1,2]}"#, r#"{"input":[2,1]}"#),
            (r#"{"stream":true}"#, r#"{"stream":false}"#),
            (r#"{"input":[],"tools":[]}"#, r#"{"input":[]}"#),
            // A result for another call.
            (
                r#"{"input":[{"call_id":"a"},{"call_id":"b"},{"call_id":"a","output":1}]}"#,
                r#"{"input":[{"call_id":"a"},{"call_id":"b"},{"call_id":"b","output":1}]}"#,
            ),
            ("no JSON", "no json"),
            ("[1]", "[ 1 ]"),
        ];
        for (one, other) in rows {
            check(one, other, false);
        }
    }

    /// The page that documents the lists names every entry.
    #[test]
    fn the_lists_are_documented() {
        let page = include_str!("../../../../../docs/formats/model-usage.md");
        let shapes = words::SHAPES.iter().map(|(name, _)| *name);
        for name in LEFT_OUT.iter().chain(LINKS).copied().chain(shapes) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
