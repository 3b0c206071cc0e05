//! Rewriting a bundle as somebody with a signing key could: whole, chained, indexed and signed, and still not true.

use std::fs;
use std::path::{Path, PathBuf};

use contract::{Digest, canonical_bytes};
use evidence::render::RenderSources;
use evidence::{HarnessKey, names, render};
use serde_json::{Value, json};

use crate::bundle::{files_of, resign};

/// A bundle that is being forged. Every edit leaves the report's index right; nothing is signed before [`Forger::sign`].
#[derive(Debug)]
pub struct Forger<'a> {
    pub bundle: PathBuf,
    key: &'a HarnessKey,
}

impl<'a> Forger<'a> {
    /// Tampers with a bundle, and can sign it again with a key.
    pub fn new(bundle: &Path, key: &'a HarnessKey) -> Self {
        Self { bundle: bundle.to_owned(), key }
    }

    /// Reads a JSON file of the bundle.
    pub fn read(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.bundle.join(name)).expect("a file")).expect("JSON")
    }

    /// Edits the report and renders `report.md` from it again.
    pub fn report(&self, edit: impl FnOnce(&mut Value)) {
        self.edit_report(|report| {
            edit(report);
            if let Ok(report) = serde_json::from_value(report.clone()) {
                let read = |name: &str| fs::read(self.bundle.join(name)).unwrap_or_default();
                let (contract, patch) = (read(names::CONTRACT), read(names::PATCH));
                let sources = RenderSources { contract: &contract, patch: &patch };
                fs::write(self.bundle.join(names::REPORT_MD), render::report_md(&report, &sources)).expect("written");
            }
            self.index(report);
        });
    }

    /// Edits the report and leaves all else as it is, but for the report's own digest.
    pub fn edit_report(&self, edit: impl FnOnce(&mut Value)) {
        let mut report = self.read(names::REPORT);
        edit(&mut report);
        report["artifact_digests"][names::REPORT] = json!("");
        let own = Digest::of_bytes(&canonical_bytes(&report).expect("canonical"));
        report["artifact_digests"][names::REPORT] = json!(own);
        self.put(names::REPORT, &canonical_bytes(&report).expect("canonical"));
    }

    /// Replaces a file.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        self.put(name, bytes);
        self.edit_report(|report| self.index(report));
    }

    /// Edits a JSON file that is not the report.
    pub fn json(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut value = self.read(name);
        edit(&mut value);
        self.write(name, &canonical_bytes(&value).expect("canonical"));
    }

    /// Edits the events and chains them again.
    pub fn events(&self, edit: impl FnOnce(&mut Vec<Value>)) {
        let text = fs::read_to_string(self.bundle.join(names::EVENTS)).expect("events");
        let mut events = text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
        edit(&mut events);
        let (mut prev, mut bytes) = (Digest::ZERO, Vec::new());
        for (seq, event) in events.iter_mut().enumerate() {
            event["seq"] = json!(seq);
            event["prev"] = json!(prev);
            let line = canonical_bytes(event).expect("canonical");
            prev = Digest::of_bytes(&line);
            bytes.extend(line);
            bytes.push(b'\n');
        }
        self.write(names::EVENTS, &bytes);
    }

    /// Signs what lies there now; head and count of the events are those of the file.
    pub fn sign(&self, edit: impl FnOnce(&mut Value)) {
        let events = fs::read(self.bundle.join(names::EVENTS)).expect("events");
        let lines: Vec<&[u8]> = events.strip_suffix(b"\n").unwrap_or(&events).split(|byte| *byte == b'\n').collect();
        let head = lines.last().map_or(Digest::ZERO, |line| Digest::of_bytes(line));
        resign(&self.bundle, self.key, |statement| {
            statement["predicate"]["events"] = json!({"count": lines.len(), "head": head});
            edit(statement);
        });
    }

    fn index(&self, report: &mut Value) {
        let listed = files_of(&self.bundle).into_iter().map(|name| name.to_str().expect("UTF-8").to_owned());
        let digests = listed.filter(|name| name != names::ATTESTATION).map(|name| {
            let digest = Digest::of_bytes(&fs::read(self.bundle.join(&name)).expect("a file"));
            (name, json!(digest))
        });
        report["artifact_digests"] = Value::Object(digests.collect());
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.bundle.join(name), bytes).expect("written");
    }
}
