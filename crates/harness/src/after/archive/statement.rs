//! Statements about a sealed run: who signed each, and that it is about this very bundle.
//! Those of a harness are envelopes; those of people lie beside their signatures.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::statement::{Envelope, PAYLOAD_TYPE, STATEMENT_TYPE};
use contract::{Digest, canonical_bytes};
use evidence::PublicKey;
use evidence::dsse::pre_authentication;
use serde_json::Value;

use super::said::{StatementFile, check_outcome, check_rollback, document_name, signature_name};

/// Checks every file among the statements about a run; gives the number of statements, or
/// the file that does not hold and why.
pub(super) fn check_all(
    files: &BTreeMap<String, Vec<u8>>,
    attestation: Digest,
    keys: &[PublicKey],
) -> Result<usize, (String, String)> {
    let mut count = 0;
    for (name, bytes) in files {
        let kind = StatementFile::of_name(name);
        let checked = check_file(files, name, bytes, attestation, keys);
        checked.map_err(|why| (name.clone(), why))?;
        count += usize::from(kind != Some(StatementFile::Signature));
    }
    Ok(count)
}

fn check_file(
    files: &BTreeMap<String, Vec<u8>>,
    name: &str,
    bytes: &[u8],
    attestation: Digest,
    keys: &[PublicKey],
) -> Result<(), String> {
    let armour = || files.get(&signature_name(name)).map(|bytes| String::from_utf8_lossy(bytes));
    match StatementFile::of_name(name) {
        Some(StatementFile::Envelope) => check_statement(bytes, attestation, keys),
        Some(StatementFile::Outcome) => check_outcome(bytes, armour().as_deref(), attestation),
        Some(StatementFile::Rollback) => check_rollback(bytes, armour().as_deref(), attestation),
        Some(StatementFile::Signature) if files.contains_key(document_name(name)) => Ok(()),
        Some(StatementFile::Signature) => Err("is a signature of nothing".to_owned()),
        None => Err("is no statement".to_owned()),
    }
}

/// Checks the bytes of a statement's file; says what does not hold. Kinds of statements
/// that are not known here pass: what they say is for others to judge.
pub(crate) fn check_statement(bytes: &[u8], attestation: Digest, keys: &[PublicKey]) -> Result<(), String> {
    let envelope: Envelope = serde_json::from_slice(bytes).map_err(|_| "is not a signed statement".to_owned())?;
    if canonical_bytes(&envelope).ok().as_deref() != Some(bytes) || envelope.payload_type != PAYLOAD_TYPE {
        return Err("is not in the form it was signed in".to_owned());
    }
    let [signature] = envelope.signatures.as_slice() else { return Err("does not have one signature".to_owned()) };
    let key = keys.iter().find(|key| key.key_id() == signature.keyid);
    let key = key.ok_or_else(|| format!("is signed by a key that is not trusted: {}", signature.keyid))?;
    let (Ok(payload), Ok(sig)) = (STANDARD.decode(&envelope.payload), STANDARD.decode(&signature.sig)) else {
        return Err("is not in the form it was signed in".to_owned());
    };
    if !key.verifies(&pre_authentication(PAYLOAD_TYPE, &payload), &sig) {
        return Err("has a signature that does not hold".to_owned());
    }
    let statement: Value = serde_json::from_slice(&payload).map_err(|_| "signs something else".to_owned())?;
    let about = &statement["subject"][0]["digest"]["sha256"];
    if statement["_type"] != STATEMENT_TYPE || *about != attestation.to_string() {
        return Err("is about another run".to_owned());
    }
    Ok(())
}
