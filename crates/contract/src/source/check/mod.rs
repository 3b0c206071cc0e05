//! Checks a tree against a JSON Schema, of which it knows the part that schemars derives.
//!
//! Numbers are held to one rule whatever the schema says: whole, decimal, within ±(2^53-1).

mod choice;
mod coverage;
mod object;
mod scalars;
mod words;

use std::collections::HashMap;

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::merged;
use super::node::Node;
use super::problem::{LISTED, Problem, SourceRule, shorten_value};

pub use coverage::unenforced;

type Schema = Map<String, Value>;

/// Limit on nested schema references. A tree is at most 32 deep, so only circular
/// references reach this.
const MAX_DEPTH: usize = 512;

/// All problems of `node` under `schema`, whose `$ref`s are looked up in `root`. The file
/// is left empty.
pub fn check_node(node: &Node, schema: &Value, root: &Value) -> Vec<Problem> {
    let mut checker = Checker::new(root);
    checker.value(node, schema);
    let shape = std::mem::take(&mut checker.found);
    checker.numbers(node);
    merged([shape, checker.found])
}

enum Step {
    Key(String),
    Index(usize),
}

struct Checker<'s> {
    root: &'s Value,
    path: Vec<Step>,
    depth: usize,
    found: Vec<Problem>,
    patterns: HashMap<&'s str, Option<Regex>>,
}

impl<'s> Checker<'s> {
    fn new(root: &'s Value) -> Checker<'s> {
        Checker { root, path: Vec::new(), depth: 0, found: Vec::new(), patterns: HashMap::new() }
    }

    fn value(&mut self, node: &Node, schema: &'s Value) {
        if self.is_full() {
            return;
        }
        if self.depth == MAX_DEPTH {
            return self.report(Problem::new(
                node.span,
                SourceRule::Invalid,
                "the schema refers to itself without end",
            ));
        }
        self.depth += 1;
        match schema {
            Value::Object(schema) => self.keywords(node, schema),
            Value::Bool(false) => {
                self.report(Problem::new(
                    node.span,
                    SourceRule::Invalid,
                    format!("{} may not be given", self.subject()),
                ));
            }
            _ => {}
        }
        self.depth -= 1;
    }

    fn keywords(&mut self, node: &Node, schema: &'s Schema) {
        if let Some(target) = self.target(schema) {
            self.value(node, target);
        }
        for part in array(schema, "allOf") {
            self.value(node, part);
        }
        if let Some(choices) = choice::choices(schema) {
            return self.choice(node, words::noun(schema), &choices);
        }
        if !self.has_type(node, schema) {
            return;
        }
        for word in ["oneOf", "anyOf"] {
            self.branches(node, array(schema, word), word == "oneOf");
        }
        self.object(node, schema);
        self.check_list(node, schema);
        self.check_text(node, schema);
        self.check_number(node, schema);
    }

    fn target(&self, schema: &'s Schema) -> Option<&'s Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    fn has_type(&mut self, node: &Node, schema: &'s Schema) -> bool {
        let types = words::named_types(schema);
        let fits = types.is_empty() || words::fits_types(&node.kind, &types);
        if !fits {
            self.report(self.wrong_type(node, &types));
        }
        fits
    }

    fn wrong_type(&self, node: &Node, types: &[&str]) -> Problem {
        let message =
            format!("{} must be {}, found {}", self.subject(), words::expected(types), words::found(&node.kind));
        let problem = Problem::new(node.span, SourceRule::WrongType, message).with_found(&words::value(&node.kind));
        Problem { note: words::type_note(&node.kind, types).map(str::to_owned), ..problem }
    }

    fn within(&mut self, step: Step, check: impl FnOnce(&mut Self)) {
        self.path.push(step);
        check(self);
        self.path.pop();
    }

    /// Problems that one branch would report. They are returned, and the checker's own list
    /// stays as it was.
    fn tried(&mut self, node: &Node, schema: &'s Value) -> Vec<Problem> {
        let before = std::mem::take(&mut self.found);
        self.value(node, schema);
        std::mem::replace(&mut self.found, before)
    }

    fn report(&mut self, problem: Problem) {
        if self.is_full() {
            return;
        }
        let key = problem.key.or_else(|| self.key());
        self.found.push(Problem { key, ..problem });
    }

    fn is_full(&self) -> bool {
        self.found.len() > LISTED
    }

    fn key(&self) -> Option<String> {
        let steps = self.path.iter().map(|step| match step {
            Step::Key(key) => shorten_value(key),
            Step::Index(index) => index.to_string(),
        });
        Some(steps.collect::<Vec<_>>().join(".")).filter(|key| !key.is_empty())
    }

    /// Name of the current position in a sentence.
    fn subject(&self) -> String {
        match self.path.as_slice() {
            [.., Step::Key(key)] => format!("`{}`", shorten_value(key)),
            [.., Step::Key(key), Step::Index(index)] => format!("entry {} of `{}`", index + 1, shorten_value(key)),
            [.., Step::Index(index)] => format!("entry {}", index + 1),
            [] => "the document".to_owned(),
        }
    }

    fn pattern(&mut self, pattern: &'s str) -> Option<&Regex> {
        self.patterns.entry(pattern).or_insert_with(|| Regex::new(pattern).ok()).as_ref()
    }
}

fn array<'s>(schema: &'s Schema, keyword: &str) -> &'s [Value] {
    schema.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
