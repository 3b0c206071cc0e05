//! One entry of the chain, and what its digest covers.

use contract::Digest;
use serde::Serialize;
use serde_json::Value;

use crate::kind::EntryKind;

/// A place in the chain. Recorded elsewhere (in a signed statement), it pins every entry up
/// to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    pub seq: u64,
    pub hash: Digest,
}

impl Position {
    /// The place before the first entry; its hash is what that carries as the one before it.
    pub const GENESIS: Self = Self { seq: 0, hash: Digest::ZERO };
}

/// Entry as it is stored. Its texts are not interpreted: a newer program, or a person with
/// an editor, may have written them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    pub seq: u64,
    pub time: String,
    pub kind: String,
    pub run_id: Option<String>,
    pub body: Value,
    pub prev: String,
    pub hash: String,
}

impl Entry {
    /// True if the entry is of this kind. Kinds are compared by name, since a ledger may
    /// hold kinds of a later version.
    pub fn is_kind(&self, kind: EntryKind) -> bool {
        self.kind == kind.name()
    }
}

/// The members that an entry's hash is taken over.
pub(crate) struct Hashed<'a> {
    pub(crate) seq: u64,
    pub(crate) time: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) run_id: Option<&'a str>,
    /// Canonical JSON.
    pub(crate) body: &'a str,
    pub(crate) prev: &'a str,
}

impl Hashed<'_> {
    /// Digest that chains the entry: SHA-256 over its canonical form.
    pub(crate) fn hash(&self) -> serde_json::Result<Digest> {
        Ok(Digest::of_bytes(self.canonical()?.as_bytes()))
    }

    /// The members in canonical order around a body that is canonical already: sorting it
    /// again would double the cost of checking a ledger.
    fn canonical(&self) -> serde_json::Result<String> {
        let Self { seq, body, .. } = self;
        let kind = serde_json::to_string(self.kind)?;
        let prev = serde_json::to_string(self.prev)?;
        let run_id = serde_json::to_string(&self.run_id)?;
        let time = serde_json::to_string(self.time)?;
        Ok(format!(r#"{{"body":{body},"kind":{kind},"prev":{prev},"run_id":{run_id},"seq":{seq},"time":{time}}}"#))
    }
}

/// An entry whose body has not been parsed: the stored bytes are what `verify` compares.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredEntry {
    pub(crate) entry: Entry,
    pub(crate) body: String,
}

impl StoredEntry {
    /// The part of the entry that its digest covers.
    pub(crate) fn hashed(&self) -> Hashed<'_> {
        let Entry { seq, time, kind, run_id, prev, .. } = &self.entry;
        Hashed { seq: *seq, time, kind, run_id: run_id.as_deref(), body: &self.body, prev }
    }

    /// Entry with its body parsed.
    pub(crate) fn parse_body(mut self) -> serde_json::Result<Entry> {
        self.entry.body = serde_json::from_str(&self.body)?;
        Ok(self.entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_hashed_is_canonical_whatever_the_strings_hold() {
        for odd in ["plain", "", "a\"b\\c/d", "\u{0}\u{1f}\u{7f}\u{8}\u{c}\n\r\t", "é \u{2028} \u{1F600} </script>"] {
            let body = json!({"z": odd, "a": [1.5, 1e21, {"y": null, "b": odd}]});
            let whole = json!({"seq": 7, "time": odd, "kind": odd, "run_id": odd, "body": body, "prev": odd});
            let body = serde_json_canonicalizer::to_string(&body).unwrap();
            let hashed = Hashed { seq: 7, time: odd, kind: odd, run_id: Some(odd), body: &body, prev: odd };
            assert_eq!(hashed.canonical().unwrap(), serde_json_canonicalizer::to_string(&whole).unwrap());
        }
    }
}
