//! What an engine says of itself, as reports list it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose words an engine's output is in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Speech {
    #[default]
    Fake,
    Codex,
    Pi,
    Claude,
    Opencode,
    Gemini,
    Aider,
    Case,
}

/// What a claim is about. Only the first four can be contradicted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "about", content = "said")]
pub enum Saying {
    /// The task is done (true), or it is said to have failed (false).
    Success(bool),
    TestsPassed(bool),
    Commit(String),
    FilesChanged(Vec<String>),
    /// A review, an opened pull request, evidence markers: words only.
    Other(String),
}

/// Where it was said. Only a structured claim can block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Structured,
    Prose,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    #[serde(flatten)]
    pub saying: Saying,
    pub source: Source,
    /// The field or the pattern it was found by, such as `artifacts.commit`.
    pub found_in: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimVerdict {
    Supported,
    Contradicted,
    Unverifiable,
}

/// A claim beside what the harness saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedClaim {
    #[serde(flatten)]
    pub claim: Claim,
    pub verdict: ClaimVerdict,
    /// What the harness saw, in words.
    pub seen: String,
}
