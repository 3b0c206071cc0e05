//! Forms in which findings and gaps are handed on: SARIF, and draft items of the board.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{TARGET, errors, workspace};

/// Properties that SARIF 2.1.0 gives an object, and those of them that it has to have. Nothing else may stand in one.
type ObjectShape = (&'static [&'static str], &'static [&'static str]);

const LOG: ObjectShape = (&["version", "runs"], &["$schema", "inlineExternalProperties", "properties"]);
const RUN: ObjectShape =
    (&["tool"], &["results", "columnKind", "originalUriBaseIds", "invocations", "artifacts", "language", "properties"]);
const DRIVER: ObjectShape =
    (&["name"], &["rules", "version", "semanticVersion", "informationUri", "organization", "fullName", "properties"]);
const RULE: ObjectShape = (
    &["id"],
    &[
        "name",
        "shortDescription",
        "fullDescription",
        "help",
        "helpUri",
        "defaultConfiguration",
        "messageStrings",
        "properties",
    ],
);
const RESULT: ObjectShape = (
    &["message"],
    &[
        "ruleId",
        "ruleIndex",
        "rule",
        "kind",
        "level",
        "locations",
        "fingerprints",
        "partialFingerprints",
        "fixes",
        "properties",
    ],
);
const LOCATION: ObjectShape = (&[], &["id", "physicalLocation", "logicalLocations", "message", "properties"]);
const PLACE: ObjectShape = (&[], &["address", "artifactLocation", "region", "contextRegion", "properties"]);
const FILE: ObjectShape = (&[], &["uri", "uriBaseId", "index", "description", "properties"]);
const REGION: ObjectShape = (
    &[],
    &[
        "startLine",
        "startColumn",
        "endLine",
        "endColumn",
        "charOffset",
        "charLength",
        "snippet",
        "message",
        "properties",
    ],
);
const MESSAGE: ObjectShape = (&[], &["text", "markdown", "id", "arguments", "properties"]);

/// Holds an object to its shape and gives it back.
fn shaped(value: &Value, (required, allowed): ObjectShape) -> &Value {
    let names: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let (required, allowed): (BTreeSet<&str>, BTreeSet<&str>) =
        (required.iter().copied().collect(), allowed.iter().copied().collect());
    assert!(names.is_superset(&required), "{required:?} in {value:#}");
    assert!(names.iter().all(|name| required.contains(name) || allowed.contains(name)), "{names:?}");
    value
}

/// Expects a text that says something.
fn said(value: &Value) -> &str {
    value.as_str().filter(|text| !text.trim().is_empty()).unwrap()
}

/// Holds a document to the required parts of SARIF 2.1.0.
pub(super) fn expect_sarif(sarif: &Value) {
    shaped(sarif, LOG);
    assert_eq!(sarif["version"], "2.1.0");
    assert!(said(&sarif["$schema"]).starts_with("https://"));
    for run in sarif["runs"].as_array().unwrap() {
        shaped(run, RUN);
        assert!(["utf16CodeUnits", "unicodeCodePoints"].contains(&said(&run["columnKind"])));
        let driver = shaped(&shaped(&run["tool"], (&["driver"], &["extensions", "properties"]))["driver"], DRIVER);
        said(&driver["name"]);
        let rules = driver["rules"].as_array().unwrap().iter().map(|rule| {
            shaped(rule, RULE);
            said(&shaped(&rule["shortDescription"], MESSAGE)["text"]);
            said(&shaped(&rule["help"], MESSAGE)["text"]);
            said(&rule["id"])
        });
        let listed: Vec<&str> = rules.collect();
        let rules: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(rules.len(), listed.len(), "each rule once");
        for result in run["results"].as_array().unwrap() {
            expect_result(shaped(result, RESULT), run, &rules);
        }
    }
}

fn expect_result(result: &Value, run: &Value, rules: &BTreeSet<&str>) {
    said(&shaped(&result["message"], MESSAGE)["text"]);
    assert!(["none", "note", "warning", "error"].contains(&said(&result["level"])));
    assert!(rules.contains(said(&result["ruleId"])));
    for location in result["locations"].as_array().unwrap() {
        let place = shaped(&shaped(location, LOCATION)["physicalLocation"], PLACE);
        let file = shaped(&place["artifactLocation"], FILE);
        let uri = said(&file["uri"]);
        assert!(!uri.starts_with('/') && !uri.contains([' ', ':', '\\', '"']), "a relative reference: {uri}");
        shaped(&run["originalUriBaseIds"][said(&file["uriBaseId"])], FILE);
        let region = shaped(&place["region"], REGION);
        for number in ["startLine", "startColumn"] {
            assert!(region[number].as_u64().is_some_and(|number| number >= 1), "{region}");
        }
    }
}

#[test]
fn findings_of_every_weight_are_whole_in_sarif() {
    let world = workspace();
    expect_sarif(&world.cto(["validate", "workspace", "--sarif"]).expect(0).json());
    world.write(".sot/03-PROTOCOLS/A ä 100%-BRIEF.md", "no front matter: Case is the default backend.\n");
    world.write(
        "WORKBOARD.yaml",
        "items:\n  - {id: DEMO-WORK-001, title: t, type: AFK, status: validated, evidence: [CONTEXT.md]}\n",
    );
    let sarif = world.cto(["validate", "workspace", "--sarif"]).expect(1).json();
    expect_sarif(&sarif);
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let levels: BTreeSet<&str> = results.iter().map(|result| result["level"].as_str().unwrap()).collect();
    assert_eq!(levels, BTreeSet::from(["error", "note"]));
    let found = world.cto(["validate", "workspace", "--json"]).expect(1).json();
    let count = |list: &str| found[list].as_array().unwrap().len();
    assert_eq!(results.len(), count("errors") + count("advice"), "every finding");
}

/// Type of the draft item of each requirement where nothing was proven yet.
const DRAFTS: [(&str, &str, &str); 10] = [
    ("cortex_governs", "HITL", "no admission of an engine's source is usable and signed"),
    ("hermes_controls", "HITL", "no pass of stage 5 used up a signed approval"),
    ("cto_routes", "AFK", "stage 1 is not validated: "),
    ("harness_proves", "AFK", "stage 1 is not validated: "),
    ("case_executes_only_after_proof", "AFK", "stage 1 is not validated: "),
    ("bounded_code_changes_with_evidence", "HITL", "no pass of stage 5 shows a commit inside of its allowed paths"),
    ("target_repos_stay_owned_and_protected", "HITL", "no admission of a target is usable and signed"),
    ("default_status_is_earned_not_assumed", "AFK", "stage 1 is not validated: "),
    ("candidate_default_evidence", "AFK", "there is no sealed refresh that verifies"),
    ("transportable_stack", "AFK", ""),
];

#[test]
fn each_gap_is_a_draft_item_that_the_board_takes() {
    let world = workspace();
    let audit = world.cto(["audit", "--json"]).expect(3).json();
    let mut board = "items:\n".to_owned();
    for (one, (requirement, kind, gap)) in audit["requirements"].as_array().unwrap().iter().zip(DRAFTS) {
        assert_eq!((&one["requirement"], &one["status"]), (&json!(requirement), &json!("not_proven")));
        let told = &one["gap"];
        assert!(said(&told["text"]).starts_with(gap) && !said(&told["remedy"]).is_empty(), "{told:#}");
        let draft = said(&told["draft_item"]);
        assert!(draft.contains(&format!("  type: {kind}\n")), "{requirement}: {draft}");
        board.push_str(draft);
    }
    world.write("WORKBOARD.yaml", board);
    assert_eq!(errors(&world, 0), Vec::<String>::new());
    let next = world.cto(["work", "next", "--json"]).expect(0).json();
    let count = |list: &str| next[list].as_array().unwrap().len();
    assert_eq!((count("hitl"), count("afk")), (4, 6));

    // Errors of the workspace are a gap of their own, which nobody has to sign.
    world.write("WORKBOARD.yaml", "items:\n  - {id: DEMO-WORK-001, title: t, type: AFK, status: validated}\n");
    let first = &world.cto(["audit", "--json"]).expect(3).json()["requirements"][0];
    assert_eq!(
        (&first["requirement"], &first["gap"]["remedy"]),
        (&json!("cortex_governs"), &json!("cto validate workspace"))
    );
    assert!(said(&first["gap"]["text"]).starts_with("the workspace has 1 error"), "{first:#}");
    assert!(said(&first["gap"]["draft_item"]).contains("  type: AFK\n"), "{first:#}");
}

/// A model admission as older records have it: eight sorted keys, and a time with an offset.
const MODEL: &str = r#"{
  "admission_timestamp": "2026-01-02T03:04:05+01:00",
  "allowed_network_class": "loopback",
  "approval_source": "Ada",
  "credential_source_class": "key",
  "model": "m",
  "provider": "prov",
  "review_trigger": "never",
  "status": "admitted"
}
"#;

#[test]
fn admissions_in_json_give_the_facts_that_they_hold() {
    let world = workspace();
    let facts = |model: String, target: String| {
        world.write("admissions/model/prov.json", model);
        world.write("admissions/target/demo.json", target);
        let rows = world.cto(["records", "--json"]).json();
        let told = rows.as_array().unwrap().iter().map(|row| {
            assert!(row["sha256"].is_string(), "{row:#}");
            [&row["kind"], &row["subject"], &row["status"]].map(|fact| fact.as_str().unwrap_or("none").to_owned())
        });
        told.collect::<Vec<_>>()
    };
    let rows = |model: [&str; 2], target: [&str; 2]| {
        vec![["model", model[0], model[1]], ["target", target[0], target[1]]]
            .into_iter()
            .map(|row| row.map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!(facts(MODEL.to_owned(), TARGET.to_owned()), rows(["prov/m", "admitted"], ["/srv/demo", "admitted"]));
    let other = (
        MODEL.replace("\"m\"", "\"n\"").replace("\"admitted\"", "\"held\""),
        TARGET.replace("/srv/demo", "/srv/other"),
    );
    assert_eq!(facts(other.0, other.1), rows(["prov/n", "held"], ["/srv/other", "admitted"]), "control");
}
