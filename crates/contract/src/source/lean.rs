//! Schemas of the documents that every run reads, made beforehand and without their words.
//!
//! Deriving a schema takes longer than everything else about reading a small file. A
//! document that one of these accepts has no problem to describe; for any other, the full
//! schema is derived, which has the words. `cargo xtask schema` writes them.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde_json::Value;

use super::check_node;
use super::node::Node;

struct Lean {
    /// Name that the type gives its schema.
    name: &'static str,
    text: &'static str,
    read: OnceLock<Value>,
}

static LEAN: [Lean; 2] = [
    Lean { name: "CaseFile", text: include_str!("lean/case.json"), read: OnceLock::new() },
    Lean { name: "TaskFile", text: include_str!("lean/contract.json"), read: OnceLock::new() },
];

/// True if there is a schema made beforehand and the document keeps to it. On false the
/// caller derives the full schema, which has the words for problems.
pub(super) fn accepts_lean<T: JsonSchema>(node: &Node) -> bool {
    let name = T::schema_name();
    let Some(lean) = LEAN.iter().find(|lean| lean.name == name) else { return false };
    // One that cannot be read has no type that fits anything.
    let schema = lean.read.get_or_init(|| serde_json::from_str(lean.text).unwrap_or(Value::Bool(false)));
    check_node(node, schema, schema).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::schema_for;

    fn without_words(schema: &mut Value) {
        match schema {
            Value::Object(entries) => {
                entries.retain(|key, value| !(["description", "title"].contains(&key.as_str()) && value.is_string()));
                entries.values_mut().for_each(without_words);
            }
            Value::Array(items) => items.iter_mut().for_each(without_words),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn they_are_the_derived_ones_without_their_words() {
        let derived = [schema_for::<crate::case::CaseFile>(), schema_for::<crate::task::TaskFile>()];
        let names = [crate::case::CaseFile::schema_name(), crate::task::TaskFile::schema_name()];
        for ((lean, mut derived), name) in LEAN.iter().zip(derived).zip(names) {
            without_words(&mut derived);
            assert_eq!((lean.name, serde_json::from_str::<Value>(lean.text).unwrap()), (&*name, derived));
        }
    }
}
