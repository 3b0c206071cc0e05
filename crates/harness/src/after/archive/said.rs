//! Documents of people about a sealed run, as an archive carries them: an outcome or a
//! rollback, and the signature beside it.
//!
//! A signature has to hold and be by the key that the document names. That key's standing
//! is not judged: the reader who trusts the person judges it, and an imported run counts for
//! nothing here.

use contract::approval::{OutcomeSchema, OutcomeSource, OutcomeStatement, RollbackSchema, RollbackStatement};
use contract::{Digest, canonical_bytes};
use evidence::sshsig::verify_signature;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Begin the names of people's documents.
pub(crate) const SAID_BY_PEOPLE: [&str; 2] = ["outcome-", "rollback-"];
const SIGNATURE: &str = ".sig";

/// Kind of a file among the statements about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementFile {
    /// Signed by a harness key.
    Envelope,
    Outcome,
    Rollback,
    /// Signature of a person's document.
    Signature,
}

impl StatementFile {
    /// The kind of a file by its name; none where it is no statement.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let [outcome, rollback] = SAID_BY_PEOPLE;
        let document = name.strip_suffix(SIGNATURE).unwrap_or(name);
        let kind = match () {
            () if name.ends_with(".dsse.json") => return Some(Self::Envelope),
            () if document.starts_with(outcome) => Self::Outcome,
            () if document.starts_with(rollback) => Self::Rollback,
            () => return None,
        };
        let is_signature = document.len() < name.len();
        document.ends_with(".json").then_some(if is_signature { Self::Signature } else { kind })
    }
}

/// Name of the signature of a document.
pub(super) fn signature_name(document: &str) -> String {
    format!("{document}{SIGNATURE}")
}

/// Name of the document that a signature is of.
pub(super) fn document_name(signature: &str) -> &str {
    signature.strip_suffix(SIGNATURE).unwrap_or(signature)
}

/// Checks an outcome; says what does not hold.
pub(super) fn check_outcome(bytes: &[u8], armour: Option<&str>, attestation: Digest) -> Result<(), String> {
    let outcome: OutcomeStatement = read_document(bytes)?;
    match (armour, outcome.source) {
        (Some(_), OutcomeSource::Operator) | (None, OutcomeSource::Environment) => {}
        (Some(_), OutcomeSource::Environment) => return Err("says that nobody signs it, and is signed".to_owned()),
        (None, OutcomeSource::Operator) => return Err("has no signature".to_owned()),
    }
    check_subject(outcome.attestation_sha256, attestation)?;
    match armour {
        Some(armour) => check_key(bytes, armour, OutcomeSchema::NAMESPACE, outcome.key_fingerprint.as_deref()),
        None => Ok(()),
    }
}

/// Checks a rollback, which is always signed; says what does not hold.
pub(super) fn check_rollback(bytes: &[u8], armour: Option<&str>, attestation: Digest) -> Result<(), String> {
    let rollback: RollbackStatement = read_document(bytes)?;
    check_subject(rollback.attestation_sha256, attestation)?;
    let armour = armour.ok_or("has no signature")?;
    check_key(bytes, armour, RollbackSchema::NAMESPACE, Some(&rollback.key_fingerprint))
}

fn read_document<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<T, String> {
    let document: T = serde_json::from_slice(bytes).map_err(|error| format!("cannot be read: {error}"))?;
    match canonical_bytes(&document).is_ok_and(|again| again == bytes) {
        true => Ok(document),
        false => Err("is not in the form it was signed in".to_owned()),
    }
}

fn check_subject(found: Digest, expected: Digest) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err("is about another run".to_owned()) }
}

fn check_key(bytes: &[u8], armour: &str, namespace: &str, named: Option<&str>) -> Result<(), String> {
    let signature = verify_signature(armour, bytes, namespace)
        .map_err(|error| format!("has a signature that does not hold: {error}"))?;
    match named == Some(signature.fingerprint().as_str()) {
        true => Ok(()),
        false => Err("is signed by another key than it names".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        use StatementFile::{Envelope, Outcome, Rollback, Signature};
        for (name, expected) in [
            ("x.dsse.json", Some(Envelope)),
            ("outcome-1.json", Some(Outcome)),
            ("outcome-1.json.sig", Some(Signature)),
            ("rollback-1.json", Some(Rollback)),
            ("rollback-1.json.sig", Some(Signature)),
            ("outcome-1.json.sig.sig", None),
            ("outcome-1.sig", None),
            ("other-1.json", None),
            ("x.dsse.json.sig", None),
        ] {
            assert_eq!(StatementFile::of_name(name), expected, "{name}");
        }
    }
}
