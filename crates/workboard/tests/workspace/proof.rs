//! Evidence that proves nothing although each piece of it is there: circles, days that a writer chose, files that nobody searched.

use workboard::{BundleFact, CommitFact, EvidenceSource, ValidatorFact, WorkspaceFiles, validate_workspace};

use crate::broken::{DOCUMENT, edited};
use crate::every_rule::{ALONE, KEPT, NamedEvidence, told_with};
use crate::{TODAY, check, document, fresh_texts, told};

/// Named evidence, with records of the workspace's history.
pub(crate) struct EarlierEvidence(pub(crate) Vec<(String, String)>);

impl EvidenceSource for EarlierEvidence {
    fn find_bundle(&self, reference: &str) -> BundleFact {
        NamedEvidence.find_bundle(reference)
    }

    fn find_commit(&self, commit: &str) -> CommitFact {
        NamedEvidence.find_commit(commit)
    }

    fn find_validator(&self, name: &str) -> ValidatorFact {
        NamedEvidence.find_validator(name)
    }

    fn read_earlier_records(&self) -> Vec<(String, String)> {
        self.0.clone()
    }
}

#[test]
fn evidence_that_is_only_named_carries_no_item() {
    let plan = (DOCUMENT.to_owned(), document(""));
    let board = |status: &str| {
        let text = format!("items:\n  - {{id: DEMO-WORK-001, title: one, type: AFK, status: {status}}}\n");
        ("WORKBOARD.yaml".to_owned(), text)
    };
    let headed =
        |status: &str| (DOCUMENT.to_owned(), document(&format!("## DEMO-WORK-001 - One\n\nStatus: {status}.")));
    // The day that the plan says, the records that the history has, and the weight of the finding.
    let scenes = [
        (TODAY, vec![plan.clone(), board("validated")], "error"),
        ("2026-03-01", vec![], "error"),
        ("2026-03-01", vec![plan.clone()], "error"),
        ("2026-03-01", vec![board("validated")], "error"),
        ("2026-03-01", vec![plan.clone(), board("draft")], "error"),
        ("2026-03-01", vec![headed("draft")], "error"),
        ("2026-03-01", vec![plan, board("validated")], "advice"),
        ("2026-03-01", vec![headed("validated")], "advice"),
    ];
    for (piece, rule) in ALONE {
        for (created, earlier, severity) in &scenes {
            let mut texts = edited("WORKBOARD.yaml", "{kind: document, ref: CONTEXT.md}", piece);
            let plan = texts.iter_mut().find(|(path, _)| path == DOCUMENT).unwrap();
            plan.1 = plan.1.replace("2026-03-02", TODAY).replace("2026-03-01", created);
            let source = EarlierEvidence(earlier.clone());
            let mut found = told(&validate_workspace(&WorkspaceFiles::of_texts(texts), &source, TODAY));
            found.retain(|finding| !finding.contains(" evidence_commit_"));
            let expected = rule.map(|rule| format!("{severity} {rule} WORKBOARD.yaml:5:13"));
            assert_eq!(found, Vec::from_iter(expected), "{piece} {created} {earlier:?}");
        }
    }
}

/// Ways in which two validated items can be each other's evidence, and the same with one that rests on something else.
#[test]
fn a_circle_of_evidence_is_found_however_items_name_each_other() {
    let closeout = |id: &str| (format!(".sot/03-PROTOCOLS/{id}-CLOSEOUT.md"), document(KEPT));
    let board = |first: &str, second: &str| {
        let item = |number: u8, evidence: &str| {
            format!(
                "  - {{id: DEMO-WORK-00{number}, title: one, type: AFK, status: validated, evidence: [{evidence}]}}\n"
            )
        };
        let mut texts = fresh_texts();
        texts.retain(|(path, _)| path != "WORKBOARD.yaml");
        texts.push(("WORKBOARD.yaml".to_owned(), format!("items:\n{}{}", item(1, first), item(2, second))));
        texts.extend([closeout("DEMO-WORK-001"), closeout("DEMO-WORK-002")]);
        let found = check(&texts).findings.into_iter().map(|finding| finding.rule);
        found.filter(|rule| rule != "evidence_kind").collect::<Vec<_>>()
    };
    let ways = |id: &str| {
        [
            format!("{{kind: work, ref: {id}}}"),
            id.to_owned(),
            format!("{{kind: document, ref: {id}-CLOSEOUT.md}}"),
            format!("{{kind: document, ref: .sot/03-PROTOCOLS/{id}-CLOSEOUT.md#title}}"),
            format!("./{id}-CLOSEOUT.md"),
        ]
    };
    for first in ways("DEMO-WORK-002") {
        for second in ways("DEMO-WORK-001") {
            assert_eq!(board(&first, &second), ["evidence_circle"], "{first} {second}");
        }
        assert_eq!(board(&first, "{kind: document, ref: CONTEXT.md}"), Vec::<String>::new(), "control: {first}");
    }
    let own = "{kind: document, ref: DEMO-WORK-001-CLOSEOUT.md}";
    assert_eq!(board(own, "DEMO-WORK-001"), Vec::<String>::new(), "control: its own closeout");
}

/// A large file beside the records is searched too, and one that is too large for that is reported.
#[test]
fn no_file_is_left_out_of_the_search_for_secrets_in_silence() {
    let secret = ["sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"].concat();
    let file = |size: usize, text: &str| [&b"words\n".repeat(size / 6), text.as_bytes()].concat();
    let (small, large) = (3 << 20, 17 << 20);
    assert_eq!(told_with("dump.txt", &file(small, "nothing")), Vec::<String>::new(), "control");
    let line = small / 6 + 1;
    assert_eq!(told_with("dump.txt", &file(small, &secret)), [format!("error secret_shaped dump.txt:{line}:1")]);
    assert_eq!(told_with("dump.txt", &file(large, "")), ["advice file_unreadable dump.txt:1:1"]);
}
