//! The lifetime of Case: it is ended for time, or once its work stands, and none of its processes stays.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};
use testkit::end_marked;

use super::expected::Expected;
use super::plain::Plain;
use super::scene::{COMMIT, Scene, TASK, WORK, events, exited, good, working};

/// Ended for time, at its work.
const LATE: Expected = Expected::late(&["timeout"]);
const PASS_BY_HARNESS: Expected = Expected::PASS.by_harness();
const NOTHING_BY_HARNESS: Expected =
    Expected::failed(&["no_diff", "claim_contradicted"], "the engine ended well and changed nothing").by_harness();

/// Its log says when it is done, whatever lies in the tree. A tool that is open is work.
#[test]
fn an_engine_that_stays_is_ended_after_its_final_event_or_when_its_time_is_over() {
    let mut scene = Scene::new(good());
    scene.climb();
    for (name, words, command, expected) in [
        ("a commit", "linger quiet", format!("{WORK} && {COMMIT}"), PASS_BY_HARNESS),
        ("the work without a commit", "linger quiet", WORK.to_owned(), PASS_BY_HARNESS),
        ("a commit, and a change beside it", "linger", format!("{COMMIT} --allow-empty; {WORK}"), PASS_BY_HARNESS),
        ("nothing at all, and a log that says it is done", "linger quiet", "true".to_owned(), NOTHING_BY_HARNESS),
        ("a program that stays after its review", "stuck", WORK.to_owned(), PASS_BY_HARNESS),
        ("a tool that hangs after a commit", "none", format!("{WORK} && {COMMIT} && sleep 600"), LATE_WITH_PATCH),
        ("work that takes too long", "linger quiet", "sleep 600".to_owned(), LATE),
    ] {
        scene.answer(working(&command, json!({})));
        let is_late = expected.stopped_by == "time limit";
        scene.set("CTO_HARNESS_CASE_TIMEOUT_SECONDS", if is_late { "5" } else { "60" });
        let _ = scene.check(name, &scene.told(words), &expected);
    }
}

const LATE_WITH_PATCH: Expected = Expected {
    says: "case engine failed with exit code 124",
    ..Expected::late(&["lifecycle_timeout_after_valid_patch"])
};

#[test]
fn what_a_tool_starts_does_not_outlive_the_run() {
    let mut scene = Scene::new(good());
    scene.climb();
    let command = format!("{WORK}; setsid sleep 3600 >/dev/null 2>&1 & sleep 0.2; true");
    scene.answer(working(&command, json!({})));
    let (_, bundle) = scene.check("a child with a session of its own", TASK, &Expected::PASS);
    // The process was there when the engine ended, and the harness ended it.
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

/// True if the model was asked anything with these words.
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
