//! Rules that no plain edit of the valid workspace breaks alone, each with its control; and the proof that every rule of the
//! program has a row that breaks it and nothing else.

use std::collections::BTreeSet;
use std::fs;

use untrusted_fs::own_files;
use workboard::{
    BundleFact, CheckRule, CommitFact, EvidenceSource, RuleBook, ValidatorFact, WorkspaceFiles, check_move,
    validate_workspace,
};

use crate::broken::{DOCUMENT, EDITS, edited, valid};
use crate::{TODAY, check, document, fresh_texts, told};

pub(crate) const KEPT: &str = "Runtime default activation remains false. Do not activate Case as default backend. No Core promotion occurs. This document authorises no further run.";
const CLOSEOUT: &str = ".sot/03-PROTOCOLS/DEMO-WORK-001-CLOSEOUT.md";

/// Bundles and commits by names that say what they are.
pub(crate) struct NamedEvidence;

impl EvidenceSource for NamedEvidence {
    fn find_bundle(&self, reference: &str) -> BundleFact {
        let verified = |work_id: &str, is_governed: bool, has_passed: bool| BundleFact::Verified {
            run_id: reference.to_owned(),
            work_id: Some(work_id.to_owned()),
            is_governed,
            has_passed,
            attestation_sha256: "abc".to_owned(),
        };
        match reference {
            "good" => verified("DEMO-WORK-001", true, true),
            "validation" => verified("DEMO-WORK-001", false, true),
            "other" => verified("DEMO-WORK-002", true, true),
            "failed" => verified("DEMO-WORK-001", true, false),
            "tampered" => BundleFact::NotVerified("a digest differs".to_owned()),
            "collected" => BundleFact::Collected("by gc".to_owned()),
            "legacy" => BundleFact::Legacy(None),
            "legacy-broken" => BundleFact::Legacy(Some("a digest differs".to_owned())),
            _ => BundleFact::Unknown("no such run".to_owned()),
        }
    }

    fn find_commit(&self, commit: &str) -> CommitFact {
        match commit {
            "abcdef0" => CommitFact::Found,
            "fedcba9" => CommitFact::Unreadable,
            _ => CommitFact::NotHere,
        }
    }

    fn find_validator(&self, name: &str) -> ValidatorFact {
        match name {
            "passing" => ValidatorFact::Passed,
            "failing" => ValidatorFact::Failed,
            "waiting" => ValidatorFact::NotRun,
            _ => ValidatorFact::Unknown,
        }
    }
}

/// A second piece of evidence beside a bundle that holds, and the finding about it; `None` for a control.
const PIECES: &[(&str, Option<&str>)] = &[
    ("{kind: bundle, ref: good}", None),
    ("{kind: bundle, ref: good, sha256: abc}", None),
    ("{kind: bundle, ref: good, sha256: abd}", Some("error evidence_digest")),
    ("{kind: bundle, ref: nothing}", Some("error evidence_unknown")),
    ("{kind: bundle, ref: tampered}", Some("error evidence_tampered")),
    ("{kind: bundle, ref: collected}", Some("error evidence_collected")),
    ("{kind: bundle, ref: validation}", Some("error evidence_purpose")),
    ("{kind: bundle, ref: other}", Some("error evidence_other_work")),
    ("{kind: bundle, ref: failed}", Some("error evidence_not_pass")),
    ("{kind: bundle, ref: legacy}", Some("advice evidence_legacy")),
    ("{kind: bundle, ref: legacy-broken}", Some("error evidence_legacy_broken")),
    ("{kind: commit, ref: abcdef0}", None),
    ("{kind: commit, ref: abcdef0 with its subject}", None),
    ("{kind: commit, ref: abcdef0..abcdef0}", None),
    ("{kind: commit, ref: 0123456789012345678901234567890123456789}", Some("advice evidence_commit_elsewhere")),
    ("{kind: commit, ref: abcdef1}", Some("advice evidence_commit_elsewhere")),
    ("{kind: commit, ref: abcdef0..fedcba9}", Some("advice evidence_commit_unread")),
    ("{kind: document, ref: DEMO-WORK-001-PRD.md}", None),
    ("{kind: document, ref: /elsewhere/proof.md}", None),
    ("{kind: document, ref: .sot/03-PROTOCOLS}", Some("error evidence_document")),
    ("{kind: document, ref: WORKBOARD.yaml}", Some("error evidence_document")),
    ("{kind: document, ref: './WORKBOARD.yaml#DEMO-WORK-002'}", Some("error evidence_document")),
    ("{kind: validator, ref: passing}", None),
    ("{kind: validator, ref: waiting}", None),
    ("{kind: validator, ref: failing}", Some("error evidence_validator")),
    ("{kind: validator, ref: anything}", Some("error evidence_validator")),
    ("{kind: external, ref: a letter}", None),
];

/// The only evidence of an item, and the finding where nothing of it can be verified; `None` for a control.
pub(crate) const ALONE: &[(&str, Option<&str>)] = &[
    ("{kind: document, ref: CONTEXT.md}", None),
    ("{kind: commit, ref: abcdef0}", None),
    ("{kind: external, ref: a letter}", Some("evidence_unverified")),
    ("{kind: validator, ref: passing}", Some("evidence_unverified")),
    ("{kind: document, ref: /elsewhere/proof.md}", Some("evidence_unverified")),
    ("{kind: commit, ref: abcdef1}", Some("evidence_unverified")),
    ("{kind: commit, ref: fedcba9}", Some("evidence_unverified")),
];

/// Status, pieces that are attached, pieces that are given, and the rules that refuse the move.
const MOVES: &[(&str, &str, &str, &[&str])] = &[
    ("candidate", "", "", &["evidence_missing"]),
    ("blocked", "", "", &["evidence_missing"]),
    ("draft", "", "", &["evidence_missing"]),
    ("candidate", "{kind: document, ref: CONTEXT.md}", "", &[]),
    ("candidate", "", "{kind: document, ref: CONTEXT.md}", &[]),
    ("candidate", "", "{kind: document, ref: nowhere.md}", &["evidence_document", "evidence_unverified"]),
    ("candidate", "{kind: document, ref: CONTEXT.md}", "{kind: document, ref: nowhere.md}", &["evidence_document"]),
    ("blocked", "{kind: bundle, ref: tampered}", "{kind: document, ref: CONTEXT.md}", &[]),
    ("blocked", "{kind: bundle, ref: tampered}", "", &["evidence_unverified"]),
    ("candidate", "", "{kind: bundle, ref: failed}", &["evidence_not_pass", "evidence_unverified"]),
    ("blocked", "", "{kind: bundle, ref: failed}", &[]),
    ("blocked", "", "{kind: bundle, ref: other}", &["evidence_other_work", "evidence_unverified"]),
    ("draft", "", "{kind: external, ref: a letter}", &["evidence_unverified"]),
    ("candidate", "", "{kind: work, ref: DEMO-WORK-001}", &["evidence_work", "evidence_unverified"]),
];

#[test]
fn every_move_needs_evidence_that_holds() {
    for (status, attached, given, rules) in MOVES {
        let pieces: Vec<&str> = [*attached, *given].into_iter().filter(|piece| !piece.is_empty()).collect();
        let board = format!(
            "items:\n  - id: DEMO-WORK-001\n    title: one\n    type: AFK\n    status: {status}\n    evidence: [{}]\n",
            pieces.join(", ")
        );
        let mut texts = fresh_texts();
        texts.retain(|(path, _)| path != "WORKBOARD.yaml");
        texts.push(("WORKBOARD.yaml".to_owned(), board));
        let files = WorkspaceFiles::of_texts(texts);
        let found = check_move(&files, &NamedEvidence, "DEMO-WORK-001", usize::from(!given.is_empty()));
        let refused: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(refused, *rules, "{status} {attached} {given}");
    }
}

#[test]
fn each_piece_of_evidence_is_refused_for_its_own_reason() {
    let from = "- {kind: document, ref: CONTEXT.md}\n";
    for (piece, rule) in PIECES {
        let texts = edited("WORKBOARD.yaml", from, &format!("- {{kind: bundle, ref: good}}\n      - {piece}\n"));
        let found = told(&validate_workspace(&WorkspaceFiles::of_texts(texts), &NamedEvidence, TODAY));
        let expected = rule.map(|rule| format!("{rule} WORKBOARD.yaml:9:10"));
        assert_eq!(found, Vec::from_iter(expected), "{piece}");
    }
}

/// Texts of a workspace, and its one finding; `None` for a control.
type MadeRow = (Vec<(String, String)>, Option<String>);

fn made_rows() -> Vec<MadeRow> {
    let without = |path: &str| {
        let mut texts = fresh_texts();
        let before = texts.len();
        texts.retain(|(known, _)| known != path);
        assert_eq!(texts.len() + 1, before, "{path}");
        texts
    };
    let with = |path: &str, text: String| {
        let mut texts = valid();
        texts.push((path.to_owned(), text));
        texts
    };
    let error = |rule: &str, path: &str, place: &str| Some(format!("error {rule} {path}:{place}"));
    let of_today = |body: &str| document(body).replace("2026-03-01", TODAY).replace("2026-03-02", TODAY);
    let mut rows = vec![(fresh_texts(), None), (valid(), None)];
    for path in ["WORKBOARD.yaml", "CONTEXT.md"] {
        rows.push((without(path), error("file_missing", path, "1:1")));
    }
    let mark = ".sot/WORKSPACE.yaml";
    rows.push((without(mark), Some(format!("advice file_missing {mark}:1:1"))));
    let intent = ".sot/03-PROTOCOLS/WORKSPACE-INTENT.md";
    rows.push((without(intent), error("intent_missing", ".sot/03-PROTOCOLS", "1:1")));
    let rule = "rules:\n  - {id: r, sentence: s, pattern: bad, remedy: m, must_match: [bad], must_not_match: [good]}\n";
    rows.push((with("rules/own.yaml", rule.to_owned()), None));
    let broken = with("rules/own.yaml", rule.replace("[good]", "[bad]"));
    rows.push((broken, error("rule_file", "rules/own.yaml", "1:1")));
    rows.push((with(CLOSEOUT, of_today(KEPT)), None));
    for (sentence, rule) in KEPT.split_inclusive('.').zip([
        "default_activation_kept_false",
        "case_kept_disabled",
        "no_core_promotion_kept",
        "no_further_run_kept",
    ]) {
        rows.push((with(CLOSEOUT, of_today(&KEPT.replace(sentence, ""))), error(rule, CLOSEOUT, "1:1")));
    }
    let demanding = |said: &str| {
        let mut texts = edited(DOCUMENT, "See [", "## Required Phrases\n\n- all rows pass\n\nSee [");
        texts.push((CLOSEOUT.to_owned(), of_today(&format!("{KEPT} {said}"))));
        texts
    };
    rows.push((demanding("All rows pass."), None));
    rows.push((demanding("Some rows pass."), error("phrase_missing", CLOSEOUT, "1:1")));
    let naming = |path: &str| with(CLOSEOUT, of_today(&format!("{KEPT}\n\nSee `{path}`.")));
    rows.push((naming("CONTEXT.md"), None));
    let cell = with(CLOSEOUT, of_today(&format!("{KEPT}\n\n| proof | runs/none.json |")));
    rows.push((cell, Some(format!("advice path_missing {CLOSEOUT}:17:11"))));
    let fence = with(CLOSEOUT, of_today(&format!("{KEPT}\n\n```text\nruns/none.json\n```")));
    rows.push((fence, Some(format!("advice path_missing {CLOSEOUT}:18:1"))));
    rows.push((naming("runs/none.json"), Some(format!("advice path_missing {CLOSEOUT}:17:6"))));
    // In two parts, so that it is no secret in this file either.
    let secret = ["sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"].concat();
    let leaky = edited(DOCUMENT, "See [", &format!("The key is {secret}.\n\nSee ["));
    rows.push((leaky, error("secret_shaped", DOCUMENT, "15:12")));
    let decision = ".sot/03-PROTOCOLS/CORE-DECISION-RECORD.md";
    rows.push((with(decision, document("- Decision status: `not_decided`.")), None));
    let differs = with(decision, document("- Decision status: `core_promotion_requested`."));
    rows.push((differs, Some(format!("advice decision_differs {decision}:15:1"))));
    let issues = ".sot/03-PROTOCOLS/DEMO-ISSUES.md";
    let sequence = |numbers: &[u8], artifacts: &str| {
        let headings: String = numbers.iter().map(|number| format!("## DEMO-WORK-{number:03} - one\n\n")).collect();
        let mut texts = edited("WORKBOARD.yaml", "[DEMO-WORK-001-PRD.md]", artifacts);
        texts.push((issues.to_owned(), document(&headings)));
        let board = texts.iter_mut().find(|(path, _)| path == "WORKBOARD.yaml").unwrap();
        board.1.push_str("  - {id: DEMO-WORK-003, title: three, type: AFK, status: draft}\n");
        texts
    };
    rows.push((sequence(&[1, 2, 3], "[DEMO-ISSUES.md]"), None));
    rows.push((sequence(&[1, 3], "[DEMO-ISSUES.md]"), Some(format!("advice item_gap {issues}:17:1"))));
    rows.push((sequence(&[2, 3], "[DEMO-ISSUES.md]"), Some(format!("advice item_without_heading {issues}:1:1"))));
    let from = "status: draft\n    blocked_by: [DEMO-WORK-001]\n";
    let validated = |first: &str, evidence: &str| {
        let to = format!("status: validated\n    evidence: [{evidence}]\n    blocked_by: [DEMO-WORK-001]\n");
        let mut texts = edited("WORKBOARD.yaml", from, &to);
        let board = texts.iter_mut().find(|(path, _)| path == "WORKBOARD.yaml").unwrap();
        board.1 = board.1.replacen("{kind: document, ref: CONTEXT.md}", first, 1);
        texts
    };
    let terms = "{kind: document, ref: CONTEXT.md}";
    rows.push((validated(terms, terms), None));
    let mut early = validated(terms, terms);
    let board = early.iter_mut().find(|(path, _)| path == "WORKBOARD.yaml").unwrap();
    board.1 = board.1.replacen("status: validated", "status: candidate", 1);
    rows.push((early, error("validated_too_early", "WORKBOARD.yaml", "14:18")));
    let circle = validated("{kind: work, ref: DEMO-WORK-002}", "{kind: work, ref: DEMO-WORK-001}");
    rows.push((circle, error("evidence_circle", "WORKBOARD.yaml", "13:17")));
    rows
}

#[test]
fn each_made_workspace_breaks_one_rule_at_its_place() {
    let judged = made_rows().into_iter().map(|(texts, expected)| (told(&check(&texts)), Vec::from_iter(expected)));
    let wrong: Vec<_> = judged.filter(|(found, expected)| found != expected).collect();
    assert!(wrong.is_empty(), "found, expected: {wrong:#?}");
}

/// A file on a disk, since a text in memory is always readable.
fn unreadable_row(bytes: &[u8]) -> Vec<String> {
    told_with("decisions/notes.md", bytes)
}

/// Findings about a valid workspace on a disk with one more file.
pub(crate) fn told_with(path: &str, bytes: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in valid() {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        own_files::write_file(file, text).unwrap();
    }
    own_files::write_file(folder.path().join(path), bytes).unwrap();
    let files = WorkspaceFiles::read_workspace(folder.path()).unwrap();
    told(&validate_workspace(&files, &NamedEvidence, TODAY))
}

#[test]
fn a_file_that_is_no_text_is_told() {
    assert_eq!(unreadable_row("# Caf\u{e9}\n".as_bytes()), Vec::<String>::new(), "control");
    assert_eq!(unreadable_row(b"# Caf\xe9\n"), ["error file_unreadable decisions/notes.md:1:1"]);
}

#[test]
fn every_rule_of_the_program_has_a_row_that_breaks_it_alone() {
    let rule_of = |finding: &str| finding.split(' ').nth(1).unwrap().to_owned();
    let mut shown: BTreeSet<String> = EDITS.iter().map(|(.., expected)| rule_of(expected)).collect();
    shown.extend(PIECES.iter().filter_map(|(_, rule)| rule.map(rule_of)));
    shown.extend(ALONE.iter().filter_map(|(_, rule)| rule.map(str::to_owned)));
    shown.extend(made_rows().iter().filter_map(|(_, expected)| expected.as_deref().map(rule_of)));
    shown.extend(unreadable_row(b"\xff").iter().map(|finding| rule_of(finding)));
    let book = RuleBook::built_in().unwrap();
    let here = CheckRule::ALL.iter().filter(|rule| !CheckRule::OF_CALLERS.contains(rule));
    let all: BTreeSet<String> =
        here.map(|rule| rule.id().to_owned()).chain(book.rules().map(|rule| rule.id.clone())).collect();
    assert_eq!(shown, all);
}

/// Columns at which the claims of a rule begin, in the order of its examples.
const COLUMNS: [(&str, &[usize]); 3] = [
    ("default_claimed", &[6, 17, 7, 4, 10, 4, 1, 5, 1, 20, 6, 27, 6, 9, 6, 1, 1, 1, 20, 17, 27, 6, 1, 27, 27]),
    ("promotion_claimed", &[6, 20, 14, 1, 1, 1, 5, 15, 5, 13, 15, 5, 1, 1]),
    ("authority_claimed", &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 18, 1, 1, 1]),
];

/// The only example that claims two things: its sentence, the other rule, and the column.
const TWO_CLAIMS: (&str, &str, usize) = ("This sequence is active Core authority.", "authority_claimed", 1);

#[test]
fn ten_sentences_are_refused_and_ten_honest_ones_pass_in_a_document() {
    let book = RuleBook::built_in().unwrap();
    let with = |text: &str| told(&check(&edited(DOCUMENT, "See [", &format!("{text}\n\nSee ["))));
    let lead = "Read this first. ";
    let mut wrong = Vec::new();
    let mut expect = |name: String, found: Vec<String>, expected: Vec<String>| {
        if found != expected {
            wrong.push(format!("{name}: expected {expected:?}, found {found:?}"));
        }
    };
    for rule in book.rules().filter(|rule| rule.kinds.is_empty()) {
        assert!(rule.must_match.len() >= 10 && rule.must_not_match.len() >= 10, "{}", rule.id);
        let columns = COLUMNS.iter().find(|(id, _)| *id == rule.id).unwrap().1;
        assert_eq!(columns.len(), rule.must_match.len(), "{}", rule.id);
        for (sentence, column) in rule.must_match.iter().zip(columns) {
            let other = Some(TWO_CLAIMS).filter(|(known, ..)| known == sentence);
            let at = |shift: usize| -> Vec<String> {
                let other = other.map(|(_, id, column)| (id, column));
                let all = other.into_iter().chain([(rule.id.as_str(), *column)]);
                all.map(|(id, column)| format!("error {id} {DOCUMENT}:15:{}", column + shift)).collect()
            };
            expect(sentence.clone(), with(sentence), at(0));
            expect(format!("{lead}{sentence}"), with(&format!("{lead}{sentence}")), at(lead.len()));
        }
        for sentence in &rule.must_not_match {
            expect(sentence.clone(), with(sentence), vec![]);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The four sentences that closeouts keep: each in ten forms that keep it, and beside ten sentences that do not.
#[test]
fn ten_sentences_keep_what_is_demanded_and_ten_others_do_not() {
    let book = RuleBook::built_in().unwrap();
    let demanding: Vec<_> = book.rules().filter(|rule| !rule.kinds.is_empty()).collect();
    assert_eq!(demanding.len(), 4);
    let of_today = |body: &str| document(body).replace("2026-03-01", TODAY).replace("2026-03-02", TODAY);
    let mut wrong = Vec::new();
    for rule in demanding {
        assert!(rule.must_match.len() >= 10 && rule.must_not_match.len() >= 10, "{}", rule.id);
        assert!(KEPT.contains(&rule.sentence), "{}", rule.id);
        let others = KEPT.replace(&rule.sentence, "");
        let missing = vec![format!("error {} {CLOSEOUT}:1:1", rule.id)];
        let kept = rule.must_match.iter().map(|sentence| (sentence, vec![]));
        let broken = rule.must_not_match.iter().map(|sentence| (sentence, missing.clone()));
        for (sentence, expected) in kept.chain(broken) {
            let mut texts = valid();
            texts.push((CLOSEOUT.to_owned(), of_today(&format!("{others}\n\n{sentence}"))));
            let found = told(&check(&texts));
            if found != expected {
                wrong.push(format!("{sentence}: expected {expected:?}, found {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
