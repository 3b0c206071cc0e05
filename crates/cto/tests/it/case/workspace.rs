//! Contents of the workspace that the program finds: everything its prompts need, nothing of which is in the patch, and no log of another
//! run that would be taken for its own.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::expected::Expected;
use super::plain::Plain;
use super::scene::{COMMIT, Scene, WORK, envelope, good, role, script, working};

/// Asks for everything, as its prompts do; each line of the answer is one of [`NEEDS`].
const ASK: &str = "ca mark-tested && echo marked; [ \"$(git branch --show-current)\" != main ] && echo branched; \
    [ \"$(git diff main --name-only)\" = strings.py ] && echo compared; [ -z \"$(git status --porcelain)\" ] && echo clean";
const NEEDS: &[&str] = &["marked", "branched", "compared", "clean"];

/// Answer of a tool, as the model got it.
fn answered(scene: &Scene) -> Vec<&'static str> {
    let asked = scene.server.asked();
    let bodies: Vec<Value> = asked.iter().filter_map(|asked| serde_json::from_slice(&asked.body).ok()).collect();
    let outputs = bodies.iter().flat_map(|body| body["input"].as_array().cloned().unwrap_or_default());
    let outputs: String = outputs.filter_map(|item| item["output"].as_str().map(str::to_owned)).collect();
    NEEDS.iter().copied().filter(|need| outputs.lines().any(|line| line == *need)).collect()
}

fn asking() -> fixtures::scripted::Script {
    working(&format!("{WORK} && {COMMIT}; {ASK}"), json!({"artifacts": {"filesChanged": ["strings.py"]}}))
}

#[test]
fn its_prompts_find_what_they_need() {
    let mut scene = Scene::new(good());
    scene.climb();
    scene.answer(asking());
    let (report, bundle) = scene.check("its needs", super::scene::TASK, &Expected::PASS);
    assert_eq!(answered(&scene), NEEDS);
    assert_eq!(report["changed_files"], json!(["strings.py"]));
    let stderr = fs::read_to_string(bundle.join("backend/stderr.log")).unwrap();
    assert!(!stderr.contains("not among the active tasks"), "{stderr}");
    let brief =
        scene.server.asked().iter().map(|asked| String::from_utf8_lossy(&asked.body).into_owned()).collect::<String>();
    assert!(brief.contains("prUrl: null") && !brief.contains("A commit is not needed"), "{brief}");
    // The control: the same program in a plain checkout.
    scene.answer(asking());
    let plain = Plain::new(&scene, "needs", &json!({"id": "t", "status": "active", "repo": "r"}));
    let (_, said) = plain.start(&plain.repository);
    assert!(said.contains("not among the active tasks"), "{said}");
    let answered = answered(&scene);
    assert!(["marked", "compared", "clean"].iter().all(|need| !answered.contains(need)), "{answered:?} {said}");
}

/// A rejection as an earlier run would have left it.
const OLD: &str = concat!(
    "{\"event\":\"phase_start\",\"phase\":\"review\",\"agent\":\"reviewer\"}\n",
    "{\"event\":\"phase_end\",\"phase\":\"review\",\"agent\":\"reviewer\",\"outcome\":\"failed\",\"result\":{\"status\":\"blocked\"}}\n",
    "{\"event\":\"pipeline_end\",\"outcome\":\"failed\",\"failedAgent\":\"reviewer\"}\n"
);

/// The name of a task is the same in every run, so that a log of that name may have been committed: it neither hides the run's
/// own nor speaks for it.
#[test]
fn a_committed_log_is_not_this_runs() {
    let mut scene = Scene::new(good());
    scene.climb();
    // The id holds the contract's digest, which is known after a run.
    scene.answer(good());
    let (report, _) = scene.check("to learn the id", &scene.told("none"), &Expected::PASS);
    let log = report["litter"].as_array().unwrap().iter().find_map(|path| {
        let path = path.as_str().unwrap();
        path.ends_with("/events/run-1.jsonl").then(|| path.to_owned())
    });
    let log = log.unwrap();
    let rejecting = || {
        let mut steps = role("reviewer", vec![fixtures::scripted::Reply::text(envelope(json!({"status": "blocked"})))]);
        steps.extend(good().steps);
        script(steps)
    };
    let rejected = Expected::failed(&["reviewer_rejected"], "the engine's own reviewer rejected the change");
    for (name, text, answers, expected) in [
        ("its own is heard under a committed name", "{}\n".to_owned(), rejecting(), rejected),
        ("an old rejection is not this run's", OLD.to_owned(), good(), Expected::PASS),
        ("an old rejection whose last line is not whole", OLD.trim_end().to_owned(), good(), Expected::PASS),
        ("an old log that is empty", String::new(), rejecting(), rejected),
    ] {
        let task = scene.told("none");
        let file = Path::new(&task).join("files").join(&log);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        scene.answer(answers);
        let (report, _) = scene.check(name, &task, &expected);
        assert_eq!(report["changed_files"], json!(["strings.py"]), "{name}: what the program appends is litter");
    }
}
