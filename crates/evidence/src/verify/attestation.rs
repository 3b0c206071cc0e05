//! The envelope: exact bytes, one signature, a key the caller trusts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::statement::{Envelope, PAYLOAD_TYPE, STATEMENT_TYPE, Statement};
use contract::{from_json, is_canonical};

use super::checks::Checks;
use super::files::Tree;
use crate::dsse::pre_authentication;
use crate::key::PublicKey;
use crate::names::ATTESTATION as FILE;

/// A statement whose signature holds.
pub(super) struct Signed {
    pub(super) statement: Statement,
    /// Fingerprint of the trusted key that made the signature.
    pub(super) key_id: String,
}

/// Gives the statement only when the signature is by a trusted key.
pub(super) fn check_attestation(tree: &Tree, keys: &[PublicKey], checks: &mut Checks) -> Option<Signed> {
    let bytes = tree.content(FILE)?;
    let envelope: Envelope = match from_json(bytes) {
        Ok(envelope) => envelope,
        Err(error) => {
            checks.count_check(false, FILE, "envelope", "a DSSE envelope", error);
            return None;
        }
    };
    // It has no field that is not ours, so its canonical bytes are all there is of it.
    if !checks.count_check(is_canonical(bytes), FILE, "envelope", "RFC 8785 bytes", "other bytes") {
        return None;
    }
    checks.check_same(FILE, "payload_type", PAYLOAD_TYPE, envelope.payload_type.as_str());
    let [signature] = envelope.signatures.as_slice() else {
        checks.count_check(false, FILE, "signature_count", 1, envelope.signatures.len());
        return None;
    };
    let Some(key) = keys.iter().find(|key| key.key_id() == signature.keyid) else {
        let expected = if keys.is_empty() { "a key to check with (--key FILE)".to_owned() } else { known(keys) };
        checks.count_check(false, FILE, "signer", expected, &signature.keyid);
        return None;
    };
    let (Some(payload), Some(sig)) = (decode(&envelope.payload), decode(&signature.sig)) else {
        checks.count_check(false, FILE, "base64", "canonical base64", "other text");
        return None;
    };
    let holds = key.verifies(&pre_authentication(&envelope.payload_type, &payload), &sig);
    if !checks.count_check(holds, FILE, "signature", "a valid ed25519 signature", "an invalid one") {
        return None;
    }
    let statement = read_statement(&payload, checks)?;
    checks.check_same(FILE, "key", key.key_id(), statement.predicate.key.clone());
    Some(Signed { statement, key_id: key.key_id() })
}

fn known(keys: &[PublicKey]) -> String {
    keys.iter().map(PublicKey::key_id).collect::<Vec<_>>().join(", ")
}

/// Base64 has more than one text for the same bytes; only the one we write is accepted,
/// with padding and without spare bits.
fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

fn read_statement(payload: &[u8], checks: &mut Checks) -> Option<Statement> {
    let statement: Statement = match from_json(payload) {
        Ok(statement) => statement,
        Err(error) => {
            checks.count_check(false, FILE, "statement", "an in-toto statement of a run", error);
            return None;
        }
    };
    checks.count_check(is_canonical(payload), FILE, "statement", "RFC 8785 bytes", "other bytes");
    checks.check_same(FILE, "statement_type", STATEMENT_TYPE, statement.kind.as_str());
    checks.check_same(FILE, "predicate_type", statement.predicate.predicate_type(), statement.predicate_type.as_str());
    Some(statement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_text_stands_for_the_same_bytes() {
        assert_eq!(decode("TQ==").as_deref(), Some(&b"M"[..]));
        for other in ["TQ", "TQ=", "TR==", "TQ===", "TQ==\n", " TQ==", "T Q==", "TWE", "TWF=", "TQ==TQ==", "T_=="] {
            assert_eq!(decode(other), None, "{other:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_read_is_written_the_same(text in "[A-Za-z0-9+/=]{0,24}") {
            if let Some(bytes) = decode(&text) {
                proptest::prop_assert_eq!(STANDARD.encode(bytes), text);
            }
        }
    }
}
