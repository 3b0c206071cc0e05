//! The model of an approved plan: another pair, admitted or not, is another plan.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::program;

use super::scene::{Scene, ask, asking};

#[test]
fn an_approval_is_for_one_model() {
    let test = "an_approval_is_for_one_model";
    if program("ssh-keygen", Path::new("/")).arg("-?").output().is_err() {
        testkit::skip(test, "there is no ssh-keygen");
        return;
    }
    let mut scene = Scene::new();
    let endpoint = scene.config["models"]["prov/m"].clone();
    scene.config["models"]["prov/n"] = endpoint;
    scene.settle();
    let mut other = scene.admission.clone();
    other["model"] = json!("n");
    scene.world.write("admissions/model/other.json", other.to_string());
    let _ = scene.cto(&["key", "init"]).expect(0);
    let public = fs::read_to_string(scene.world.home().join("keys/operator.pub")).unwrap();
    scene.world.write_own("trust/allowed_signers", format!("me namespaces=\"cto-*\" {public}"));
    let steps = asking(&[ask("m", "hello")]);
    let case = scene.case(&[("mutation_mode", "candidate-default")], &steps);
    let case_path = case.to_str().unwrap();
    let words = ["request", case_path, "--stage", "4", "--model", "prov/m", "--json"];
    let request = scene.cto(&words).expect(0).json();
    let name = request["request"].as_str().unwrap();
    let packet = scene.cto(&["packet", name, "--json"]).expect(0).json();
    let sentence = packet["approval_command_text"].as_str().unwrap();
    let _ = scene.cto(&["approve", name, "--sentence", sentence]).expect(0);
    scene.pair = Some("prov/n");
    let (report, _) = scene.run(&case, &["--stage", "4"], 3);
    assert_eq!(report["blocker_reasons"], json!(["approval_mismatch"]), "{:#}", report["blockers"]);
    assert!(
        report["blockers"][0]["text"].as_str().unwrap().contains("/model/model: `m` was approved, `n` is there now")
    );
    assert_eq!((&report["engine"]["process_started"], scene.asked()), (&json!(false), 0), "no model is asked");
    scene.pair = Some("prov/m");
    let (report, _) = scene.run(&case, &["--stage", "4"], 0);
    assert_eq!(report["status"], "pass", "the control");
}
