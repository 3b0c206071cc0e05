//! Rules through the real binary: documents that each break one, all in one workspace, and the sentences of the rules about words.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use testkit::World;
use workboard::{RuleBook, WordRule};

use super::{errors, item, workspace};

const FOLDER: &str = ".sot/03-PROTOCOLS";
const BASE: &str = "---\nname: a document\nstatus: draft\nowner: op1\ncreated: 2026-03-01\nlast_reviewed: 2026-03-02\nlifecycle_classification: planning\ncore_promotion_status: not-promoted\n---\n\n# Title\n\nLocal planning SOT only. Not a Core Protocol. Not active Core authority.\n\nBODY\n";

/// Text of the document, the text in its place, and the only finding: severity, rule, line and column.
const ROWS: &[(&str, &str, &str)] = &[
    ("---\nname", "name", "error front_matter_missing 1:1"),
    ("not-promoted\n---\n", "not-promoted\n", "error front_matter_unclosed 1:1"),
    ("status: draft\nowner: op1\ncreated", "status: draft owner: op1 created", "error front_matter_pasted 3:1"),
    ("owner: op1\n", "owner: op1\nsome words\n", "error front_matter_line 5:1"),
    ("owner: op1\n", "", "error front_matter_key 8:1"),
    ("owner: op1\n", "owner: op1\nowner: op2\n", "error front_matter_key_twice 5:1"),
    ("status: draft", "status: done", "error document_status 3:9"),
    ("created: 2026-03-01", "created: 2026-02-30", "error document_day 5:10"),
    ("last_reviewed: 2026-03-02", "last_reviewed: 2026-02-02", "error document_stale 6:16"),
    ("last_reviewed: 2026-03-02", "last_reviewed: 2999-03-02", "error document_stale 6:16"),
    ("planning\n", "final\n", "error lifecycle_classification 7:27"),
    ("status: not-promoted", "status: requested", "error core_promotion_status 8:24"),
    ("Not a Core Protocol. ", "", "error disclaimer_missing 11:1"),
    ("BODY", "- `runtime_default_activation`: `pending`", "error constant_changed 15:1"),
    ("BODY", "| runtime default activation | true |", "error constant_changed 15:1"),
    ("BODY", "See [a](nowhere.md).", "error link_file 15:9"),
    ("BODY", "See [a][b].\n\n[b]: nowhere.md", "error link_file 17:6"),
    ("BODY", "See [a](#nowhere).", "error link_anchor 15:9"),
    ("BODY", "See [a](DEMO-WORK-009).", "error link_work 15:9"),
    ("BODY", "See [a](bundle:nothing).", "error link_bundle 15:9"),
    ("BODY", "## DEMO-WORK-009 - nine", "advice item_not_on_board 15:1"),
    ("BODY", "## DEMO-WORK-001 - one\n\nStatus: validated.", "advice item_status_differs 15:1"),
    ("BODY", "## DEMO-WORK-001 - one\n\n## DEMO-WORK-001 - again", "advice item_twice 17:1"),
    ("BODY", "See [a](<a b.md>) and [c](gr%C3%BCn.md).", ""),
    ("BODY", "Nothing is wrong here.", ""),
];

/// Findings by file: severity, rule, line and column.
fn findings(world: &World, code: i32) -> BTreeMap<String, Vec<String>> {
    let found = world.cto(["validate", "workspace", "--json"]).expect(code).json();
    let mut by_file: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for finding in found["errors"].as_array().unwrap().iter().chain(found["advice"].as_array().unwrap()) {
        let word = |key: &str| finding[key].as_str().unwrap().to_owned();
        let told = format!("{} {} {}:{}", word("severity"), word("rule"), finding["line"], finding["column"]);
        by_file.entry(word("file")).or_default().push(told);
    }
    by_file
}

#[test]
fn each_document_breaks_its_rule_and_no_other() {
    let world = workspace();
    world.write("WORKBOARD.yaml", format!("items:\n{}", item("DEMO-WORK-001", "draft")));
    for name in ["a b.md", "gr\u{fc}n.md"] {
        world.write(&format!("{FOLDER}/{name}"), BASE.replace("BODY", "Words."));
    }
    let path = |row: usize| format!("{FOLDER}/ROW-{row:02}-BRIEF.md");
    for (row, (from, to, _)) in ROWS.iter().enumerate() {
        assert!(BASE.contains(from), "{from:?}");
        world.write(&path(row), BASE.replacen(from, to, 1).replace("BODY", "Words."));
    }
    let mut found = findings(&world, 1);
    // One of them claims a promotion, and what tests leave behind is searched for such claims.
    for row in 0..ROWS.len() {
        std::fs::remove_file(world.here().join(path(row))).unwrap();
    }
    let wrong: Vec<String> = ROWS
        .iter()
        .enumerate()
        .filter_map(|(row, (from, to, expected))| {
            let told = found.remove(&path(row)).unwrap_or_default().join(", ");
            (told != *expected).then(|| format!("{from:?} -> {to:?}: expected {expected}, found {told}"))
        })
        .collect();
    assert!(wrong.is_empty() && found.is_empty(), "{}\n{found:#?}", wrong.join("\n"));
}

#[test]
fn sentences_of_the_rules_are_refused_and_passed_by_the_binary() {
    let world = workspace();
    let book = RuleBook::built_in().unwrap();
    let rules: Vec<&WordRule> = book.rules().filter(|rule| rule.kinds.is_empty()).collect();
    let file = format!("{FOLDER}/CLAIMS-BRIEF.md");
    let write = |sentences: &[&String]| {
        let body: String = sentences.iter().map(|sentence| format!("{sentence}\n\n")).collect();
        world.write(&file, BASE.replace("BODY\n", &body));
    };
    let claims: Vec<(&WordRule, &String)> =
        rules.iter().flat_map(|rule| rule.must_match.iter().map(move |sentence| (*rule, sentence))).collect();
    write(&claims.iter().map(|(_, sentence)| *sentence).collect::<Vec<_>>());
    let found = findings(&world, 1).remove(&file).unwrap();
    for (index, (rule, sentence)) in claims.iter().enumerate() {
        let beginning = format!("error {} {}:", rule.id, 15 + 2 * index);
        assert!(found.iter().any(|told| told.starts_with(&beginning)), "{}: {sentence}: {found:#?}", rule.id);
    }
    let honest: Vec<&String> = rules.iter().flat_map(|rule| &rule.must_not_match).collect();
    write(&honest);
    assert_eq!(findings(&world, 0), BTreeMap::new());
    println!("{} claims refused, {} honest sentences passed", claims.len(), honest.len());
}

#[test]
fn what_lies_in_the_place_of_a_record_is_told() {
    let world = workspace();
    let claim = BASE.replace("BODY", "Case is the default backend.");
    let named = |path: &str| format!("{FOLDER}/{path}");
    for (path, expected) in [
        ("X-BRIEF.MD", "default_claimed"),
        ("target/X-BRIEF.md", "default_claimed"),
        ("node_modules/X-BRIEF.md", "default_claimed"),
    ] {
        world.write(&named(path), &claim);
        assert_eq!(errors(&world, 1), [expected], "{path}");
        fs::remove_file(world.here().join(named(path))).unwrap();
    }
    std::os::unix::fs::symlink("WORKSPACE-INTENT.md", world.here().join(named("LINK-BRIEF.md"))).unwrap();
    assert_eq!(errors(&world, 1), ["file_unreadable"]);
    fs::remove_file(world.here().join(named("LINK-BRIEF.md"))).unwrap();
    // In two parts, so that it is no secret in this file either.
    let secret = ["sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"].concat();
    for path in ["cases/own/run.sh", "notes.txt", "admissions/old.toml", ".sot/03-PROTOCOLS/notes"] {
        world.write(path, format!("one\nkey={secret}\n"));
        let found = world.cto(["validate", "workspace", "--json"]).expect(1).json();
        let place: Vec<&Value> = ["file", "line", "column"].iter().map(|key| &found["errors"][0][key]).collect();
        assert_eq!(
            place,
            [path, "2", "5"]
                .map(|text| text.parse::<u64>().map_or(text.into(), Value::from))
                .iter()
                .collect::<Vec<_>>()
        );
        assert!(!found.to_string().contains(&secret));
        fs::remove_file(world.here().join(path)).unwrap();
    }
    world.write(".env", format!("key={secret}\n"));
    assert_eq!(errors(&world, 0), Vec::<String>::new(), "control: settings of an environment hold secrets");
}

#[test]
fn a_folder_without_a_mark_is_advised_and_a_mark_of_the_future_is_refused() {
    let world = workspace();
    let mark = world.here().join(".sot/WORKSPACE.yaml");
    let text = fs::read_to_string(&mark).unwrap();
    fs::remove_file(&mark).unwrap();
    assert_eq!(findings(&world, 0).into_values().flatten().collect::<Vec<_>>(), ["advice file_missing 1:1"]);
    let year = text.split("initialised: ").nth(1).unwrap().split('-').next().unwrap().trim_matches('"');
    fs::write(&mark, text.replace(year, "2999")).unwrap();
    assert_eq!(errors(&world, 1), ["document_day"]);
    fs::write(&mark, text).unwrap();
    assert_eq!(errors(&world, 0), Vec::<String>::new(), "control");
}
