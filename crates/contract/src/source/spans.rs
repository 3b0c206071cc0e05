//! Places that outlive loading, for checks of meaning that come later.

use super::node::{Node, Span};
use super::problem::{Problem, SourceRule};

/// Positions of a document that has been turned into a type.
#[derive(Clone, Debug)]
pub struct Spans {
    file: String,
    root: Node,
}

impl Spans {
    /// Keeps the tree of a document for later questions about positions.
    pub(super) fn new(file: &str, root: Node) -> Spans {
        Spans { file: file.to_owned(), root }
    }

    /// Position of the value at `path`, or of the nearest enclosing value that was written.
    /// List indices are decimal.
    pub fn span_at(&self, path: &[&str]) -> Span {
        let mut node = &self.root;
        for step in path {
            match node.get_child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.span
    }

    /// Makes a problem at the position of `path`, for a check that runs after loading.
    pub fn problem(&self, path: &[&str], rule: SourceRule, message: impl Into<String>) -> Problem {
        let problem = Problem { file: self.file.clone(), ..Problem::new(self.span_at(path), rule, message) };
        if path.is_empty() { problem } else { problem.with_key(path.join(".")) }
    }
}
