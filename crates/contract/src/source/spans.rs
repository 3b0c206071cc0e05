//! Places that outlive loading, for checks of meaning that come later.

use super::node::{Node, Span};
use super::problem::{Problem, Rule};

#[derive(Clone, Debug)]
pub struct Spans {
    file: String,
    root: Node,
}

impl Spans {
    pub(super) fn new(file: &str, root: Node) -> Spans {
        Spans { file: file.to_owned(), root }
    }

    /// Where the value at `path` stands, or the nearest thing around it that was written. List indices are decimal.
    pub fn at(&self, path: &[&str]) -> Span {
        let mut node = &self.root;
        for step in path {
            match node.get(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.span
    }

    pub fn problem(&self, path: &[&str], rule: Rule, message: impl Into<String>) -> Problem {
        let problem = Problem { file: self.file.clone(), ..Problem::new(self.at(path), rule, message) };
        if path.is_empty() { problem } else { problem.with_key(path.join(".")) }
    }
}
