//! Public keys of people, of every kind that `ssh-keygen` makes, and the signatures that
//! they verify.
//!
//! `ssh-key` reads the formats. The curves and RSA are checked by what the program has
//! anyway (`ed25519-dalek`, strictly, and `ring`); P-521, which neither knows, by the curve
//! that `ssh-key` brings.

use std::sync::OnceLock;

use contract::signer::{SignerKeyKind, UserPresence};
use ed25519_dalek::{Verifier as _, VerifyingKey};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, EcdsaVerificationAlgorithm, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey,
};
use sha2::{Digest as _, Sha256};
use ssh_key::encoding::Decode as _;
use ssh_key::public::{EcdsaPublicKey, KeyData, RsaPublicKey};
use ssh_key::{Algorithm, HashAlg, Mpint, Signature};

/// Shorter RSA keys do not count.
pub const LEAST_RSA_BITS: usize = 3072;
/// Longest accepted RSA key: checking a longer one takes long, and a stranger chooses it.
pub const MOST_RSA_BITS: usize = 8192;
/// Flags and counter behind the signature of a security key.
const TRAILER_BYTES: usize = 5;
/// Ends the kind of every certificate.
const CERTIFICATE: &str = "-cert-v01@openssh.com";
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 4;

/// Key that cannot sign for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadSignerKeyError {
    #[error("it is no public key of OpenSSH")]
    Shape,
    #[error("it was made by a certificate or by a kind of key that does not count")]
    Kind,
    #[error("it was made by an RSA key of {bits} bits; {LEAST_RSA_BITS} to {MOST_RSA_BITS} count")]
    RsaBits { bits: usize },
}

/// Public key of a person.
#[derive(Debug, Clone)]
pub struct SignerKey {
    data: KeyData,
    kind: SignerKeyKind,
    /// Computed once, since every judgement of the key asks for it.
    fingerprint: OnceLock<String>,
}

impl PartialEq for SignerKey {
    fn eq(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

impl Eq for SignerKey {}

impl SignerKey {
    /// Reads `TYPE BASE64 [COMMENT]`.
    pub fn parse_line(line: &str) -> Result<Self, ReadSignerKeyError> {
        let mut words = line.split_ascii_whitespace();
        let (Some(kind), Some(base64)) = (words.next(), words.next()) else { return Err(ReadSignerKeyError::Shape) };
        if kind.ends_with(CERTIFICATE) {
            return Err(ReadSignerKeyError::Kind);
        }
        let key = ssh_key::PublicKey::from_openssh(&format!("{kind} {base64}"));
        Self::from_key_data(key.map_err(|_| ReadSignerKeyError::Shape)?.key_data().clone())
    }

    /// Accepts the key types that may sign. Certificates, unknown types and RSA keys
    /// outside of the permitted lengths are errors.
    pub(crate) fn from_key_data(data: KeyData) -> Result<Self, ReadSignerKeyError> {
        let kind = match &data {
            KeyData::Ed25519(_) => SignerKeyKind::Ed25519,
            KeyData::Ecdsa(EcdsaPublicKey::NistP256(_)) => SignerKeyKind::EcdsaP256,
            KeyData::Ecdsa(EcdsaPublicKey::NistP384(_)) => SignerKeyKind::EcdsaP384,
            KeyData::Ecdsa(EcdsaPublicKey::NistP521(_)) => SignerKeyKind::EcdsaP521,
            KeyData::SkEd25519(_) => SignerKeyKind::SkEd25519,
            KeyData::SkEcdsaSha2NistP256(_) => SignerKeyKind::SkEcdsaP256,
            KeyData::Rsa(key) => match rsa_bits(key) {
                LEAST_RSA_BITS..=MOST_RSA_BITS => SignerKeyKind::Rsa,
                bits => return Err(ReadSignerKeyError::RsaBits { bits }),
            },
            _ => return Err(ReadSignerKeyError::Kind),
        };
        Ok(Self { data, kind, fingerprint: OnceLock::new() })
    }

    /// Type of the key, which an approval policy can restrict.
    pub fn kind(&self) -> SignerKeyKind {
        self.kind
    }

    /// `SHA256:<base64>`, as `ssh-keygen -l` prints it.
    pub fn fingerprint(&self) -> String {
        self.fingerprint.get_or_init(|| self.data.fingerprint(HashAlg::Sha256).to_string()).clone()
    }

    /// The line of a `.pub` file, without a comment.
    pub fn openssh_line(&self) -> Option<String> {
        ssh_key::PublicKey::from(self.data.clone()).to_openssh().ok()
    }

    /// Checks a signature by this key; for a security key, reads its flags about the user. None if
    /// the signature is invalid.
    pub(crate) fn verify_signature(&self, message: &[u8], signature: &Signature) -> Option<Option<UserPresence>> {
        let bytes = signature.as_bytes();
        if !self.makes(&signature.algorithm()) {
            return None;
        }
        match &self.data {
            KeyData::Ed25519(key) => verify_ed25519(key.as_ref(), message, bytes).then_some(None),
            KeyData::Ecdsa(key) => verify_ecdsa(key, message, signature).then_some(None),
            KeyData::Rsa(key) => verify_rsa(key, message, signature).then_some(None),
            KeyData::SkEd25519(key) => {
                let (message, bytes, presence) = split_trailer(key.application(), message, bytes)?;
                verify_ed25519(key.public_key().as_ref(), &message, bytes).then_some(Some(presence))
            }
            KeyData::SkEcdsaSha2NistP256(key) => {
                let (message, bytes, presence) = split_trailer(key.application(), message, bytes)?;
                let point = key.ec_point().as_bytes();
                verify_by_ring(&ECDSA_P256_SHA256_FIXED, point, 32, &message, bytes).then_some(Some(presence))
            }
            _ => None,
        }
    }

    /// True if this key makes signatures of that algorithm. RSA with SHA-1 is excluded.
    fn makes(&self, algorithm: &Algorithm) -> bool {
        match algorithm {
            Algorithm::Rsa { hash: Some(_) } => self.kind == SignerKeyKind::Rsa,
            Algorithm::Rsa { hash: None } => false,
            other => *other == self.data.algorithm(),
        }
    }
}

fn rsa_bits(key: &RsaPublicKey) -> usize {
    let modulus = key.n().as_positive_bytes().unwrap_or_default();
    let unused = modulus.first().map_or(0, |byte| byte.leading_zeros());
    modulus.len() * 8 - unused as usize
}

/// Strict: no small-order keys, no malleable signatures.
fn verify_ed25519(key: &[u8; 32], message: &[u8], signature: &[u8]) -> bool {
    let Ok(key) = VerifyingKey::from_bytes(key) else { return false };
    let Ok(signature) = ed25519_dalek::Signature::from_slice(signature) else { return false };
    key.verify_strict(message, &signature).is_ok()
}

fn verify_ecdsa(key: &EcdsaPublicKey, message: &[u8], signature: &Signature) -> bool {
    let (point, bytes) = (key.as_sec1_bytes(), signature.as_bytes());
    match key {
        EcdsaPublicKey::NistP256(_) => verify_by_ring(&ECDSA_P256_SHA256_FIXED, point, 32, message, bytes),
        EcdsaPublicKey::NistP384(_) => verify_by_ring(&ECDSA_P384_SHA384_FIXED, point, 48, message, bytes),
        EcdsaPublicKey::NistP521(_) => key.verify(message, signature).is_ok(),
    }
}

/// The signature is two numbers, which ring wants side by side at full width.
fn verify_by_ring(
    algorithm: &'static EcdsaVerificationAlgorithm,
    point: &[u8],
    width: usize,
    message: &[u8],
    mut numbers: &[u8],
) -> bool {
    let mut fixed = Vec::with_capacity(2 * width);
    for _ in 0..2 {
        let Ok(number) = Mpint::decode(&mut numbers) else { return false };
        let Some(digits) = number.as_positive_bytes().filter(|digits| digits.len() <= width) else { return false };
        fixed.resize(fixed.len() + width - digits.len(), 0);
        fixed.extend_from_slice(digits);
    }
    numbers.is_empty() && UnparsedPublicKey::new(algorithm, point).verify(message, &fixed).is_ok()
}

fn verify_rsa(key: &RsaPublicKey, message: &[u8], signature: &Signature) -> bool {
    let (Some(n), Some(e)) = (key.n().as_positive_bytes(), key.e().as_positive_bytes()) else { return false };
    let algorithm = match signature.algorithm() {
        Algorithm::Rsa { hash: Some(HashAlg::Sha256) } => &RSA_PKCS1_2048_8192_SHA256,
        Algorithm::Rsa { hash: Some(HashAlg::Sha512) } => &RSA_PKCS1_2048_8192_SHA512,
        _ => return false,
    };
    RsaPublicKeyComponents { n, e }.verify(algorithm, message, signature.as_bytes()).is_ok()
}

/// A security key signs `sha256(application) || flags || counter || sha256(message)`, and
/// flags and counter stand behind the signature.
fn split_trailer<'a>(application: &str, message: &[u8], bytes: &'a [u8]) -> Option<(Vec<u8>, &'a [u8], UserPresence)> {
    let (bytes, trailer) = bytes.split_at_checked(bytes.len().checked_sub(TRAILER_BYTES)?)?;
    let [flags, counter @ ..] = *<&[u8; TRAILER_BYTES]>::try_from(trailer).ok()?;
    let presence = UserPresence {
        present: flags & USER_PRESENT != 0,
        verified: flags & USER_VERIFIED != 0,
        counter: u32::from_be_bytes(counter),
    };
    let signed = [&Sha256::digest(application)[..], trailer, &Sha256::digest(message)[..]].concat();
    Some((signed, bytes, presence))
}
