//! Remedies of stage 6, each pasted in the state that prints it: what was missing is not missing any more, and the next thing is named.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::Ran;

use super::faults;
use super::scene::{ENGINE, Scene};
use crate::climb::admit_draft;

/// Words that stand for something of the operator's own.
const FILLED: [(&str, &str); 3] = [("CASE", "./other"), ("TASK", "./other"), ("ADMISSION", "target.yaml")];

/// The missing part that `cto ladder explain` names, and its command.
fn explain(scene: &Scene, stage: &str) -> (String, Option<String>) {
    let text = scene.cto(&["ladder", "explain", stage, "--engine", ENGINE]).expect(0).text();
    let find = |word: &str| text.lines().find_map(|line| line.strip_prefix(word)).map(str::to_owned);
    let missing = find("missing ").unwrap_or_default();
    (missing.split(' ').next().unwrap_or_default().to_owned(), find("next "))
}

/// Runs the command of a remedy as a person does: without the words behind it, and with what its capitals stand for.
fn paste(scene: &Scene, remedy: &str) -> Ran {
    paste_in(scene, &scene.home(), remedy)
}

/// The same in another home.
pub(super) fn paste_in(scene: &Scene, home: &Path, remedy: &str) -> Ran {
    let command = &remedy[remedy.find("cto ").unwrap_or_else(|| panic!("no command in {remedy:?}"))..];
    let mut words = shell_words::split(command.split("     ").next().unwrap()).unwrap();
    for word in &mut words {
        if let Some((_, filled)) = FILLED.iter().find(|(name, _)| name == word) {
            (*filled).clone_into(word);
        }
    }
    let asks = words.get(1).is_some_and(|word| word == "request" || word == "run");
    if asks && !words.iter().any(|word| word == "--target") {
        // A case has no target of its own: the operator names one.
        words.extend(["--target", "target.yaml"].map(str::to_owned));
    }
    words.extend(["--home".to_owned(), home.display().to_string()]);
    let ran = scene.world.cto(&words[1..]);
    assert_ne!(ran.code, 2, "`{}`: {}", words.join(" "), ran.told());
    ran
}

/// Runs the command that the ladder prints for a stage, which must be about this.
fn follow(scene: &Scene, stage: &str, missing: &str) -> Ran {
    let (found, remedy) = explain(scene, stage);
    assert_eq!(found, missing, "{remedy:?}");
    paste(scene, &remedy.unwrap())
}

/// The remedy of the refresh for a fault.
pub(super) fn remedy_of(document: &Value, fault: &str) -> String {
    let mut errors = document["errors"].as_array().unwrap().iter();
    errors.find(|error| error["fault"] == fault).unwrap()["remedy"].as_str().unwrap().to_owned()
}

/// One pass that nobody answered: the ladder's own command answers it, and the next thing is a second one, which the ladder's command
/// requests.
pub(super) fn answer_and_go_on(scene: &Scene) {
    let _ = follow(scene, "5", "missing_operator_outcome").expect(0);
    assert_eq!(explain(scene, "5").0, "", "the rung is proven");
    let (missing, remedy) = explain(scene, "6");
    assert_eq!(missing, "second_owned_pass");
    let request = paste(scene, &format!("{} --json", remedy.unwrap())).expect(0).json();
    let name = request["request"].as_str().unwrap();
    // The target is about to move, so that another plan is approved.
    let _ = scene.cto(&["deny", name, "--reason", "the first one is merged before"]).expect(0);
}

/// A second pass without an answer: the refresh names the command that gives one.
pub(super) fn answer_by_the_refresh(scene: &Scene, code: i32) {
    let document = scene.refresh(&["--engine", ENGINE], code);
    let _ = paste(scene, &remedy_of(&document, "missing_operator_outcome")).expect(0);
    let again = scene.refresh(&["--engine", ENGINE], code);
    assert!(!faults(&again).contains(&"missing_operator_outcome"), "{again:#}");
    assert!(!faults(&again).contains(&"second_owned_pass"), "{again:#}");
}

/// Without a comparison the ladder and the refresh name the same command. That one names the matrix, and with it passes.
pub(super) fn compare_as_told(scene: &Scene) {
    let document = scene.refresh(&["--engine", ENGINE], 3);
    let (missing, remedy) = explain(scene, "6");
    assert_eq!(missing, "no_comparison");
    assert_eq!(remedy_of(&document, "no_comparison"), remedy.clone().unwrap());
    let remedy = remedy.unwrap();
    let blocked = paste(scene, &format!("{remedy} --json")).expect(3).json();
    let subjects = blocked["subjects"].as_array().unwrap();
    let lacking: Vec<&Value> = subjects.iter().filter(|subject| subject["verdict"] == "blocked").collect();
    assert!(!lacking.is_empty(), "{blocked:#}");
    for subject in lacking {
        let _ = paste(scene, subject["remedy"].as_str().unwrap()).expect(0);
    }
    let _ = paste(scene, &remedy).expect(0);
    assert_eq!(explain(scene, "6").0, "missing_operator_outcome");
}

/// A rejected pass: the refresh's command asks for the case again, by the same engine.
pub(super) fn request_what_was_rejected(scene: &Scene, first: &str, second: &str) {
    let home = scene.copy_home("rejected-remedy");
    let at = home.to_str().unwrap();
    let _ = scene.cto(&["ledger", "continue", "--reason", "a copy for a test", "--home", at]).expect(0);
    let _ = scene.cto(&["outcome", first, "reject", "--reason", "slower", "--home", at]).expect(0);
    let document = scene.refresh_in(&home, &[first, second], 1);
    let remedy = remedy_of(&document, "outcome_rejected");
    assert!(remedy.contains(&format!("--engine {ENGINE} --stage 5")), "{remedy}");
    let (command, _) = remedy.split_once("     ").unwrap();
    let request = paste_in(scene, &home, &format!("{command} --json")).expect(0).json();
    assert_eq!(request["status"], "requested", "{request:#}");
    fs::remove_dir_all(&home).unwrap();
}

/// A withdrawn source: the refresh's command drafts its admission anew, and when that is filled in and signed nothing is stale any more.
pub(super) fn admit_what_is_stale(scene: &Scene) {
    let file = scene.world.here().join(format!("admissions/source/{ENGINE}.yaml"));
    let signature = file.with_extension("yaml.sig");
    let (good, signed) = (fs::read_to_string(&file).unwrap(), fs::read(&signature).unwrap());
    let put = |text: &str| {
        fs::write(&file, text).unwrap();
        let _ = fs::remove_file(&signature);
        let _ = scene.cto(&["record", "sign", file.to_str().unwrap()]).expect(0);
    };
    put(&good.replace("status: admitted", "status: withdrawn"));
    let document = scene.refresh(&[], 1);
    let _ = paste(scene, &remedy_of(&document, "stale_source_admission")).expect(0);
    let draft = fs::read_to_string(&file).unwrap();
    assert!(draft.contains("status: \"draft\"") && draft.contains("<FILL IN"), "a draft admits nothing: {draft}");
    put(&admit_draft(&draft));
    let again = scene.refresh(&[], 0);
    assert_eq!(again["source_admission_freshness"], "current", "{again:#}");
    fs::write(&file, good).unwrap();
    fs::write(&signature, signed).unwrap();
}

/// One pass alone: the refresh's command asks for another one, as the ladder's does.
pub(super) fn request_a_second_pass(scene: &Scene, run: &str) {
    let document = scene.refresh(&[run], 3);
    let remedy = remedy_of(&document, "second_owned_pass");
    let (command, _) = remedy.split_once("     ").unwrap();
    let request = paste(scene, &format!("{command} --json")).expect(0).json();
    let _ = scene.cto(&["deny", request["request"].as_str().unwrap(), "--reason", "two are there"]).expect(0);
}

/// A HEAD that breaks a test: when it is mended, the command that the refresh names holds.
pub(super) fn refresh_when_mended(scene: &Scene, document: &Value) {
    let remedy = remedy_of(document, "failed_fact");
    assert!(remedy.contains("fix HEAD"), "{remedy}");
    let _ = paste(scene, &remedy).expect(0);
}

/// Passes of two identities: the refresh's command with passes of one is a refresh that holds.
pub(super) fn name_passes_of_one_identity(scene: &Scene, first: &str, second: &str) {
    let runs = scene.cto(&["runs", "--engine", "fake", "--json"]).expect(0).text();
    let other: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
    let document = scene.refresh(&["--engine", ENGINE, first, other["run_id"].as_str().unwrap()], 1);
    let mut errors = document["errors"].as_array().unwrap().iter();
    let error = errors.find(|error| error["text"].as_str().unwrap().contains("is by fake from")).unwrap();
    let remedy = error["remedy"].as_str().unwrap();
    assert!(remedy.ends_with("cto refresh RUN RUN"), "{remedy}");
    let named = remedy.replacen("RUN", first, 1).replacen("RUN", second, 1);
    let _ = paste(scene, &named).expect(0);
}

/// The comparison waits for its outcome; the ladder's command gives it, and the rung is proven.
pub(super) fn accept_the_comparison(scene: &Scene) {
    let _ = follow(scene, "6", "missing_operator_outcome").expect(0);
    assert_eq!(explain(scene, "6"), (String::new(), None), "the rung is proven");
}
