//! Signed answers of people to a request: approval, denial, hold, revocation. Each
//! signature covers the document's RFC 8785 bytes.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ApprovalSchema, DenialSchema, HoldSchema, Plan, RevocationSchema, approval_sentence};
use crate::digest::Digest;
use crate::stage::MutationMode;
use crate::time::Stamp;

/// Everything that an approval allows to run.
pub const EXECUTION_SCOPE: &str = "one approved Harness run only";

/// A constant: no document allows more than one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ExecutionScope {
    #[default]
    #[serde(rename = "one approved Harness run only")]
    OneRun,
}

/// Way in which a signature was made. Informative, but for `hardware`, which is taken from
/// the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignedVia {
    Terminal,
    Agent,
    Hardware,
    Console,
}

/// 32 random hex digits, so that no two documents are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^[0-9a-f]{32}$"))]
pub struct Nonce(String);

impl TryFrom<String> for Nonce {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let good = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if good { Ok(Self(text)) } else { Err("a nonce is 32 lower-case hex digits") }
    }
}

impl From<Nonce> for String {
    fn from(nonce: Nonce) -> Self {
        nonce.0
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One person's approval of one request, for one run. It is no evidence of execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Approval")]
pub struct Approval {
    pub schema: ApprovalSchema,
    pub request_digest: Digest,
    pub ledger_id: String,
    /// Key of the signature; people are told apart by key.
    pub key_fingerprint: String,
    /// The sentence as it was typed.
    pub sentence: String,
    /// Permitted change, in the words of the stage.
    pub scope: String,
    pub mutation_mode: MutationMode,
    pub approval_source: String,
    pub execution_scope: ExecutionScope,
    /// Digest of the text that was shown.
    pub packet_digest: Digest,
    pub policy_digest: Digest,
    pub signed_via: SignedVia,
    pub granted_at: Stamp,
    pub not_before: Stamp,
    pub expires_at: Stamp,
    pub nonce: Nonce,
    /// Justification for passing over the policy. Present only in a break-glass approval;
    /// every other approval has exactly the sixteen keys above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass_reason: Option<String>,
}

impl Approval {
    /// First field by which it is not an approval of this plan, if there is one. Digests of
    /// plan and packet are the caller's, who has made them once.
    pub fn first_mismatch(&self, plan: &Plan, request_digest: Digest, packet_digest: Digest) -> Option<&'static str> {
        let rows = [
            ("request_digest", self.request_digest == request_digest),
            ("ledger_id", self.ledger_id == plan.ledger_id),
            ("sentence", self.sentence == approval_sentence(plan)),
            ("scope", self.scope == plan.stage.allowed_mutation_scope()),
            ("mutation_mode", self.mutation_mode == plan.mutation_mode),
            ("packet_digest", self.packet_digest == packet_digest),
            ("policy_digest", self.policy_digest == plan.policy_digest),
        ];
        rows.iter().find(|(_, same)| !same).map(|(name, _)| *name)
    }
}

/// A person's no. It is terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Denial")]
pub struct Denial {
    pub schema: DenialSchema,
    pub request_digest: Digest,
    pub ledger_id: String,
    pub key_fingerprint: String,
    pub reason: String,
    pub denied_at: Stamp,
    pub nonce: Nonce,
}

/// State that a hold document sets. The last document that counts decides: anybody can
/// hold, only an allowed signer can release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HoldState {
    Held,
    Released,
}

/// A request that waits, or waits no longer. The latest hold of a request counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Hold")]
pub struct Hold {
    pub schema: HoldSchema,
    pub request_digest: Digest,
    pub ledger_id: String,
    pub key_fingerprint: String,
    pub state: HoldState,
    pub reason: String,
    pub held_at: Stamp,
    pub nonce: Nonce,
}

/// A person's yes, taken back. It applies to the request, no matter who approved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Revocation")]
pub struct Revocation {
    pub schema: RevocationSchema,
    pub request_digest: Digest,
    pub ledger_id: String,
    pub key_fingerprint: String,
    pub reason: String,
    pub revoked_at: Stamp,
    pub nonce: Nonce,
}
