//! Documents as operators have them, through the binary: every shape that is known parses to its facts, and near variants of them
//! do too. An item that the board has as a draft and a document as validated is reported as advice, which shows that the document was read.

use std::fs;

use serde_json::{Value, json};
use testkit::{World, each_row};

use super::workspace;

const ID: &str = "DEMO-WORK-007";
const FILE: &str = ".sot/03-PROTOCOLS/DEMO-ISSUES.md";
const DISCLAIMER: &str = "Local planning SOT only. Not a Core Protocol. Not active Core authority.";
const KEPT: &str = "Runtime default activation remains false. Do not activate Case as default backend. No Core promotion occurs. This document authorises no further run.";

fn front(status: &str) -> String {
    format!(
        "---\nname: a document\nstatus: {status}\nowner: op1\ncreated: 2026-03-01\nlast_reviewed: 2026-03-02\nlifecycle_classification: planning\ncore_promotion_status: not-promoted\n---\n"
    )
}

fn document(body: &str) -> String {
    format!("{}\n# Title\n\n{DISCLAIMER}\n\n{body}\n", front("draft"))
}

/// A workspace whose board has one draft.
fn world_with_draft() -> World {
    let world = workspace();
    world.write("WORKBOARD.yaml", format!("items:\n{}", super::item(ID, "draft")));
    world
}

/// Findings as `severity rule file:line`.
fn findings(world: &World) -> Vec<String> {
    let found = world.cto(["validate", "workspace", "--json"]).json();
    let tell = |severity: &str, one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap().to_owned();
        format!("{severity} {} {}:{}", text("rule"), text("file"), one["line"])
    };
    let of = |list: &str, severity: &str| -> Vec<String> {
        found[list].as_array().unwrap().iter().map(|one| tell(severity, one)).collect()
    };
    [of("errors", "error"), of("advice", "advice")].concat()
}

/// Headings of the item, each with a status below it.
const HEADINGS: [&str; 18] = [
    "## Issue Sequence\n\n### DEMO-WORK-007 - Title",
    "## DEMO-WORK-007 - Title",
    "## Issue: DEMO-WORK-007 - Title",
    "## DEMO-WORK-007: Title",
    "# DEMO-WORK-007 - Title",
    "###### DEMO-WORK-007 - Title",
    "  ## DEMO-WORK-007 - Title",
    "##\tDEMO-WORK-007 - Title",
    "## DEMO-WORK-007 - Title ##",
    "## DEMO-WORK-007 \u{2014} Title",
    "## DEMO-WORK-007 \u{2013} Title",
    "## DEMO-WORK-007 -- Title",
    "## **DEMO-WORK-007** - Title",
    "## `DEMO-WORK-007` - Title",
    "## **DEMO-WORK-007 - Title**",
    "## [DEMO-WORK-007](../../CONTEXT.md) - Title",
    "## issue 7: DEMO-WORK-007 - Title",
    "## 7. DEMO-WORK-007 - Title",
];

const NO_HEADINGS: [&str; 5] = [
    "## DEMO-WORK-007 Decision Template",
    "## Template For DEMO-WORK-007",
    "## Notes on DEMO-WORK-007 - Title",
    "    ## DEMO-WORK-007 - Title",
    "```text\n## DEMO-WORK-007 - Title\n```",
];

const STATUSES: [&str; 16] = [
    "Status: validated.",
    "Status: validated for demo proof on 2026-01-02.",
    "Status: `validated`",
    "Status: Validated",
    "status:\tvalidated",
    "Status:validated",
    "Status : validated   ",
    "- Status: validated",
    "+ Status: validated",
    "1. Status: validated",
    "  * Status: validated",
    "**Status:** validated",
    "**Status**: validated",
    "__Status:__ _validated_",
    "*Status: validated*",
    "- [x] **Status:** (validated)",
];

const NO_STATUSES: [&str; 4] = ["No status here.", "Status:", "Status: nearly validated", "`Status` is validated"];

#[test]
fn headings_and_status_lines_are_read_in_every_form() {
    let world = world_with_draft();
    let reads = |body: &str| {
        world.write(FILE, document(body));
        let found = findings(&world);
        let differs = format!("advice item_status_differs {FILE}:");
        assert!(found.iter().all(|one| one.starts_with(&differs)), "{body}: {found:?}");
        !found.is_empty()
    };
    each_row(HEADINGS.map(|row| (row, row)), |heading| assert!(reads(&format!("{heading}\n\nStatus: validated."))));
    each_row(NO_HEADINGS.map(|row| (row, row)), |heading| assert!(!reads(&format!("{heading}\n\nStatus: validated."))));
    each_row(STATUSES.map(|row| (row, row)), |line| assert!(reads(&format!("## {ID} - Title\n\n{line}"))));
    each_row(NO_STATUSES.map(|row| (row, row)), |line| assert!(!reads(&format!("## {ID} - Title\n\n{line}"))));
    assert!(!reads(&format!("## {ID} - Title\n\nStatus: draft.")), "control: the same as the board");
}

/// Bodies that are valid, whatever they say: labels, bullets, boxes, facts, evidence and honest wording.
const HONEST: [&str; 24] = [
    "Type: AFK",
    "Type: HITL.",
    "Blocked by: DEMO-WORK-007",
    "Blocked by:\n\n- `DEMO-WORK-007`\n- a decision of the operator",
    "**Blocked by:** none",
    "Acceptance criteria:\n\n1. one\n2. two\n   - nested\n\n3. three",
    "Acceptance:\n- [ ] one that goes\n  over two lines\n- [x] two",
    "What to build: a thing",
    "Implementation route:\n- one\n- two",
    "Allowed files: **/*.md",
    "Resolved by: a talk\nCurrent unblock: none\nHuman gate: the operator\nDone evidence: notes",
    "This evidence closes `DEMO-WORK-007`.",
    "Work item: DEMO-WORK-007",
    "## Workboard\n\n+ DEMO-WORK-007",
    "- approval_granted: false\n- `runtime_default_activation: false`\n- **Runtime default activation:** false.",
    "* __Core promotion status:__ not-promoted\n1. core promotion status: Not promoted",
    "| runtime_default_activation | `false` |\n| --- | --- |\n| core_promotion_status | not-promoted |",
    "Do not activate Case as default backend.",
    "Rejected feedback: \"Case is the default backend.\"",
    "Case is the leading candidate default backend, pending proof.",
    "The goal is to evaluate Case as default backend.",
    "See [a report](/srv/elsewhere/report.md), [notes](~/notes.md) and [a page](https://example.invalid/a_(b)).",
    "See [terms](../../CONTEXT.md \"terms (all)\") and [item](DEMO-WORK-007).",
    "0123456789abcdef0123456789abcdef01234567 and 0123456..89abcde",
];

/// A way of writing the same lines.
type LineForm = fn(&str) -> String;

#[test]
fn bodies_in_every_form_are_valid_in_every_encoding_of_lines() {
    let world = world_with_draft();
    let forms: [(&str, LineForm); 4] = [
        ("as it is", str::to_owned),
        ("CRLF", |text| text.replace('\n', "\r\n")),
        ("a mark in front", |text| format!("\u{feff}{text}")),
        ("spaces behind each line", |text| text.replace('\n', " \t\n")),
    ];
    let rows = HONEST.iter().flat_map(|body| forms.map(|(name, form)| (format!("{name}: {body}"), (*body, form))));
    each_row(rows, |(body, form)| {
        world.write(FILE, form(&document(&format!("## {ID} - Title\n\n{body}"))));
        assert_eq!(findings(&world), Vec::<String>::new());
        world.write(FILE, form(&document(&format!("{body}\n\nCase is promoted to Core."))));
        let found = findings(&world);
        assert!(found.len() == 1 && found[0].starts_with("error promotion_claimed"), "control: {found:?}");
    });
}

#[test]
fn front_matter_in_every_set_and_style_is_read() {
    let world = world_with_draft();
    let plain = front("draft");
    let rows = [
        ("the usual keys", plain.clone()),
        (
            "another order",
            plain.replace("name: a document\n", "").replace("planning\n", "planning\nname: a document\n"),
        ),
        (
            "the long set",
            plain.replace(
                "name: a document",
                "name: A Name With Spaces\ntier: 2\nsource: talk of 2026-01-01: free text\ndescription: it",
            ),
        ),
        ("a title and a route", plain.replace("name: a document", "route: demo\ntitle: a document")),
        ("quotes", plain.replace("status: draft", "status: \"draft\"").replace("owner: op1", "owner: 'op1'")),
        (
            "comments",
            plain.replace("status: draft", "status: draft   # reviewed").replace("planning", "planning # yes"),
        ),
        ("tabs", plain.replace(": ", ":\t")),
        ("blank lines", plain.replace("owner: op1\n", "\nowner: op1\n\n# a comment\n")),
    ];
    each_row(rows, |front| {
        world.write(FILE, format!("{front}\n# Title\n\n{DISCLAIMER}\n"));
        assert_eq!(findings(&world), Vec::<String>::new());
        world.write(FILE, format!("{}\n# Title\n\n{DISCLAIMER}\n", front.replace("op1", "")));
        let found = findings(&world);
        assert!(found.iter().all(|one| one.starts_with("error front_matter_key ")), "control: {found:?}");
    });
}

/// A paste is reported once, by its form, with what has to be done; the rest of the document is still read.
#[test]
fn pasted_documents_are_findings_with_a_remedy() {
    let world = world_with_draft();
    let whole = document("Words.");
    let keys =
        ["name", "status", "owner", "created", "last_reviewed", "lifecycle_classification", "core_promotion_status"];
    let values = "a-document draft op1 2026-03-01 2026-03-02 planning not-promoted";
    let body = format!("\n# Title\n\n{DISCLAIMER}\n");
    let rows = [
        ("keys with colons, values on the next line", format!("---\n{}:\n{values}\n---\n{body}", keys.join(": ")), "2"),
        ("keys without colons", format!("---\n{}\n{values}\n---\n{body}", keys.join(" ")), "2"),
        ("keys without dashes", format!("{}:\n{values}\n{body}", keys.join(": ")), "1"),
        ("keys behind bars", format!("| {} |\n| {} |\n{body}", keys.join(" | "), values.replace(' ', " | ")), "1"),
        ("each line behind a bar", whole.lines().map(|line| format!("| {line} |\n")).collect(), "1"),
        ("the whole on one line", whole.replace('\n', " "), "1"),
        ("the front matter on one line", format!("{}\n{body}", front("draft").replace('\n', " ")), "1"),
    ];
    each_row(rows.map(|(name, text, line)| (name, (text, line))), |(text, line)| {
        for text in [text.clone(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
            world.write(FILE, text);
            let found = findings(&world);
            let pasted: Vec<&String> = found.iter().filter(|one| one.contains(" front_matter")).collect();
            assert_eq!(pasted, [&format!("error front_matter_pasted {FILE}:{line}")], "{found:?}");
            let all = world.cto(["validate", "workspace", "--json"]).expect(1).json();
            let told =
                all["errors"].as_array().unwrap().iter().find(|one| one["rule"] == "front_matter_pasted").unwrap();
            assert!(told["remedy"].as_str().unwrap().contains("one `key: value` a line"), "{told}");
        }
    });
}

/// Each of the three sections, its phrases in every form, and the closeout beside that has them or lacks one.
#[test]
fn sections_that_demand_phrases_are_held_to_the_closeout_beside() {
    let world = world_with_draft();
    let (plan, closeout) = (".sot/03-PROTOCOLS/DEMO-PRD.md", ".sot/03-PROTOCOLS/DEMO-CLOSEOUT.md");
    let headings = [
        "## Required Phrases",
        "## Required Evidence",
        "### Validator Summary Phrases",
        "# required evidence:",
        "## **Required Phrases**",
    ];
    let entries = [
        "- all rows pass",
        "* `all rows pass`",
        "+ All rows pass.",
        "1. all rows pass",
        "  - [ ] all rows pass",
        "```text\nall rows pass\n```",
    ];
    let rows =
        headings.iter().flat_map(|heading| entries.map(|entry| (format!("{heading}\n{entry}"), (*heading, entry))));
    each_row(rows, |(heading, entry)| {
        world.write(plan, document(&format!("{heading}\n\n{entry}\n\n# On\n\n- not demanded")));
        world.write(closeout, document(&format!("{KEPT}\n\n**All rows**\npass.")));
        assert_eq!(findings(&world), Vec::<String>::new());
        world.write(closeout, document(&format!("{KEPT}\n\nSome rows pass.")));
        // The day of the example lies before the workspace's own, and no history has it.
        assert_eq!(findings(&world), [format!("error phrase_missing {closeout}:1")]);
    });
}

/// An item that calls a run's report done claims an execution, wherever it says so.
#[test]
fn an_item_that_names_a_runs_report_needs_a_bundle() {
    let world = workspace();
    let claims = |more: &str| {
        let evidence = "    evidence: [{kind: document, ref: CONTEXT.md}]\n";
        world.write("WORKBOARD.yaml", format!("items:\n{}{evidence}{more}", super::item(ID, "validated")));
        findings(&world)
    };
    let needs = ["error execution_without_bundle WORKBOARD.yaml:5".to_owned()];
    for more in [
        "    done_evidence: harness-runs/20260101T000000Z-demo-1234/report.json\n",
        "    done_evidence: /srv/old/report.json\n",
        "    done_evidence: [notes, harness-runs/one]\n",
        "    done_evidence:\n      - {path: runs/report.json}\n",
        "    execution: true\n",
        "    execution: yes\n",
    ] {
        assert_eq!(claims(more), needs, "{more}");
    }
    for more in
        ["", "    done_evidence: notes of the review\n", "    done_evidence: [CONTEXT.md]\n", "    execution: false\n"]
    {
        assert_eq!(claims(more), Vec::<String>::new(), "control: {more}");
    }
}

/// Board and JSON records with line ends and marks of other systems are the same board and records.
#[test]
fn a_board_with_other_line_ends_is_the_same_board() {
    let world = workspace();
    let board = format!("items:\n{}", super::item(ID, "draft"));
    for text in [board.replace('\n', "\r\n"), format!("\u{feff}{board}"), board.replace('\n', "  \n")] {
        world.write("WORKBOARD.yaml", &text);
        assert_eq!(findings(&world), Vec::<String>::new(), "{text:?}");
        assert_eq!(world.cto(["work", "next", "--json"]).expect(0).json()["afk"][0]["id"], json!(ID));
        let words = ["work", "status", ID, "candidate", "--evidence", "document:CONTEXT.md"];
        let _ = world.cto(words).expect(0);
        let after = fs::read_to_string(world.here().join("WORKBOARD.yaml")).unwrap();
        assert!(after.contains("status: candidate") && after.contains("   # kept"), "{after:?}");
        assert_eq!(findings(&world), Vec::<String>::new(), "{after:?}");
    }
    world.write("WORKBOARD.yaml", board.replace("status: draft", "\tstatus: draft"));
    assert!(!findings(&world).is_empty(), "control: a tab is no indentation of YAML");
}
