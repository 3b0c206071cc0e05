//! A status moves to `validated` only with evidence that verifies; each way in which it does not is refused by name.

use std::fs;

use serde_json::json;
use testkit::{World, git};

use super::{errors, item, workspace};

const FIRST: &str = "DEMO-WORK-001";

/// Moves the first item and expects a refusal by this rule; the board stays as it was. A board that somebody edits to say the same is
/// refused by the same rule.
fn refuses(world: &World, evidence: &str, rule: &str) {
    let before = fs::read(world.here().join("WORKBOARD.yaml")).unwrap();
    let ran = world.cto(["work", "status", FIRST, "validated", "--evidence", evidence]).expect(3);
    assert!(ran.stderr.contains(&format!("[{rule}]")), "{evidence}: {}", ran.stderr);
    assert_eq!(fs::read(world.here().join("WORKBOARD.yaml")).unwrap(), before);
    let (kind, reference) = evidence.split_once(':').unwrap();
    let moved = format!("status: validated\n    evidence: [{{kind: {kind}, ref: {reference}}}]");
    let edited = String::from_utf8(before.clone()).unwrap().replacen("status: draft", &moved, 1);
    world.write("WORKBOARD.yaml", edited);
    let found = errors(world, 1);
    assert!(found.iter().any(|one| one == rule), "edited by hand, {evidence}: {found:?}");
    world.write("WORKBOARD.yaml", before);
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
    let line = |line: String| assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    let digest = |name: &str| contract::Digest::of_bytes(&fs::read(world.bundles().join(&run).join(name)).unwrap());
    line(format!("Work item: {FIRST}"));
    line("- Status on the board: validated".to_owned());
    line("- runtime_default_activation: false".to_owned());
    line("- core_promotion_status: not-promoted".to_owned());
    line(format!("- bundle: {run}"));
    line(format!("## Run {run}"));
    line("- Report status: pass".to_owned());
    line(format!("- Report sha256: {}", digest("report.json")));
    line(format!("- Attestation sha256: {}", digest("attestation.dsse.json")));
    let mut lines = text.lines();
    while let Some(proof) = lines.find_map(|line| line.strip_prefix("- Proof: ")) {
        let name = proof.rsplit_once(&format!("{run}/")).map_or(proof, |(_, name)| name);
        assert_eq!(lines.next().unwrap(), format!("- Proof sha256: {}", digest(name)), "{proof}");
    }
    for label in ["- Target validation: ", "- Scope guard: ", "- Changed: "] {
        assert!(text.lines().any(|line| line.len() > label.len() && line.starts_with(label)), "{label}\n{text}");
    }
    assert!(!text.contains("- Target commit: "), "a case lands nothing");
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

/// A record is older than the workspace by its history. Its own day, the day of a commit and the mark of the workspace say nothing.
#[test]
fn older_records_are_those_that_the_history_had_before() {
    let world = workspace();
    let here = world.here();
    git(&here, ["init", "-q", "-b", "main"]);
    let closeout = |name: &str| format!(".sot/03-PROTOCOLS/{name}-CLOSEOUT.md");
    let text = |day: &str| {
        format!(
            "---\nname: a closeout\nstatus: draft\nowner: op1\ncreated: {day}\nlast_reviewed: {day}\nlifecycle_classification: planning\ncore_promotion_status: not-promoted\n---\n\n# Title\n\nLocal planning SOT only. Not a Core Protocol. Not active Core authority.\n\n## DEMO-WORK-001 - One\n\nStatus: validated.\n"
        )
    };
    let board = |artifacts: &str, id: &str| {
        format!(
            "items:\n{}    artifacts: [{artifacts}]\n    evidence: [{{kind: external, ref: a letter}}]\n",
            item(id, "validated")
        )
    };
    world.write(&closeout("OLD"), text("2020-01-01"));
    let said = |name: &str| {
        let found = world.cto(["validate", "workspace", "--json"]).json();
        let rules = |list: &str| {
            let is_meant = |rule: &str| rule.contains("_kept") || rule == "evidence_unverified";
            let all = found[list].as_array().unwrap().iter().filter(|one| one["file"] == json!(name));
            let about = all.filter(|one| is_meant(one["rule"].as_str().unwrap()));
            about.map(|one| one["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        (rules("errors").len(), rules("advice").len())
    };
    let kept = 4;
    assert_eq!(said(&closeout("OLD")), (kept, 0), "in no commit");
    git(&here, ["add", closeout("OLD").as_str()]);
    git(&here, ["commit", "-q", "-m", "records"]);
    assert_eq!(said(&closeout("OLD")), (kept, 0), "the mark is in no commit");
    git(&here, ["add", "-A"]);
    git(&here, ["commit", "-q", "-m", "cto init"]);
    assert_eq!(said(&closeout("OLD")), (0, kept), "control: the history had it before");

    world.write(&closeout("NEW"), text("2020-01-01"));
    git(&here, ["add", "-A"]);
    git(&here, ["commit", "-q", "--date", "2001-01-01T00:00:00Z", "-m", "a closeout"]);
    assert_eq!(said(&closeout("NEW")), (kept, 0), "a day that its writer chose");
    world.write("WORKBOARD.yaml", board(&closeout("OLD"), "DEMO-WORK-001"));
    assert_eq!(said("WORKBOARD.yaml").0, 0, "control: the item was validated before");
    world.write("WORKBOARD.yaml", board(&closeout("OLD"), "DEMO-WORK-002"));
    assert_eq!(said("WORKBOARD.yaml").0, 1, "a new item that names an old document");
}
