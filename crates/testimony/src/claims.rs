//! What an engine says of itself, and how it compares with what the harness saw.

use contract::claim::{Claim, JudgedClaim, Speech};

/// What the harness saw, to judge claims by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Changed paths as the report lists them.
    pub changed_files: Vec<String>,
    /// Whether the contract wants a change.
    pub diff_required: bool,
    /// What the verification came to; None where nothing was run.
    pub tests_passed: Option<bool>,
    /// Claimed commit ids that were looked up in the workspace: whether each is a commit whose tree is the result.
    /// None: it cannot be told.
    pub commits: Vec<(String, Option<bool>)>,
}

/// Claims in an engine's own output. Hostile, bounded, never an error: what cannot be read claims nothing.
pub fn extract(speech: Speech, stdout: &[u8], stderr: &[u8]) -> Vec<Claim> {
    let _ = (speech, stdout, stderr);
    Vec::new()
}

/// Compares each claim with what was seen.
pub fn judge(claims: Vec<Claim>, seen: &Seen) -> Vec<JudgedClaim> {
    let _ = (claims, seen);
    Vec::new()
}
