//! The harness's ed25519 key, and public keys as people hand them over.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use contract::Digest;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};

use crate::private::{Exposed, open_secret};

/// PKCS#8 of an ed25519 seed is these 16 bytes and the seed; SPKI of a public key these 12
/// and the key.
const PKCS8_PREFIX: &[u8] = &[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
const SPKI_PREFIX: &[u8] = &[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
const SSH_TYPE: &[u8] = b"ssh-ed25519";
/// A PEM of an ed25519 key is much shorter.
const LARGEST_KEY: u64 = 64 << 10;

/// A public key that may have signed a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    key: VerifyingKey,
    /// Asked for again and again where many bundles are checked.
    id: String,
}

/// The key that seals bundles. Made on first use, never inside a sandbox.
pub struct HarnessKey {
    key: SigningKey,
}

impl fmt::Debug for HarnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HarnessKey({})", self.public().key_id())
    }
}

/// Error of reading or making a key.
#[derive(Debug, thiserror::Error)]
pub enum ReadKeyError {
    #[error("cannot read or write the key {0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    /// Neither an OpenSSH ed25519 line nor a PEM of an ed25519 key.
    #[error("{0} is not an ed25519 key: expected an OpenSSH line (`ssh-ed25519 AAAA...`) or PEM")]
    Format(PathBuf),
    #[error("cannot get random bytes for a key: {0}")]
    Random(#[source] getrandom::Error),
    /// Others have a hand in it.
    #[error(transparent)]
    Exposed(Exposed),
}

impl PublicKey {
    /// An OpenSSH public key line, or PEM (`BEGIN PUBLIC KEY`).
    pub fn parse_line(text: &str) -> Option<Self> {
        let bytes = if text.contains("-----BEGIN PUBLIC KEY-----") {
            from_pem(text, "PUBLIC KEY", SPKI_PREFIX)
        } else {
            from_openssh(text)
        }?;
        VerifyingKey::from_bytes(&bytes).ok().map(Self::new)
    }

    /// Reads a public key from a file, as an OpenSSH line or as PEM.
    pub fn read_file(path: &Path) -> Result<Self, ReadKeyError> {
        let text = fs::read_to_string(path).map_err(|error| ReadKeyError::Io(path.to_owned(), error))?;
        Self::parse_line(&text).ok_or_else(|| ReadKeyError::Format(path.to_owned()))
    }

    fn new(key: VerifyingKey) -> Self {
        let id = format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(blob(&key))));
        Self { key, id }
    }

    /// `SHA256:<base64>`, as `ssh-keygen -l` prints it.
    pub fn key_id(&self) -> String {
        self.id.clone()
    }

    /// OpenSSH line with its newline, as `ssh-keygen` prints it.
    pub fn openssh(&self, comment: &str) -> String {
        format!("ssh-ed25519 {} {comment}\n", STANDARD.encode(blob(&self.key)))
    }

    /// Strict: no small-order keys, no malleable signatures.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(signature) = Signature::from_slice(signature) else { return false };
        self.key.verify_strict(message, &signature).is_ok()
    }
}

fn blob(key: &VerifyingKey) -> Vec<u8> {
    [&11_u32.to_be_bytes()[..], SSH_TYPE, &32_u32.to_be_bytes()[..], key.as_bytes()].concat()
}

impl HarnessKey {
    /// Reads the key, or makes it (0600, with its public half beside it) if there is none.
    pub fn open_or_create(path: &Path) -> Result<Self, ReadKeyError> {
        match Self::open_file(path) {
            Err(ReadKeyError::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => Self::create(path),
            other => other,
        }
    }

    /// Reads the key of a file that is its user's alone.
    pub fn open_file(path: &Path) -> Result<Self, ReadKeyError> {
        let io_error = |error| ReadKeyError::Io(path.to_owned(), error);
        let file = open_secret(path).map_err(io_error)?.map_err(ReadKeyError::Exposed)?;
        let text = io::read_to_string(file.take(LARGEST_KEY)).map_err(io_error)?;
        let seed = from_pem(&text, "PRIVATE KEY", PKCS8_PREFIX).ok_or_else(|| ReadKeyError::Format(path.to_owned()))?;
        Ok(Self { key: SigningKey::from_bytes(&seed) })
    }

    /// Makes a key. Two processes may do this at once: the key is written aside and linked
    /// into place, and the second process reads the first one's.
    fn create(path: &Path) -> Result<Self, ReadKeyError> {
        let io_error = |error| ReadKeyError::Io(path.to_owned(), error);
        let mut random = [0; 40];
        getrandom::fill(&mut random).map_err(ReadKeyError::Random)?;
        let (seed, unique) = random.split_at(32);
        let seed: [u8; 32] = seed.try_into().map_err(|_| ReadKeyError::Format(path.to_owned()))?;
        let made = Self { key: SigningKey::from_bytes(&seed) };
        let unique = Digest::of_bytes(unique).to_string();
        let aside = path.with_extension(format!("new-{}", &unique[..16]));
        let pem = to_pem("PRIVATE KEY", &[PKCS8_PREFIX, &seed].concat());
        write_new(&aside, pem.as_bytes(), 0o600).map_err(io_error)?;
        let linked = fs::hard_link(&aside, path);
        fs::remove_file(&aside).map_err(io_error)?;
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Self::open_file(path),
            other => other.map_err(io_error)?,
        }
        let public = path.with_extension("pub");
        match write_new(&public, made.public().openssh("cto-harness").as_bytes(), 0o644) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(ReadKeyError::Io(public, error)),
            _ => Ok(made),
        }
    }

    /// Public half, for verification and for handing over.
    pub fn public(&self) -> PublicKey {
        PublicKey::new(self.key.verifying_key())
    }

    /// Ed25519 signature over the message. The caller is responsible for separating
    /// domains, as DSSE does by its pre-authentication encoding.
    pub fn sign_message(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn to_pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
}

fn from_pem(text: &str, label: &str, prefix: &[u8]) -> Option<[u8; 32]> {
    let body = text.split_once(&format!("-----BEGIN {label}-----"))?.1;
    let body = body.split_once(&format!("-----END {label}-----"))?.0;
    let compact: String = body.split_whitespace().collect();
    let der = STANDARD.decode(compact).ok()?;
    der.strip_prefix(prefix)?.try_into().ok()
}

fn from_openssh(text: &str) -> Option<[u8; 32]> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let encoded = line.split_whitespace().skip_while(|word| *word != "ssh-ed25519").nth(1)?;
    let blob = STANDARD.decode(encoded).ok()?;
    let rest = blob.strip_prefix(&11_u32.to_be_bytes()[..])?.strip_prefix(SSH_TYPE)?;
    rest.strip_prefix(&32_u32.to_be_bytes()[..])?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("harness.pem");
        let made = HarnessKey::open_or_create(&path).unwrap();
        let again = HarnessKey::open_or_create(&path).unwrap();
        assert_eq!(made.public(), again.public());
        let public = PublicKey::read_file(&path.with_extension("pub")).unwrap();
        assert_eq!(public, made.public());
        assert!(public.verifies(b"message", &made.sign_message(b"message")));
        assert!(!public.verifies(b"massage", &made.sign_message(b"message")));
        assert_eq!(
            PublicKey::parse_line(&to_pem("PUBLIC KEY", &[SPKI_PREFIX, public.key.as_bytes()].concat())),
            Some(public)
        );
    }

    #[test]
    fn text_that_is_no_key_is_refused() {
        for text in [
            "",
            "ssh-rsa AAAA",
            "ssh-ed25519",
            "ssh-ed25519 !!!!",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        ] {
            assert_eq!(PublicKey::parse_line(text), None, "{text}");
        }
    }
}
