//! Claims that an engine makes about its own work, as reports list them. A claim never
//! helps a run: it is raw material for comparison.

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
    /// Words without a form.
    Plain,
}

impl Speech {
    /// Every value, in order.
    pub const ALL: [Self; 9] = [
        Self::Fake,
        Self::Codex,
        Self::Pi,
        Self::Claude,
        Self::Opencode,
        Self::Gemini,
        Self::Aider,
        Self::Case,
        Self::Plain,
    ];
}

/// Subject of a line of an engine's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// Words of the model's.
    Message,
    Command,
    FileChange,
    /// Any other tool.
    Tool,
    Error,
    /// Tokens and turns, as the engine counts them.
    Usage,
    /// The work begins or ends.
    Turn,
}

/// Subject and content of a claim. Only the first four variants can be contradicted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "about", content = "said")]
pub enum Saying {
    /// The task is done (true), or the claim says that it failed (false).
    Success(bool),
    /// The tests passed (true), or some failed (false).
    TestsPassed(bool),
    /// Id of a commit that the engine says it made.
    Commit(String),
    /// The engine's own list of what it changed: it names every changed file and no other.
    FilesChanged(Vec<String>),
    /// Files that its tools wrote. Such a file may end as it was, and a command may change
    /// others, so neither is a lie.
    FilesTouched(Vec<String>),
    /// A review, an opened pull request, evidence markers: words only.
    Other(String),
}

impl Saying {
    /// Subject of the claim, in the words of the report.
    pub const fn about(&self) -> &'static str {
        match self {
            Self::Success(_) => "success",
            Self::TestsPassed(_) => "tests_passed",
            Self::Commit(_) => "commit",
            Self::FilesChanged(_) => "files_changed",
            Self::FilesTouched(_) => "files_touched",
            Self::Other(_) => "other",
        }
    }
}

impl Saying {
    /// The claim in one word: a failure that is admitted is no success.
    pub const fn in_one_word(&self) -> &'static str {
        match self {
            Self::Success(false) => "failure",
            Self::TestsPassed(false) => "tests_failed",
            other => other.about(),
        }
    }
}

impl std::fmt::Display for Saying {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Success(true) => f.write_str("it succeeded"),
            Self::Success(false) => f.write_str("it failed"),
            Self::TestsPassed(true) => f.write_str("tests pass"),
            Self::TestsPassed(false) => f.write_str("tests do not pass"),
            Self::Commit(id) => write!(f, "it committed {id}"),
            Self::FilesChanged(files) => write!(f, "it changed {}", some(files)),
            Self::FilesTouched(files) => write!(f, "its tools wrote {}", some(files)),
            Self::Other(words) => f.write_str(words),
        }
    }
}

/// The first names of a list: a sentence about it stays one.
fn some(files: &[String]) -> String {
    let named = files.get(..5).unwrap_or(files).join(", ");
    match files.len() {
        0 => "no file".to_owned(),
        1..=5 => named,
        more => format!("{named} and {} more", more - 5),
    }
}

/// Origin of a claim. Only a structured claim can block a run; prose is too ambiguous for
/// that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimSource {
    Structured,
    Prose,
}

/// Claim of an engine and the place where it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Subject and content.
    #[serde(flatten)]
    pub saying: Saying,
    /// Origin, which decides whether the claim can block.
    pub source: ClaimSource,
    /// The field or the pattern it was found by, such as `artifacts.commit`.
    pub found_in: String,
}

/// Result of comparing a claim with the harness's own observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimVerdict {
    Supported,
    Contradicted,
    Unverifiable,
}

impl ClaimVerdict {
    /// Spelling in `report.json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Contradicted => "contradicted",
            Self::Unverifiable => "unverifiable",
        }
    }
}

/// A claim beside what the harness saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedClaim {
    #[serde(flatten)]
    pub claim: Claim,
    pub verdict: ClaimVerdict,
    /// Observation of the harness, in words, for the reader of the report.
    pub seen: String,
}

impl JudgedClaim {
    /// True if the claim blocks the run with `claim_contradicted`: contradicted, and made
    /// in a structured field. Contradicted prose is listed only.
    pub fn blocks(&self) -> bool {
        self.verdict == ClaimVerdict::Contradicted && self.claim.source == ClaimSource::Structured
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_hold_claims_flat_and_read_them_again() {
        for (saying, wanted) in [
            (Saying::Success(true), json!({"about": "success", "said": true})),
            (Saying::TestsPassed(false), json!({"about": "tests_passed", "said": false})),
            (Saying::Commit("1a2b3c4".into()), json!({"about": "commit", "said": "1a2b3c4"})),
            (Saying::FilesChanged(vec!["a".into()]), json!({"about": "files_changed", "said": ["a"]})),
            (Saying::FilesTouched(vec![]), json!({"about": "files_touched", "said": []})),
            (Saying::Other("review: approved".into()), json!({"about": "other", "said": "review: approved"})),
        ] {
            let claim = Claim { saying, source: ClaimSource::Structured, found_in: "f".into() };
            let judged = JudgedClaim { claim, verdict: ClaimVerdict::Unverifiable, seen: "s".into() };
            let mut whole = wanted;
            for (key, value) in
                [("source", "structured"), ("found_in", "f"), ("verdict", "unverifiable"), ("seen", "s")]
            {
                whole[key] = value.into();
            }
            assert_eq!(serde_json::to_value(&judged).unwrap(), whole);
            assert_eq!(judged.claim.saying.about(), whole["about"]);
            assert_eq!(serde_json::from_value::<JudgedClaim>(whole).unwrap(), judged);
        }
    }

    #[test]
    fn a_failure_that_is_admitted_is_no_success() {
        let words = [Saying::Success(true), Saying::Success(false), Saying::TestsPassed(false)];
        assert_eq!(words.map(|saying| saying.in_one_word()), ["success", "failure", "tests_failed"]);
    }

    #[test]
    fn a_long_list_is_told_in_a_sentence() {
        let files = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        for (count, wanted) in [
            (0, "it changed no file"),
            (1, "it changed 0"),
            (5, "it changed 0, 1, 2, 3, 4"),
            (1_000, "it changed 0, 1, 2, 3, 4 and 995 more"),
        ] {
            assert_eq!(Saying::FilesChanged(files(count)).to_string(), wanted);
        }
    }

    #[test]
    fn only_a_contradicted_field_blocks() {
        for source in [ClaimSource::Structured, ClaimSource::Prose] {
            for verdict in [ClaimVerdict::Supported, ClaimVerdict::Contradicted, ClaimVerdict::Unverifiable] {
                let claim = Claim { saying: Saying::Success(true), source, found_in: String::new() };
                let blocks = JudgedClaim { claim, verdict, seen: String::new() }.blocks();
                assert_eq!(blocks, (source, verdict) == (ClaimSource::Structured, ClaimVerdict::Contradicted));
            }
        }
    }
}
