//! Several who take at once, and one that is killed on the way.

use std::fs;

use serde_json::{Value, json};
use testkit::{World, git, stoppable};

use super::{FILES, Scene, check_branch, know_operator, run};
use crate::world;

#[test]
fn of_several_at_once_one_makes_the_branch_and_the_others_say_it_is_there() {
    let scene = Scene::new();
    let children: Vec<_> = (0..4).map(|_| scene.world.start(["take", scene.run_id(), "--json"])).collect();
    let documents: Vec<Value> = children.into_iter().map(|child| World::finish(child).expect(0).json()).collect();
    let made: Vec<&Value> = documents.iter().filter(|document| document["was_there"] == json!(false)).collect();
    assert_eq!(made.len(), 1, "{documents:?}");
    assert!(documents.iter().all(|document| document["commit"] == made[0]["commit"]), "{documents:?}");
    assert_eq!(scene.recorded().len(), 1, "it is said once");
    check_branch(&scene.repository, &scene.branch(), &scene.report, made[0]);
}

#[test]
fn two_runs_that_want_one_name_do_not_overwrite_each_other() {
    let world = world();
    know_operator(&world);
    let repository = world.repository("source", FILES);
    let reports = [run(&world, &repository, &[]), run(&world, &repository, &[("title", "another title")])];
    let take = |report: &Value| world.start(["take", report["run_id"].as_str().unwrap(), "--branch", "fix", "--json"]);
    let ran: Vec<_> = reports.iter().map(take).collect::<Vec<_>>().into_iter().map(World::finish).collect();
    let mut codes: Vec<i32> = ran.iter().map(|ran| ran.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 3], "{ran:?}");
    let winner = ran.iter().position(|ran| ran.code == 0).unwrap();
    assert!(ran[1 - winner].json().to_string().contains("is there already"), "the other says so: {ran:?}");
    check_branch(&repository, "fix", &reports[winner], &ran[winner].json());
}

/// Wherever it is killed: the repository is whole, nothing that was there changed, and the same command finishes the work.
#[test]
fn killed_at_every_place() {
    let Some(binary) = stoppable("take::together::killed_at_every_place") else { return };
    let places = [
        "take.verified",
        "take.begun",
        "take.locked",
        "take.built",
        "take.objects",
        "take.branch",
        "stated.written",
        "take.stated",
        "take.recorded",
    ];
    let passed = |scene: &Scene| {
        let list = scene.world.path().join("places");
        let branch = ["take", scene.run_id(), "--branch", "listed"];
        let output = scene.world.command(branch).env("CTO_STOP_LIST", &list).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read_to_string(list).unwrap()
    };
    let scene = Scene::with(World::new(binary.to_str().unwrap()), FILES, |_| {});
    assert_eq!(passed(&scene).lines().collect::<Vec<_>>(), places, "these are all the places");
    for place in places {
        let scene = Scene::with(World::new(binary.to_str().unwrap()), FILES, |_| {});
        let before = super::all_but(&scene.repository, "cto");
        let output = scene.world.command(["take", scene.run_id()]).env("CTO_STOP_AT", place).output().unwrap();
        assert_eq!(output.status.code(), None, "{place}: it is killed there: {output:?}");
        assert_eq!(super::all_but(&scene.repository, "cto"), before, "{place}");
        git(&scene.repository, ["fsck", "--strict", "--full"]);
        let was_there = scene.repository.join(".git/refs/heads").join(scene.branch()).exists();
        assert_eq!(
            was_there,
            !matches!(place, "take.verified" | "take.begun" | "take.locked" | "take.built" | "take.objects"),
            "{place}"
        );
        let document = scene.take(&[], 0);
        assert_eq!(document["was_there"], json!(was_there), "{place}");
        check_branch(&scene.repository, &scene.branch(), &scene.report, &document);
        assert_eq!(scene.recorded().len(), 1, "{place}: it is said once");
    }
}
