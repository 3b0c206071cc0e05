//! The first rungs: the gates alone, then an artificial case.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::scene::{PAIR, Scene, doing};

/// The answer, as an agent's shell would write it.
pub(super) const FIX: &str = r#"sed -i 's/return text.lower().*/return "-".join(text.lower().split())/' strings.py"#;

fn climbs(engine: &'static str) {
    let Some(mut scene) = Scene::new("agents::climbs", engine, doing(engine, &[FIX], "Done.")) else { return };
    let (report, _) = scene.run("r1-string-slugify", 1, &[], 0);
    assert_eq!((&report["status"], &report["engine"]["process_started"]), (&json!("pass"), &json!(false)));
    assert_eq!(scene.server.asked().len(), 0, "stage 1 asks no model");
    let (report, bundle) = scene.run("r1-string-slugify", 2, &[], 0);
    assert_eq!((&report["status"], &report["engine"]["process_started"]), (&json!("pass"), &json!(true)));
    let (provider, model) = PAIR.split_once('/').unwrap();
    assert_eq!(report["model"]["requested"], json!({"provider": provider, "model": model}));
    assert!(report["coverage"].as_array().unwrap().contains(&json!("model_scripted")));
    assert!(report["coverage"].as_array().unwrap().contains(&json!("source_not_admitted")));
    speaks_in_notes(&bundle);
}

/// All that the agent prints is understood: every line is a note or is passed over, none is shown as it is.
fn speaks_in_notes(bundle: &Path) {
    let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let printed = events.filter(|event| event["type"] == "engine.output" && event["data"]["stream"] == "stdout");
    let notes: Vec<Value> = printed.map(|event| event["data"].clone()).collect();
    let of = |kind: &str| notes.iter().filter(|note| note["kind"] == kind).count();
    assert!(notes.iter().all(|note| note["kind"].is_string()), "{notes:#?}");
    assert_eq!((of("command"), of("message")), (1, 1), "{notes:#?}");
    assert!(of("usage") > 0 && of("turn") > 0, "{notes:#?}");
    let done = notes.iter().find(|note| note["kind"] == "message").unwrap();
    assert_eq!(done["text"], "Done.");
}

#[test]
fn codex_climbs() {
    climbs("codex");
}

#[test]
fn pi_climbs() {
    climbs("pi");
}

#[test]
fn claude_climbs() {
    climbs("claude");
}
