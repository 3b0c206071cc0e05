//! DSSE: the signed envelope around the in-toto statement. One signature, exact bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::canonical_bytes;
use contract::statement::{Envelope, PAYLOAD_TYPE, Signature};
use serde::Serialize;

use crate::key::{HarnessKey, PublicKey};

/// The bytes that are signed: DSSE's pre-authentication encoding.
pub fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Signs a statement; the result is the exact content of its file.
pub fn sign_statement(statement: &impl Serialize, key: &HarnessKey) -> Result<Vec<u8>, serde_json::Error> {
    let payload = canonical_bytes(statement)?;
    let signature = key.sign_message(&pre_authentication(PAYLOAD_TYPE, &payload));
    canonical_bytes(&Envelope {
        payload: STANDARD.encode(&payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![Signature { keyid: key.public().key_id(), sig: STANDARD.encode(signature) }],
    })
}

/// Payload of an envelope with one signature, if that is by this key.
pub fn open_statement(envelope: &[u8], key: &PublicKey) -> Option<Vec<u8>> {
    let envelope: Envelope = serde_json::from_slice(envelope).ok()?;
    let [signature] = envelope.signatures.as_slice() else { return None };
    let (payload, bytes) = (STANDARD.decode(&envelope.payload).ok()?, STANDARD.decode(&signature.sig).ok()?);
    key.verifies(&pre_authentication(&envelope.payload_type, &payload), &bytes).then_some(payload)
}
