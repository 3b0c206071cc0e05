//! The verdict on each claim. Nothing here blocks: [`JudgedClaim::blocks`] says which
//! verdicts do.

use contract::claim::{Claim, ClaimVerdict, JudgedClaim, Saying};

use super::files::{FileComparison, compare_files};
use super::said::MAX_FILES;
use super::{Seen, short};

use ClaimVerdict::{Contradicted, Supported, Unverifiable};

/// Compares each claim with what was seen.
pub fn judge_all(claims: Vec<Claim>, seen: &Seen) -> Vec<JudgedClaim> {
    let judged = claims.into_iter().map(|claim| {
        let (verdict, words) = verdict(&claim.saying, seen);
        JudgedClaim { claim, verdict, seen: short(&words) }
    });
    judged.collect()
}

fn verdict(saying: &Saying, seen: &Seen) -> (ClaimVerdict, String) {
    match saying {
        Saying::Success(success) => told(judge_success(*success, seen)),
        Saying::TestsPassed(passed) => told(judge_tests(*passed, seen)),
        Saying::Commit(id) => told(judge_commit(id, seen)),
        Saying::FilesChanged(files) => judge_list(files, seen),
        Saying::FilesTouched(files) => judge_touched(files, seen),
        Saying::Other(_) => told((Unverifiable, "the harness has nothing to compare it with")),
    }
}

fn told((verdict, words): (ClaimVerdict, &str)) -> (ClaimVerdict, String) {
    (verdict, words.to_owned())
}

/// Judges a claim of success. A claim of failure is never false, whatever the result.
fn judge_success(success: bool, seen: &Seen) -> (ClaimVerdict, &'static str) {
    let nothing = seen.diff_required && seen.changed_files.is_empty();
    match (success, nothing, seen.tests_passed) {
        (true, true, _) => (Contradicted, "nothing changed, and the contract requires a change"),
        (true, false, Some(false)) => (Contradicted, "the verification did not pass"),
        (true, false, Some(true)) => (Supported, "the verification passed"),
        (true, false, None) => (Unverifiable, "no verification was run"),
        (false, true, _) => (Supported, "nothing changed, and the contract requires a change"),
        (false, false, Some(false)) => (Supported, "the verification did not pass"),
        (false, false, Some(true)) => (Unverifiable, "the verification passed all the same"),
        (false, false, None) => (Unverifiable, "no verification was run"),
    }
}

/// Tests may have failed where the engine stood and pass where the harness ran them: saying
/// so is no lie.
fn judge_tests(passed: bool, seen: &Seen) -> (ClaimVerdict, &'static str) {
    match (passed, seen.tests_passed) {
        (true, Some(false)) => (Contradicted, "the verification did not pass"),
        (true, Some(true)) => (Supported, "the verification passed"),
        (false, Some(false)) => (Supported, "the verification did not pass"),
        (false, Some(true)) => (Unverifiable, "the verification passed all the same"),
        (_, None) => (Unverifiable, "no verification was run"),
    }
}

/// True if a text can be a commit id: hexadecimal, from the shortest that git prints to a
/// whole SHA-256.
fn is_commit_id(id: &str) -> bool {
    (7..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn judge_commit(id: &str, seen: &Seen) -> (ClaimVerdict, &'static str) {
    if !is_commit_id(id) {
        return (Contradicted, "that is not the id of a commit");
    }
    let id = id.to_ascii_lowercase();
    let looked_up = seen.commits.iter().filter(|(full, _)| full.to_ascii_lowercase().starts_with(&id));
    let found: Vec<Option<bool>> = looked_up.map(|(_, holds)| *holds).collect();
    if found.contains(&Some(true)) {
        (Supported, "that commit holds the result")
    } else if found.is_empty() || found.contains(&None) {
        (Unverifiable, "it cannot be told whether that commit holds the result")
    } else {
        (Contradicted, "no commit of that id holds the result")
    }
}

fn judge_list(files: &[String], seen: &Seen) -> (ClaimVerdict, String) {
    let FileComparison { unchanged, unclear, unnamed } = compare_files(files, &seen.changed_files);
    // A list that may have been cut is not held to be whole.
    let whole = files.len() < MAX_FILES && unclear.is_empty();
    if !unchanged.is_empty() {
        (Contradicted, counted(&unchanged, "listed", "did not change"))
    } else if !unnamed.is_empty() && whole {
        (Contradicted, counted(&unnamed, "changed", "not listed"))
    } else if !unclear.is_empty() {
        (Unverifiable, counted(&unclear, "listed", "cannot be told apart"))
    } else if !unnamed.is_empty() {
        (Unverifiable, "the list is too long to be compared as a whole".to_owned())
    } else {
        (Supported, "these files changed, and no others".to_owned())
    }
}

fn judge_touched(files: &[String], seen: &Seen) -> (ClaimVerdict, String) {
    let FileComparison { mut unchanged, unclear, .. } = compare_files(files, &seen.changed_files);
    unchanged.extend(unclear);
    match unchanged.is_empty() {
        true => (Supported, "each of these files changed".to_owned()),
        false => (Unverifiable, counted(&unchanged, "touched", "not among those that changed")),
    }
}

/// Text such as `2 listed files did not change: a.py, b.py`.
fn counted(files: &[String], which: &str, what: &str) -> String {
    let plural = if files.len() == 1 { "file" } else { "files" };
    let some: Vec<&str> = files.iter().take(3).map(String::as_str).collect();
    let rest = if files.len() > some.len() { ", .." } else { "" };
    format!("{} {which} {plural} {what}: {}{rest}", files.len(), some.join(", "))
}
