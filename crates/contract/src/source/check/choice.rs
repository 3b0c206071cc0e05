//! Values from a closed list, and schemas of which one must fit.

use serde_json::Value;

use super::object::property;
use super::{Checker, Schema, Step, array, words};
use crate::source::node::{Node, ValueKind};
use crate::source::problem::{Problem, SourceRule, shorten_value};

/// The closed list of a schema: `enum`, `const`, or alternatives that are nothing but these.
pub(super) fn choices(schema: &Schema) -> Option<Vec<&Value>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().collect());
    }
    if let Some(value) = schema.get("const") {
        return Some(vec![value]);
    }
    let branches = [array(schema, "oneOf"), array(schema, "anyOf")].into_iter().find(|list| !list.is_empty())?;
    let lists: Option<Vec<_>> = branches.iter().map(|branch| choices(branch.as_object()?)).collect();
    Some(lists?.concat())
}

impl<'s> Checker<'s> {
    /// Checks a value against a closed list; reports the closest entry as a suggestion.
    pub(super) fn choice(&mut self, node: &Node, noun: Option<String>, choices: &[&'s Value]) {
        if matches!(node.kind, ValueKind::Float(_)) || choices.contains(&&node.to_value()) {
            return;
        }
        let types: Vec<&str> = choices.iter().map(|choice| value_type(choice)).collect();
        if !words::fits_types(&node.kind, &types) {
            let wrong = self.wrong_type(node, &types);
            return self.report(wrong.with_note(words::one_of(choices)));
        }
        let value = words::value(&node.kind);
        let message = match (choices, noun) {
            ([only], _) => format!("{} must be `{}`", self.subject(), words::choice_word(only)),
            (_, Some(noun)) => format!("`{}` is not {noun}", shorten_value(&value)),
            (_, None) => format!("`{}` is not one of the values of {}", shorten_value(&value), self.list_name()),
        };
        let suggestion = words::closest(&value, choices.iter().filter_map(|choice| choice.as_str()));
        let refused =
            Problem::new(node.span, SourceRule::NotAllowed, message).with_found(&value).with_suggestion(suggestion);
        let note = (choices.len() > 1).then(|| words::one_of(choices));
        self.report(Problem { note, ..refused });
    }

    /// A value in a list belongs to the list as a whole.
    fn list_name(&self) -> String {
        match self.path.as_slice() {
            [.., Step::Key(key), Step::Index(_)] => format!("`{}`", shorten_value(key)),
            _ => self.subject(),
        }
    }

    /// Checks a value against `anyOf` or `oneOf`. Branches whose type cannot fit are left
    /// out first, so that a report is about the branch that was meant.
    pub(super) fn branches(&mut self, node: &Node, branches: &'s [Value], exactly_one: bool) {
        if branches.is_empty() {
            return;
        }
        let typed: Vec<&'s Value> = branches.iter().filter(|branch| self.may_fit(node, branch)).collect();
        if typed.is_empty() {
            let types: Vec<&str> = branches.iter().flat_map(|branch| self.types(branch)).collect();
            return self.report(self.wrong_type(node, &types));
        }
        if self.tagged(node, &typed) || self.keyed(node, &typed) {
            return;
        }
        let mut tried: Vec<Vec<Problem>> = typed.into_iter().map(|branch| self.tried(node, branch)).collect();
        match tried.iter().filter(|problems| problems.is_empty()).count() {
            0 => tried.sort_by_key(|problems| (problems.len(), problems.iter().all(|p| p.suggestion.is_none()))),
            1 => return,
            _ if !exactly_one => return,
            _ => return self.report(self.ambiguous(node)),
        }
        for problem in tried.into_iter().next().unwrap_or_default() {
            self.report(problem);
        }
    }

    fn ambiguous(&self, node: &Node) -> Problem {
        Problem::new(node.span, SourceRule::Invalid, format!("{} can be read in more than one way", self.subject()))
    }

    /// Alternatives that one key tells apart: that key decides. False if there is no such key.
    fn tagged(&mut self, node: &Node, branches: &[&'s Value]) -> bool {
        let branches: Vec<&'s Schema> = branches.iter().filter_map(|branch| self.resolved(branch)).collect();
        let (Some(first), true) = (branches.first(), branches.len() > 1) else {
            return false;
        };
        let Some((tag, values)) = tag(first, &branches) else {
            return false;
        };
        let Some(given) = node.get_child(tag) else {
            let missing = Problem::new(node.span, SourceRule::MissingKey, format!("`{tag}` is missing"));
            let missing = missing.with_note(words::one_of(&values));
            self.within(Step::Key(tag.to_owned()), |checker| checker.report(missing));
            return true;
        };
        match branches.iter().zip(&values).find(|(_, value)| given.to_value() == ***value) {
            Some((branch, _)) => self.keywords(node, branch),
            None => self.within(Step::Key(tag.to_owned()), |checker| checker.choice(given, None, &values)),
        }
        true
    }

    /// Alternatives of one key each: the key that is given decides. False if they are not such.
    fn keyed(&mut self, node: &Node, branches: &[&'s Value]) -> bool {
        let branches: Vec<&'s Schema> = branches.iter().filter_map(|branch| self.resolved(branch)).collect();
        let names: Option<Vec<&'s str>> = branches.iter().map(|branch| only_key(branch)).collect();
        let (ValueKind::Map(entries), Some(names), true) = (&node.kind, names, branches.len() > 1) else {
            return false;
        };
        let note = format!("one of: {}", names.join(", "));
        let [(key, _)] = entries.as_slice() else {
            let message = format!("{} must have exactly one key, found {}", self.subject(), entries.len());
            self.report(Problem::new(node.span, SourceRule::Invalid, message).with_note(note));
            return true;
        };
        if let Some(at) = names.iter().position(|name| *name == key.text) {
            self.keywords(node, branches[at]);
            return true;
        }
        let close = words::closest(&key.text, names);
        let unknown =
            Problem::new(key.span, SourceRule::UnknownKey, format!("unknown key `{}`", shorten_value(&key.text)));
        let unknown = Problem { note: close.is_none().then_some(note), ..unknown.with_suggestion(close) };
        self.within(Step::Key(key.text.clone()), |checker| checker.report(unknown));
        true
    }

    fn resolved(&self, schema: &'s Value) -> Option<&'s Schema> {
        let schema = schema.as_object()?;
        self.target(schema).and_then(Value::as_object).or(Some(schema))
    }

    fn may_fit(&self, node: &Node, schema: &'s Value) -> bool {
        let types = self.types(schema);
        types.is_empty() || words::fits_types(&node.kind, &types)
    }

    /// The types a branch can have; none named means any.
    fn types(&self, schema: &'s Value) -> Vec<&'s str> {
        let Some(schema) = self.resolved(schema) else {
            return Vec::new();
        };
        if let Some(choices) = choices(schema) {
            return choices.into_iter().map(value_type).collect();
        }
        words::named_types(schema)
    }
}

/// The key that every alternative fixes to a value of its own, with those values.
fn tag<'s>(first: &'s Schema, branches: &[&'s Schema]) -> Option<(&'s str, Vec<&'s Value>)> {
    let names = first.get("properties")?.as_object()?.keys();
    names.into_iter().find_map(|name| {
        let values = branches.iter().map(|branch| property(branch, name)?.get("const"));
        Some((name.as_str(), values.collect::<Option<Vec<_>>>()?))
    })
}

/// The key of a map that has exactly this one.
fn only_key(schema: &Schema) -> Option<&str> {
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    match array(schema, "required") {
        [Value::String(name)] if closed && schema.get("properties")?.as_object()?.len() == 1 => Some(name),
        _ => None,
    }
}

fn value_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
