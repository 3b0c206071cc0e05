//! Keys of a map: known, unknown, missing.

use std::collections::HashSet;

use serde_json::Value;

use super::{Checker, Schema, Step, array, words};
use crate::source::node::{MapKey, Node, ValueKind};
use crate::source::problem::{Problem, SourceRule, shorten_value};

/// More keys than this are no help in a note.
const LISTED_KEYS: usize = 40;

/// Marks a key whose absence is judged later, as a refused decision.
const ABSENT: &str = "x-cto-absent";

impl<'s> Checker<'s> {
    /// Checks the keys of a map against `properties` and `required`. Reports unknown keys
    /// with the closest known name, and counts that name as given.
    pub(super) fn object(&mut self, node: &Node, schema: &'s Schema) {
        let ValueKind::Map(entries) = &node.kind else {
            return;
        };
        let given: HashSet<&str> = entries.iter().map(|(key, _)| key.text.as_str()).collect();
        let mut meant: Vec<&str> = Vec::new();
        for (key, child) in entries {
            if self.is_full() {
                return;
            }
            match self.schema_of(key, schema) {
                Some(schema) => self.within(Step::Key(key.text.clone()), |checker| checker.value(child, schema)),
                None => {
                    let close = words::closest(&key.text, names(schema).filter(|name| !given.contains(name)));
                    meant.extend(close);
                    self.unknown(key, close, schema);
                }
            }
        }
        for name in array(schema, "required").iter().filter_map(Value::as_str) {
            // A key that was only misspelt is one mistake, not two.
            if !given.contains(name) && !meant.contains(&name) && !judged_later(schema, name) {
                self.missing(node, name, schema);
            }
        }
    }

    fn schema_of(&mut self, key: &MapKey, schema: &'s Schema) -> Option<&'s Value> {
        if let Some(schema) = property(schema, &key.text) {
            return Some(schema);
        }
        let patterns = schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
        for (pattern, schema) in patterns {
            if self.pattern(pattern).is_some_and(|regex| regex.is_match(&key.text)) {
                return Some(schema);
            }
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(schema) => Some(schema),
            None => Some(&Value::Bool(true)),
        }
    }

    fn unknown(&mut self, key: &MapKey, close: Option<&str>, schema: &Schema) {
        let unknown =
            Problem::new(key.span, SourceRule::UnknownKey, format!("unknown key `{}`", shorten_value(&key.text)));
        let note = if close.is_none() { known_keys(schema) } else { None };
        let unknown = Problem { note, ..unknown.with_suggestion(close) };
        self.within(Step::Key(key.text.clone()), |checker| checker.report(unknown));
    }

    fn missing(&mut self, node: &Node, name: &str, schema: &'s Schema) {
        let missing = Problem::new(node.span, SourceRule::MissingKey, format!("`{name}` is missing"));
        let note = property(schema, name).and_then(Value::as_object).and_then(words::description);
        self.within(Step::Key(name.to_owned()), |checker| checker.report(Problem { note, ..missing }));
    }
}

/// Schema of one key; none for an unknown key.
pub(super) fn property<'s>(schema: &'s Schema, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

fn judged_later(schema: &Schema, name: &str) -> bool {
    property(schema, name).and_then(|schema| schema.get(ABSENT)).and_then(Value::as_str) == Some("refused")
}

fn known_keys(schema: &Schema) -> Option<String> {
    let names: Vec<&str> = names(schema).collect();
    (1..=LISTED_KEYS).contains(&names.len()).then(|| format!("known keys: {}", names.join(", ")))
}

fn names(schema: &Schema) -> impl Iterator<Item = &str> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str())
}
