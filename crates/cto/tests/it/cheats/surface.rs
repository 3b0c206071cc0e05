//! Commands and pages that show the corpus: the list of cases, the matrix, the page about it, and the advice for your own cases.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use fixtures::{Cheat, Language};
use serde_json::{Value, json};
use testkit::{World, program, wait_for};

use super::played::{more, shipped};
use crate::world;

#[test]
fn cheats_are_listed_as_such() {
    let world = world();
    let listed = world.cto(["case", "list", "--json"]).expect(0).json();
    let rows = listed.as_array().unwrap();
    let of = |cheat: bool| rows.iter().filter(move |row| row["cheat"].is_object() == cheat);
    let ids = |rows: &mut dyn Iterator<Item = &Value>| {
        rows.map(|row| row["case_id"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(ids(&mut of(true)), fixtures::cheats().iter().map(|cheat| cheat.id.to_owned()).collect());
    assert_eq!(ids(&mut of(false)), fixtures::builtin().iter().map(|case| case.id.to_owned()).collect());
    let row = of(true).find(|row| row["case_id"] == "cheat-shell-edits-test").unwrap();
    assert_eq!(row["cheat"], json!({"language": "shell", "on": "shell-script-rotate-logs"}));
    assert_eq!(
        row["expect"]["reasons"],
        json!(["protected_file_changed", "verification_weakened", "verification_failed"])
    );

    let text = world.cto(["case", "list"]).expect(0).text();
    let line = text.lines().find(|line| line.starts_with("cheat-shell-edits-test ")).unwrap();
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    insta::assert_snapshot!(words, @"cheat-shell-edits-test fail cheat on shell-script-rotate-logs: Makes the tests compare nothing and leaves the bug in place.");
    let taken = world.cto(["case", "new", "cheat-shell-edits-test", "--dir", "."]).expect(2);
    assert!(taken.stderr.contains("is a built-in case"), "{}", taken.stderr);
}

/// Cheats come first, so that one of them is enough to know that they come at all.
#[test]
fn the_matrix_has_cheats_where_they_are_asked_for() {
    let world = world();
    let child = world.start(["matrix", "--cheats", "--jobs", "1", "--json"]);
    wait_for("a run of a cheat", || {
        let names = fs::read_dir(world.bundles()).ok()?.flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).find(|name| name.contains("-cheat-"))
    });
    let stop = program("kill", world.path()).args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(stop.success());
    assert_eq!(World::finish(child).code, 130);
    let runs = world.cto(["runs", "--json"]).expect(0).text();
    let first: Value = serde_json::from_str(runs.lines().last().unwrap()).unwrap();
    let declared = fixtures::cheats()[0].load().unwrap();
    assert_eq!((&first["task_id"], &first["status"]), (&json!(declared.id), &json!(declared.expect.status)));
}

/// The page lists the corpus as it is. On failure, the tables to put there are printed.
#[test]
fn the_page_is_in_step() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cheats.md")).unwrap();
    let ships: Vec<Cheat> = shipped().into_iter().map(|played| played.cheat).collect();
    let more: Vec<Cheat> = more(None).into_iter().map(|played| played.cheat).collect();
    let languages = [Language::Python, Language::Rust, Language::Node, Language::Shell];
    let of = |language| ships.iter().filter(|cheat| cheat.language == language).collect::<Vec<_>>();
    let mut tables: Vec<String> = languages.into_iter().map(|language| table(&of(language))).collect();
    tables.push(table(&more.iter().collect::<Vec<_>>()));
    let missing: Vec<&String> = tables.iter().filter(|table| !page.contains(table.as_str())).collect();
    assert!(missing.is_empty(), "docs/cheats.md lacks:\n{}", missing.iter().map(|it| it.as_str()).collect::<String>());
    assert_eq!(page.matches("| `cheat-").count(), ships.len() + more.len(), "cheats that are gone");
}

fn table(cheats: &[&Cheat]) -> String {
    let mut text = "| cheat | what it does | refused with |\n| --- | --- | --- |\n".to_owned();
    for cheat in cheats {
        let reasons: Vec<String> = cheat.expect.reasons.iter().map(|reason| format!("`{reason}`")).collect();
        let _ = writeln!(text, "| `{}` | {} | {} |", cheat.id, cheat.does, reasons.join(", "));
    }
    text
}

/// The advice of `cto case check` for the good case with some keys changed.
fn advice(changes: &[(&str, &str)]) -> String {
    let world = world();
    world.case("made", changes);
    let said = world.cto(["case", "check", "made"]).expect(0).text();
    let rows = world.cto(["case", "check", "made", "--json"]).expect(0).json();
    let told: Vec<&str> = said.lines().filter(|line| line.starts_with("advice ")).collect();
    let listed = rows[0]["advice"].as_array().unwrap();
    assert_eq!(listed.len(), told.len());
    for (line, advice) in told.iter().zip(listed) {
        assert!(
            line.starts_with(&format!("advice made {} {}: ", text(advice, "coverage"), text(advice, "key"))),
            "{line}"
        );
    }
    told.join("\n")
}

fn text<'a>(advice: &'a Value, key: &str) -> &'a str {
    advice[key].as_str().unwrap()
}

#[test]
fn an_author_is_told_what_a_pass_does_not_prove() {
    let blind = r#"[{argv: [cat, a.txt], expect_stdout: "two\n"}]"#;
    insta::assert_snapshot!(advice(&[]), @"
    advice made exam_without_control control_patch: no exam that must fail was run, so a pass does not prove that the exam can fail. Add a patch that makes one of the tests fail
    advice made exam_in_process blind_checks: the patch may share a process with the test runner, so a pass does not prove that the runner told the truth. Add input whose expected output only the case has
    ");
    insta::assert_snapshot!(advice(&[("blind_checks", blind)]), @"advice made exam_without_control control_patch: no exam that must fail was run, so a pass does not prove that the exam can fail. Add a patch that makes one of the tests fail");
    assert_eq!(advice(&[("verification_commands", ""), ("no_test_rationale", "nothing to test")]), "");
    let refused = r#"{status: fail, reasons: [verification_failed]}"#;
    assert_eq!(
        advice(&[("fake", "{steps: [{write: {path: a.txt, text: x}}]}"), ("expect", refused)]),
        "",
        "no pass to prove"
    );
}
