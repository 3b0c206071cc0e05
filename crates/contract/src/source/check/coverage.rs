//! Keeps the published and the enforced schema the same: names every keyword of a schema
//! that the checker would not enforce.

use serde_json::Value;

const ENFORCED: &[&str] = &[
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "required",
    "type",
    "uniqueItems",
];
const ANNOTATIONS: &[&str] =
    &["$defs", "$schema", "default", "deprecated", "description", "examples", "format", "title"];

/// Keywords that are not enforced, patterns that cannot be read and maps that accept
/// unknown keys, each as `pointer: what`. A published schema has none.
pub fn unenforced(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(schema, "#", &mut found);
    found
}

fn walk(schema: &Value, at: &str, found: &mut Vec<String>) {
    let Some(map) = schema.as_object() else {
        return;
    };
    let known = |word: &str| ENFORCED.contains(&word) || ANNOTATIONS.contains(&word) || word.starts_with("x-");
    found.extend(map.keys().filter(|word| !known(word)).map(|word| format!("{at}: `{word}` is not enforced")));
    if map.contains_key("properties") && !map.contains_key("additionalProperties") {
        found.push(format!("{at}: unknown keys are accepted"));
    }
    if map.get("pattern").and_then(Value::as_str).is_some_and(|pattern| regex_lite::Regex::new(pattern).is_err()) {
        found.push(format!("{at}: the pattern cannot be read"));
    }
    for (word, value) in map {
        match (word.as_str(), value) {
            ("properties" | "patternProperties" | "$defs", Value::Object(parts)) => {
                parts.iter().for_each(|(name, part)| walk(part, &format!("{at}/{word}/{name}"), found));
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                parts.iter().enumerate().for_each(|(index, part)| walk(part, &format!("{at}/{word}/{index}"), found));
            }
            ("items" | "additionalProperties", part) => walk(part, &format!("{at}/{word}"), found),
            _ => {}
        }
    }
}
