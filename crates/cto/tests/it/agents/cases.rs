//! The first rungs: the gates alone, then an artificial case.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use fixtures::scripted::{BodyFraming, Script};

use super::scene::{PAIR, Scene, doing};

/// The answer, as an agent's shell would write it.
pub(super) const FIX: &str = r#"sed -i 's/return text.lower().*/return "-".join(text.lower().split())/' strings.py"#;

/// Milliseconds between the last event of an answer and the end of its body, one row for each run. Some agents hang up at the
/// event, others wait for the end; the answer counts for all.
const ENDS: [(u64, BodyFraming); 6] = [
    (20, BodyFraming::Chunked),
    (0, BodyFraming::Chunked),
    (1, BodyFraming::Close),
    (5, BodyFraming::Chunked),
    (5, BodyFraming::Close),
    (500, BodyFraming::Chunked),
];

/// The fix, from a model whose answers end so.
fn ending_late(engine: &str, (gap, framing): (u64, BodyFraming)) -> Script {
    let mut script = doing(engine, &[FIX], "Done.");
    for step in &mut script.steps {
        (step.reply.delay_end_ms, step.reply.framing) = (gap, framing);
    }
    script
}

/// `CTO_TEST_ANSWERS` sets the number of climbs of the second rung.
fn climbs(engine: &'static str) {
    let Some(mut scene) = Scene::new("agents::climbs", engine, ending_late(engine, ENDS[0])) else { return };
    let (report, _) = scene.run("r1-string-slugify", 1, &[], 0);
    assert_eq!((&report["status"], &report["engine"]["process_started"]), (&json!("pass"), &json!(false)));
    assert_eq!(scene.server.asked().len(), 0, "stage 1 asks no model");
    let (report, bundle) = scene.run("r1-string-slugify", 2, &["--record-model-traffic"], 0);
    assert_eq!((&report["status"], &report["engine"]["process_started"]), (&json!("pass"), &json!(true)));
    let (provider, model) = PAIR.split_once('/').unwrap();
    assert_eq!(report["model"]["requested"], json!({"provider": provider, "model": model}));
    assert!(report["coverage"].as_array().unwrap().contains(&json!("model_scripted")));
    assert!(report["coverage"].as_array().unwrap().contains(&json!("source_not_admitted")));
    speaks_in_notes(&bundle);
    every_answer_counts(&report, &bundle);
    plays_again(&mut scene, &report);
    for round in 1..testkit::times("CTO_TEST_ANSWERS", 1) {
        let end = ENDS[round as usize % ENDS.len()];
        scene.follow(ending_late(engine, end));
        let (report, bundle) = scene.run("r1-string-slugify", 2, &[], 0);
        assert_eq!(report["status"], "pass", "round {round}, {end:?}");
        every_answer_counts(&report, &bundle);
    }
}

/// Another run of the agent means the same by its requests: it is answered from the recording of the first, to the end, and
/// nobody is asked. No request names the run.
fn plays_again(scene: &mut Scene, recorded: &Value) {
    let (asked, run) = (scene.server.asked(), recorded["run_id"].as_str().unwrap());
    assert!(asked.iter().all(|asked| !String::from_utf8_lossy(&asked.body).contains(run)), "{asked:#?}");
    let (report, _) = scene.run("r1-string-slugify", 2, &["--replay-model-traffic", run], 0);
    let model = &report["model"];
    assert_eq!(
        (&model["replayed"], &model["answered"]),
        (&recorded["model"]["answered"], &model["replayed"]),
        "{model}"
    );
    assert_eq!(report["changed_files"], recorded["changed_files"]);
    assert_eq!(scene.server.asked().len(), asked.len(), "nobody is asked");
}

/// The agent asked for its call and for its last words, and no answer was lost.
fn every_answer_counts(report: &Value, bundle: &Path) {
    let usage = fs::read_to_string(bundle.join("model-usage.jsonl")).unwrap();
    let lines = usage.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sent: Vec<Value> = lines.filter(|line| line["purpose"] == "engine" && line["outcome"] != "local").collect();
    assert!(sent.len() >= 2 && sent.iter().all(|line| line["outcome"] == "answered"), "{sent:#?}");
    assert!(sent.iter().all(|line| line["tokens"]["completion"] == 7), "{sent:#?}");
    assert_eq!(report["model"]["answered"], sent.len());
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
