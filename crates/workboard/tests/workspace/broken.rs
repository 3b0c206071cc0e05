//! Each rule is broken by one row and nothing else, at an exact place.

use crate::{check, document, fresh_texts, told};

const DOCUMENT: &str = ".sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md";

/// A valid workspace with a board of three items and a document.
fn valid() -> Vec<(String, String)> {
    let mut texts = fresh_texts();
    let board = "items:\n  - id: DEMO-WORK-001\n    title: one\n    type: AFK\n    status: validated\n    artifacts: [DEMO-WORK-001-PRD.md]\n    evidence:\n      - {kind: document, ref: CONTEXT.md}\n  - id: DEMO-WORK-002\n    title: two\n    type: HITL\n    status: draft\n    blocked_by: [DEMO-WORK-001]\n";
    texts.retain(|(path, _)| path != "WORKBOARD.yaml");
    texts.push(("WORKBOARD.yaml".to_owned(), board.to_owned()));
    texts.push((
        DOCUMENT.to_owned(),
        document("See [the terms](../../CONTEXT.md#target-repository) and [one](DEMO-WORK-001)."),
    ));
    texts
}

/// The valid workspace with one text replaced; the replaced text has to be there.
fn edited(file: &str, from: &str, to: &str) -> Vec<(String, String)> {
    let mut texts = valid();
    let (_, text) = texts.iter_mut().find(|(path, _)| path == file).unwrap();
    assert!(text.contains(from), "{file} has no {from:?}");
    *text = text.replacen(from, to, 1);
    texts
}

#[test]
fn the_control_is_valid() {
    assert_eq!(told(&check(&valid())), Vec::<String>::new());
}

#[test]
fn each_row_breaks_one_rule_at_its_place() {
    let board = "WORKBOARD.yaml";
    let mut wrong = Vec::new();
    for (file, from, to, expected) in [
        (board, "items:", "items: [", "error board_unreadable WORKBOARD.yaml:2:3"),
        (board, "items:", "things:", "error board_shape WORKBOARD.yaml:1:1"),
        (board, "id: DEMO-WORK-002", "id: two", "error work_id WORKBOARD.yaml:9:9"),
        (board, "id: DEMO-WORK-002", "id: DEMO-WORK-001", "error work_id_twice WORKBOARD.yaml:9:5"),
        (board, "    title: two\n", "", "error work_title WORKBOARD.yaml:9:5"),
        (board, "status: draft", "status: done", "error work_status WORKBOARD.yaml:12:13"),
        (board, "type: HITL", "type: BOTH", "error work_type WORKBOARD.yaml:11:11"),
        (
            board,
            "blocked_by: [DEMO-WORK-001]",
            "blocked_by: [DEMO-WORK-009]",
            "error blocked_by_unknown WORKBOARD.yaml:13:18",
        ),
        (
            board,
            "blocked_by: [DEMO-WORK-001]",
            "blocked_by: [DEMO-WORK-002]",
            "error blocked_by_cycle WORKBOARD.yaml:13:18",
        ),
        (
            board,
            "    artifacts: [DEMO-WORK-001-PRD.md]\n",
            "    artifacts: [missing.md]\n",
            "error artifact_missing WORKBOARD.yaml:6:17",
        ),
        (
            board,
            "    evidence:\n      - {kind: document, ref: CONTEXT.md}\n",
            "",
            "error evidence_missing WORKBOARD.yaml:5:13",
        ),
        (board, "ref: CONTEXT.md", "ref: nowhere.md", "error evidence_document WORKBOARD.yaml:8:10"),
        (board, "ref: CONTEXT.md", "ref: CONTEXT.md, sha256: abc", "error evidence_digest WORKBOARD.yaml:8:10"),
        (board, "{kind: document, ref: CONTEXT.md}", "{kind: document}", "error evidence_shape WORKBOARD.yaml:8:10"),
        (
            board,
            "{kind: document, ref: CONTEXT.md}",
            "{kind: commit, ref: the last one}",
            "error evidence_commit WORKBOARD.yaml:8:10",
        ),
        (
            board,
            "{kind: document, ref: CONTEXT.md}",
            "{kind: work, ref: DEMO-WORK-002}",
            "error evidence_work WORKBOARD.yaml:8:10",
        ),
        (board, "title: two", "title: Case is the default backend.", "error default_claimed WORKBOARD.yaml:10:17"),
        ("CONTEXT.md", "Core Route Admission Guard", "Guard", "error term_missing CONTEXT.md:1:1"),
        (DOCUMENT, "---\nname", "name", "error front_matter_missing .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:1:1"),
        (DOCUMENT, "owner: op1\n", "", "error front_matter_key .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:8:1"),
        (
            DOCUMENT,
            "owner: op1\n",
            "owner: op1\nowner: op2\n",
            "error front_matter_key_twice .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:5:1",
        ),
        (DOCUMENT, "status: draft", "status: done", "error document_status .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:3:9"),
        (
            DOCUMENT,
            "created: 2026-03-01",
            "created: 2026-02-30",
            "error document_day .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:5:10",
        ),
        (
            DOCUMENT,
            "last_reviewed: 2026-03-02",
            "last_reviewed: 2026-02-02",
            "error document_stale .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:6:16",
        ),
        (
            DOCUMENT,
            "last_reviewed: 2026-03-02",
            "last_reviewed: 2027-03-02",
            "error document_stale .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:6:16",
        ),
        (
            DOCUMENT,
            "planning\n",
            "final\n",
            "error lifecycle_classification .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:7:27",
        ),
        (
            DOCUMENT,
            "core_promotion_status: not-promoted",
            "core_promotion_status: requested",
            "error core_promotion_status .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:8:24",
        ),
        (DOCUMENT, "Not a Core Protocol. ", "", "error disclaimer_missing .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:11:1"),
        (
            DOCUMENT,
            "See [",
            "Case is promoted to Core.\n\nSee [",
            "error promotion_claimed .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:6",
        ),
        (
            DOCUMENT,
            "See [",
            "This document\napproves stage 5.\n\nSee [",
            "error authority_claimed .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:1",
        ),
        (
            DOCUMENT,
            "See [",
            "- `runtime_default_activation`: `pending`\n\nSee [",
            "error constant_changed .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:1",
        ),
        (
            DOCUMENT,
            "CONTEXT.md#target",
            "CONTENTS.md#target",
            "error link_file .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:17",
        ),
        (DOCUMENT, "#target-repository", "#nowhere", "error link_anchor .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:17"),
        (
            DOCUMENT,
            "(DEMO-WORK-001)",
            "(DEMO-WORK-009)",
            "error link_work .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:63",
        ),
        (DOCUMENT, "(DEMO-WORK-001)", "(bundle:abc)", "error link_bundle .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:63"),
    ] {
        let found = told(&check(&edited(file, from, to)));
        if found != [expected] {
            wrong.push(format!("{from:?} -> {to:?}: expected {expected}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn items_that_are_each_others_evidence_prove_nothing() {
    let from = "- {kind: document, ref: CONTEXT.md}\n  - id: DEMO-WORK-002\n    title: two\n    type: HITL\n    status: draft\n    blocked_by: [DEMO-WORK-001]\n";
    let to = "- {kind: work, ref: DEMO-WORK-002}\n  - id: DEMO-WORK-002\n    title: two\n    type: HITL\n    status: validated\n    evidence:\n      - {kind: work, ref: DEMO-WORK-001}\n";
    assert_eq!(told(&check(&edited("WORKBOARD.yaml", from, to))), ["error evidence_circle WORKBOARD.yaml:14:10"]);
}

#[test]
fn a_validated_item_waits_for_what_it_depends_on() {
    let from = "status: draft\n    blocked_by: [DEMO-WORK-001]\n";
    let to = "status: validated\n    evidence: [{kind: document, ref: CONTEXT.md}]\n    blocked_by: [DEMO-WORK-001]\n";
    assert_eq!(told(&check(&edited("WORKBOARD.yaml", from, to))), Vec::<String>::new(), "control");
    let mut texts = edited("WORKBOARD.yaml", from, to);
    let board = texts.iter_mut().find(|(path, _)| path == "WORKBOARD.yaml").unwrap();
    board.1 = board.1.replacen("status: validated", "status: candidate", 1);
    assert_eq!(told(&check(&texts)), ["error validated_too_early WORKBOARD.yaml:14:18"]);
}

#[test]
fn a_closeout_keeps_its_sentences_and_an_older_one_is_advised() {
    let path = ".sot/03-PROTOCOLS/DEMO-WORK-001-CLOSEOUT.md";
    let kept = "Runtime default activation remains false. Do not activate Case as default backend. No Core promotion\noccurs. This document authorises no further run.";
    let rules =
        ["case_kept_disabled", "default_activation_kept_false", "no_core_promotion_kept", "no_further_run_kept"];
    let with = |body: &str, created: &str| {
        let mut texts = valid();
        texts.push((path.to_owned(), document(body).replace("created: 2026-03-01", created)));
        told(&check(&texts))
    };
    assert_eq!(with(kept, "created: 2026-03-04").len(), 1, "reviewed before it was created");
    assert_eq!(with(kept, "created: 2026-03-01"), Vec::<String>::new());
    let advised: Vec<String> = rules.iter().map(|rule| format!("advice {rule} {path}:1:1")).collect();
    assert_eq!(with("Nothing.", "created: 2026-03-01"), advised, "older than the workspace");
    let mut texts = valid();
    texts.push((
        path.to_owned(),
        document("Nothing.").replace("2026-03-01", "2026-03-04").replace("2026-03-02", "2026-03-04"),
    ));
    let refused: Vec<String> = rules.iter().map(|rule| format!("error {rule} {path}:1:1")).collect();
    assert_eq!(told(&check(&texts)), refused);
}

#[test]
fn phrases_that_a_plan_demands_stand_in_the_closeout() {
    let kept = "Runtime default activation remains false. Do not activate Case as default backend. No Core promotion occurs. This document authorises no further run.";
    let closeout = |more: &str| {
        let mut texts = edited(DOCUMENT, "See [", "## Required Phrases\n\n- `all rows pass`\n\nSee [");
        let text =
            document(&format!("{kept} {more}")).replace("2026-03-01", "2026-03-04").replace("2026-03-02", "2026-03-04");
        texts.push((".sot/03-PROTOCOLS/DEMO-WORK-001-CLOSEOUT.md".to_owned(), text));
        told(&check(&texts))
    };
    assert_eq!(closeout("All rows\npass."), Vec::<String>::new());
    assert_eq!(closeout("Some rows pass."), ["error phrase_missing .sot/03-PROTOCOLS/DEMO-WORK-001-CLOSEOUT.md:1:1"]);
}

#[test]
fn a_secret_is_told_by_its_place_and_never_by_its_value() {
    // In two parts, so that it is not one in this file either.
    let secret = ["sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"].concat();
    let found = check(&edited(DOCUMENT, "See [", &format!("The key is {secret}.\n\nSee [")));
    assert_eq!(told(&found), ["error secret_shaped .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:12"]);
    assert!(!format!("{found:?}").contains(&secret));
}
