//! Changes to a document as replaced byte spans: all other bytes stay as they came.

use std::ops::Range;

use super::JsonNode;

/// Changes to one document, applied together.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    changes: Vec<(Range<usize>, Vec<u8>)>,
}

impl Edits {
    /// True if nothing is to be changed, so that the original bytes can be sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Takes the members out of `object` whose key `goes`; gives how many went.
    pub(crate) fn remove_members(
        &mut self,
        object: JsonNode<'_>,
        mut goes: impl FnMut(&JsonNode<'_>) -> bool,
    ) -> usize {
        let mut kept_end = object.span().start + 1;
        let mut gone = 0;
        let mut members = object.members().peekable();
        while let Some((key, value)) = members.next() {
            if !goes(&key) {
                kept_end = value.span().end;
                continue;
            }
            gone += 1;
            // A member in the middle takes the comma behind it along, the last one the
            // comma before it.
            let range = match members.peek() {
                Some((next, _)) => key.span().start..next.span().start,
                None => kept_end..value.span().end,
            };
            self.changes.push((range, Vec::new()));
        }
        gone
    }

    /// Replaces a value.
    pub(crate) fn replace_value(&mut self, node: JsonNode<'_>, with: impl Into<Vec<u8>>) {
        self.changes.push((node.span(), with.into()));
    }

    /// Puts a member in front of those `object` has.
    pub(crate) fn insert(&mut self, object: JsonNode<'_>, name: &str, value: &str) {
        let at = object.span().start + 1;
        let comma = if object.members().next().is_some() { "," } else { "" };
        self.changes.push((at..at, format!("{}:{value}{comma}", super::quoted(name)).into_bytes()));
    }

    /// Builds the changed document. Overlapping removals are merged.
    pub(crate) fn apply_edits(mut self, bytes: &[u8]) -> Vec<u8> {
        self.changes.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for (range, with) in self.changes {
            // Removals of neighbours overlap; what lies before `at` is gone already.
            out.extend_from_slice(bytes.get(at..range.start).unwrap_or_default());
            out.extend_from_slice(&with);
            at = at.max(range.end);
        }
        out.extend_from_slice(bytes.get(at..).unwrap_or_default());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JsonSpans, Strictness};
    use super::*;

    fn removed(text: &str, names: &[&str]) -> String {
        let mut spans = JsonSpans::default();
        let root = spans.read_document(text.as_bytes(), Strictness::Request).unwrap();
        let mut edits = Edits::default();
        edits.remove_members(root, |key| names.iter().any(|name| key.is_text(name)));
        String::from_utf8(edits.apply_edits(text.as_bytes())).unwrap()
    }

    #[test]
    fn members_go_by_span_and_the_rest_stays() {
        let rows: &[(&str, &[&str], &str)] = &[
            (r#"{ "a" : 1 , "b":2.50,"c":3}"#, &["b"], r#"{ "a" : 1 , "c":3}"#),
            (r#"{"a":1,"b":2}"#, &["b"], r#"{"a":1}"#),
            (r#"{"a":1,"b":2}"#, &["a"], r#"{"b":2}"#),
            (r#"{"a":1,"b":2,"c":3}"#, &["b", "c"], r#"{"a":1}"#),
            (r#"{"a":1,"b":2,"c":3}"#, &["a", "c"], r#"{"b":2}"#),
            (r#"{"a":1,"b":2}"#, &["a", "b"], "{}"),
            (r#"{"a":{"b":1}}"#, &["b"], r#"{"a":{"b":1}}"#),
        ];
        for (text, names, expected) in rows {
            assert_eq!(removed(text, names), *expected, "{text}");
        }
    }

    #[test]
    fn values_are_replaced_and_members_put_in() {
        let text = r#"{"m":8,"n":1}"#;
        let mut spans = JsonSpans::default();
        let root = spans.read_document(text.as_bytes(), Strictness::Request).unwrap();
        let mut edits = Edits::default();
        edits.replace_value(root.get_member("m").unwrap(), "1024");
        edits.insert(root, "k", "{}");
        assert_eq!(String::from_utf8(edits.apply_edits(text.as_bytes())).unwrap(), r#"{"k":{},"m":1024,"n":1}"#);
    }

    proptest::proptest! {
        /// Whatever goes, what is left is JSON and holds exactly the others.
        #[test]
        fn removal_leaves_json(count in 0_usize..7, mask in 0_u32..128) {
            let names: Vec<String> = (0..count).map(|index| format!("k{index}")).collect();
            let members: Vec<String> = names.iter().map(|name| format!("\"{name}\" : [1]")).collect();
            let gone: Vec<&str> =
                names.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1).map(|(_, name)| name.as_str()).collect();
            let text = removed(&format!("{{{}}}", members.join(" , ")), &gone);
            let left: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
            let kept: Vec<&String> = names.iter().filter(|name| !gone.contains(&name.as_str())).collect();
            proptest::prop_assert_eq!(left.keys().collect::<Vec<_>>(), kept);
        }
    }
}
