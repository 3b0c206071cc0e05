//! Words for types, values and near misses in problem messages.

use serde_json::Value;

use super::Schema;
use crate::source::node::ValueKind;
use crate::source::problem::shorten_value;

const NOUN_CHARS: usize = 40;
/// A longer word is not a slip of the pen.
const GUESSED_CHARS: usize = 64;

/// Types that the schema permits; empty if it names none.
pub(super) fn named_types(schema: &Schema) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// True if the value has one of the types. An integer also fits `number`.
pub(super) fn fits_types(kind: &ValueKind, types: &[&str]) -> bool {
    types.iter().any(|name| *name == type_name(kind) || (*name == "number" && type_name(kind) == "integer"))
}

/// JSON Schema name of the value's type. Floats count as integers here; a separate rule
/// refuses them.
pub(super) fn type_name(kind: &ValueKind) -> &'static str {
    match kind {
        ValueKind::Null => "null",
        ValueKind::Bool(_) => "boolean",
        ValueKind::Int(_) | ValueKind::Float(_) => "integer",
        ValueKind::Text(_) => "string",
        ValueKind::Seq(_) => "array",
        ValueKind::Map(_) => "object",
    }
}

/// Permitted types in plain words, without duplicates.
pub(super) fn expected(types: &[&str]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for name in types {
        let word = match *name {
            "string" => "text",
            "integer" | "number" => "a number",
            "boolean" => "true or false",
            "array" => "a list",
            "object" => "a map",
            _ => continue,
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() { "empty".to_owned() } else { words.join(" or ") }
}

/// Value in plain words: for booleans the value, for all others the type.
pub(super) fn found(kind: &ValueKind) -> &'static str {
    match kind {
        ValueKind::Null => "nothing",
        ValueKind::Bool(true) => "true",
        ValueKind::Bool(false) => "false",
        ValueKind::Int(_) | ValueKind::Float(_) => "a number",
        ValueKind::Text(_) => "text",
        ValueKind::Seq(_) => "a list",
        ValueKind::Map(_) => "a map",
    }
}

/// Value as the person wrote it, for the message; lists and maps by their type.
pub(super) fn value(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Int(number) => number.to_string(),
        ValueKind::Float(text) | ValueKind::Text(text) => text.clone(),
        ValueKind::Null => "null".to_owned(),
        other => found(other).to_owned(),
    }
}

/// Advice for a value that only its quotes make wrong.
pub(super) fn type_note(kind: &ValueKind, types: &[&str]) -> Option<&'static str> {
    match kind {
        ValueKind::Bool(_) | ValueKind::Int(_) | ValueKind::Float(_) if types.contains(&"string") => {
            Some("put it in quotes to make it text")
        }
        ValueKind::Text(text) if types.contains(&"integer") && text.parse::<i64>().is_ok() => {
            Some("take the quotes away")
        }
        _ => None,
    }
}

/// The values a schema lists, as a person would write them.
pub(super) fn one_of(choices: &[&Value]) -> String {
    let names = choices.iter().filter(|choice| !choice.is_null()).map(|choice| choice_word(choice));
    format!("one of: {}", names.collect::<Vec<_>>().join(", "))
}

/// Entry of a closed list as a person would write it, with control characters neutralised.
pub(super) fn choice_word(choice: &Value) -> String {
    choice.as_str().map_or_else(|| choice.to_string(), shorten_value)
}

/// Name of one value of this schema, with its article; none if the schema has no short
/// name.
pub(super) fn noun(schema: &Schema) -> Option<String> {
    let short = |text: &str| text.chars().count() <= NOUN_CHARS && !text.contains(['\n', '.', ',', ':', ';']);
    if let Some(title) = text_of(schema, "title").filter(|title| short(title)) {
        let article = if title.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
        return Some(format!("{article} {title}"));
    }
    let description = text_of(schema, "description")?.trim_end_matches('.');
    let (article, rest) = description.split_once(' ').filter(|_| short(description))?;
    matches!(article, "A" | "An" | "The").then(|| format!("{} {rest}", article.to_lowercase()))
}

/// The first paragraph of the schema's description.
pub(super) fn description(schema: &Schema) -> Option<String> {
    let paragraph = text_of(schema, "description")?.split("\n\n").next()?;
    Some(paragraph.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

fn text_of<'s>(schema: &'s Schema, keyword: &str) -> Option<&'s str> {
    schema.get(keyword).and_then(Value::as_str)
}

/// The candidate that `word` was most likely meant to be, if one is close.
pub(super) fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = word.chars().take(GUESSED_CHARS + 1).count();
    if !(3..=GUESSED_CHARS).contains(&length) {
        return None;
    }
    let word = folded(word);
    let distances = candidates.into_iter().map(|name| (strsim::damerau_levenshtein(&word, &folded(name)), name));
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= (length / 3).max(1)).then_some(name)
}

fn folded(word: &str) -> String {
    word.to_lowercase().replace(['-', ' '], "_")
}
