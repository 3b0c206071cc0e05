//! Signatures that were made by hand or kept as files; `tests/it` holds them beside the real ssh-keygen.

use super::*;

// Made by `ssh-keygen -Y sign -n cto-record@v1` (OpenSSH 9.2) over MESSAGE with a key that nobody has.
const MESSAGE: &[u8] = b"a record\n";
const NAMESPACE: &str = "cto-record@v1";
const KEY: &str = include_str!("../../tests/sshsig/signer.pub");
const GOOD: &str = include_str!("../../tests/sshsig/record.sig");
const SHA256: &str = include_str!("../../tests/sshsig/record-sha256.sig");
const ECDSA: &str = include_str!("../../tests/sshsig/record-ecdsa.sig");

#[test]
fn a_signature_names_its_key() {
    let key = SignerKey::parse_line(KEY).unwrap();
    for armoured in [GOOD, SHA256] {
        let found = verify_signature(armoured, MESSAGE, NAMESPACE).unwrap();
        assert_eq!((found.key(), found.presence()), (&key, None));
        let fact = found.into_fact(SignerStanding::Allowed);
        assert_eq!((fact.key_fingerprint, fact.key_kind), (key.fingerprint(), SignerKeyKind::Ed25519));
    }
    assert_eq!(verify_signature(ECDSA, MESSAGE, NAMESPACE).unwrap().kind(), SignerKeyKind::EcdsaP256);
}

#[test]
fn a_signature_that_does_not_hold_is_refused() {
    use VerifySignatureError::{Namespace, Shape, Signature};
    let rows = [
        (GOOD.to_owned(), &b"another record\n"[..], NAMESPACE, Signature),
        (ECDSA.to_owned(), &b"another record\n"[..], NAMESPACE, Signature),
        (GOOD.to_owned(), MESSAGE, "cto-approval@v1", Namespace),
        (String::new(), MESSAGE, NAMESPACE, Shape),
        (GOOD.replace("SSH SIGNATURE", "PRIVATE KEY"), MESSAGE, NAMESPACE, Shape),
        (format!("{GOOD}{GOOD}"), MESSAGE, NAMESPACE, Shape),
    ];
    for (armoured, message, namespace, error) in rows {
        assert_eq!(verify_signature(&armoured, message, namespace), Err(error), "{armoured}");
    }
}

/// No byte of a signature can change, none can be cut off or added without its being noticed, and none makes it panic.
#[test]
fn every_changed_byte_is_noticed() {
    let armour = |blob: &[u8]| format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(blob));
    for good in [GOOD, ECDSA] {
        let blob = remove_armour(good).unwrap();
        let holds = |blob: &[u8]| verify_signature(&armour(blob), MESSAGE, NAMESPACE).is_ok();
        assert!(holds(&blob), "the control");
        assert!(!holds(&[&blob[..], b"\0"].concat()), "a byte behind it");
        for at in 0..blob.len() {
            let mut changed = blob.clone();
            changed[at] ^= 1;
            assert!(!holds(&changed), "byte {at}");
            assert!(!holds(&blob[..at]), "cut at {at}");
        }
    }
}
