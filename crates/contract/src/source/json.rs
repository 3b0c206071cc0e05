//! The JSON reader: strict RFC 8259 on top of jsonc-parser, which knows where everything
//! stands.

use std::collections::HashMap;

use jsonc_parser::ast::{Object, ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

use super::Reading;
use super::node::{MapKey, Node, Span, ValueKind};
use super::problem::{Fatal, LISTED, Problem, SourceRule, neutral};
use super::scalar;
use super::text::position;

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads JSON into a spanned tree. Collects all problems instead of stopping at the first.
pub(super) fn read_json(text: &str) -> Reading {
    let mut reader = Reader { text, cursor: Cursor::default(), problems: Vec::new() };
    let node = parse(text).and_then(|value| reader.node(&value, 0));
    Reading::new(node.map(|node| Node { span: Span::DOCUMENT, ..node }), reader.problems)
}

fn parse(text: &str) -> Result<Value<'_>, Fatal> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT).map_err(|error| unreadable(text, &error))?;
    let empty = || Fatal::new(Problem::new(Span::DOCUMENT, SourceRule::Syntax, "the file is empty"));
    let value = parsed.value.ok_or_else(empty)?;
    // jsonc-parser lets raw control characters in strings and some exotic white space through.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| refused(text, &error))?;
    Ok(value)
}

fn unreadable(text: &str, error: &ParseError) -> Fatal {
    let span = position(text, error.range().start);
    let problem = match error.kind() {
        ParseErrorKind::NestingDepthExceeded => scalar::too_deep(span),
        kind => syntax(span, &lower_first(&kind.to_string())),
    };
    problem.into()
}

fn syntax(span: Span, cause: &str) -> Problem {
    Problem::new(span, SourceRule::Syntax, format!("not valid JSON: {}", neutral(cause)))
}

fn refused(text: &str, error: &serde_json::Error) -> Fatal {
    let lines_before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let byte = lines_before + error.column().saturating_sub(1);
    let start = (0..=byte.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let message = error.to_string();
    let cause = message.split(" at line ").next().unwrap_or_default();
    syntax(position(text, start), cause).into()
}

fn lower_first(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

struct Reader<'t> {
    text: &'t str,
    cursor: Cursor,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn node(&mut self, value: &Value<'_>, depth: usize) -> Result<Node, Fatal> {
        let span = self.span(value);
        let kind = match value {
            Value::NullKeyword(_) => ValueKind::Null,
            Value::BooleanLit(literal) => ValueKind::Bool(literal.value),
            Value::NumberLit(literal) => scalar::number_kind(literal.value),
            Value::StringLit(literal) => self.string(&literal.value, span),
            Value::Array(array) => {
                scalar::depth_allowed(depth, span)?;
                ValueKind::Seq(array.elements.iter().map(|item| self.node(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            Value::Object(object) => {
                scalar::depth_allowed(depth, span)?;
                ValueKind::Map(self.entries(object, depth + 1)?)
            }
        };
        Ok(Node { kind, span })
    }

    fn entries(&mut self, object: &Object<'_>, depth: usize) -> Result<Vec<(MapKey, Node)>, Fatal> {
        let mut seen = HashMap::new();
        let mut entries = Vec::with_capacity(object.properties.len());
        for property in &object.properties {
            let key = self.key(&property.name);
            self.note(scalar::duplicate(&mut seen, &key));
            let node = self.node(&property.value, depth)?.under(&key);
            entries.push((key, node));
        }
        Ok(entries)
    }

    fn key(&mut self, name: &ObjectPropName<'_>) -> MapKey {
        let span = self.span(name);
        self.note(scalar::nul(name.as_str(), span));
        MapKey { text: name.as_str().to_owned(), span }
    }

    fn string(&mut self, value: &str, span: Span) -> ValueKind {
        self.note(scalar::nul(value, span));
        ValueKind::Text(value.to_owned())
    }

    /// Called in the order of the text, so that the cursor only ever moves forward.
    fn span(&mut self, piece: &impl Ranged) -> Span {
        let range = piece.range();
        let (line, column) = self.cursor.advance(self.text, range.start);
        let written = self.text.get(range.start..range.end).unwrap_or_default();
        let length = if written.starts_with(['{', '[']) { 1 } else { written.chars().count() };
        Span { line, column, length }
    }

    fn note(&mut self, problem: Option<Problem>) {
        self.problems.extend(problem.filter(|_| self.problems.len() <= LISTED));
    }
}

/// Turns rising byte offsets into lines and columns in one pass over the text.
#[derive(Default)]
struct Cursor {
    byte: usize,
    line: usize,
    column: usize,
}

impl Cursor {
    fn advance(&mut self, text: &str, byte: usize) -> (usize, usize) {
        for c in text.get(self.byte..byte).unwrap_or_default().chars() {
            self.column += 1;
            if c == '\n' {
                self.line += 1;
                self.column = 0;
            }
        }
        self.byte = self.byte.max(byte);
        (self.line + 1, self.column + 1)
    }
}
