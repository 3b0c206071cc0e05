//! The records of a workspace through the real binary: validation, the board, the guard, packs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod decisions;
mod evidence;
mod guarded;
mod hostile_packs;
mod judged;
mod moved;
mod operator_shapes;
mod packed;
pub(crate) mod sized;
mod told;
mod unseen;
mod validators;

use std::fs;

use serde_json::{Value, json};
use testkit::World;

use crate::world;

/// A world whose folder is a workspace.
fn workspace() -> World {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    world
}

/// Rules of the errors that `cto validate workspace` finds.
fn errors(world: &World, code: i32) -> Vec<String> {
    let found = world.cto(["validate", "workspace", "--json"]).expect(code).json();
    let rule = |error: &Value| error["rule"].as_str().unwrap().to_owned();
    found["errors"].as_array().unwrap().iter().map(rule).collect()
}

fn item(id: &str, status: &str) -> String {
    format!("  - id: {id}   # kept\n    title: item {id}\n    type: AFK\n    status: {status}\n")
}

#[test]
fn a_fresh_workspace_validates_and_is_made_once() {
    let world = workspace();
    let found = world.cto(["validate", "workspace", "--json"]).expect(0).json();
    assert_eq!((&found["ok"], &found["errors"], &found["advice"]), (&json!(true), &json!([]), &json!([])));
    let before = testkit::contents(&world.here(), &[]);
    let again = world.cto(["init", ".", "--json"]).expect(0).json();
    assert_eq!(again["files"], json!([]));
    assert_eq!(testkit::contents(&world.here(), &[]), before, "nothing is overwritten");
}

#[test]
fn findings_have_places_in_every_form_and_a_fix_keeps_the_rest() {
    let world = workspace();
    let path = ".sot/03-PROTOCOLS/WORKSPACE-INTENT.md";
    let text = fs::read_to_string(world.here().join(path)).unwrap();
    let broken = text.replace("status: draft", "status: Draft.").replace("core_promotion_status: not-promoted\n", "");
    world.write(path, broken);
    assert_eq!(errors(&world, 1), ["document_status", "front_matter_key"]);
    let plain = world.cto(["validate", "workspace"]).expect(1).text();
    assert!(plain.contains(&format!("{path}:3:9: error: [document_status] ")), "{plain}");
    let sarif = world.cto(["validate", "workspace", "--sarif"]).expect(1).json();
    assert_eq!(sarif["version"], "2.1.0");
    told::expect_sarif(&sarif);
    let region = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region, &json!({"startColumn": 9, "startLine": 3}));
    let fixed = world.cto(["validate", "workspace", "--fix", "--json"]).expect(0).json();
    assert_eq!(fixed["fixed"], json!([path]));
    let mended = fs::read_to_string(world.here().join(path)).unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    assert_eq!(sorted(&mended), sorted(&text), "only these lines were mended");
}

#[test]
fn rules_of_the_workspace_add_and_broken_ones_are_told() {
    let world = workspace();
    let rule = "rules:\n  - id: no_friday\n    sentence: Deploy on Friday.\n    pattern: '(?i)deploy on friday'\n    remedy: wait\n    must_match: [Deploy on Friday.]\n    must_not_match: [Deploy on Monday.]\n";
    world.write("rules/own.yaml", rule);
    assert_eq!(errors(&world, 0), Vec::<String>::new());
    let context = fs::read_to_string(world.here().join("CONTEXT.md")).unwrap();
    world.write("CONTEXT.md", format!("{context}\nWe deploy on Friday.\n"));
    assert_eq!(errors(&world, 1), ["no_friday"]);
    world.write("rules/own.yaml", rule.replace("Deploy on Monday.", "We deploy on Friday."));
    assert_eq!(errors(&world, 1), ["rule_file"], "a rule that breaks its own example is not used");
}

#[test]
fn an_external_validator_is_judged_by_its_exit_code_and_changes_nothing() {
    let world = workspace();
    let validator = |script: &str| {
        world.write("harness.yaml", format!("validators:\n  - name: own\n    argv: [sh, -c, \"{script}\"]\n"));
    };
    validator("test -f WORKBOARD.yaml && echo x > made-by-it; true");
    assert_eq!(errors(&world, 0), Vec::<String>::new());
    assert!(!world.here().join("made-by-it").exists());
    validator("exit 3");
    assert_eq!(errors(&world, 1), ["validator_failed"]);
}

/// A target admission as older records have it: thirteen keys, a date alone, a folder with a slash, a glob, actions in snake case.
const TARGET: &str = r#"{
  "admission_status": "admitted",
  "allowed_paths": ["docs/", "src/**"],
  "approval_source": "Ada",
  "approval_timestamp": "2026-01-02",
  "forbidden_actions": ["push", "merge", "deploy", "close", "pr_open", "issue_close", "public_publication",
    "credential_change", "vendor_source_mutation", "cortex_core_mutation"],
  "forbidden_paths": ["secrets/"],
  "noncritical_rationale": "a toy",
  "operator_outcome_required": true,
  "ownership_evidence": "notes/1",
  "repository_owner": "Ada",
  "review_trigger": "never",
  "risk_classification": "low_risk_noncritical",
  "target_repository_path": "/srv/demo"
}
"#;

/// Rules that need records or programs are broken through the binary, each alone and with its place; none is left out.
#[test]
fn rules_of_records_and_validators_are_broken_alone() {
    let record = |status: &str| {
        format!(
            "{{\n  \"admission_timestamp\": \"2026-01-02T03:04:05+01:00\",\n  \"allowed_network_class\": \"loopback\",\n  \"approval_source\": \"tests\",\n  \"credential_source_class\": \"key\",\n  \"model\": \"m\",\n  \"provider\": \"prov\",\n  \"review_trigger\": \"never\",\n  \"status\": {status}\n}}\n"
        )
    };
    let good = record("\"admitted\"");
    let validator = |exit: u8| format!("validators:\n  - name: own\n    argv: [sh, -c, \"exit {exit}\"]\n");
    let mut shown = std::collections::BTreeSet::new();
    for (file, good, bad, expected) in [
        ("admissions/model/prov.json", good.clone(), record("7"), "record_invalid 9:13"),
        (
            ".sot/03-PROTOCOLS/DEMO-MODEL-ADMISSION.json",
            good.clone(),
            good.replace("{\n", "{\n oops\n"),
            "record_invalid 2:2",
        ),
        (
            ".sot/03-PROTOCOLS/DEMO-TARGET-ADMISSION.json",
            TARGET.to_owned(),
            TARGET.replace("\"review_trigger\"", "\"review_trigger_of\""),
            "record_invalid 13:3",
        ),
        (
            "decisions/core-promotion.yaml",
            "decision_status: not_decided\n".to_owned(),
            "# a decision\ndecision_status: promoted\n".to_owned(),
            "record_invalid 2:18",
        ),
        ("harness.yaml", validator(0), validator(1), "validator_failed 1:1"),
    ] {
        let world = workspace();
        world.write(file, good);
        assert_eq!(errors(&world, 0), Vec::<String>::new(), "control: {file}");
        world.write(file, bad);
        let found = world.cto(["validate", "workspace", "--json"]).expect(1).json();
        let tell = |error: &Value| {
            assert_eq!(error["file"], file);
            shown.insert(error["rule"].as_str().unwrap().to_owned());
            format!("{} {}:{}", error["rule"].as_str().unwrap(), error["line"], error["column"])
        };
        let told: Vec<String> = found["errors"].as_array().unwrap().iter().map(tell).collect();
        assert_eq!((told, &found["advice"]), (vec![expected.to_owned()], &json!([])), "{file}: {found:#}");
    }
    let all = workboard::CheckRule::OF_CALLERS.iter().map(|rule| rule.id().to_owned()).collect();
    assert_eq!(shown, all);
}

#[test]
fn the_board_is_shown_and_what_can_be_done_is_told_apart() {
    let world = workspace();
    let board = format!(
        "items:\n{}{}{}    blocked_by: [DEMO-WORK-001]\n",
        item("DEMO-WORK-001", "draft"),
        item("DEMO-WORK-002", "candidate").replace("AFK", "HITL"),
        item("DEMO-WORK-003", "draft")
    );
    world.write("WORKBOARD.yaml", &board);
    let next = world.cto(["work", "next", "--json"]).expect(0).json();
    assert_eq!((&next["afk"][0]["id"], &next["hitl"][0]["id"]), (&json!("DEMO-WORK-001"), &json!("DEMO-WORK-002")));
    assert_eq!(next["afk"].as_array().unwrap().len(), 1, "the third waits");
    let graph = world.cto(["work", "graph", "--json"]).expect(0).json();
    assert_eq!(graph["nodes"][2]["waits_for"], json!(["DEMO-WORK-001"]));
    assert!(world.cto(["work", "graph", "--dot"]).expect(0).text().contains("\"DEMO-WORK-001\" -> \"DEMO-WORK-003\""));
    assert_eq!(world.cto(["work", "list", "--json"]).expect(0).json().as_array().unwrap().len(), 3);
    let _ = world.cto(["work", "show", "DEMO-WORK-009"]).expect(2);
    let moved = ["work", "status", "DEMO-WORK-001", "candidate", "--evidence", "work:DEMO-WORK-004"];
    let validated =
        format!("{}    evidence: [{{kind: document, ref: CONTEXT.md}}]\n", item("DEMO-WORK-004", "validated"));
    world.write("WORKBOARD.yaml", format!("{board}{validated}"));
    let _ = world.cto(moved).expect(0);
    let after = fs::read_to_string(world.here().join("WORKBOARD.yaml")).unwrap();
    let row = "status: candidate\n    evidence:\n      - {kind: work, ref: \"DEMO-WORK-004\"}";
    assert_eq!(after, format!("{}{validated}", board.replacen("status: draft", row, 1)), "every other byte is kept");
    // A cycle is printed as its path.
    world.write(
        "WORKBOARD.yaml",
        board.replacen("status: draft\n", "status: draft\n    blocked_by: [DEMO-WORK-003]\n", 1),
    );
    let told = world.cto(["work", "graph"]).expect(1).text();
    assert!(told.contains("cycle DEMO-WORK-001 -> DEMO-WORK-003 -> DEMO-WORK-001\n"), "{told}");
    assert_eq!(world.cto(["work", "graph", "--json"]).expect(1).json()["cycles"][0].as_array().unwrap().len(), 3);
    let _ = world.cto(["work", "graph", "--dot"]).expect(1);
}

/// The example of the documentation, as it is published.
#[test]
fn the_published_example_validates() {
    let world = world();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/workspace");
    let copied = testkit::program("cp", &world.here()).args(["-a", example, "site"]).status().unwrap();
    assert!(copied.success());
    let before = testkit::contents(&world.here().join("site"), &[]);
    let _ = world.cto(["init", "site"]).expect(0);
    let found = world.cto(["--workspace", "site", "validate", "workspace", "--json"]).expect(0).json();
    assert_eq!((&found["errors"], &found["advice"]), (&json!([]), &json!([])));
    assert!(
        before
            .iter()
            .all(|(path, digest)| testkit::contents(&world.here().join("site"), &[]).get(path) == Some(digest))
    );
}

#[test]
fn every_document_obeys_its_schema() {
    let world = workspace();
    let core = world.repository("core", &[("a.txt", "one\n")]);
    let obeys = |schema: &str, document: &Value| {
        let schema = world.cto(["schema", schema]).expect(0).json();
        assert!(schema["$id"].is_string());
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(validator.is_valid(document), "{document:#}");
        assert!(!validator.is_valid(&json!({})) && !validator.is_valid(&json!([{}])), "the control");
    };
    obeys("audit", &world.cto(["audit", "--json"]).expect(3).json());
    obeys("decision-packet", &world.cto(["packet", "promotion", "--json"]).expect(0).json());
    obeys("guard", &world.cto(["guard", "--json", "--core", core.to_str().unwrap()]).expect(0).json());
    obeys("workspace-validation", &world.cto(["validate", "workspace", "--json"]).expect(0).json());
    let (packed, key) = (world.path().join("a.pack"), world.home().join("keys/harness.pub"));
    obeys("packed", &world.cto(["pack", "--json", "-o", packed.to_str().unwrap()]).expect(0).json());
    let (home, there) = (world.path().join("there-home"), world.path().join("there"));
    let unpack = ["--home", home.to_str().unwrap(), "unpack", packed.to_str().unwrap(), there.to_str().unwrap()];
    let words = [&unpack[..], &["--key", key.to_str().unwrap(), "--trust-sender", "--json"]].concat();
    obeys("unpacked", &world.cto(words).expect(0).json());
    world.write("admissions/model/prov.json", "{}\n");
    obeys("records", &world.cto(["records", "--json"]).expect(1).json());
    let value = |text: &str| contract::source::read("b.yaml", text).node.unwrap().to_value();
    let board = |id: &str| value(&format!("items:\n{}", item(id, "draft")));
    obeys("workboard", &board("DEMO-WORK-001"));
    let intent = fs::read_to_string(world.here().join(".sot/03-PROTOCOLS/WORKSPACE-INTENT.md")).unwrap();
    let front = intent.split("---\n").nth(1).unwrap().to_owned();
    obeys("front-matter", &value(&front));
    let rule = "rules:\n  - {id: r, sentence: s, pattern: bad, remedy: m, must_match: [bad], must_not_match: [good]}\n";
    let rules = world.cto(["schema", "rules"]).expect(0).json();
    assert!(jsonschema::is_valid(&rules, &value(rule)));
    // What `cto validate workspace` refuses is refused in an editor.
    let refuses = |schema: &str, document: &Value| {
        let validator = jsonschema::draft202012::new(&world.cto(["schema", schema]).expect(0).json()).unwrap();
        assert!(!validator.is_valid(document), "{document:#}");
    };
    refuses("workboard", &board("a-work-1"));
    let name = front.lines().find(|line| line.starts_with("name:") || line.starts_with("title:")).unwrap();
    for (from, to) in [
        (format!("{name}\n"), ""),
        ("core_promotion_status: not-promoted".to_owned(), "core_promotion_status: promoted"),
        ("lifecycle_classification: ".to_owned(), "lifecycle_classification: un"),
        ("created: ".to_owned(), "created: on "),
        ("status: draft".to_owned(), "status: done"),
    ] {
        assert!(front.contains(&from), "{from}");
        refuses("front-matter", &value(&front.replacen(&from, to, 1)));
    }
    refuses("rules", &value(&rule.replace("remedy: m, ", "")));
    let decision = fs::read_to_string(world.here().join("decisions/core-promotion.yaml")).unwrap();
    obeys("core-promotion-decision", &contract::source::read("d.yaml", &decision).node.unwrap().to_value());
}
