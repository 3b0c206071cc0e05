//! Signatures as `ssh-keygen -Y sign` makes them (SSHSIG), by ed25519 keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256, Sha512};

use crate::key::PublicKey;

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
const MAGIC: &[u8] = b"SSHSIG";
const VERSION: u32 = 1;
const KEY_TYPE: &[u8] = b"ssh-ed25519";

/// Why a signature does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifySignatureError {
    /// Not an SSHSIG in its armour.
    #[error("it is no SSH signature")]
    Shape,
    /// Made by another kind of key than ed25519.
    #[error("it was made by a key that is not ed25519")]
    KeyType,
    /// Made for another purpose.
    #[error("it was made for another purpose")]
    Namespace,
    /// Of other bytes, or forged.
    #[error("it is not a signature of this file")]
    Signature,
}

/// Whose signature of a message this is, if it is one for this namespace. Whether that key may sign is not its matter.
pub fn verify_signature(armoured: &str, message: &[u8], namespace: &str) -> Result<PublicKey, VerifySignatureError> {
    use VerifySignatureError::{KeyType, Namespace, Shape, Signature};
    let blob = unarmoured(armoured).ok_or(Shape)?;
    let mut rest = blob.strip_prefix(MAGIC).ok_or(Shape)?;
    let version = rest.split_off(..4).ok_or(Shape)?;
    if version != VERSION.to_be_bytes() {
        return Err(Shape);
    }
    let [mut key, named, reserved, hash, mut signature] = fields(&mut rest).ok_or(Shape)?;
    if !rest.is_empty() {
        return Err(Shape);
    }
    let [key_type, key] = fields(&mut key).ok_or(Shape)?;
    let [made_by, signature] = fields(&mut signature).ok_or(Shape)?;
    if key_type != KEY_TYPE || made_by != KEY_TYPE {
        return Err(KeyType);
    }
    if named != namespace.as_bytes() {
        return Err(Namespace);
    }
    let digest = match hash {
        b"sha512" => Sha512::digest(message).to_vec(),
        b"sha256" => Sha256::digest(message).to_vec(),
        _ => return Err(Shape),
    };
    let signed = [MAGIC, &field(named), &field(reserved), &field(hash), &field(&digest)].concat();
    let key = PublicKey::from_raw(key).ok_or(Shape)?;
    if key.verifies(&signed, signature) { Ok(key) } else { Err(Signature) }
}

fn unarmoured(text: &str) -> Option<Vec<u8>> {
    let inside = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    let base64: String = inside.split_ascii_whitespace().collect();
    STANDARD.decode(base64).ok()
}

/// The next strings, each behind its length.
fn fields<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<[&'a [u8]; N]> {
    let mut found = [&[][..]; N];
    for place in &mut found {
        let length = rest.split_off(..4)?;
        let length = usize::try_from(u32::from_be_bytes(length.try_into().ok()?)).ok()?;
        *place = rest.split_off(..length)?;
    }
    Some(found)
}

fn field(bytes: &[u8]) -> Vec<u8> {
    // What is signed is never near four gigabytes: every part of it came out of such a field or is a digest.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made by `ssh-keygen -Y sign -n cto-record@v1` (OpenSSH 9.2) over MESSAGE with a key that was thrown away.
    const MESSAGE: &[u8] = b"a record\n";
    const KEY: &str = include_str!("../tests/sshsig/signer.pub");
    const GOOD: &str = include_str!("../tests/sshsig/record.sig");
    const SHA256: &str = include_str!("../tests/sshsig/record-sha256.sig");
    const ECDSA: &str = include_str!("../tests/sshsig/record-ecdsa.sig");

    #[test]
    fn what_ssh_keygen_signs_is_told() {
        let key = PublicKey::parse(KEY).unwrap();
        for armoured in [GOOD, SHA256] {
            assert_eq!(verify_signature(armoured, MESSAGE, "cto-record@v1"), Ok(key.clone()));
        }
    }

    #[test]
    fn what_does_not_hold_is_refused() {
        use VerifySignatureError::{KeyType, Namespace, Shape, Signature};
        let rows = [
            (GOOD.to_owned(), &b"another record\n"[..], "cto-record@v1", Signature),
            (GOOD.to_owned(), MESSAGE, "cto-approval@v1", Namespace),
            (ECDSA.to_owned(), MESSAGE, "cto-record@v1", KeyType),
            (String::new(), MESSAGE, "cto-record@v1", Shape),
            (GOOD.replace("SSH SIGNATURE", "PRIVATE KEY"), MESSAGE, "cto-record@v1", Shape),
            (format!("{GOOD}{GOOD}"), MESSAGE, "cto-record@v1", Shape),
        ];
        for (armoured, message, namespace, error) in rows {
            assert_eq!(verify_signature(&armoured, message, namespace), Err(error), "{armoured}");
        }
    }

    /// No byte of a signature can change without its being noticed, and none makes it panic.
    #[test]
    fn every_changed_or_cut_byte_is_noticed() {
        let blob = unarmoured(GOOD).unwrap();
        let armour = |blob: &[u8]| format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(blob));
        assert!(verify_signature(&armour(&blob), MESSAGE, "cto-record@v1").is_ok(), "the control");
        for at in 0..blob.len() {
            let mut changed = blob.clone();
            changed[at] ^= 1;
            assert!(verify_signature(&armour(&changed), MESSAGE, "cto-record@v1").is_err(), "byte {at}");
            assert!(verify_signature(&armour(&blob[..at]), MESSAGE, "cto-record@v1").is_err(), "cut at {at}");
        }
    }
}
