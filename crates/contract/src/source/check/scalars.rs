//! Lists, text and numbers.

use std::collections::HashMap;

use serde_json::Value;

use super::{Checker, Schema, Step, array, words};
use crate::source::node::{Node, ValueKind};
use crate::source::problem::{Problem, SourceRule, shorten_value};

/// Largest integer that every JSON reader holds exactly.
const MAX_INTEGER: i64 = (1 << 53) - 1;

impl<'s> Checker<'s> {
    /// Checks the length of a list and each of its entries.
    pub(super) fn check_list(&mut self, node: &Node, schema: &'s Schema) {
        let ValueKind::Seq(items) = &node.kind else {
            return;
        };
        self.length(node, schema, items.len(), ["minItems", "maxItems"], ["entry", "entries"]);
        let first = array(schema, "prefixItems");
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(index).or_else(|| schema.get("items")) {
                self.within(Step::Index(index), |checker| checker.value(item, schema));
            }
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            self.unique(items);
        }
    }

    fn unique(&mut self, items: &[Node]) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            let first = *seen.entry(item.to_value().to_string()).or_insert(index);
            if first == index || self.is_full() {
                continue;
            }
            self.within(Step::Index(index), |checker| {
                let value = words::value(&item.kind);
                let message =
                    format!("`{}` is listed twice, first on line {}", shorten_value(&value), items[first].span.line);
                checker.report(Problem::new(item.span, SourceRule::NotUnique, message).with_found(&value));
            });
        }
    }

    /// Checks the length of a text, counted in characters, and its pattern.
    pub(super) fn check_text(&mut self, node: &Node, schema: &'s Schema) {
        let ValueKind::Text(text) = &node.kind else {
            return;
        };
        self.length(node, schema, text.chars().count(), ["minLength", "maxLength"], ["character", "characters"]);
        let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else {
            return;
        };
        if !self.pattern(pattern).is_some_and(|regex| regex.is_match(text)) {
            let message = format!("`{}` does not have the form of {}", shorten_value(text), self.subject());
            let note = words::description(schema);
            let note = note.unwrap_or_else(|| format!("must match `{pattern}`"));
            self.report(Problem::new(node.span, SourceRule::Pattern, message).with_found(text).with_note(note));
        }
    }

    fn length(&mut self, node: &Node, schema: &Schema, count: usize, limits: [&str; 2], unit: [&str; 2]) {
        let limit = |keyword| schema.get(keyword).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let [min, max] = limits.map(limit);
        let bound = match (min, max) {
            (Some(min), _) if count < min => ("at least", min),
            (_, Some(max)) if count > max => ("at most", max),
            _ => return,
        };
        let unit = if bound.1 == 1 { unit[0] } else { unit[1] };
        let message = format!("{} must have {} {} {unit}, found {count}", self.subject(), bound.0, bound.1);
        self.report(Problem::new(node.span, SourceRule::Length, message));
    }

    /// Checks an integer against the bounds of the schema.
    pub(super) fn check_number(&mut self, node: &Node, schema: &'s Schema) {
        let ValueKind::Int(number) = node.kind else {
            return;
        };
        let (min, max) = bounds(schema);
        let bound = match (min, max) {
            (Some(min), _) if number < min => format!("at least {min}"),
            (_, Some(max)) if number > max => format!("at most {max}"),
            _ => return,
        };
        self.report(self.out_of_range(node, &bound));
    }

    /// Holds every number of the tree to the one rule, also where the schema is silent.
    pub(super) fn numbers(&mut self, node: &Node) {
        if self.is_full() {
            return;
        }
        match &node.kind {
            ValueKind::Seq(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.within(Step::Index(index), |checker| checker.numbers(item));
                }
            }
            ValueKind::Map(entries) => {
                for (key, child) in entries {
                    self.within(Step::Key(key.text.clone()), |checker| checker.numbers(child));
                }
            }
            ValueKind::Int(number) if !(-MAX_INTEGER..=MAX_INTEGER).contains(number) => self.report(self.too_big(node)),
            ValueKind::Float(text) => self.report(self.no_integer(node, text)),
            _ => {}
        }
    }

    fn no_integer(&self, node: &Node, text: &str) -> Problem {
        let digits = text.trim_start_matches('-');
        if digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0') {
            return self.too_big(node);
        }
        let fraction = digits.bytes().next().is_some_and(|b| b != b'+') && digits.contains(['.', 'e', 'E']);
        let kind = if fraction && !digits.starts_with("0x") { "no fractions" } else { "only decimal digits" };
        let message = format!("{} must be a whole number, found `{}`: {kind}", self.subject(), shorten_value(text));
        Problem::new(node.span, SourceRule::WrongType, message).with_found(text)
    }

    fn too_big(&self, node: &Node) -> Problem {
        self.out_of_range(node, &format!("within ±{MAX_INTEGER}"))
    }

    fn out_of_range(&self, node: &Node, bound: &str) -> Problem {
        let value = words::value(&node.kind);
        let message = format!("{} must be {bound}, found {}", self.subject(), shorten_value(&value));
        Problem::new(node.span, SourceRule::OutOfRange, message).with_found(&value)
    }
}

/// Bounds of the schema. For 32-bit numbers schemars gives the width as `format` alone.
fn bounds(schema: &Schema) -> (Option<i64>, Option<i64>) {
    let limit = |keyword| schema.get(keyword).and_then(Value::as_i64);
    let (low, high) = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => (Some(i64::from(i32::MIN)), Some(i64::from(i32::MAX))),
        Some("uint32") => (Some(0), Some(i64::from(u32::MAX))),
        _ => (None, None),
    };
    (limit("minimum").max(low), [limit("maximum"), high].into_iter().flatten().min())
}
