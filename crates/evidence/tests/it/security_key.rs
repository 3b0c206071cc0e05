//! Signatures of security keys, made in software: what a token would sign, to the byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::signer::{SignerKeyKind, SignerStanding, UserPresence};
use ed25519_dalek::{Signer as _, SigningKey};
use evidence::signer_key::SignerKey;
use evidence::sshsig::{SshSignature, VerifySignatureError, verify_signature};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256, Sha512};

use crate::keygen::{KeyRing, MESSAGE, NAMESPACE, has_keygen};

const APPLICATION: &str = "ssh:";

fn field(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

/// A number as SSH writes one: no zeros before it but the one that keeps it positive.
fn number(digits: &[u8]) -> Vec<u8> {
    let start = digits.iter().position(|digit| *digit != 0).unwrap_or(digits.len());
    let sign: &[u8] = if digits[start] >= 0x80 { &[0] } else { &[] };
    field(&[sign, &digits[start..]].concat())
}

enum Token {
    Ed25519(SigningKey),
    Ecdsa(EcdsaKeyPair),
}

impl Token {
    fn ed25519() -> Self {
        Self::Ed25519(SigningKey::from_bytes(&[7; 32]))
    }

    fn ecdsa() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self::Ecdsa(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap())
    }

    fn kind(&self) -> SignerKeyKind {
        match self {
            Self::Ed25519(_) => SignerKeyKind::SkEd25519,
            Self::Ecdsa(_) => SignerKeyKind::SkEcdsaP256,
        }
    }

    fn public(&self) -> Vec<u8> {
        let key = match self {
            Self::Ed25519(key) => field(key.verifying_key().as_bytes()),
            Self::Ecdsa(pair) => [field(b"nistp256"), field(pair.public_key().as_ref())].concat(),
        };
        [field(self.kind().name().as_bytes()), key, field(APPLICATION.as_bytes())].concat()
    }

    fn key(&self) -> SignerKey {
        SignerKey::parse_line(&format!("{} {}", self.kind(), STANDARD.encode(self.public()))).unwrap()
    }

    fn raw(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Self::Ecdsa(pair) => {
                let fixed = pair.sign(&SystemRandom::new(), message).unwrap();
                let (r, s) = fixed.as_ref().split_at(32);
                [number(r), number(s)].concat()
            }
        }
    }

    /// Signs as `ssh-keygen -Y sign` has a token sign; the token says `told` of its user and may have signed other flags.
    fn sign(&self, signed: (u8, u32), told: (u8, u32)) -> String {
        let digest = Sha512::digest(MESSAGE);
        let head = [field(NAMESPACE.as_bytes()), field(b""), field(b"sha512")].concat();
        let envelope = [&b"SSHSIG"[..], &head, &field(&digest)].concat();
        let trailer = |(flags, counter): (u8, u32)| [&[flags][..], &counter.to_be_bytes()].concat();
        let data = [&Sha256::digest(APPLICATION)[..], &trailer(signed), &Sha256::digest(&envelope)[..]].concat();
        let signature = [field(self.kind().name().as_bytes()), field(&self.raw(&data)), trailer(told)].concat();
        let version = 1_u32.to_be_bytes();
        let blob = [&b"SSHSIG"[..], &version, &field(&self.public()), &head, &field(&signature)].concat();
        format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", wrap(&STANDARD.encode(blob)))
    }
}

fn wrap(text: &str) -> String {
    text.as_bytes().chunks(70).map(|line| std::str::from_utf8(line).unwrap()).collect::<Vec<_>>().join("\n")
}

fn verify(signature: &str) -> Result<SshSignature, VerifySignatureError> {
    verify_signature(signature, MESSAGE, NAMESPACE)
}

#[test]
fn a_security_key_says_whether_its_user_was_there() {
    if !has_keygen("a_security_key_says_whether_its_user_was_there") {
        return;
    }
    let ring = KeyRing::new();
    for token in [Token::ed25519(), Token::ecdsa()] {
        let kind = token.kind();
        for (flags, present, verified) in [(0, false, false), (1, true, false), (5, true, true), (4, false, true)] {
            let signature = token.sign((flags, 42), (flags, 42));
            let found = verify(&signature).unwrap();
            assert_eq!(found.presence(), Some(UserPresence { present, verified, counter: 42 }), "{kind} {flags}");
            assert_eq!(found.key(), &token.key(), "{kind} {flags}");
            let fact = found.into_fact(SignerStanding::Allowed);
            assert_eq!((fact.is_by_present_user(), fact.key_kind), (present, kind), "{kind} {flags}");
            assert!(ring.accepts(&token.key(), &signature, MESSAGE), "{kind} {flags}");
        }
        // Its flags about the user are signed: nobody can set them afterwards.
        for told in [(1, 42), (0, 43)] {
            let forged = token.sign((0, 42), told);
            assert_eq!(verify(&forged), Err(VerifySignatureError::Signature), "{kind} {told:?}");
            assert!(!ring.accepts(&token.key(), &forged, MESSAGE), "{kind} {told:?}");
        }
    }
}

/// A key of a token is another key than the same numbers in a file.
#[test]
fn a_security_key_is_no_plain_key() {
    let Token::Ed25519(key) = Token::ed25519() else { unreachable!() };
    let plain = [field(b"ssh-ed25519"), field(key.verifying_key().as_bytes())].concat();
    let plain = SignerKey::parse_line(&format!("ssh-ed25519 {}", STANDARD.encode(plain))).unwrap();
    assert_ne!(plain.fingerprint(), Token::ed25519().key().fingerprint());
    assert!(Token::ed25519().key().kind().is_hardware() && !plain.kind().is_hardware());
}
