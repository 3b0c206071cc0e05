//! Targets in which somebody is at work while a run goes on: the run fails with its reason, and the target is theirs.

use std::thread;
use std::time::{Duration, Instant};

use testkit::git;

use super::{Scene, reasons};
use crate::world;

/// An engine that does its work and then takes a while.
pub(super) const SLOW: &str = "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {sleep: {seconds: 3}}]}";

/// Runs with a step of the engine that takes a while, in which something is done to the target. Gives the reasons, and whether
/// the run made a branch.
fn during(test: &str, act: impl FnOnce(&Scene, &str) + Send) -> Option<(String, bool)> {
    let scene = Scene::with(test, world(), |target| target.to_owned(), &[("fake", SLOW)])?;
    Some(during_run(&scene, act))
}

/// The same in a scene that is there.
pub(super) fn during_run(scene: &Scene, act: impl FnOnce(&Scene, &str) + Send) -> (String, bool) {
    let request = scene.approve("5");
    let digest = request["request_digest"].as_str().unwrap().to_owned();
    let report = thread::scope(|scope| {
        scope.spawn(|| {
            let started = Instant::now();
            while !is_engine_started(scene) {
                assert!(started.elapsed() < Duration::from_secs(60), "the engine does not start");
                thread::sleep(Duration::from_millis(50));
            }
            act(scene, &digest);
        });
        let ran = scene.world.cto(scene.words("run", "5"));
        ran.json()
    });
    let _ = scene.world.cto(["verify", "@"]).expect(0);
    let branch = format!("cto/made/{}", &digest[..12]);
    let made = report["target_commit"].as_str().is_some_and(|commit| scene.git(&["rev-parse", &branch]) == commit);
    (reasons(&report), made)
}

fn is_engine_started(scene: &Scene) -> bool {
    let active = std::fs::read_dir(scene.world.home().join("active")).into_iter().flatten().flatten();
    let mut events = active.filter_map(|run| std::fs::read_to_string(run.path().join("events.normalized.jsonl")).ok());
    events.any(|events| events.contains("engine.started"))
}

#[test]
fn nobody_at_work() {
    let Some(found) = during("nobody_at_work", |_, _| {}) else { return };
    assert_eq!(found, (String::new(), true), "control");
}

#[test]
fn a_commit_of_somebody_else_is_never_overwritten() {
    let Some(found) = during("a_commit_of_somebody_else_is_never_overwritten", |scene, _| {
        std::fs::write(scene.target.join("theirs.txt"), "theirs\n").unwrap();
        git(&scene.target, ["add", "theirs.txt"]);
        git(&scene.target, ["commit", "-q", "-m", "theirs"]);
    }) else {
        return;
    };
    assert_eq!(found, ("source_repository_mutated,dirty_ending_tree".to_owned(), false));
}

#[test]
fn a_branch_that_was_taken_meanwhile_stays() {
    let Some(found) = during("a_branch_that_was_taken_meanwhile_stays", |scene, digest| {
        git(&scene.target, ["branch", &format!("cto/made/{}", &digest[..12])]);
        git(&scene.target, ["pack-refs", "--all"]);
    }) else {
        return;
    };
    assert_eq!(found, ("dirty_ending_tree".to_owned(), false));
}

#[test]
fn a_lock_that_somebody_holds_is_theirs() {
    let Some(found) = during("a_lock_that_somebody_holds_is_theirs", |scene, digest| {
        let folder = scene.target.join(".git/refs/heads/cto/made");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{}.lock", &digest[..12])), "").unwrap();
    }) else {
        return;
    };
    assert_eq!(found, ("artifact_write_failure".to_owned(), false));
}

#[test]
fn an_approval_that_the_target_knows_as_used_lands_nothing() {
    let Some(found) = during("an_approval_that_the_target_knows_as_used_lands_nothing", |scene, digest| {
        git(&scene.target, ["update-ref", &format!("refs/cto/used/{digest}"), "HEAD"]);
    }) else {
        return;
    };
    assert_eq!(found, ("approval_consumed".to_owned(), false));
}

#[test]
fn a_target_that_is_gone_gets_nothing() {
    let Some(found) = during("a_target_that_is_gone_gets_nothing", |scene, _| {
        std::fs::rename(&scene.target, scene.target.with_extension("away")).unwrap();
        std::fs::create_dir(&scene.target).unwrap();
        git(&scene.target, ["init", "-q"]);
    }) else {
        return;
    };
    assert!(found.0.starts_with("source_repository_mutated"), "{found:?}");
    assert!(!found.1);
}

/// An act at a place of the landing itself, the reasons that follow, and whether the commit is on its branch afterwards.
type Between = (&'static str, &'static str, fn(&Scene, &str), &'static str, bool);

const BETWEEN: &[Between] = &[
    ("nothing", "landing.objects", |_, _| {}, "", true),
    (
        "objects that no branch names are pruned",
        "landing.objects",
        |scene, _| drop(scene.git(&["prune", "--expire=now"])),
        "",
        true,
    ),
    ("everything is packed anew", "landing.branch", |scene, _| drop(scene.git(&["gc", "-q", "--prune=now"])), "", true),
    (
        "a commit after HEAD was compared",
        "landing.objects",
        |scene, _| drop(scene.git(&["commit", "-q", "--allow-empty", "-m", "theirs"])),
        "dirty_ending_tree",
        false,
    ),
    (
        "a file after the branch was made",
        "landing.branch",
        |scene, _| std::fs::write(scene.target.join("a.txt"), "theirs\n").unwrap(),
        "dirty_ending_tree",
        false,
    ),
    (
        "the branch, a moment before",
        "landing.objects",
        |scene, digest| drop(scene.git(&["branch", &format!("cto/made/{}", &digest[..12])])),
        "dirty_ending_tree",
        false,
    ),
    (
        "the mark, a moment before",
        "landing.objects",
        |scene, digest| drop(scene.git(&["update-ref", &format!("refs/cto/used/{digest}"), "HEAD"])),
        "approval_consumed",
        false,
    ),
];

#[test]
fn between_two_steps_of_the_landing() {
    let test = "between_two_steps_of_the_landing";
    let Some(binary) = testkit::stoppable(test) else { return };
    testkit::each_row(BETWEEN.iter().map(|row| (row.0, row)), |(_, place, act, expected, lands)| {
        let world = testkit::World::new(binary.to_str().unwrap());
        let quick = [("verification_commands", "[[\"true\"]]")];
        let Some(scene) = Scene::with(test, world, |target| target.to_owned(), &quick) else { return };
        let request = scene.approve("5");
        let digest = request["request_digest"].as_str().unwrap();
        let go = scene.world.path().join("go");
        let mut command = scene.world.command(scene.words("run", "5"));
        command.env("CTO_STOP_AT", place).env("CTO_STOP_DO", format!("wait:{}", go.display()));
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        testkit::wait_for("the place", || go.with_extension("here").exists().then_some(()));
        act(&scene, digest);
        std::fs::write(&go, "").unwrap();
        let report = testkit::World::finish(child).json();
        assert_eq!(reasons(&report), *expected, "{:#}", report["blockers"]);
        let branch = format!("cto/made/{}", &digest[..12]);
        let at = scene.git(&["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{branch}")]);
        assert_eq!(report["target_commit"] == at.as_str(), *lands, "{at}: {}", report["target_commit"]);
        assert_eq!(scene.git(&["fsck", "--full", "--strict", "--no-dangling"]), "", "the target is whole");
        let _ = scene.world.cto(["verify", "@"]).expect(0);
    });
}

/// A branch that the run is to move, and to which somebody pushes meanwhile.
#[test]
fn a_push_to_the_branch_that_a_run_would_move_is_never_overwritten() {
    let test = "a_push_to_the_branch_that_a_run_would_move_is_never_overwritten";
    let changes = [("fake", SLOW), ("branch_policy", "current")];
    let Some(scene) = Scene::with(test, world(), super::bare, &changes) else { return };
    let (told, _) = during_run(&scene, |scene, _| {
        let theirs = scene.git(&["commit-tree", "-m", "theirs", "-p", "HEAD", "HEAD^{tree}"]);
        scene.git(&["update-ref", "HEAD", &theirs]);
    });
    assert_eq!(told, "source_repository_mutated,dirty_ending_tree");
    assert_eq!(scene.git(&["log", "-1", "--format=%s"]), "theirs");
    assert_eq!(scene.git(&["fsck", "--strict"]), "");
    scene.approve("5");
    assert!(scene.run("5", 0)["target_commit"].is_string(), "the control: nobody is at work");
    assert_eq!(scene.git(&["log", "-1", "--format=%s", "HEAD^"]), "theirs");
}
