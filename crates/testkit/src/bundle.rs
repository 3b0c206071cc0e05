//! Copies of bundles, to be tampered with.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::canonical_bytes;
use contract::statement::{Envelope, PAYLOAD_TYPE, Signature};
use evidence::HarnessKey;
use evidence::dsse::pre_authentication;
use serde_json::Value;

/// Copies a bundle, links and all.
pub fn copy_bundle(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a fresh directory");
    for entry in fs::read_dir(from).expect("a bundle").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_bundle(&entry.path(), &target)
        } else {
            fs::copy(entry.path(), &target).map(|_| ()).expect("a copy")
        }
    }
}

/// The relative names of a bundle's files, sorted.
pub fn files_of(bundle: &Path) -> Vec<PathBuf> {
    fn walk(root: &Path, dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).expect("a bundle").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(root, &path, found)
            } else {
                found.push(path.strip_prefix(root).expect("below").to_owned())
            }
        }
    }
    let mut found = Vec::new();
    walk(bundle, bundle, &mut found);
    found.sort();
    found
}

/// Signs an edited statement with a key, as a forger with that key would: `edit` gets the statement, subjects are recomputed.
pub fn resign(bundle: &Path, key: &HarnessKey, edit: impl FnOnce(&mut Value)) {
    let path = bundle.join("attestation.dsse.json");
    let envelope: Envelope = serde_json::from_slice(&fs::read(&path).expect("an attestation")).expect("an envelope");
    let mut statement: Value =
        serde_json::from_slice(&STANDARD.decode(&envelope.payload).expect("base64")).expect("a statement");
    let subjects = files_of(bundle).into_iter().filter(|name| name != Path::new("attestation.dsse.json")).map(|name| {
        let digest = contract::Digest::of_bytes(&fs::read(bundle.join(&name)).expect("a file"));
        serde_json::json!({"digest": {"sha256": digest}, "name": name.to_str().expect("UTF-8")})
    });
    statement["subject"] = subjects.collect();
    statement["predicate"]["key"] = key.public().key_id().into();
    edit(&mut statement);
    let payload = canonical_bytes(&statement).expect("canonical");
    let signature = Signature {
        keyid: key.public().key_id(),
        sig: STANDARD.encode(key.sign_message(&pre_authentication(PAYLOAD_TYPE, &payload))),
    };
    let envelope = Envelope {
        payload: STANDARD.encode(&payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![signature],
    };
    fs::write(path, canonical_bytes(&envelope).expect("canonical")).expect("written");
}
