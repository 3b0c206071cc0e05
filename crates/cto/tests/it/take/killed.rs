//! A `take` that is killed, at each of its effects and at any moment: what it had begun is ended by the next command, nothing is
//! left in the home or the repository, and taking again gives the branch, said once.

use std::fs;
use std::process::Stdio;
use std::time::Instant;

use serde_json::json;
use testkit::{World, git, moment, stoppable, times, unfinished_git_files};

use super::{FILES, Scene};
use crate::world;

/// After a recovery nothing is left; then the branch can be had, and is recorded once.
fn check(scene: &Scene, branch: &str, place: &str) {
    let recovered = scene.world.recover_killed();
    assert_eq!(recovered["failed"], json!([]), "{place}: {recovered}");
    let work = fs::read_dir(scene.world.home().join("work")).unwrap().count();
    assert_eq!(work, 0, "{place}: nothing is left to work in");
    assert_eq!(unfinished_git_files(&scene.repository.join(".git")), Vec::<String>::new(), "{place}");
    let statements = scene.world.home().join("statements").join(scene.run_id());
    let said = fs::read_dir(&statements).map_or(0, Iterator::count);
    assert_eq!(said, scene.recorded().len(), "{place}: each statement is in the ledger");
    assert!(said > 0 || !statements.exists(), "{place}: a folder in which nothing was said");
    let taken = scene.take(&["--branch", branch], 0);
    assert_eq!(git(&scene.repository, ["rev-parse", branch]), taken["commit"], "{place}");
    let entries = scene.recorded().into_iter().filter(|entry| entry["branch"] == branch).count();
    assert_eq!(entries, 1, "{place}: said once");
}

#[test]
fn at_every_place() {
    let Some(binary) = stoppable("take::killed::at_every_place") else { return };
    let scene = Scene::with(World::new(binary.to_str().unwrap()), FILES, |_| {});
    let list = scene.world.path().join("places");
    let words = |branch: &str| ["take".to_owned(), scene.run_id().to_owned(), "--branch".to_owned(), branch.to_owned()];
    let output = scene.world.command(words("all")).env("CTO_STOP_LIST", &list).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let places: Vec<String> = fs::read_to_string(list).unwrap().lines().map(str::to_owned).collect();
    assert!(places.len() >= 8, "{places:?}");
    for (number, place) in places.iter().enumerate() {
        let branch = format!("deep/{number}/b");
        let output = scene.world.command(words(&branch)).env("CTO_STOP_AT", place).output().unwrap();
        assert_eq!(output.status.code(), None, "{place}: it is killed there: {output:?}");
        check(&scene, &branch, place);
    }
    git(&scene.repository, ["fsck", "--full", "--strict"]);
}

/// `CTO_TEST_TAKE_KILLS` sets the number of kills.
#[test]
fn at_any_moment() {
    let scene = Scene::with(world(), FILES, |_| {});
    let began = Instant::now();
    scene.take(&["--branch", "usual"], 0);
    let usual = began.elapsed();
    for round in 0..times("CTO_TEST_TAKE_KILLS", 4) {
        let branch = format!("r{round}/b");
        let words = ["take", scene.run_id(), "--branch", &branch];
        let mut child = scene.world.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let delay = moment(usual);
        std::thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        check(&scene, &branch, &format!("round {round}, after {delay:?} of {usual:?}"));
    }
    git(&scene.repository, ["fsck", "--full", "--strict"]);
}

/// A lock of somebody else is reported and stays, however often a landing is killed beside it.
#[test]
fn a_lock_of_another_stays() {
    let scene = Scene::new();
    let lock = scene.repository.join(".git/refs/heads/theirs.lock");
    fs::write(&lock, "").unwrap();
    let refused = scene.take(&["--branch", "theirs"], 3).to_string();
    assert!(refused.contains("theirs.lock"), "{refused}");
    let _ = scene.world.cto(["recover"]).expect(0);
    assert!(lock.is_file());
}

/// A folder that lives is let alone, and one that a dead process left goes, whatever its age.
#[test]
fn only_dead_folders_go() {
    let scene = Scene::new();
    let work = scene.world.home().join("work");
    let (dead, alive) = (work.join("take-1-dead"), work.join("reverify-1-live"));
    for folder in [&dead, &alive] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("x"), "").unwrap();
    }
    let held = fs::File::open(&alive).unwrap();
    held.lock().unwrap();
    let told = scene.world.cto(["runs"]).expect(0);
    assert!(!dead.exists() && alive.exists(), "{}", told.stderr);
    let _ = scene.world.cto(["gc", "--older-than", "0s"]).expect(0);
    assert!(alive.exists());
    drop(held);
    assert_eq!(scene.world.cto(["recover"]).expect(0).text(), "cleared reverify-1-live\n");
}
