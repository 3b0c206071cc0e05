//! The mark that a draft leaves where a person has to decide. It is the same in every kind
//! of record, and a record that still has one counts for nothing.

use serde_json::Value;

/// Begins every placeholder.
const MARK: &str = "<FILL IN";

/// Text that stands where only a person knows what to write.
pub fn placeholder(what: &str) -> String {
    format!("{MARK}: {what}>")
}

/// True if a text still holds a placeholder.
pub fn holds_placeholder(text: &str) -> bool {
    text.to_ascii_uppercase().contains(MARK)
}

/// Path of the first member whose text still holds a placeholder.
pub fn find_placeholder(document: &Value) -> Option<String> {
    let below = |name: String, value: &Value| {
        find_placeholder(value).map(|path| if path.is_empty() { name.clone() } else { format!("{name}.{path}") })
    };
    match document {
        Value::String(text) => holds_placeholder(text).then(String::new),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| below(index.to_string(), item)),
        Value::Object(members) => members.iter().find_map(|(name, value)| below(name.clone(), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_placeholder_is_found_wherever_it_stands() {
        let left = placeholder("who approves");
        let rows = [
            (json!({"a": left}), Some("a")),
            (json!({"a": format!("MIT; {left}")}), Some("a")),
            (json!({"a": [{"b": "x"}, {"b": left.to_lowercase()}]}), Some("a.1.b")),
            (json!({"a": "<FILL IN: cut off"}), Some("a")),
            (json!({"a": "the operator fills in the form", "n": 1, "none": null}), None),
        ];
        for (document, expected) in rows {
            assert_eq!(find_placeholder(&document).as_deref(), expected, "{document}");
        }
    }
}
