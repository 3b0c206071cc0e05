//! One made-up document of each shape that older records have, and the facts that it parses to.

use workboard::{DocumentItem, DocumentKind, PlanningDocument, WorkStatus, WorkType, list_facts};

use crate::{check, document, fresh_texts, told};

fn items(body: &str) -> Vec<DocumentItem> {
    let text = document(body);
    PlanningDocument::read_document("DEMO-ISSUES.md", &text).items().to_vec()
}

#[test]
fn front_matter_in_its_usual_sets_is_accepted() {
    let plain = document("");
    let long = plain.replace(
        "name: a document",
        "name: A Name With Spaces\ntier: 2\nsource: talk of 2026-01-01: free text\ndescription: what it is",
    );
    let titled = plain.replace("name: a document", "route: demo\ntitle: a document");
    for text in [plain, long, titled] {
        let mut texts = fresh_texts();
        texts.push((".sot/03-PROTOCOLS/DEMO-BRIEF.md".to_owned(), text.clone()));
        assert_eq!(told(&check(&texts)), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn headings_of_items_in_every_form_and_headings_that_are_none() {
    let body = "## Issue Sequence\n\n### DEMO-WORK-007 - One\n\n## DEMO-WORK-008 - Two\n\n## Issue: DEMO-WORK-009 - Three\n\n## DEMO-WORK-010: Four\n\n## DEMO-WORK-011 Decision Template\n\n## Template For DEMO-WORK-012\n";
    let found: Vec<(String, String)> = items(body).into_iter().map(|item| (item.id, item.title)).collect();
    let expected =
        [("DEMO-WORK-007", "One"), ("DEMO-WORK-008", "Two"), ("DEMO-WORK-009", "Three"), ("DEMO-WORK-010", "Four")];
    assert_eq!(found, expected.map(|(id, title)| (id.to_owned(), title.to_owned())));
}

#[test]
fn labels_of_items_in_every_form() {
    for (line, status) in [
        ("Status: validated.", Some(WorkStatus::Validated)),
        ("Status: validated for demo proof on 2026-01-02.", Some(WorkStatus::Validated)),
        ("Status: `draft`", Some(WorkStatus::Draft)),
        ("No status here.", None),
    ] {
        assert_eq!(items(&format!("## DEMO-WORK-007 - T\n\n{line}\n"))[0].status, status, "{line}");
    }
    for (line, kind) in [
        ("Type: AFK", Some(WorkType::Afk)),
        ("Type: AFK.", Some(WorkType::Afk)),
        ("Type: HITL", Some(WorkType::Hitl)),
        ("-", None),
    ] {
        assert_eq!(items(&format!("## DEMO-WORK-007 - T\n\n{line}\n"))[0].work_type, kind, "{line}");
    }
    for (text, ids, is_conditional) in [
        ("Blocked by: DEMO-WORK-001", vec!["DEMO-WORK-001"], false),
        ("Blocked by: `DEMO-WORK-001`, `DEMO-WORK-002`.", vec!["DEMO-WORK-001", "DEMO-WORK-002"], false),
        ("Blocked by: DEMO-WORK-001 and a decision of the operator", vec!["DEMO-WORK-001"], true),
        ("Blocked by:\n- DEMO-WORK-001\n- `DEMO-WORK-002`", vec!["DEMO-WORK-001", "DEMO-WORK-002"], false),
    ] {
        let item = items(&format!("## DEMO-WORK-007 - T\n\n{text}\n")).remove(0);
        assert_eq!(
            (item.blocked_by, item.human_condition.is_some()),
            (ids.iter().map(|id| (*id).to_owned()).collect(), is_conditional),
            "{text}"
        );
    }
    for label in ["Acceptance:", "Acceptance criteria:"] {
        let item = items(&format!("## DEMO-WORK-007 - T\n\n{label}\n- one\n- [ ] two\n- [x] three\n")).remove(0);
        assert_eq!(item.acceptance, ["one", "two", "three"]);
    }
    for label in [
        "What to build",
        "User stories covered",
        "Allowed files",
        "Validator",
        "Done evidence",
        "Human gate",
        "Implementation route",
        "Resolved by",
        "Current unblock",
    ] {
        let item = items(&format!("## DEMO-WORK-007 - T\n\n{label}: a thing\n")).remove(0);
        assert_eq!(item.labels, [(label.to_owned(), "a thing".to_owned())]);
    }
    let item = items("## DEMO-WORK-007 - T\n\nWhat to build: a thing\nHuman gate:\n- the operator\n").remove(0);
    assert_eq!(
        item.labels,
        [("What to build".to_owned(), "a thing".to_owned()), ("Human gate".to_owned(), "the operator".to_owned())]
    );
}

/// Boxes of an item that the board calls validated are history. The same item with a status of its own is reported.
#[test]
fn unchecked_boxes_under_a_validated_item_are_no_error() {
    let with = |status: &str| {
        let body =
            format!("## DEMO-WORK-001 - One\n\nStatus: {status}.\n\nAcceptance:\n- [ ] one\n- [x] two\n- [ ] three\n");
        let mut texts = crate::broken::valid();
        texts.push((".sot/03-PROTOCOLS/DEMO-ISSUES.md".to_owned(), document(&body)));
        told(&check(&texts))
    };
    assert_eq!(with("validated"), Vec::<String>::new());
    assert_eq!(
        with("draft"),
        ["advice item_status_differs .sot/03-PROTOCOLS/DEMO-ISSUES.md:15:1"],
        "control: it is read"
    );
}

/// Near variants of the shapes above, as Markdown editors write them.
#[test]
fn near_variants_of_items_are_the_same_items() {
    for heading in [
        "# DEMO-WORK-007 - T",
        "###### DEMO-WORK-007: T",
        "  ## DEMO-WORK-007 - T",
        "##\tDEMO-WORK-007 - T ##",
        "## DEMO-WORK-007 \u{2014} T",
        "## DEMO-WORK-007 \u{2013} T",
        "## DEMO-WORK-007 -- T",
        "## **DEMO-WORK-007** - T",
        "## `DEMO-WORK-007`: T",
        "## **DEMO-WORK-007 - T**",
        "## [DEMO-WORK-007](x.md) - T",
        "## issue 7: DEMO-WORK-007 - T",
        "## 7. DEMO-WORK-007 - T",
    ] {
        let found: Vec<(String, String)> =
            items(&format!("{heading}\n")).into_iter().map(|item| (item.id, item.title)).collect();
        assert_eq!(found, [("DEMO-WORK-007".to_owned(), "T".to_owned())], "{heading}");
    }
    for heading in
        ["## Notes on DEMO-WORK-007 - T", "    ## DEMO-WORK-007 - T", "## DEMO-WORK-007", "## A: DEMO-WORK-007 - T"]
    {
        assert_eq!(items(&format!("{heading}\n")), [], "{heading}");
    }
    let item_of = |body: &str| items(&format!("## DEMO-WORK-007 - T\n\n{body}\n")).remove(0);
    for line in [
        "Status: Validated",
        "status:\tvalidated",
        "Status : validated   ",
        "+ Status: validated",
        "1. Status: validated",
        "  * Status: validated",
        "**Status:** validated",
        "**Status**: validated",
        "__Status:__ _validated_",
        "*Status: validated*",
        "- [x] **Status:** (validated)",
    ] {
        assert_eq!(item_of(line).status, Some(WorkStatus::Validated), "{line}");
    }
    for line in ["Status:", "Status: nearly validated", "`Status` is validated"] {
        assert_eq!(item_of(line).status, None, "{line}");
    }
    for body in [
        "Acceptance:\n\n- one\n\n- two\n\nText.\n\n- three",
        "**Acceptance criteria:**\n1. one\n2) two\nType: AFK\n- three",
        "Acceptance:\n+ [ ] one\n* [X] two\n\n### More\n\n- three",
    ] {
        assert_eq!(item_of(body).acceptance, ["one", "two"], "{body}");
    }
    assert_eq!(item_of("Acceptance:\n- one that\n  wraps\n- two\nwraps").acceptance, ["one that wraps", "two wraps"]);
    assert_eq!(item_of("Blocked by: DEMO-WORK-001\n\n- DEMO-WORK-002").blocked_by, ["DEMO-WORK-001"]);
    assert_eq!(item_of("Blocked by:\n\n- DEMO-WORK-002").blocked_by, ["DEMO-WORK-002"]);
    assert_eq!(item_of("Allowed files: **/*.md").labels, [("Allowed files".to_owned(), "**/*.md".to_owned())]);
    let route = item_of("Implementation route:\n- one\n- two").labels;
    assert_eq!(route, [("Implementation route".to_owned(), "one; two".to_owned())]);
}

/// Line ends, marks and spaces of other systems change nothing.
#[test]
fn documents_of_other_systems_are_the_same_documents() {
    let path = ".sot/03-PROTOCOLS/DEMO-BRIEF.md";
    let whole = document(
        "- **Runtime default activation:** false.\n- core promotion status: Not promoted\n\n[a](/srv/a.md) [b](~/b.md) [c](DEMO-BRIEF.md 'c (c)')",
    );
    let commented = whole.replace("status: draft\n", "status: draft   # reviewed\n");
    for text in [
        whole.replace('\n', "\r\n"),
        format!("\u{feff}{whole}"),
        whole.replace('\n', " \t\n"),
        commented,
        whole.replace(": ", ":\t"),
    ] {
        let mut texts = fresh_texts();
        texts.push((path.to_owned(), text.replace("2026-03-02", "2026-02-02")));
        let stale = told(&check(&texts));
        assert!(stale.len() == 1 && stale[0].starts_with("error document_stale "), "control: {stale:?}");
        texts.last_mut().unwrap().1 = text.clone();
        assert_eq!(told(&check(&texts)), Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn facts_in_every_form_are_the_same_facts() {
    for line in [
        "- **approval_granted:** false",
        "+ **approval_granted**: `false`.",
        "2. __Approval granted:__ _false_",
        "- approval_granted: false",
        "- `approval_granted: false`",
        "- `approval_granted`: `false`.",
        "- Approval granted: False.",
    ] {
        assert_eq!(list_facts(line), [("approval_granted".to_owned(), "false".to_owned())], "{line}");
    }
    assert_eq!(list_facts("- Report status: pass."), [("report_status".to_owned(), "pass".to_owned())]);
}

#[test]
fn kinds_and_work_items_of_documents() {
    let read = |path: &str, body: &str| {
        let text = document(body);
        let read = PlanningDocument::read_document(path, &text);
        (read.kind(), read.work_item())
    };
    assert_eq!(
        read("A-EVIDENCE.md", "This evidence closes `DEMO-WORK-007`."),
        (Some(DocumentKind::Evidence), Some("DEMO-WORK-007".to_owned()))
    );
    assert_eq!(
        read("A-DECISION-RECORD.md", "Work item: DEMO-WORK-008"),
        (Some(DocumentKind::Record), Some("DEMO-WORK-008".to_owned()))
    );
    assert_eq!(
        read("A-PACKET.md", "## Workboard\n\n- `DEMO-WORK-009`: open"),
        (Some(DocumentKind::Packet), Some("DEMO-WORK-009".to_owned()))
    );
    assert_eq!(read("notes.md", "Nothing."), (None, None));
    for kind in DocumentKind::ALL {
        assert_eq!(DocumentKind::of_path(&format!("x/A-B-{}.md", kind.suffix())), Some(*kind));
    }
}

#[test]
fn old_fashioned_is_advice_and_a_broken_paste_a_finding() {
    let with = |body: &str| {
        let mut texts = fresh_texts();
        texts.push((".sot/03-PROTOCOLS/DEMO-ISSUES.md".to_owned(), body.to_owned()));
        told(&check(&texts))
    };
    let file = ".sot/03-PROTOCOLS/DEMO-ISSUES.md";
    assert_eq!(
        with(&document("## DEMO-WORK-007 - One\n\n## DEMO-WORK-007 - One again")),
        [
            format!("advice item_not_on_board {file}:15:1"),
            format!("advice item_not_on_board {file}:17:1"),
            format!("advice item_twice {file}:17:1")
        ]
    );
    let one_line = document("").replace('\n', " ");
    assert!(with(&one_line).contains(&format!("error front_matter_pasted {file}:1:1")));
    let barred: String = document("").lines().map(|line| format!("| {line} |\n")).collect();
    assert!(with(&barred).contains(&format!("error front_matter_pasted {file}:1:1")));
}

#[test]
fn a_decision_in_markdown_that_differs_from_the_record_is_advice() {
    let path = ".sot/03-PROTOCOLS/CORE-DECISION-RECORD.md";
    let with = |status: &str| {
        let mut texts = fresh_texts();
        texts.push((path.to_owned(), document(&format!("- Decision status: `{status}`."))));
        told(&check(&texts))
    };
    assert_eq!(with("not_decided"), Vec::<String>::new());
    assert_eq!(with("core_promotion_requested"), [format!("advice decision_differs {path}:15:1")]);
}
