//! A status moves to `validated` only with evidence that verifies; each way in which it does not is refused by name.

use std::fs;

use testkit::World;

use super::{errors, item, workspace};

const FIRST: &str = "DEMO-WORK-001";

/// Moves the first item and expects a refusal by this rule; the board stays as it was.
fn refuses(world: &World, evidence: &str, rule: &str) {
    let before = fs::read(world.here().join("WORKBOARD.yaml")).unwrap();
    let ran = world.cto(["work", "status", FIRST, "validated", "--evidence", evidence]).expect(3);
    assert!(ran.stderr.contains(&format!("[{rule}]")), "{evidence}: {}", ran.stderr);
    assert_eq!(fs::read(world.here().join("WORKBOARD.yaml")).unwrap(), before);
}

fn run_for(world: &World, work: &str) -> String {
    let report = world.cto(["run", "r1-string-slugify", "--work", work, "--json"]).expect(0).json();
    report["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn validated_needs_evidence_that_holds() {
    let world = workspace();
    let board = format!("items:\n{}{}", item(FIRST, "draft"), item("DEMO-WORK-002", "draft"));
    world.write("WORKBOARD.yaml", &board);
    let none = world.cto(["work", "status", FIRST, "validated"]).expect(3);
    assert!(none.stderr.contains("[evidence_missing]"), "{}", none.stderr);
    refuses(&world, "bundle:nothing", "evidence_unknown");
    refuses(&world, "document:nowhere.md", "evidence_document");
    refuses(&world, "work:DEMO-WORK-002", "evidence_work");
    let other = run_for(&world, "DEMO-WORK-002");
    refuses(&world, &format!("bundle:{other}"), "evidence_other_work");
    let matrix = world.cto(["matrix", "--json"]).expect(0).json();
    let validation =
        matrix["cases"][0]["run_id"].as_str().or_else(|| matrix["rows"][0]["run_id"].as_str()).unwrap().to_owned();
    refuses(&world, &format!("bundle:{validation}"), "evidence_purpose");

    let run = run_for(&world, FIRST);
    let report = world.bundles().join(&run).join("report.json");
    let good = fs::read(&report).unwrap();
    let tampered = String::from_utf8(good.clone()).unwrap().replacen("\"pass\"", "\"fail\"", 1);
    let _ = fs::remove_file(&report);
    fs::write(&report, tampered).unwrap();
    refuses(&world, &format!("bundle:{run}"), "evidence_tampered");
    fs::write(&report, good).unwrap();

    let _ = world.cto(["work", "status", FIRST, "validated", "--evidence", &format!("bundle:{run}")]).expect(0);
    assert_eq!(errors(&world, 0), Vec::<String>::new(), "the control");
    let closeout = world.cto(["work", "closeout", FIRST, "--write", "--json"]).expect(0).json();
    let text = fs::read_to_string(world.here().join(closeout["file"].as_str().unwrap())).unwrap();
    assert!(text.contains(&run), "{text}");
    assert_eq!(errors(&world, 0), Vec::<String>::new(), "a closeout passes its own rules");
    let _ = world.cto(["work", "closeout", FIRST, "--write"]).expect(3);
    fs::remove_dir_all(world.bundles().join(&run)).unwrap();
    assert_eq!(errors(&world, 1), ["execution_without_bundle", "evidence_unknown"], "gone afterwards");
}

#[test]
fn a_bundle_that_was_collected_is_refused_by_name() {
    let world = workspace();
    world.write("WORKBOARD.yaml", format!("items:\n{}", item(FIRST, "draft")));
    let run = run_for(&world, FIRST);
    let _ = run_for(&world, FIRST);
    let _ = world.cto(["gc", "--older-than", "0s", "--keep", "1"]).expect(0);
    assert!(!world.bundles().join(&run).exists(), "collected");
    refuses(&world, &format!("bundle:{run}"), "evidence_collected");
}

#[test]
fn a_run_of_an_older_harness_is_advice_and_a_broken_one_is_not() {
    let world = workspace();
    let digest = contract::Digest::of_bytes(b"log\n");
    world.write("old-runs/r1/test.log", "log\n");
    world.write(
        "old-runs/r1/report.json",
        format!("{{\"status\": \"pass\", \"artifact_digests\": {{\"test.log\": \"{digest}\"}}}}"),
    );
    let evidence =
        "    evidence:\n      - {kind: bundle, ref: old-runs/r1}\n      - {kind: document, ref: CONTEXT.md}\n";
    world.write("WORKBOARD.yaml", format!("items:\n{}{evidence}", item(FIRST, "validated")));
    assert_eq!(errors(&world, 1), ["execution_without_bundle"], "it never counts");
    world.write("old-runs/r1/test.log", "another log\n");
    assert_eq!(errors(&world, 1), ["execution_without_bundle", "evidence_legacy_broken"]);
}
