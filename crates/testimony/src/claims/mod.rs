//! Claims of engines about themselves, and their comparison with the harness's
//! observations.
//!
//! Claims come from the fields of an engine's own format, a reader for each, and from a table of
//! patterns over its last message. Both are the engine's words: a claim can block a run and never
//! make one pass.

pub(crate) mod case;
mod claude;
mod codex;
mod fake;
mod files;
mod gemini;
mod judge;
mod opencode;
mod patterns;
mod pi;
mod prose;
mod said;
pub(crate) mod stream;
#[cfg(test)]
mod tests;

use contract::claim::{Claim, ClaimSource, Saying, Speech};
use contract::text::show_controls;

pub use judge::judge_all;

use said::{FoundClaims, MAX_CLAIMS};

/// Characters of a text that a claim holds: an id, a path, a sentence.
const MAX_TEXT: usize = 300;
/// Observations of the harness, by which claims are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Changed paths as the report lists them.
    pub changed_files: Vec<String>,
    /// True if the contract requires a change.
    pub diff_required: bool,
    /// Result of the verification; None if nothing was run.
    pub tests_passed: Option<bool>,
    /// Claimed commit ids that were looked up in the workspace: whether each is a commit whose tree is the result.
    /// None: unknown.
    pub commits: Vec<(String, Option<bool>)>,
}

/// Claims in an engine's own output. Hostile, bounded, never an error: what cannot be read claims nothing.
/// `log` is what the engine wrote down of itself beside its output, where it is known to.
pub fn extract(speech: Speech, stdout: &[u8], stderr: &[u8], log: &[u8]) -> Vec<Claim> {
    let said = match speech {
        Speech::Fake => fake::read_fake_claims(stdout),
        Speech::Codex => codex::read_codex_claims(stdout),
        Speech::Pi => pi::read_pi_claims(stdout),
        Speech::Claude => claude::read_claude_claims(stdout),
        Speech::Opencode => opencode::read_opencode_claims(stdout),
        Speech::Gemini => gemini::read_gemini_claims(stdout),
        Speech::Aider | Speech::Plain => FoundClaims { prose: stream::tail(stdout), ..FoundClaims::default() },
        Speech::Case => case::read_case_claims(stdout, stderr, log),
    };
    let structured = said.fields.into_iter().map(|(found_in, saying)| (saying, ClaimSource::Structured, found_in));
    let prose = prose::find_claims(speech, &said.prose)
        .into_iter()
        .map(|(found_in, saying)| (saying, ClaimSource::Prose, found_in));
    let all = structured.chain(prose).take(MAX_CLAIMS);
    all.map(|(saying, source, found_in)| Claim { saying: bounded(saying), source, found_in: found_in.to_owned() })
        .collect()
}

/// The one door through which foreign words get into a claim.
fn bounded(saying: Saying) -> Saying {
    match saying {
        Saying::Success(_) | Saying::TestsPassed(_) => saying,
        Saying::Commit(id) => Saying::Commit(short(&id)),
        Saying::FilesChanged(files) => Saying::FilesChanged(short_list(&files)),
        Saying::FilesTouched(files) => Saying::FilesTouched(short_list(&files)),
        Saying::Other(words) => Saying::Other(short(&words)),
    }
}

fn short_list(files: &[String]) -> Vec<String> {
    files.iter().map(|file| short(file)).collect()
}

/// One line of at most [`MAX_TEXT`] characters that is safe to print.
fn short(text: &str) -> String {
    let start: String = text.chars().take(MAX_TEXT + 1).collect();
    let shown = show_controls(&start);
    if shown.chars().count() <= MAX_TEXT {
        return shown;
    }
    shown.chars().take(MAX_TEXT - 1).chain([CUT]).collect()
}

/// Ends a text that was longer.
const CUT: char = '…';

fn was_cut(text: &str) -> bool {
    text.ends_with(CUT) && text.chars().count() == MAX_TEXT
}
