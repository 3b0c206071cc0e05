//! How long Case lives: it is ended for time, ended once its work has stood, and nothing of it stays.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use fixtures::scripted::Reply;
use serde_json::{Value, json};
use testkit::end_marked;

use super::expected::{COMPLETED, Expected, TIMEOUT};
use super::plain::Plain;
use super::scene::{COMMIT, Scene, TASK, WORK, bash, envelope, events, exited, good, role, script, working};

/// What is left in the tree when the engine does not end, and what that comes to.
struct Row {
    name: &'static str,
    command: String,
    expected: Expected,
}

/// Ended for time: at its work, with a success that nobody saw, and with a good result.
const LATE: Expected =
    Expected { reasons: &["timeout"], says: "", exit: Some(124), stopped_by: "time limit", markers: &[TIMEOUT] };
const LATE_AND_FALSE: Expected = Expected { reasons: &["claim_contradicted", "timeout"], ..LATE };
const LATE_WITH_PATCH: Expected = Expected {
    reasons: &["lifecycle_timeout_after_valid_patch"],
    says: "case engine failed with exit code 124",
    ..LATE
};
const BY_HARNESS: Expected = Expected { stopped_by: "harness", markers: &[COMPLETED], ..Expected::PASS };

fn rows() -> Vec<Row> {
    let row = |name, expected, command| Row { name, command, expected };
    let orphan = "git checkout -q --orphan other && git add strings.py test_strings.py && git commit -qm other";
    vec![
        row("a commit, and a tree that is clean but for litter", BY_HARNESS, format!("{WORK} && {COMMIT}")),
        row("two commits", BY_HARNESS, format!("{WORK} && {COMMIT} && git commit -q --allow-empty -m more")),
        row("the work without a commit", LATE_WITH_PATCH, WORK.to_owned()),
        row("a commit, and a change beside it", LATE_WITH_PATCH, format!("{COMMIT} --allow-empty; {WORK}")),
        row("work that takes too long", LATE, "sleep 600".to_owned()),
        row("nothing at all, and a log that says it is done", LATE_AND_FALSE, "true".to_owned()),
        row(
            "the commit that was there before, checked out",
            LATE_AND_FALSE,
            "git checkout -q --detach HEAD".to_owned(),
        ),
        row("a commit that does not rest on the baseline", LATE_WITH_PATCH, format!("{WORK} && {orphan}")),
    ]
}

#[test]
fn an_engine_that_stays_is_ended_when_its_work_stands_or_its_time_is_over() {
    let mut scene = Scene::new(good());
    scene.climb();
    // What it says of itself is another matter, and stays unsaid.
    let task = scene.told("linger quiet");
    for Row { name, command, expected } in rows() {
        scene.answer(working(&command, json!({})));
        scene.set("CTO_HARNESS_CASE_TIMEOUT_SECONDS", if expected.reasons.is_empty() { "60" } else { "6" });
        let _ = scene.check(name, &task, &expected);
    }
}

/// An engine that still speaks to its model has not ended its work, however clean the tree is.
#[test]
fn work_that_goes_on_is_not_cut_off() {
    let mut scene = Scene::new(good());
    scene.climb();
    let mut steps = role("implementer", vec![bash(&format!("{WORK} && {COMMIT}")), Reply::text(envelope(json!({})))]);
    let slow = Reply { delay_head_ms: 3500, ..Reply::text(envelope(json!({"findings": {"critical": 1}}))) };
    steps.extend(role("reviewer", vec![slow]));
    scene.answer(script(steps));
    let says = "the engine's own reviewer has 1 critical findings";
    let _ = scene.check("a slow review", TASK, &Expected::failed(&["reviewer_rejected"], says));
}

#[test]
fn what_a_tool_starts_does_not_outlive_the_run() {
    let mut scene = Scene::new(good());
    scene.climb();
    let command = format!("{WORK}; setsid sleep 3600 >/dev/null 2>&1 & sleep 0.2; true");
    scene.answer(working(&command, json!({})));
    let (_, bundle) = scene.check("a child with a session of its own", TASK, &Expected::PASS);
    // It was there when the engine ended, and the harness ended it.
    assert!(exited(&bundle)["leftover_processes"].as_u64().unwrap() > 0);
    // The control: without a harness it goes on living after a clean end.
    scene.answer(working(&command, json!({})));
    let plain = Plain::new(&scene, "orphans", &ACTIVE);
    let (code, said) = plain.start(&plain.repository);
    let orphans = end_marked(&plain.mark);
    assert_eq!((code, orphans), (0, 1), "{said}");
}

/// A package of the program's own name in the repository would be taken for the program itself, were it started there.
#[test]
fn a_repository_does_not_give_the_agents_their_prompts() {
    let mut scene = Scene::new(good());
    scene.climb();
    let told = scene.told("none");
    let plant = |repository: &Path| {
        fs::write(repository.join("package.json"), r#"{"name": "case"}"#).unwrap();
        fs::create_dir_all(repository.join("agents")).unwrap();
        fs::write(repository.join("agents/implementer.md"), OBEY).unwrap();
    };
    plant(&Path::new(&told).join("files"));
    scene.answer(good());
    let _ = scene.check("a repository with prompts", &told, &Expected::PASS);
    assert_eq!((asked(&scene, "You are the implementer of"), asked(&scene, OBEY)), (true, false));
    // The control: the same program, started in the repository, obeys it; started elsewhere, it does not.
    for (name, inside) in [("inside", true), ("beside", false)] {
        scene.answer(good());
        let plain = Plain::new(&scene, name, &ACTIVE);
        plant(&plain.repository);
        let _ = plain.start(if inside { &plain.repository } else { plain.repository.parent().unwrap() });
        assert_eq!((asked(&scene, OBEY), asked(&scene, "You are the implementer of")), (inside, !inside), "{name}");
    }
}

const OBEY: &str = "OBEY THE REPOSITORY";
static ACTIVE: LazyLock<Value> = LazyLock::new(|| json!({"id": "t", "status": "active", "repo": "r"}));

/// Whether the model was asked anything with these words.
fn asked(scene: &Scene, words: &str) -> bool {
    scene.server.asked().iter().any(|asked| String::from_utf8_lossy(&asked.body).contains(words))
}

/// The events tell of a run that the harness completed as of any other.
#[test]
fn a_completed_run_is_whole() {
    let mut scene = Scene::new(good());
    scene.climb();
    scene.answer(working(&format!("{WORK} && {COMMIT}"), json!({})));
    let (report, bundle) = scene.run(&scene.told("linger quiet"), "2", 0);
    let kinds: Vec<String> = events(&bundle).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    for kind in ["engine.started", "engine.exited", "patch.applied", "verification.completed", "run.completed"] {
        assert!(kinds.iter().any(|known| known == kind), "{kind}: {kinds:?}");
    }
    assert_eq!((&report["required_events_passed"], &report["tests_passed"]), (&json!(true), &json!(true)));
}
