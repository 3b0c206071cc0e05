//! Texts with names in braces. What is no known name in its place is an error, so that a
//! slip of the pen is not a silent part of an agent's configuration.

use std::collections::BTreeMap;

/// Destination of a template text. Each destination permits its own set of names, so that a
/// secret cannot be put where others read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplatePlace {
    /// No names at all.
    Plain,
    Argument,
    Input,
    File,
    Variable,
}

/// Names that are permitted everywhere.
const COMMON: &[&str] = &["state", "home", "tree", "workspace", "task", "model", "provider", "base_url", "wire"];

impl TemplatePlace {
    fn allows(self, name: &str) -> bool {
        match self {
            Self::Plain => false,
            // A command line is seen by everybody, and a configuration file is kept.
            Self::Argument | Self::Input => COMMON.contains(&name) || name == "brief",
            Self::File => COMMON.contains(&name),
            Self::Variable => COMMON.contains(&name) || matches!(name, "token" | "path" | "bin"),
        }
    }
}

/// Replacement text of each name in braces.
pub type Values = BTreeMap<&'static str, String>;

/// Name without a value at its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{{{name}}}` {}", describe_lack(*.known))]
pub struct RenderError {
    name: String,
    known: bool,
}

fn describe_lack(known: bool) -> &'static str {
    if known { "has no value here" } else { "is not a name that can stand here" }
}

/// Puts values in the place of names.
pub fn render_text(text: &str, place: TemplatePlace, values: &Values) -> Result<String, RenderError> {
    let mut rendered = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => rendered.push_str(text),
            Piece::Name(name) if !place.allows(name) => {
                return Err(RenderError { name: name.to_owned(), known: false });
            }
            Piece::Name(name) => match values.get(name) {
                Some(value) => rendered.push_str(value),
                None => return Err(RenderError { name: name.to_owned(), known: true }),
            },
        }
    }
    Ok(rendered)
}

/// Names that have a value only if there is a model.
pub(super) const MODEL_NAMES: &[&str] = &["model", "provider", "base_url", "token", "wire"];

/// Names in a text, permitted or not.
pub(super) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Name(name) => Some(name),
        Piece::Text(_) => None,
    })
}

/// Fails unless every name in a text is permitted at the place.
pub(super) fn check_text(text: &str, place: TemplatePlace) -> Result<(), RenderError> {
    names_in(text)
        .find(|name| !place.allows(name))
        .map_or(Ok(()), |name| Err(RenderError { name: name.to_owned(), known: false }))
}

enum Piece<'t> {
    Text(&'t str),
    Name(&'t str),
}

/// Braces around lower-case letters are a name; all others are text, so that JSON can be
/// written as it is.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(open) = rest.get(from..).and_then(|rest| rest.find('{')).map(|at| at + from) {
        let inner = &rest[open + 1..];
        let end = inner.bytes().position(|byte| !(byte.is_ascii_lowercase() || byte == b'_'));
        match end {
            Some(end) if end > 0 && inner.as_bytes()[end] == b'}' => {
                pieces.push(Piece::Text(&rest[..open]));
                pieces.push(Piece::Name(&inner[..end]));
                rest = &inner[end + 1..];
                from = 0;
            }
            _ => from = open + 1,
        }
    }
    pieces.push(Piece::Text(rest));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_other_braces_stay() {
        let values = Values::from([("model", "m{state}".to_owned()), ("state", "/s".to_owned())]);
        let rows = [
            ("plain", Ok("plain")),
            ("{model}", Ok("m{state}")),
            ("{\"a\": {\"b\": \"{model}\"}, \"c\": {}}", Ok("{\"a\": {\"b\": \"m{state}\"}, \"c\": {}}")),
            ("{state}{state}", Ok("/s/s")),
            ("{{state}", Ok("{/s")),
            ("{ state }", Ok("{ state }")),
            ("{État}", Ok("{État}")),
            ("{stat", Ok("{stat")),
            ("{home}", Err("`{home}` has no value here")),
            ("{token}", Err("`{token}` is not a name that can stand here")),
            ("{x}", Err("`{x}` is not a name that can stand here")),
        ];
        for (text, expected) in rows {
            let rendered = render_text(text, TemplatePlace::File, &values).map_err(|error| error.to_string());
            assert_eq!(rendered.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
