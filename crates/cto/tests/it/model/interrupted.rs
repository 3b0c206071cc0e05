//! A model-backed run that is interrupted: what its model was asked and answered stands in its report.

use std::fs;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::wait_for;

use super::scene::{Scene, ask, asking, lines};

#[test]
fn requests_of_an_interrupted_run_are_counted() {
    for signal in [Signal::INT, Signal::KILL] {
        let scene = Scene::new();
        scene.settle();
        let mut steps = asking(&[ask("m", "hello"), ask("m", "again")]);
        steps.push(json!({"print": {"text": "now it sleeps"}}));
        steps.push(json!({"sleep": {"seconds": 600}}));
        let case = scene.case(&[], &steps);
        let mut command = scene.world.command(["run", case.to_str().unwrap(), "--model", scene.pair.unwrap()]);
        command.envs(scene.environment.iter().map(|(name, value)| (name, value)));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The engine may print before the harness has written down that its last answer ended.
        let is_told = |text: &str| {
            text.contains("now it sleeps") && text.matches("\"type\":\"model.answered\"").count() == scene.asked()
        };
        wait_for("its sleep", || {
            let active = fs::read_dir(scene.world.home().join("active")).ok()?;
            let events = active.flatten().map(|run| run.path().join("events.normalized.jsonl"));
            events.filter_map(|file| fs::read_to_string(file).ok()).any(|text| is_told(&text)).then_some(())
        });
        let asked = scene.asked() as u64;
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        let report = scene.cto(&["show", "@", "--json"]).expect(0).json();
        let bundle = scene.world.bundles().join(report["run_id"].as_str().unwrap());
        assert_eq!(report["blocker_reasons"], json!(["harness_interrupted"]), "{signal:?}");
        let model = &report["model"];
        assert_eq!((&model["requests"], &model["answered"]), (&json!(asked), &json!(2)), "{signal:?}: {model:#}");
        assert_eq!(model["tokens"]["prompt"], 22, "{signal:?}: {model:#}");
        let usage = lines(&bundle.join("model-usage.jsonl"));
        let purposes: Vec<_> = usage.iter().map(|line| line["purpose"].as_str().unwrap()).collect();
        assert_eq!(purposes, ["probe", "engine", "engine"], "{signal:?}");
        let _ = scene.world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
        assert!(report["coverage"].to_string().contains("model_scripted"), "{signal:?}");
    }
}
