//! The spanned tree that both readers build: values with their positions.

use serde_json::Value;

/// Position in a file: line and column start at 1, column and length count characters. A
/// length of 0 means the whole document rather than a piece of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub line: usize,
    pub column: usize,
    pub length: usize,
}

impl Span {
    /// Place of the document as a whole.
    pub const DOCUMENT: Span = Span { line: 1, column: 1, length: 0 };
}

/// Value of a document together with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: ValueKind,
    /// A list or map that is the value of a key has the span of that key.
    pub span: Span,
}

/// Value without its position. Maps keep the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Null,
    Bool(bool),
    Int(i64),
    /// Every number that is not a plain decimal integer of 64 bits, as written. Never accepted.
    Float(String),
    Text(String),
    Seq(Vec<Node>),
    Map(Vec<(MapKey, Node)>),
}

/// Key of a map, with a position of its own for messages about the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapKey {
    pub text: String,
    pub span: Span,
}

impl Node {
    /// Child by key; in a list by decimal index.
    pub fn get_child(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            ValueKind::Map(entries) => entries.iter().find(|(k, _)| k.text == key).map(|(_, node)| node),
            ValueKind::Seq(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// A `Float` becomes its text: no float ever reaches a type.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            ValueKind::Null => Value::Null,
            ValueKind::Bool(yes) => Value::Bool(*yes),
            ValueKind::Int(number) => Value::from(*number),
            ValueKind::Float(text) | ValueKind::Text(text) => Value::String(text.clone()),
            ValueKind::Seq(items) => items.iter().map(Node::to_value).collect(),
            ValueKind::Map(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.text.clone(), node.to_value())).collect())
            }
        }
    }

    /// Settles where the value of a key points: to itself where it is a word on the page,
    /// else to its key.
    pub(super) fn under(mut self, key: &MapKey) -> Node {
        let container = matches!(self.kind, ValueKind::Seq(_) | ValueKind::Map(_));
        if container || self.span.length == 0 {
            self.span = key.span;
        }
        self
    }
}
