//! Reasons that a captured result gives, each beside the nearest result that does not give it.

use contract::Reason;
use serde_json::{Value, json};
use tree::{ListingEntry, PathMode};

use super::*;
use crate::run::tests::contract;
use crate::tests::two_sided;

fn blockers(standing: &RunStanding) -> Vec<(Reason, &str)> {
    standing.blockers().iter().map(|blocker| (blocker.reason, blocker.text.as_str())).collect()
}

fn change(path: &str) -> PathChange {
    let entry = ListingEntry { mode: PathMode::File, oid: Oid([1; 20]) };
    PathChange { path: path.as_bytes().to_vec(), before: None, after: Some(entry) }
}

/// Blockers of one added file, and the two words of the report about paths.
fn judge_path(more: Value, path: &str) -> (Vec<(Reason, String)>, bool, bool) {
    let rules = contract(more).path_rules(&[contract::Ecosystem::Python]).unwrap();
    let (mut taken, mut standing) = (TakenResult::default(), RunStanding::default());
    taken.judge_paths(&mut standing, &rules, &[change(path)]);
    let blockers = blockers(&standing).into_iter().map(|(reason, text)| (reason, text.to_owned())).collect();
    (blockers, taken.allowed_writes_passed, taken.forbidden_paths_passed)
}

#[test]
fn paths_are_held_to_the_contract() {
    let terms = || json!({"allowed_paths": ["src/*.py"], "forbidden_paths": ["src/key.py"]});
    for (path, reason, text, allowed, forbidden) in [
        ("src/key.py", Reason::ForbiddenPathChange, "`src/key.py` is forbidden and was added", false, false),
        (
            "test_a.py",
            Reason::ProtectedFileChanged,
            "`test_a.py` belongs to the exam and was added; it is restored before verification",
            false,
            true,
        ),
        ("other.py", Reason::DisallowedFileChange, "`other.py` was added; allowed: src/*.py", false, true),
    ] {
        assert_eq!(judge_path(terms(), path), (vec![(reason, text.to_owned())], allowed, forbidden), "{path}");
        two_sided(reason, judge_path(terms(), path).0, judge_path(terms(), "src/a.py").0);
    }
    assert_eq!(judge_path(terms(), "src/a.py"), (Vec::new(), true, true), "control");
}

#[test]
fn a_path_is_said_to_be_added_changed_or_deleted() {
    let rules = contract(json!({"allowed_paths": ["a"]})).path_rules(&[]).unwrap();
    let added = change("b");
    let changed = PathChange { before: added.after, ..added.clone() };
    let deleted = PathChange { before: added.after, after: None, path: added.path.clone() };
    for (change, done) in [(added, "added"), (changed, "changed"), (deleted, "deleted")] {
        assert_eq!(judged(&rules, &[change]), [(Reason::DisallowedFileChange, format!("`b` was {done}; allowed: a"))]);
    }
}

#[test]
fn a_path_that_no_result_may_hold_is_refused_whatever_the_contract_allows() {
    let refused = |why| RefusedPath { path: b"a".to_vec(), why };
    for (why, words) in [
        (RefusedWhy::LinkLeavesRepository, "is a link that leaves the repository"),
        (RefusedWhy::GitName, "has a name that some file systems take for `.git`"),
        (RefusedWhy::NotUtf8, "has a name that is not UTF-8"),
        (RefusedWhy::GitlinkChanged, "is a submodule that changed"),
        (RefusedWhy::Unreadable, "cannot be read"),
    ] {
        let (mut taken, mut standing) = (TakenResult::default(), RunStanding::default());
        assert!(taken.refuse(&mut standing, &[refused(why)]));
        assert_eq!(blockers(&standing), [(Reason::DisallowedFileChange, format!("`a` {words}").as_str())]);
        assert!(!taken.allowed_writes_passed);
        assert_eq!(may_be_litter(why), why == RefusedWhy::LinkLeavesRepository, "{why:?}");
    }
    let (mut taken, mut standing) = (TakenResult::default(), RunStanding::default());
    assert!(!taken.refuse(&mut standing, &[]) && !standing.is_blocked() && taken.allowed_writes_passed, "control");
}

#[test]
fn state_that_no_patch_carries_is_a_dirty_end() {
    let captured = Capture {
        nested_repositories: vec![b"sub".to_vec()],
        special_files: vec![b"pipe".to_vec()],
        unfinished: vec!["MERGE_HEAD".to_owned()],
        empty_directories: vec![b"empty".to_vec()],
        ..Capture::default()
    };
    let (mut taken, mut standing) = (TakenResult::default(), RunStanding::default());
    assert!(taken.note_leftovers(&mut standing, &captured));
    let text = "`sub` is a repository of its own; `pipe` is a socket, device or pipe; `.git/MERGE_HEAD` says that something is \
                unfinished";
    assert_eq!(blockers(&standing), [(Reason::DirtyEndingTree, text)]);
    assert_eq!(taken.dirty_paths, ["sub", "pipe", ".git/MERGE_HEAD"]);
    let (mut taken, mut control) = (TakenResult::default(), RunStanding::default());
    let clean = Capture { empty_directories: captured.empty_directories, ..Capture::default() };
    assert!(!taken.note_leftovers(&mut control, &clean) && !control.is_blocked(), "control");
    two_sided(Reason::DirtyEndingTree, standing, control);
}

#[test]
fn a_result_that_is_too_large_is_over_budget() {
    let (reason, text) = judge_capture("entries", b"a/b");
    assert_eq!(
        (reason, text.as_str()),
        (Reason::BudgetExceeded, "the result is too large to capture: entries at `a/b`")
    );
    let bytes = |bytes| move || Ok(bytes);
    let too_many = judge_size(MOST_FILES + 1, bytes(0)).unwrap();
    assert_eq!(too_many.as_deref(), Some("the patch would have 20001 files; at most 20000"));
    let most = LARGEST_PATCH as u64;
    let too_large = judge_size(1, bytes(most + 1)).unwrap();
    assert_eq!(too_large, Some(format!("the 1 changed files have {} bytes; a patch has at most {most}", most + 1)));
    assert_eq!(judge_size(MOST_FILES, bytes(most)).unwrap(), None, "control");
}

#[test]
fn a_patch_that_makes_another_tree_proves_nothing() {
    let tree = Oid([1; 20]);
    assert_eq!(judge_proof(&tree.to_string(), tree), None, "control");
    let text = format!("expected tree {tree}, found it does not apply");
    assert_eq!(judge_proof("it does not apply", tree), Some((Reason::PatchNotReproducible, text)));
    let same = judge_proof(&tree.to_string(), tree);
    two_sided(Reason::PatchNotReproducible, judge_proof("it does not apply", tree), same);
}

#[test]
fn an_engine_that_ended_well_and_changed_nothing_owes_a_change() {
    let mut standing = RunStanding::default();
    let text = "the engine ended well and changed nothing";
    assert_eq!(judge_no_change(&standing, true), Some((Reason::NoDiff, text)));
    assert_eq!(judge_no_change(&standing, false), None, "control: it failed");
    two_sided(Reason::NoDiff, judge_no_change(&standing, true), judge_no_change(&standing, false));
    standing.block_run(Reason::EngineFailed, "e", "");
    assert_eq!(judge_no_change(&standing, true), None, "control: something worse explains it");
}

#[test]
fn a_source_repository_must_be_what_it_was() {
    for (is_same, mutated, text) in [
        (Ok(true), false, None),
        (Ok(false), true, Some("the source repository is not what it was before the run")),
        (Err("no HEAD\u{7}"), true, Some("the source repository can no longer be read: no HEAD␇")),
    ] {
        let (mut taken, mut standing) = (TakenResult::default(), RunStanding::default());
        taken.judge_source(&mut standing, is_same);
        assert_eq!(taken.is_source_mutated(), Some(mutated), "{is_same:?}");
        let expected: Vec<_> = text.map(|text| (Reason::SourceRepositoryMutated, text)).into_iter().collect();
        assert_eq!(blockers(&standing), expected, "{is_same:?}");
    }
}
