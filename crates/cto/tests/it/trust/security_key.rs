//! A record signed by a security key, which the test plays: what a token would sign, to the byte.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::json;
use sha2::{Digest as _, Sha256, Sha512};

use super::scene::{NAMESPACE, RECORD, TrustScene, has_keygen};

pub(crate) const KIND: &[u8] = b"sk-ssh-ed25519@openssh.com";
const APPLICATION: &[u8] = b"ssh:";
const PRESENT: u8 = 1;

fn field(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

pub(crate) fn public(key: &SigningKey) -> Vec<u8> {
    [field(KIND), field(key.verifying_key().as_bytes()), field(APPLICATION)].concat()
}

/// Signs a record as its user touches the token.
fn sign(key: &SigningKey, message: &[u8]) -> String {
    sign_as_token(key, NAMESPACE, message, PRESENT)
}

/// Signs as `ssh-keygen -Y sign` has a token sign.
pub(crate) fn sign_as_token(key: &SigningKey, namespace: &str, message: &[u8], flags: u8) -> String {
    let head = [field(namespace.as_bytes()), field(b""), field(b"sha512")].concat();
    let envelope = [&b"SSHSIG"[..], &head, &field(&Sha512::digest(message))].concat();
    let trailer = [flags, 0, 0, 0, 7];
    let data = [&Sha256::digest(APPLICATION)[..], &trailer, &Sha256::digest(&envelope)[..]].concat();
    let signature = [field(KIND), field(&key.sign(&data).to_bytes()), trailer.to_vec()].concat();
    let blob = [&b"SSHSIG"[..], &1_u32.to_be_bytes(), &field(&public(key)), &head, &field(&signature)].concat();
    let text = STANDARD.encode(blob);
    let lines: Vec<&str> = text.as_bytes().chunks(70).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", lines.join("\n"))
}

#[test]
fn a_security_key_signs_records_like_any_other() {
    if !has_keygen("a_security_key_signs_records_like_any_other") {
        return;
    }
    let scene = TrustScene::new();
    let key = SigningKey::from_bytes(&[7; 32]);
    let line = format!("{} {} token", std::str::from_utf8(KIND).unwrap(), STANDARD.encode(public(&key)));
    let added = scene.cto(&["trust", "key", "add", &line, "--json"]).expect(0).json();
    assert_eq!(added["name"], "token");
    let record = fs::read(scene.world.here().join(RECORD)).unwrap();
    fs::write(scene.signature(), sign(&key, &record)).unwrap();
    assert!(scene.keygen_verifies("token"));
    let checked = scene.check();
    assert_eq!((&checked["signed_by"], &checked["usable"]), (&added["fingerprint"], &json!(true)), "{checked}");
    // A signature over other bytes holds for nobody.
    fs::write(scene.signature(), sign(&key, b"another record")).unwrap();
    assert!(!scene.keygen_verifies("token") && scene.check()["usable"] == false);
}
