//! Every kind of key that ssh-keygen makes without hardware.

use contract::signer::SignerKeyKind;
use evidence::signer_key::{ReadSignerKeyError, SignerKey};
use evidence::sshsig::{VerifySignatureError, verify_signature};

use crate::keygen::{KeyRing, MESSAGE, NAMESPACE, has_keygen};

const KINDS: &[(&[&str], SignerKeyKind)] = &[
    (&["-t", "ed25519"], SignerKeyKind::Ed25519),
    (&["-t", "ecdsa", "-b", "256"], SignerKeyKind::EcdsaP256),
    (&["-t", "ecdsa", "-b", "384"], SignerKeyKind::EcdsaP384),
    (&["-t", "ecdsa", "-b", "521"], SignerKeyKind::EcdsaP521),
    (&["-t", "rsa", "-b", "3072"], SignerKeyKind::Rsa),
];

/// Both say the same of a signature as it is, of another message, and of a signature by another key.
#[test]
fn signatures_of_ssh_keygen_hold_for_both_or_for_neither() {
    if !has_keygen("signatures_of_ssh_keygen_hold_for_both_or_for_neither") {
        return;
    }
    let ring = KeyRing::new();
    for (at, (arguments, kind)) in KINDS.iter().enumerate() {
        let name = format!("key-{at}");
        let key = SignerKey::parse_line(&ring.make_key(&name, arguments)).unwrap();
        assert_eq!(key.kind(), *kind);
        for options in [&["-O", "hashalg=sha512"], &["-O", "hashalg=sha256"]] {
            let signature = ring.sign(&name, options, MESSAGE);
            let found = verify_signature(&signature, MESSAGE, NAMESPACE).unwrap();
            assert_eq!((found.key(), found.presence()), (&key, None), "{kind} {options:?}");
            assert!(ring.accepts(&key, &signature, MESSAGE), "{kind} {options:?}");
            let other = verify_signature(&signature, b"{\"schema\":\"2\"}", NAMESPACE);
            assert_eq!(other, Err(VerifySignatureError::Signature), "{kind} {options:?}");
            assert!(!ring.accepts(&key, &signature, b"{\"schema\":\"2\"}"), "{kind} {options:?}");
            let purpose = verify_signature(&signature, MESSAGE, "cto-record@v1");
            assert_eq!(purpose, Err(VerifySignatureError::Namespace), "{kind} {options:?}");
        }
    }
}

/// ssh-keygen takes all of these, and none counts for us.
#[test]
fn short_rsa_keys_and_certificates_do_not_count() {
    if !has_keygen("short_rsa_keys_and_certificates_do_not_count") {
        return;
    }
    let ring = KeyRing::new();
    let at = "verify-time=20260301Z";
    for bits in [2048, 3064] {
        let name = format!("rsa-{bits}");
        let line = ring.make_key(&name, &["-t", "rsa", "-b", &bits.to_string()]);
        let signature = ring.sign(&name, &[], MESSAGE);
        let short = ReadSignerKeyError::RsaBits { bits };
        assert_eq!(SignerKey::parse_line(&line), Err(short));
        assert_eq!(verify_signature(&signature, MESSAGE, NAMESPACE), Err(short.into()));
        assert!(ring.accepts_line(&format!("me {line}"), &signature, MESSAGE, at), "the control");
    }
    let authority = ring.make_key("authority", &["-t", "ed25519"]);
    ring.make_key("key", &["-t", "ed25519"]);
    let certificate = ring.certify("authority", "key");
    let signature = ring.sign("key-cert.pub", &[], MESSAGE);
    assert_eq!(SignerKey::parse_line(&certificate), Err(ReadSignerKeyError::Kind));
    assert_eq!(verify_signature(&signature, MESSAGE, NAMESPACE), Err(ReadSignerKeyError::Kind.into()));
    let line = format!("me cert-authority {authority}");
    assert!(ring.accepts_line(&line, &signature, MESSAGE, at), "the control");
}
