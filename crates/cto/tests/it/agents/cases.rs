//! The first rungs: the gates alone, then an artificial case.

use serde_json::json;

use super::scene::{PAIR, Scene, doing};

/// The answer, as an agent's shell would write it.
pub(super) const FIX: &str = r#"sed -i 's/return text.lower().*/return "-".join(text.lower().split())/' strings.py"#;

fn climbs(engine: &'static str) {
    let Some(mut scene) = Scene::new("agents::climbs", engine, doing(engine, &[FIX], "Done.")) else { return };
    let (report, _) = scene.run("r1-string-slugify", 1, &[], 0);
    assert_eq!((&report["status"], &report["engine"]["process_started"]), (&json!("pass"), &json!(false)));
    assert_eq!(scene.server.asked().len(), 0, "stage 1 asks no model");
    let (report, _) = scene.run("r1-string-slugify", 2, &[], 0);
    assert_eq!((&report["status"], &report["engine"]["process_started"]), (&json!("pass"), &json!(true)));
    let (provider, model) = PAIR.split_once('/').unwrap();
    assert_eq!(report["model"]["requested"], json!({"provider": provider, "model": model}));
    assert!(report["coverage"].as_array().unwrap().contains(&json!("model_scripted")));
    assert!(report["coverage"].as_array().unwrap().contains(&json!("source_not_admitted")));
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
