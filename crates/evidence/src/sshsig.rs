//! Signatures as `ssh-keygen -Y sign` makes them (SSHSIG).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::signer::{SignatureFact, SignerKeyKind, SignerStanding, UserPresence};
use ssh_key::SshSig;
use ssh_key::encoding::{Decode as _, Encode as _};

use crate::signer_key::{ReadSignerKeyError, SignerKey};

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";

/// Reason why a signature does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifySignatureError {
    /// It is no armoured SSHSIG.
    #[error("it is no SSH signature")]
    Shape,
    /// Made by a key that does not count.
    #[error(transparent)]
    Key(#[from] ReadSignerKeyError),
    /// Made for another purpose.
    #[error("it was made for another purpose")]
    Namespace,
    /// It is for other bytes, or forged.
    #[error("it is not a signature of this file")]
    Signature,
}

/// A signature that holds. Whether its key may sign is for
/// [`crate::signers::AllowedSigners`] to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSignature {
    key: SignerKey,
    presence: Option<UserPresence>,
}

impl SshSignature {
    /// Key inside the signature. Its presence proves nothing until the signers are asked
    /// about it.
    pub fn key(&self) -> &SignerKey {
        &self.key
    }

    /// Type of the key.
    pub fn kind(&self) -> SignerKeyKind {
        self.key.kind()
    }

    /// `SHA256:` fingerprint of the key, as `ssh-keygen -l` prints it.
    pub fn fingerprint(&self) -> String {
        self.key.fingerprint()
    }

    /// Statement of a security key about its user; absent for a key in a file or an agent.
    pub fn presence(&self) -> Option<UserPresence> {
        self.presence
    }

    /// Fact for the gates, with the standing of its key.
    pub fn into_fact(self, standing: SignerStanding) -> SignatureFact {
        SignatureFact { key_fingerprint: self.fingerprint(), key_kind: self.kind(), presence: self.presence, standing }
    }
}

/// Checks that a text is a signature of these bytes for this namespace.
pub fn verify_signature(armoured: &str, message: &[u8], namespace: &str) -> Result<SshSignature, VerifySignatureError> {
    use VerifySignatureError::{Namespace, Shape, Signature};
    let found = read_signature(armoured).ok_or(Shape)?;
    let key = SignerKey::from_key_data(found.public_key().clone())?;
    if found.namespace() != namespace {
        return Err(Namespace);
    }
    let signed = SshSig::signed_data(namespace, found.hash_alg(), message).map_err(|_| Shape)?;
    let presence = key.verify_signature(&signed, found.signature()).ok_or(Signature)?;
    Ok(SshSignature { key, presence })
}

/// Reads a signature that is written as ssh-keygen writes it, to the byte: nothing behind
/// it, nothing in the reserved field.
fn read_signature(armoured: &str) -> Option<SshSig> {
    let blob = remove_armour(armoured)?;
    let found = SshSig::decode(&mut blob.as_slice()).ok()?;
    let plain = found.version() == SshSig::VERSION && found.reserved().is_empty();
    (plain && found.encode_vec().ok()? == blob).then_some(found)
}

fn remove_armour(text: &str) -> Option<Vec<u8>> {
    let inside = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    let base64: String = inside.split_ascii_whitespace().collect();
    STANDARD.decode(base64).ok()
}

#[cfg(test)]
mod tests;
