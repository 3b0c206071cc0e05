//! `report.md` and `cto show --markdown`: words that others wrote stand in code, and nowhere else.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::fs;

use serde_json::{Value, json};
use testkit::World;

use crate::world;

/// Markdown without its code; panics if a row of backticks has no partner.
fn outside_code(markdown: &str) -> String {
    let (mut out, mut fence) = (String::new(), None);
    for line in markdown.lines() {
        let ticks = line.chars().take_while(|character| *character == '`').count();
        match fence {
            Some(length) if ticks >= length && line.trim_end_matches('`').is_empty() => fence = None,
            Some(_) => {}
            None if ticks >= 3 && !line[ticks..].contains('`') => fence = Some(ticks),
            None => {
                out.push_str(&outside_spans(line));
                out.push('\n');
            }
        }
    }
    assert_eq!(fence, None, "every fence is closed");
    out
}

fn outside_spans(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(start) = rest.find('`') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let length = rest.len() - rest.trim_start_matches('`').len();
        let after = &rest[length..];
        let end = row_of(after, length).unwrap_or_else(|| panic!("a span that does not end: {line}"));
        rest = &after[end + length..];
    }
    out + rest
}

/// Start of a row of exactly so many backticks.
fn row_of(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|start| at + start) {
        let row = text[start..].len() - text[start..].trim_start_matches('`').len();
        if row == length {
            return Some(start);
        }
        at = start + row;
    }
    None
}

/// Whatever could ping, link, render or break out.
const EVIL: &str = "@octocat #1 GH-2 o/r#3 <img src=x onerror=y> <!-- ![p](http://e.invalid/p) [l](javascript:z) www.e.invalid | a \\| b ` `` ``` ~~~ **x** &#64;y";
const MARKS: [&str; 13] =
    ["@", "<", "](", "![", "http", "www.", "GH-2", "#1", "#3", "&#64;", "**x**", "javascript", "octocat"];

/// A run whose every foreign text is hostile; gives its id.
fn hostile(world: &World, code: i32, changes: &[(&str, &str)]) -> String {
    let quoted = |text: &str| json!(text).to_string();
    let lines = format!("{EVIL}\n```\n{EVIL}\n````\n## @octocat\n~~~\n</details>\r\n{EVIL}");
    let path = "d/`@octocat` <img> #1 ``` [l](http:x).txt";
    let steps = json!({"steps": [
        {"write": {"path": "a.txt", "text": "two\n"}},
        {"write": {"path": path, "text": "x"}},
    ], "claims": {"status": "success", "files_changed": [EVIL]}});
    let steps = if code == 0 { json!({"steps": steps["steps"]}) } else { steps };
    let criteria = json!([EVIL, "`", "``"]).to_string();
    let commands = json!([["grep", "-qx", "two", "a.txt"], ["sh", "-c", format!("true # {EVIL}")]]).to_string();
    let (title, brief, fake) = (quoted(EVIL), quoted(&lines), steps.to_string());
    let mut all = vec![
        ("title", title.as_str()),
        ("brief", brief.as_str()),
        ("success_criteria", criteria.as_str()),
        ("verification_commands", commands.as_str()),
        ("allowed_paths", "[\"**\"]"),
        ("fake", fake.as_str()),
    ];
    all.retain(|(key, _)| changes.iter().all(|(changed, _)| changed != key));
    all.extend(changes);
    let case = world.case("case", &all);
    let (report, _) = world.run(case.to_str().unwrap(), code);
    report["run_id"].as_str().unwrap().to_owned()
}

/// Titles of the parts that a reader opens.
const FOLDS: [&str; 8] = [
    "Files",
    "Commands",
    "What these checks show",
    "Other claims",
    "Not applicable",
    "Digests",
    "Left behind: the patch cannot carry it",
    "Left behind: ignored by the baseline's own rules",
];

fn check(world: &World, run: &str) {
    let bundle = world.bundles().join(run);
    check_markdown(&world.cto(["show", run, "--markdown"]).expect(0).text());
    check_markdown(&fs::read_to_string(bundle.join("report.md")).unwrap());
    // Control: the same marks are found in the text that both are made from.
    let report: Value = serde_json::from_slice(&fs::read(bundle.join("report.json")).unwrap()).unwrap();
    let title = report["title"].as_str().unwrap();
    assert!(MARKS.iter().all(|mark| outside_code(&title.replace('`', "")).contains(mark)), "{title}");
}

fn check_markdown(markdown: &str) {
    let outside = outside_code(markdown);
    let folds = FOLDS.map(|title| format!("<details><summary>{title}</summary>"));
    let is_fold = |line: &&str| *line == "</details>" || folds.iter().any(|fold| fold == line);
    assert_eq!(outside.matches("<details>").count(), outside.matches("</details>").count(), "{markdown}");
    for line in outside.lines().filter(|line| !is_fold(line)) {
        let text = line.trim_start_matches('#');
        for mark in MARKS {
            assert!(!text.contains(mark), "{mark} stands outside code: {line}\n{markdown}");
        }
    }
    assert!(markdown.contains("@octocat"), "it is shown, in code: {markdown}");
}

#[test]
fn hostile_words_stay_in_code() {
    let world = world();
    check(&world, &hostile(&world, 0, &[]));
    check(&world, &hostile(&world, 1, &[("allowed_paths", "[a.txt]")]));
}

#[test]
fn the_body_says_what_a_reviewer_needs() {
    let world = world();
    let (report, bundle) = world.run("r1-string-slugify", 0);
    let markdown = world.cto(["show", "@", "--markdown"]).expect(0).text();
    let run = report["run_id"].as_str().unwrap();
    for wanted in [
        "## pass: `",
        "### What was asked",
        "- `strings.py`",
        "| 1 | exam | pass | 0 |",
        "### What this does not prove",
        "- no model was used",
        &format!("$ cto verify {run}"),
        report["contract_digest"].as_str().unwrap(),
        report["result_tree"].as_str().unwrap(),
        report["artifact_digests"]["patch.diff"].as_str().unwrap(),
    ] {
        assert!(markdown.contains(wanted), "{wanted}: {markdown}");
    }
    for coverage in report["coverage"].as_array().unwrap() {
        assert!(markdown.contains(coverage.as_str().unwrap()), "{coverage}: {markdown}");
    }
    let document: Value = world.cto(["show", "@", "--markdown", "--json"]).expect(0).json();
    assert_eq!((&document["markdown"], &document["run_id"]), (&json!(markdown), &json!(run)));

    // The sealed file is the same body; only what is known after the seal is not in it.
    let sealed = fs::read_to_string(bundle.join("report.md")).unwrap();
    let later: Vec<&str> = markdown.lines().filter(|line| !sealed.lines().any(|other| other == *line)).collect();
    assert!(matches!(later.as_slice(), [line] if line.starts_with("- attestation: `")), "{later:?}");
    assert!(sealed.starts_with("## pass: `") && sealed.contains(&format!("$ cto show {run}")), "{sealed}");
    for said in ["Claims are not trusted; each is compared with what we observed.", "No false claims found."] {
        assert!(sealed.contains(said), "{said}: {sealed}");
    }

    let (_, lying) = world.run("fail-no-diff", 1);
    let lying = fs::read_to_string(lying.join("report.md")).unwrap();
    assert!(
        lying.contains("The run finished but failed verification.") && !lying.contains("No false claims"),
        "{lying}"
    );
    let (_, refused) = world.run("fail-no-allowed-paths", 3);
    let refused = fs::read_to_string(refused.join("report.md")).unwrap();
    assert!(refused.contains("\n\nBlocked: 1 problem. The engine did not start"), "{refused}");
    let _ = world.run("fail-no-diff", 1);
    let failed = world.cto(["show", "@", "--markdown"]).expect(0).text();
    assert!(
        failed.starts_with("## fail: ")
            && failed.contains("`no_diff`")
            && failed.contains("- contradicted: claimed `it succeeded`"),
        "{failed}"
    );

    fs::write(bundle.join("test.log"), "edited").unwrap();
    let ran = world.cto(["show", run, "--markdown"]).expect(1);
    assert!(ran.stderr.contains("does not verify") && ran.stdout.is_empty(), "{ran:?}");
}
