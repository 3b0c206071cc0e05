//! Whole streams of every engine with their verdicts, hostile output, lists of files, the table of patterns.

mod agents;
mod case;
mod fake;
mod files;
mod hostile;
mod patterns;
mod verdicts;

use contract::claim::{ClaimSource, JudgedClaim, Saying, Speech};

use super::{Seen, extract, judge_all};

/// A commit that holds the result, and one that does not.
const GOOD: &str = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d";
const BAD: &str = "9fceb02d0ae598e95dc970b74767f19372d61af8";

/// A world in which `src/app.py` and `test/test_app.py` changed and the verification passed.
fn good() -> Seen {
    Seen {
        changed_files: vec!["src/app.py".into(), "test/test_app.py".into()],
        diff_required: true,
        tests_passed: Some(true),
        commits: vec![(GOOD.into(), Some(true)), (BAD.into(), Some(false))],
    }
}

/// The same world with a verification that did not pass.
fn failing() -> Seen {
    Seen { tests_passed: Some(false), ..good() }
}

/// Nothing changed and nothing was run.
fn idle() -> Seen {
    Seen { changed_files: vec![], diff_required: true, tests_passed: None, commits: vec![] }
}

fn said(speech: Speech, stdout: impl AsRef<[u8]>, seen: &Seen) -> Vec<JudgedClaim> {
    judge_all(extract(speech, stdout.as_ref(), b"", b""), seen)
}

/// One line for a claim: what is marked blocks.
fn line(judged: &JudgedClaim) -> String {
    let words = match &judged.claim.saying {
        Saying::Success(success) => format!("success {success}"),
        Saying::TestsPassed(passed) => format!("tests {passed}"),
        Saying::Commit(id) => format!("commit {}", id.get(..7).unwrap_or(id)),
        Saying::FilesChanged(files) => format!("changed [{}]", files.join(" ")),
        Saying::FilesTouched(files) => format!("touched [{}]", files.join(" ")),
        Saying::Other(words) => format!("other {words}"),
    };
    let verdict = judged.verdict.as_str();
    let prose = if judged.claim.source == ClaimSource::Prose { " (prose)" } else { "" };
    let mark = if judged.blocks() { "! " } else { "" };
    format!("{mark}{} {words}: {verdict}{prose}", judged.claim.found_in)
}

/// Judges an engine's claims in a world, claim by claim.
fn check(speech: Speech, stdout: impl AsRef<[u8]>, seen: &Seen, wanted: &[&str]) {
    let stdout = stdout.as_ref();
    let lines: Vec<String> = said(speech, stdout, seen).iter().map(line).collect();
    assert_eq!(lines, wanted, "{speech:?}: {}", String::from_utf8_lossy(stdout));
}
