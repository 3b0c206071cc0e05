//! Attempts of tests, setups and builds beside those of the baseline.

use contract::sandbox::{Attempt, AttemptKind, AttemptVerdict};
use serde_json::{Value, json};

use super::super::baseline::BaselineCommand;
use super::super::{Examiner, Furnished, sort_of};
use super::exam_trial::{ExamTrial, pytest};
use super::reasons::{BASELINE, GOOD};

fn attempt(what: &str, judged: AttemptVerdict) -> Attempt {
    let (cell, what) = ("build".to_owned(), what.to_owned());
    Attempt { cell, kind: AttemptKind::Execution, what, by: None, count: 1, judged, action: None }
}

/// A command that tried this on the baseline.
fn before(tried: &[Attempt]) -> BaselineCommand {
    let mut before = BaselineCommand::default();
    before.tried = tried.iter().map(sort_of).collect();
    before
}

fn kept(found: &[Attempt]) -> Vec<(&str, AttemptVerdict)> {
    found.iter().map(|attempt| (attempt.what.as_str(), attempt.judged)).collect()
}

fn with_examiner<T>(ask: impl FnOnce(&mut Examiner<'_>) -> T) -> T {
    let desk = ExamTrial::new(json!({}));
    desk.ask((BASELINE, GOOD), Furnished::default(), &|_, spec| pytest(&spec.cwd), |mut examiner| ask(&mut examiner))
}

#[test]
fn a_sort_is_the_program_and_not_the_rest_of_its_line() {
    use AttemptVerdict::{ForbiddenAction, Violation};
    let sort = |what, judged| sort_of(&attempt(what, judged));
    assert_eq!(sort("mount /a", Violation), sort("mount /b", Violation));
    assert_ne!(sort("mount /a", Violation), sort("umount /a", Violation));
    assert_ne!(sort("mount /a", Violation), sort("mount /a", ForbiddenAction));
}

#[test]
fn what_the_build_of_the_baseline_tries_too_is_nothing_the_patch_did() {
    use AttemptVerdict::{ForbiddenAction, Note, Violation};
    let found = with_examiner(|examiner| {
        let mut exam_tree = examiner.make_exam_tree(examiner.trees.result, "exam").unwrap();
        exam_tree.attempts = vec![attempt("mount /b", Violation), attempt("ls", Note), attempt("bpf", Violation)];
        exam_tree.attempts.push(attempt("git push", ForbiddenAction));
        examiner.before.commands = vec![before(&[]), before(&[attempt("mount /a", Violation)])];
        examiner.judge_tree_conduct(&exam_tree);
        examiner.found.attempts.clone()
    });
    assert_eq!(kept(&found), [("bpf", Violation), ("git push", ForbiddenAction)]);
}

/// Sandboxes of a check whose recorders saw this.
fn cells(seen: Value) -> Value {
    let mut all = json!({"refused": [], "executions": [], "executions_total": 0, "connections": [], "connections_total": 0, "canaries": []});
    all.as_object_mut().unwrap().extend(seen.as_object().unwrap().clone());
    let ids = json!({"inner_uid": 0, "outer_uid": 0, "inner_gid": 0, "outer_gid": 0, "groups_kept": false, "ownership": "same"});
    json!({"postures": [], "cells": [{"name": "exam 1", "posture": 0, "ids": ids, "limit_hits": [], "seen": all}]})
}

#[test]
fn what_a_command_tries_only_with_the_patch_is_kept_and_a_forbidden_action_is_a_note() {
    use AttemptVerdict::{Note, Violation};
    let seen = json!({
        "canaries": [{"path": ".env", "opened": 1, "read": 1, "changed": 0}],
        "executions": [{"path": "/usr/bin/git", "argv": ["git", "push"], "count": 1}], "executions_total": 1,
    });
    let held = |known: &dyn Fn(&[Attempt]) -> Vec<Attempt>| {
        with_examiner(|examiner| {
            examiner.found.cells = serde_json::from_value(cells(seen.clone())).unwrap();
            let tried = examiner.tried();
            examiner.before.commands = vec![before(&known(&tried))];
            examiner.hold_conduct_against(0);
            examiner.found.attempts.iter().map(|attempt| (attempt.kind, attempt.judged)).collect::<Vec<_>>()
        })
    };
    let both = [(AttemptKind::Execution, Note), (AttemptKind::Canary, Violation)];
    let mut all = held(&|_| Vec::new());
    all.sort();
    assert_eq!(all, both);
    assert_eq!(held(&|tried| tried.to_vec()), [], "control: the baseline tries the same");
    let decoy =
        |tried: &[Attempt]| tried.iter().filter(|attempt| attempt.kind == AttemptKind::Canary).cloned().collect();
    assert_eq!(held(&decoy), [both[0]]);
}
