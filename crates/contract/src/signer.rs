//! Keys that sign for people: their kinds, a security key's statement about its user, and
//! the right to sign.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! signer_key_kinds {
    ($($variant:ident $name:literal,)*) => {
        /// Kind of a key that may sign, by the name that OpenSSH writes before a public key.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum SignerKeyKind {
            $(#[serde(rename = $name)] $variant,)*
        }

        impl SignerKeyKind {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Name of the key type as OpenSSH writes it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

signer_key_kinds! {
    Ed25519 "ssh-ed25519",
    EcdsaP256 "ecdsa-sha2-nistp256",
    EcdsaP384 "ecdsa-sha2-nistp384",
    EcdsaP521 "ecdsa-sha2-nistp521",
    Rsa "ssh-rsa",
    SkEd25519 "sk-ssh-ed25519@openssh.com",
    SkEcdsaP256 "sk-ecdsa-sha2-nistp256@openssh.com",
}

impl SignerKeyKind {
    /// True for a key that lives in a security key.
    pub const fn is_hardware(self) -> bool {
        matches!(self, Self::SkEd25519 | Self::SkEcdsaP256)
    }
}

impl fmt::Display for SignerKeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Statement of a security key about its user at the moment of signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserPresence {
    /// Somebody touched it.
    pub present: bool,
    /// Somebody proved to be its owner, by a PIN or a finger.
    pub verified: bool,
    /// Number of signatures that it made so far, where it counts them.
    pub counter: u32,
}

/// Answer to the question whether a signature by a key counts. The order is that of how
/// near it is to counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignerStanding {
    /// The key is in no list.
    NotListed,
    /// Listed, for other purposes.
    OtherNamespace,
    /// The period of the key has not begun.
    NotYetValid,
    /// The period of the key is over.
    Expired,
    /// Somebody else had it at that time.
    Compromised,
    /// The key may sign for this purpose at this time.
    Allowed,
}

impl SignerStanding {
    /// The end of a sentence that begins with the key.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NotListed => "is not listed in allowed_signers",
            Self::OtherNamespace => "is listed in allowed_signers for another purpose",
            Self::NotYetValid => "was not valid yet by allowed_signers",
            Self::Expired => "was not valid any more by allowed_signers",
            Self::Compromised => "was compromised by then",
            Self::Allowed => "may sign",
        }
    }
}

/// A signature that holds: its key, what the key states about its user, and whether it may sign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignatureFact {
    /// `SHA256:<base64>`, as `ssh-keygen -l` prints it.
    pub key_fingerprint: String,
    /// Type of the key.
    pub key_kind: SignerKeyKind,
    /// Absent for a key in a file or an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<UserPresence>,
    /// Judged at the time of the ledger entry that recorded the signature.
    pub standing: SignerStanding,
}

impl SignatureFact {
    /// True if a security key made it while somebody touched it.
    pub fn is_by_present_user(&self) -> bool {
        self.key_kind.is_hardware() && self.presence.is_some_and(|presence| presence.present)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_written_as_openssh_writes_them() {
        for kind in SignerKeyKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(kind.is_hardware(), kind.name().starts_with("sk-"));
        }
    }

    #[test]
    fn only_a_touched_security_key_shows_a_user() {
        let fact = |key_kind, present: Option<bool>| SignatureFact {
            key_fingerprint: String::new(),
            key_kind,
            presence: present.map(|present| UserPresence { present, verified: true, counter: 0 }),
            standing: SignerStanding::Allowed,
        };
        for (kind, present, shown) in [
            (SignerKeyKind::SkEd25519, Some(true), true),
            (SignerKeyKind::SkEd25519, Some(false), false),
            (SignerKeyKind::SkEd25519, None, false),
            (SignerKeyKind::Ed25519, Some(true), false),
            (SignerKeyKind::Ed25519, None, false),
        ] {
            assert_eq!(fact(kind, present).is_by_present_user(), shown, "{kind} {present:?}");
        }
    }
}
