//! A manifest of another host's extensions, edited as text: every byte that is not our
//! entry stays as it is.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The host reads no larger one.
pub(super) const LARGEST: usize = 64 << 10;

/// A text that is no manifest.
#[derive(Debug, thiserror::Error)]
pub(super) enum EditManifestError {
    #[error("it is not a manifest with a list `extensions`: {0}")]
    Shape(#[from] serde_json::Error),
    #[error("it would be larger than {LARGEST} bytes, which the host does not read")]
    Size,
}

#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow)]
    extensions: &'a RawValue,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

/// The list of extensions in a manifest: where it lies, and each entry with its id.
struct Listed {
    list: Range<usize>,
    entries: Vec<(String, Range<usize>)>,
}

fn read_list(text: &str) -> Result<Listed, EditManifestError> {
    let outer: Outer<'_> = serde_json::from_str(text)?;
    let list = place_of(text, outer.extensions.get());
    let raw: Vec<&RawValue> = serde_json::from_str(outer.extensions.get())?;
    let mut entries = Vec::new();
    for entry in raw {
        let named: Named = serde_json::from_str(entry.get())?;
        entries.push((named.id, place_of(text, entry.get())));
    }
    Ok(Listed { list, entries })
}

/// Place of a part that was borrowed from a text.
fn place_of(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

/// Ids of all extensions.
pub(super) fn list_ids(text: &str) -> Result<Vec<String>, EditManifestError> {
    Ok(read_list(text)?.entries.into_iter().map(|(id, _)| id).collect())
}

/// The text with our entry: in the place of an older one, else behind all others.
pub(super) fn put_entry(text: &str, id: &str, entry: &str) -> Result<String, EditManifestError> {
    let Listed { list, entries } = read_list(text)?;
    let (place, new) = match (entries.iter().find(|(known, _)| known == id), entries.last()) {
        (Some((_, place)), _) => (place.clone(), entry.to_owned()),
        (None, Some((_, last))) => (last.end..last.end, format!(",\n{entry}")),
        (None, None) => (list.start + 1..list.start + 1, entry.to_owned()),
    };
    let edited = splice(text, place, &new);
    if edited.len() > LARGEST { Err(EditManifestError::Size) } else { Ok(edited) }
}

/// The text without our entry; none where it has none.
pub(super) fn take_entry(text: &str, id: &str) -> Result<Option<String>, EditManifestError> {
    let entries = read_list(text)?.entries;
    let Some(at) = entries.iter().position(|(known, _)| known == id) else { return Ok(None) };
    let own = &entries[at].1;
    let place = match (at.checked_sub(1).map(|before| &entries[before].1), entries.get(at + 1)) {
        (Some(before), _) => before.end..own.end,
        (None, Some((_, next))) => own.start..next.start,
        (None, None) => own.clone(),
    };
    Ok(Some(splice(text, place, "")))
}

fn splice(text: &str, place: Range<usize>, new: &str) -> String {
    let mut edited = text.to_owned();
    edited.replace_range(place, new);
    edited
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: &str = "{ \"extensions\" : [\n  {\"id\":\"clock\",  \"scripts\": [\"a.js\"]}\n] }\n";
    const OURS: &str = r#"{"id":"cto-panel","name":"one"}"#;

    #[test]
    fn every_other_byte_stays() {
        for text in [OTHER, "{\"extensions\":[]}", "{\"x\": 1, \"extensions\": [ ], \"y\": [2]}"] {
            let with = put_entry(text, "cto-panel", OURS).unwrap();
            assert!(list_ids(&with).unwrap().contains(&"cto-panel".to_owned()), "{with}");
            assert_eq!(take_entry(&with, "cto-panel").unwrap().as_deref(), Some(text), "{with}");
            let again = put_entry(&with, "cto-panel", &OURS.replace("one", "two")).unwrap();
            assert_eq!(again, with.replace("one", "two"), "an older entry is replaced");
        }
        assert_eq!(take_entry(OTHER, "cto-panel").unwrap(), None);
    }

    #[test]
    fn an_entry_between_others_is_taken_out_alone() {
        let text = r#"{"extensions":[{"id":"a"},{"id":"cto-panel"},{"id":"b"}]}"#;
        assert_eq!(take_entry(text, "cto-panel").unwrap().unwrap(), r#"{"extensions":[{"id":"a"},{"id":"b"}]}"#);
        let text = r#"{"extensions":[{"id":"cto-panel"}, {"id":"b"}]}"#;
        assert_eq!(take_entry(text, "cto-panel").unwrap().unwrap(), r#"{"extensions":[{"id":"b"}]}"#);
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        for text in ["", "[]", "{}", "{\"extensions\":3}", "{\"extensions\":[{}]}", "{\"extensions\":[\"x\"]}"] {
            assert!(put_entry(text, "cto-panel", OURS).is_err(), "{text}");
        }
        let large = format!("{{\"x\":\"{}\",\"extensions\":[]}}", "x".repeat(LARGEST));
        assert!(matches!(put_entry(&large, "cto-panel", OURS), Err(EditManifestError::Size)));
    }
}
