//! Bundles that somebody changes after they were verified: nothing of what they hold now is acted on.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use testkit::{World, git, stoppable, wait_for};

use super::{FILES, Scene};

/// Runs a command on a verified run, and changes a file of its bundle once it was verified.
fn change_behind(
    scene: &Scene,
    words: &[&str],
    place: &str,
    file: &str,
    change: impl Fn(&str) -> String,
) -> (i32, String) {
    let gate = scene.world.path().join("gate");
    let here = scene.world.path().join("gate.here");
    for left in [&gate, &here] {
        let _ = fs::remove_file(left);
    }
    let mut command = scene.world.command(words);
    command.env("CTO_STOP_AT", place).env("CTO_STOP_DO", format!("wait:{}", gate.display()));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the verified bundle", || here.exists().then_some(()));
    let path = scene.bundle().join(file);
    let verified = fs::read_to_string(&path).unwrap();
    replace(&path, &change(&verified));
    fs::write(&gate, "").unwrap();
    let ran = World::finish(child);
    replace(&path, &verified);
    (ran.code, ran.told())
}

fn replace(path: &Path, text: &str) {
    let _ = fs::remove_file(path);
    fs::write(path, text).unwrap();
}

#[test]
fn after_it_was_verified() {
    let Some(binary) = stoppable("take::changed::after_it_was_verified") else { return };
    let scene = Scene::with(World::new(binary.to_str().unwrap()), FILES, |_| {});
    let (run, archive) = (scene.run_id().to_owned(), scene.world.path().join("out.tar.zst"));
    let take = ["take", run.as_str(), "--branch", "changed"];
    let export = ["export", run.as_str(), "-o", archive.to_str().unwrap()];
    let with_space = |text: &str| format!("{text} ");
    for (words, place, file) in [
        (take.as_slice(), "take.verified", "task-contract.json"),
        (take.as_slice(), "take.verified", "patch.diff"),
        (export.as_slice(), "export.gathered", "report.json"),
    ] {
        let (code, told) = change_behind(&scene, words, place, file, with_space);
        assert!(code != 0 && told.contains(file), "{place} {file}: {told}");
        assert_eq!(git(&scene.repository, ["branch", "--list", "changed"]), "", "{file}");
        assert!(!archive.exists(), "{file}");
        let (code, told) = change_behind(&scene, words, place, file, str::to_owned);
        assert_eq!(code, 0, "control: {place} {file}: {told}");
        let _ = fs::remove_file(&archive);
        if place == "take.verified" {
            git(&scene.repository, ["branch", "-D", "changed"]);
        }
    }
}
