//! Claims of the engine, beside the harness's observations. They decide nothing for the
//! engine; a false one speaks against it.

use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use contract::Reason;
use contract::claim::{Claim, JudgedClaim, Saying, Speech};
use contract::report::Verification;
use evidence::names;
use sandbox::Ended;
use testimony::claims::{self, Seen};
use tree::{FoundCommit, Oid};

use crate::gather::engine::equip::Equipped;
use crate::run::file::RunFile;
use crate::run::standing::RunStanding;
use crate::work::engines::Layered;

/// Claimed commit ids, and whether each is a commit of the result; none if that is unknown.
pub(crate) type Commits = Vec<(String, Option<bool>)>;

/// Whose words the engine's output is in.
pub(crate) fn output_speech(run: &RunFile<'_>, equipped: Option<&Equipped>) -> Speech {
    match equipped {
        Some(equipped) => equipped.engine.definition.events,
        None => run.task().fake.as_ref().and_then(|fake| fake.speaks).unwrap_or(Speech::Fake),
    }
}

/// Reads the claims in an engine's output, and in its log where it has one.
pub(crate) fn hear_claims(run: &RunFile<'_>, equipped: Option<&Equipped>, ended: &Ended, log: &[u8]) -> Vec<Claim> {
    claims::extract(output_speech(run, equipped), &ended.stdout.text_bytes(), &ended.stderr.text_bytes(), log)
}

/// Looks claimed commits up while the workspace is still there. Its repository is the
/// engine's own, so that only the claimed object itself is read, and by its digest.
pub(crate) fn look_up(claims: &[Claim], workspace: &Path, layers: Option<&Layered>, result: Oid) -> Commits {
    let ids = claims.iter().filter_map(|claim| match &claim.saying {
        Saying::Commit(id) => Some(id),
        _ => None,
    });
    let mut commits: Commits = Vec::new();
    for id in ids {
        if commits.iter().any(|(known, _)| known == id) {
            continue;
        }
        let beneath: Vec<PathBuf> =
            layers.map(|layered| layered.layers.clone()).into_iter().flatten().chain([workspace.to_owned()]).collect();
        let found = match layers {
            Some(layered) => tree::find_commit_in_layer(layered.changes.as_fd(), &beneath, id),
            None => tree::find_commit(workspace, id),
        };
        let holds = match found {
            FoundCommit::Absent => Some(false),
            FoundCommit::Tree(tree) if tree == result => Some(true),
            FoundCommit::Tree(_) | FoundCommit::Unknown => None,
        };
        commits.push((id.clone(), holds));
    }
    commits
}

/// Judges every claim; a structured one that is contradicted is a blocker.
pub(crate) fn judge_claims(
    run: &mut RunFile<'_>,
    claims: &[Claim],
    changed_files: &[String],
    verification: &Verification,
    commits: Commits,
) -> Vec<JudgedClaim> {
    let seen = Seen {
        changed_files: changed_files.to_vec(),
        diff_required: run.task().contract.diff_required,
        tests_passed: tests_passed(&run.standing, verification),
        commits,
    };
    let all = claims::judge_all(claims.to_vec(), &seen);
    if let Some((reason, text)) = contradiction(&all) {
        run.standing.block_run(reason, text, names::REPORT);
    }
    all
}

/// The blocker that contradicted claims make, those that the same sight contradicts in one
/// sentence.
fn contradiction(all: &[JudgedClaim]) -> Option<(Reason, String)> {
    let mut texts: Vec<(&str, String)> = Vec::new();
    for judged in all.iter().filter(|judged| judged.blocks()) {
        let said = judged.claim.saying.to_string();
        match texts.iter_mut().find(|(seen, _)| *seen == judged.seen) {
            Some((_, text)) => *text = format!("{text} and that {said}"),
            None => texts.push((&judged.seen, format!("it says that {said}"))),
        }
    }
    let texts: Vec<String> = texts.iter().map(|(seen, text)| format!("{text}; {seen}")).collect();
    (!texts.is_empty()).then(|| (Reason::ClaimContradicted, texts.join("; ")))
}

/// True if the tests pass, as far as it was seen: a check that ran out of time says neither.
fn tests_passed(standing: &RunStanding, verification: &Verification) -> Option<bool> {
    let shown =
        [Reason::VerificationFailed, Reason::VerificationWeakened].iter().any(|reason| standing.has_reason(*reason));
    verification.tests_passed().filter(|passed| *passed || shown)
}

#[cfg(test)]
mod tests {
    use contract::claim::{ClaimSource, ClaimVerdict};

    use super::*;
    use crate::tests::two_sided;

    fn judged(saying: Saying, source: ClaimSource, verdict: ClaimVerdict, seen: &str) -> JudgedClaim {
        let claim = Claim { saying, source, found_in: "result".to_owned() };
        JudgedClaim { claim, verdict, seen: seen.to_owned() }
    }

    #[test]
    fn a_structured_claim_that_is_contradicted_stands_against_the_run() {
        let said = |source, verdict| {
            [
                judged(Saying::Success(true), source, verdict, "tests fail"),
                judged(Saying::TestsPassed(true), source, verdict, "tests fail"),
                judged(Saying::Commit("abc".to_owned()), source, verdict, "there is no such commit"),
            ]
        };
        let text = "it says that it succeeded and that tests pass; tests fail; it says that it committed abc; there is no such commit";
        let contradicted = contradiction(&said(ClaimSource::Structured, ClaimVerdict::Contradicted));
        assert_eq!(contradicted, Some((Reason::ClaimContradicted, text.to_owned())));
        let prose = contradiction(&said(ClaimSource::Prose, ClaimVerdict::Contradicted));
        assert_eq!(prose, None, "control: prose");
        two_sided(Reason::ClaimContradicted, contradicted, prose);
        assert_eq!(
            contradiction(&said(ClaimSource::Structured, ClaimVerdict::Unverifiable)),
            None,
            "control: nobody can tell"
        );
    }

    #[test]
    fn a_check_that_shows_nothing_contradicts_no_claim() {
        let failed = Verification::of_passes(
            vec![contract::report::VerificationPass {
                kind: contract::report::PassKind::Exam,
                name: "exam 1".to_owned(),
                argv: Vec::new(),
                exit: Some(1),
                duration_ms: 0,
                timed_out: false,
                tests: contract::report::TestComparison::default(),
                result: contract::report::CheckResult::Fail,
            }],
            Vec::new(),
        );
        let mut standing = RunStanding::default();
        assert_eq!(tests_passed(&standing, &failed), None, "nothing stands against it");
        standing.block_run(Reason::Timeout, "late", "");
        assert_eq!(tests_passed(&standing, &failed), None, "it ran out of time");
        standing.block_run(Reason::VerificationFailed, "red", "");
        assert_eq!(tests_passed(&standing, &failed), Some(false));
    }
}
