//! Loading of documents that people write: YAML, or JSON of the same shape.
//!
//! Owns the one path from bytes to a typed document. The text becomes a tree with
//! positions; the tree is checked against the JSON Schema derived from the type, the same
//! schema that is published; only a tree without a problem is handed to serde. All problems
//! of a file are reported at once, each with its position.

mod check;
mod json;
mod lean;
mod node;
mod problem;
mod render;
mod scalar;
mod spans;
mod text;
mod typed;
mod yaml;

#[cfg(test)]
mod tests;

use std::any::TypeId;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use problem::Fatal;

pub use check::{check_node, unenforced};
pub use node::{MapKey, Node, Span, ValueKind};
pub use problem::{Problem, Problems, SourceRule};
pub use render::Style;
pub use spans::Spans;

/// A document that was read, with the places of its values.
#[derive(Clone, Debug)]
pub struct Loaded<T> {
    pub value: T,
    pub spans: Spans,
    pub text: String,
}

/// Result of reading a text. Without a node, reading had to stop at the last problem.
#[derive(Clone, Debug)]
pub struct Reading {
    pub node: Option<Node>,
    pub problems: Vec<Problem>,
}

impl Reading {
    fn new(node: Result<Node, Fatal>, mut problems: Vec<Problem>) -> Reading {
        let node = node.map_err(|problem| problems.push(*problem)).ok();
        Reading { node, problems }
    }
}

/// The schema of `T` as it is published and enforced: draft 2020-12.
pub fn schema_for<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>().to_value()
}

/// The same, made once in a process and kept: making it takes longer than checking a document against it.
fn kept_schema_for<T: JsonSchema + 'static>() -> &'static Value {
    static KEPT: Mutex<BTreeMap<TypeId, &'static Value>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(TypeId::of::<T>()).or_insert_with(|| Box::leak(Box::new(schema_for::<T>())))
}

/// Reads a text into a tree: a name that ends in `.json` is JSON, everything else YAML.
pub fn read(file: &str, text: &str) -> Reading {
    let is_json = file.len() >= 5 && file.as_bytes()[file.len() - 5..].eq_ignore_ascii_case(b".json");
    if is_json { json::read_json(text) } else { yaml::read_yaml(text) }
}

/// Reads a document strictly, as YAML or JSON.
pub fn load<T: DeserializeOwned + JsonSchema + 'static>(file: &str, bytes: &[u8]) -> Result<Loaded<T>, Problems> {
    let text = text::decode_text(bytes).map_err(|refused| Problems::new(file, refused.text, vec![*refused.problem]))?;
    let fail = |problems| Problems::new(file, text.to_owned(), problems);
    let Reading { node, problems } = read(file, text);
    let Some(node) = node else {
        return Err(fail(problems));
    };
    let problems = if problems.is_empty() && lean::accepts_lean::<T>(&node) {
        problems
    } else {
        let schema = kept_schema_for::<T>();
        merged([problems, check_node(&node, schema, schema)])
    };
    if !problems.is_empty() {
        return Err(fail(problems));
    }
    let value = typed::build_typed(&node).map_err(|problem| fail(vec![*problem]))?;
    Ok(Loaded { value, spans: Spans::new(file, node), text: text.to_owned() })
}

/// A place that an earlier group already spoke about is not spoken about again: the first says what caused the rest.
fn merged<const N: usize>(groups: [Vec<Problem>; N]) -> Vec<Problem> {
    let mut all: Vec<Problem> = Vec::new();
    for group in groups {
        let taken: HashSet<_> = all.iter().map(|p| (p.line, p.column)).collect();
        all.extend(group.into_iter().filter(|p| p.length == 0 || !taken.contains(&(p.line, p.column))));
    }
    all
}
