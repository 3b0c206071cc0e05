//! Each rule is broken by one row and nothing else, at an exact place.

use workboard::{WorkspaceFiles, validate_workspace};

use crate::proof::EarlierEvidence;
use crate::{TODAY, check, document, fresh_texts, told};

const BOARD: &str = "WORKBOARD.yaml";
pub(crate) const DOCUMENT: &str = ".sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md";

/// One edit of the valid workspace: the file, the text that is there, the text in its place, and the only finding.
pub(crate) const EDITS: &[(&str, &str, &str, &str)] = &[
    (BOARD, "items:", "items: [", "error board_unreadable WORKBOARD.yaml:2:3"),
    (BOARD, "items:", "things:", "error board_shape WORKBOARD.yaml:1:1"),
    (BOARD, "id: DEMO-WORK-002", "id: two", "error work_id WORKBOARD.yaml:9:9"),
    (BOARD, "id: DEMO-WORK-002", "id: DEMO-WORK-001", "error work_id_twice WORKBOARD.yaml:9:5"),
    (BOARD, "    title: two\n", "", "error work_title WORKBOARD.yaml:9:5"),
    (BOARD, "status: draft", "status: done", "error work_status WORKBOARD.yaml:12:13"),
    (BOARD, "type: HITL", "type: BOTH", "error work_type WORKBOARD.yaml:11:11"),
    (
        BOARD,
        "blocked_by: [DEMO-WORK-001]",
        "blocked_by: [DEMO-WORK-009]",
        "error blocked_by_unknown WORKBOARD.yaml:13:18",
    ),
    (
        BOARD,
        "blocked_by: [DEMO-WORK-001]",
        "blocked_by: [DEMO-WORK-002]",
        "error blocked_by_cycle WORKBOARD.yaml:13:18",
    ),
    (
        BOARD,
        "    artifacts: [DEMO-WORK-001-PRD.md]\n",
        "    artifacts: [missing.md]\n",
        "error artifact_missing WORKBOARD.yaml:6:17",
    ),
    (
        BOARD,
        "    evidence:\n      - {kind: document, ref: CONTEXT.md}\n",
        "",
        "error evidence_missing WORKBOARD.yaml:5:13",
    ),
    (BOARD, "ref: CONTEXT.md", "ref: nowhere.md", "error evidence_document WORKBOARD.yaml:8:10"),
    (BOARD, "ref: CONTEXT.md", "ref: CONTEXT.md, sha256: abc", "error evidence_digest WORKBOARD.yaml:8:10"),
    (BOARD, "{kind: document, ref: CONTEXT.md}", "{kind: document}", "error evidence_shape WORKBOARD.yaml:8:10"),
    (
        BOARD,
        "{kind: document, ref: CONTEXT.md}",
        "{kind: commit, ref: the last one}",
        "error evidence_commit WORKBOARD.yaml:8:10",
    ),
    (
        BOARD,
        "{kind: document, ref: CONTEXT.md}",
        "{kind: work, ref: DEMO-WORK-002}",
        "error evidence_work WORKBOARD.yaml:8:10",
    ),
    (BOARD, "title: two", "title: Case is the default backend.", "error default_claimed WORKBOARD.yaml:10:17"),
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
    (DOCUMENT, "planning\n", "final\n", "error lifecycle_classification .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:7:27"),
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
    (DOCUMENT, "(DEMO-WORK-001)", "(DEMO-WORK-009)", "error link_work .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:63"),
    (DOCUMENT, "(DEMO-WORK-001)", "(bundle:abc)", "error link_bundle .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:63"),
    (
        DOCUMENT,
        "not-promoted\n---\n",
        "not-promoted\n",
        "error front_matter_unclosed .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:1:1",
    ),
    (
        DOCUMENT,
        "owner: op1\n",
        "owner: op1\nsome words\n",
        "error front_matter_line .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:5:1",
    ),
    (
        DOCUMENT,
        "status: draft\nowner: op1\ncreated",
        "status: draft owner: op1 created",
        "error front_matter_pasted .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:3:1",
    ),
    (
        DOCUMENT,
        "See [",
        "## DEMO-WORK-009 - nine\n\nSee [",
        "advice item_not_on_board .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:1",
    ),
    (
        DOCUMENT,
        "See [",
        "## DEMO-WORK-002 - two\n\nStatus: validated.\n\nSee [",
        "advice item_status_differs .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:1",
    ),
    (
        DOCUMENT,
        "See [",
        "## DEMO-WORK-002 - two\n\n## DEMO-WORK-002 - again\n\nSee [",
        "advice item_twice .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:17:1",
    ),
    (BOARD, "- {kind: document, ref: CONTEXT.md}", "- CONTEXT.md", "advice evidence_kind WORKBOARD.yaml:8:9"),
    (
        BOARD,
        "{kind: document, ref: CONTEXT.md}",
        "{kind: document, ref: CONTEXT.md}\n    execution: true",
        "error execution_without_bundle WORKBOARD.yaml:5:13",
    ),
];

/// A valid workspace with a board of three items and a document.
pub(crate) fn valid() -> Vec<(String, String)> {
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
pub(crate) fn edited(file: &str, from: &str, to: &str) -> Vec<(String, String)> {
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
    let mut wrong = Vec::new();
    for (file, from, to, expected) in EDITS {
        let found = told(&check(&edited(file, from, to)));
        if found != [*expected] {
            wrong.push(format!("{from:?} -> {to:?}: expected {expected}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
    let refused: Vec<String> = rules.iter().map(|rule| format!("error {rule} {path}:1:1")).collect();
    assert_eq!(with("Nothing.", "created: 2026-03-01"), refused, "older by its own word alone");
    let mut texts = valid();
    texts.push((path.to_owned(), document("Nothing.")));
    let source = EarlierEvidence(vec![(path.to_owned(), document("Nothing."))]);
    let found = validate_workspace(&WorkspaceFiles::of_texts(texts), &source, TODAY);
    assert_eq!(told(&found), advised, "older than the workspace");
    let mut texts = valid();
    texts.push((
        path.to_owned(),
        document("Nothing.").replace("2026-03-01", "2026-03-04").replace("2026-03-02", "2026-03-04"),
    ));
    let refused: Vec<String> = rules.iter().map(|rule| format!("error {rule} {path}:1:1")).collect();
    assert_eq!(told(&check(&texts)), refused);
}

#[test]
fn a_secret_is_told_by_its_place_and_never_by_its_value() {
    // In two parts, so that it is not one in this file either.
    let secret = ["sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"].concat();
    let found = check(&edited(DOCUMENT, "See [", &format!("The key is {secret}.\n\nSee [")));
    assert_eq!(told(&found), ["error secret_shaped .sot/03-PROTOCOLS/DEMO-WORK-001-PRD.md:15:12"]);
    assert!(!format!("{found:?}").contains(&secret));
}
