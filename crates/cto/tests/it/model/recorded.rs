//! Recordings: redacted, and answered from with nothing behind them.

use std::fs;

use serde_json::json;

use super::scene::{KEY, Scene, ask, asking};

#[test]
fn a_recorded_run_is_played_again_with_no_upstream() {
    let mut scene = Scene::new();
    scene.settle();
    let secret = super::scene::secret();
    let case = scene.case(&[], &asking(&[ask("m", "hello SECRET"), ask("m", "again")]));
    let (report, bundle) = scene.run(&case, &["--record-model-traffic"], 0);
    let recording = fs::read_to_string(bundle.join("backend/model-traffic.jsonl")).unwrap();
    assert_eq!(recording.lines().count(), 2, "what the engine asked");
    assert!(recording.contains("again") && !recording.contains(&secret) && !recording.contains(KEY));

    let trap = scene.trap();
    scene.environment.clear();
    let run = report["run_id"].as_str().unwrap();
    let patch = |bundle: &std::path::Path| fs::read_to_string(bundle.join("patch.diff")).unwrap();
    let recorded = patch(&bundle);
    let (report, bundle) = scene.run(&case, &["--replay-model-traffic", run], 0);
    assert_eq!((&report["model"]["replayed"], &report["model"]["answered"]), (&json!(2), &json!(2)));
    assert!(recorded.contains("+two") && patch(&bundle) == recorded, "the same patch: {recorded}");
    assert!(trap.accept().is_err(), "nobody may have knocked");

    // A question that is not in the recording is an error, and still nobody is asked.
    let case = scene.case(&[], &asking(&[ask("m", "again"), ask("m", "something new")]));
    let (report, bundle) = scene.run(&case, &["--replay-model-traffic", run], 0);
    let said = fs::read_to_string(bundle.join("backend/stdout.log")).unwrap();
    assert!(said.contains("status 400") && said.contains("not_in_recording"), "{said}");
    assert_eq!(report["model"]["answered"], 1);
    assert!(trap.accept().is_err(), "a miss never goes live");

    // The control: without the recording the same run knocks.
    scene.environment.push(("UPSTREAM_KEY".to_owned(), KEY.to_owned()));
    trap.set_nonblocking(false).unwrap();
    let knocked = std::thread::spawn(move || trap.accept().map(drop));
    let _ = scene.run(&case, &[], 3);
    assert!(knocked.join().unwrap().is_ok());
}

#[test]
fn a_run_that_kept_nothing_cannot_be_played_again() {
    let scene = Scene::new();
    scene.settle();
    let case = scene.case(&[], &asking(&[ask("m", "hello")]));
    let (report, _) = scene.run(&case, &[], 0);
    let run = report["run_id"].as_str().unwrap();
    let refused = scene.cto(&["run", case.to_str().unwrap(), "--model", "prov/m", "--replay-model-traffic", run]);
    assert!(refused.expect(2).stderr.contains("kept no model traffic"));
}
