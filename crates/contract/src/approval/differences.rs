//! Two plans beside each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Plan;
use crate::text::show_controls;

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDifference {
    /// JSON pointer (RFC 6901).
    pub field: String,
    /// Absent where there was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
}

/// Longest value in a sentence.
const SHOWN_CHARS: usize = 80;

impl std::fmt::Display for PlanDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |value: &Option<Value>| match value {
            None => "nothing".to_owned(),
            Some(Value::String(text)) => clip(&show_controls(text)),
            Some(other) => clip(&show_controls(&other.to_string())),
        };
        write!(f, "{}: {} was approved, {} is there now", show_controls(&self.field), text(&self.old), text(&self.new))
    }
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}

/// Every field in which two plans differ, in the order in which a plan has them.
pub fn differences(old: &Plan, new: &Plan) -> Result<Vec<PlanDifference>, serde_json::Error> {
    let mut found = Vec::new();
    compare(String::new(), Some(&serde_json::to_value(old)?), Some(&serde_json::to_value(new)?), &mut found);
    Ok(found)
}

fn compare(field: String, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<PlanDifference>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            for name in merge_names(old, new) {
                compare(format!("{field}/{}", escape(name)), old.get(name), new.get(name), found);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => compare_lists(&field, old, new, found),
        (old, new) => found.push(PlanDifference { field, old: old.cloned(), new: new.cloned() }),
    }
}

/// Names of both, in the order in which a plan has them: a name that only the new one has
/// stands behind the one before it there.
fn merge_names<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> Vec<&'a String> {
    let mut names: Vec<&String> = old.keys().collect();
    let mut place = 0;
    for name in new.keys() {
        match names.iter().position(|known| *known == name) {
            Some(at) => place = at + 1,
            None => {
                names.insert(place, name);
                place += 1;
            }
        }
    }
    names
}

/// Items that begin or end both lists alike are left aside, so that one more item is one
/// difference.
fn compare_lists(field: &str, old: &[Value], new: &[Value], found: &mut Vec<PlanDifference>) {
    let same_start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[same_start..], &new[same_start..]);
    let same_end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - same_end], &new[..new.len() - same_end]);
    for index in 0..old.len().max(new.len()) {
        compare(format!("{field}/{}", same_start + index), old.get(index), new.get(index), found);
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
