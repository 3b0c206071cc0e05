//! Agents that lie, fail, hang and break out: the right reason and a complete bundle every time, nothing left, nothing harmed.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use contract::Reason;
use contract::reason::verdict;
use serde_json::{Value, json};
use testkit::{MARKER, end_marked, left_running, left_within, program};

use super::behaviours::{ALL, Behaviour, Control};
use super::scene::{CASE, Scene, number, script};

/// Files of every bundle whose run reached its engine.
const ARTIFACTS: &[&str] = &[
    "attestation.dsse.json",
    "backend/stderr.log",
    "backend/stdout.log",
    "eligibility-decision.json",
    "events.normalized.jsonl",
    "model-usage.jsonl",
    "patch.diff",
    "report.json",
    "report.md",
    "sandbox.json",
    "task-contract.json",
    "test.log",
    "trace.jsonl",
];

fn misbehaves(engine: &'static str) {
    let Some(mut scene) = Scene::new("agents::misbehaving", engine, script(Vec::new())) else { return };
    let _ = scene.run(CASE, 1, &[], 0);
    scene.furnish();
    let mut wrong = Vec::new();
    for row in ALL {
        let began = Instant::now();
        wrong.extend(check(&mut scene, row));
        println!("{engine} {}: {:.1} s", row.does, began.elapsed().as_secs_f32());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    for row in ALL.iter().filter(|row| row.control != Control::Honest) {
        assert!(works(&scene, row), "control: {}", row.does);
    }
}

/// Returns the first fault of a run.
fn check(scene: &mut Scene, row: &Behaviour) -> Option<String> {
    scene.follow(script(row.acts.replies(scene)));
    scene.give_time(row.wall);
    scene.open(2);
    let before = scene.outside();
    let (ran, bundle) = scene.try_run(CASE, 2, &[]);
    let report: Value = ran.json();
    let expected = row.reasons[number(scene.engine).unwrap()];
    let status = verdict(expected.iter().filter_map(|code| Reason::from_code(code)), true);
    let said = fs::read_to_string(bundle.join("backend/stdout.log")).unwrap_or_default();
    let mut faults = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            faults.push(what)
        }
    };
    must(
        report["blocker_reasons"] == json!(expected),
        format!("reasons {}, not {expected:?}", report["blocker_reasons"]),
    );
    must(report["status"] == json!(status), format!("status {}", report["status"]));
    must(ran.code == i32::from(status.exit_code()), format!("exit {}", ran.code));
    for name in ARTIFACTS {
        must(bundle.join(name).is_file(), format!("no {name}"));
    }
    for words in row.acts.traces(scene.engine) {
        must(said.contains(words), format!("it was not tried: no {words:?}"));
    }
    must(scene.outside() == before, "something outside is not what it was".to_owned());
    let left = left_within(Duration::from_secs(1), || left_running(report["run_id"].as_str().unwrap()));
    must(left.is_empty(), format!("{left:?} are left running"));
    (!faults.is_empty()).then(|| format!("{} {}: {}\n{}", scene.engine, row.does, faults.join("; "), scene.told(&ran)))
}

/// Control: the same thing works where nothing stops it.
fn works(scene: &Scene, row: &Behaviour) -> bool {
    let tree = scene.plain_tree();
    let marker = format!("control-{}", scene.engine);
    let run = |command: &str| {
        let mut shell = program("bash", &tree);
        shell.args(["-c", command]).env("HOME", scene.world.user()).env(MARKER, &marker);
        shell.env("CONTROL_BASE", format!("http://{}", scene.server.address()));
        let output = shell.stderr(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let before = scene.outside();
    let said: String = row.acts.commands(scene).iter().map(|command| run(command)).collect();
    match row.control {
        Control::Honest => true,
        Control::Naive => {
            let mut tests = program("python3", &tree);
            tests.args(["-m", "unittest", "-v", "test_strings"]).output().unwrap().status.success()
        }
        Control::Reaches => scene.outside() != before,
        Control::Outlives => end_marked(&marker) > 0,
        Control::Reads => said.contains("operator's own"),
        Control::Answered => said.contains("status 200"),
    }
}

#[test]
fn codex_misbehaves() {
    misbehaves("codex");
}

#[test]
fn pi_misbehaves() {
    misbehaves("pi");
}

#[test]
fn claude_misbehaves() {
    misbehaves("claude");
}
