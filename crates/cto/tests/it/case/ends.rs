//! How a run of Case ends when something is wrong with it: each row is a behaviour of the program or of its model.

use fixtures::scripted::{Reply, Script};
use serde_json::{Value, json};

use super::scene::{Scene, TASK, WORK, bash, envelope, exited, good, reasons, role, script};

/// What happens, and what it comes to.
struct Row {
    name: &'static str,
    /// For the stand-in.
    words: &'static str,
    answers: fn() -> Script,
    reasons: &'static [&'static str],
    status: &'static str,
    /// The beginning of `failure_reason`.
    says: &'static str,
    exit: i32,
    marker: Option<&'static str>,
}

const PROTOCOL: &str = "provider-agent-protocol.txt";
const BROKEN: &str = "case agent result protocol failed";

/// The implementer does the work and then says this.
fn after_work(last: &str) -> Script {
    script(role("implementer", vec![bash(WORK), Reply::text(last)]))
}

fn reviewing(findings: Value) -> Script {
    let mut steps = role("implementer", vec![bash(WORK), Reply::text(envelope(json!({})))]);
    steps.extend(role("reviewer", vec![Reply::text(envelope(json!({"findings": findings})))]));
    script(steps)
}

const ROWS: &[Row] = &[
    Row {
        name: "no envelope, exit 0",
        words: "none",
        answers: || after_work("It is done."),
        reasons: &["agent_protocol"],
        status: "fail",
        says: BROKEN,
        exit: 0,
        marker: Some(PROTOCOL),
    },
    Row {
        name: "no envelope, exit 1 as the operator's build does",
        words: "exit-one",
        answers: || after_work("It is done."),
        reasons: &["agent_protocol"],
        status: "fail",
        says: BROKEN,
        exit: 1,
        marker: Some(PROTOCOL),
    },
    Row {
        name: "no envelope, and nothing of the agents printed",
        words: "quiet",
        answers: || after_work("It is done."),
        reasons: &["agent_protocol"],
        status: "fail",
        says: BROKEN,
        exit: 0,
        marker: Some(PROTOCOL),
    },
    Row {
        name: "a malformed envelope",
        words: "none",
        answers: || after_work("<<<AGENT_RESULT\n{\"status\": completed}\nAGENT_RESULT>>>"),
        reasons: &["agent_protocol"],
        status: "fail",
        says: BROKEN,
        exit: 0,
        marker: Some(PROTOCOL),
    },
    Row {
        name: "an envelope of the implementer that says it failed",
        words: "none",
        answers: || after_work(&envelope(json!({"status": "failed", "error": "no"}))),
        reasons: &["engine_failed"],
        status: "fail",
        says: "case engine failed with exit code 0",
        exit: 0,
        marker: None,
    },
    Row {
        name: "a pipeline that failed at the verifier, with exit code 0",
        words: "none",
        answers: || {
            let mut steps = role("implementer", vec![bash(WORK), Reply::text(envelope(json!({})))]);
            steps.extend(role("verifier", vec![Reply::text(envelope(json!({"status": "failed"})))]));
            script(steps)
        },
        reasons: &["engine_failed"],
        status: "fail",
        says: "case engine failed with exit code 0",
        exit: 0,
        marker: None,
    },
    Row {
        name: "an event log that says what the output hides",
        words: "lies",
        answers: || {
            let mut steps = role("implementer", vec![bash(WORK), Reply::text(envelope(json!({})))]);
            steps.extend(role("closer", vec![Reply::text(envelope(json!({"status": "blocked"})))]));
            script(steps)
        },
        reasons: &["agent_protocol"],
        status: "fail",
        says: BROKEN,
        exit: 0,
        marker: Some(PROTOCOL),
    },
    Row {
        name: "a reviewer with critical findings",
        words: "none",
        answers: || reviewing(json!({"critical": 2, "warnings": 0, "info": 0})),
        reasons: &["reviewer_rejected"],
        status: "blocked",
        says: "the engine's own reviewer has 2 critical findings",
        exit: 0,
        marker: None,
    },
    Row {
        name: "success claimed of a commit that does not exist, and nothing done",
        words: "none",
        answers: || {
            let commit = "0123456789abcdef0123456789abcdef01234567";
            let claimed = envelope(json!({"artifacts": {"commit": commit, "testsPassed": true}}));
            Script { steps: Vec::new(), otherwise: Reply::text(claimed) }
        },
        reasons: &["no_diff", "claim_contradicted"],
        status: "fail",
        says: "the engine ended well and changed nothing",
        exit: 0,
        marker: None,
    },
    Row {
        name: "a model that answers the engine with HTTP 500",
        words: "none",
        answers: || {
            let mut script = script(Vec::new());
            script.steps[0].reply = Reply::error(500, "trouble");
            script
        },
        reasons: &["agent_protocol", "model_evidence_missing"],
        status: "fail",
        says: BROKEN,
        exit: 0,
        marker: Some(PROTOCOL),
    },
    Row {
        name: "no key, so that nothing is asked and the end looks like a success",
        words: "no-key",
        answers: good,
        reasons: &["agent_protocol", "model_evidence_missing"],
        status: "fail",
        says: BROKEN,
        exit: 0,
        marker: Some(PROTOCOL),
    },
];

#[test]
fn the_end_is_judged_by_what_is_said_and_seen() {
    let mut scene = Scene::new(good());
    scene.climb();
    // The control: the same case with an implementer that does its work and a reviewer that has nothing against it.
    scene.answer(reviewing(json!({"critical": 0, "warnings": 3, "info": 0})));
    let (report, _) = scene.run(&scene.told("none"), "2", 0);
    assert_eq!(report["status"], "pass");
    for Row { name, words, answers, reasons: expected, status, says, exit, marker } in ROWS {
        scene.answer(answers());
        let (report, bundle) = scene.run(&scene.told(words), "2", if *status == "fail" { 1 } else { 3 });
        assert_eq!((reasons(&report), report["status"].as_str().unwrap()), (expected.to_vec(), *status), "{name}");
        let said = report["failure_reason"].as_str().unwrap();
        assert!(said.starts_with(says), "{name}: {said}");
        assert_eq!(
            (&report["backend_exit_code"], &exited(&bundle)["exit_code"]),
            (&json!(exit), &json!(exit)),
            "{name}"
        );
        assert_eq!(report["case_process_started"], true, "{name}");
        let protocol = bundle.join("backend").join(PROTOCOL).is_file();
        assert_eq!(protocol, *marker == Some(PROTOCOL), "{name}");
    }
}

#[test]
fn the_last_of_two_envelopes_counts() {
    let mut scene = Scene::new(good());
    scene.climb();
    let (whole, broken) = (envelope(json!({})), "<<<AGENT_RESULT\n{\nAGENT_RESULT>>>");
    scene.answer(after_work(&format!("{broken}\n{whole}")));
    let _ = scene.run(TASK, "2", 0);
    scene.answer(after_work(&format!("{whole}\n{broken}")));
    let (report, _) = scene.run(TASK, "2", 1);
    assert_eq!(reasons(&report), ["agent_protocol"]);
}

/// What the program says to itself about a task is not asked: each run has a task of its own.
#[test]
fn a_task_is_never_used_twice() {
    let mut scene = Scene::new(good());
    scene.climb();
    let mut ids = Vec::new();
    for _ in 0..2 {
        scene.answer(good());
        let (report, bundle) = scene.run(TASK, "2", 0);
        assert_eq!(report["changed_files"], json!(["strings.py"]));
        let tasks = std::fs::read_dir(bundle.join("backend/task")).unwrap();
        let task = tasks.map(|entry| entry.unwrap().path()).find(|path| path.extension().unwrap() == "json").unwrap();
        let task: Value = serde_json::from_slice(&std::fs::read(task).unwrap()).unwrap();
        assert_eq!(task["status"], "pr-opened");
        ids.push(task["id"].clone());
    }
    assert_ne!(ids[0], ids[1]);
}
