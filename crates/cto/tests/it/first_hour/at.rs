//! `--at COMMIT`: the source is a commit, and the person goes on working in the repository meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{World, git};

use super::{know_operator, text};
use crate::world;

const FILES: &[(&str, &str)] = &[("a.txt", "one\n"), ("b.txt", "stays\n")];

/// A repository with work that is not committed.
fn busy(world: &World) -> PathBuf {
    know_operator(world);
    let repository = world.repository("source", FILES);
    fs::write(repository.join("b.txt"), "half done\n").unwrap();
    fs::write(repository.join("new.txt"), "untracked\n").unwrap();
    repository
}

fn run(world: &World, repository: &Path, at: Option<&str>, code: i32) -> Value {
    let case = world.case("case", &[]);
    let mut words = vec!["run", text(&case), "--repo", text(repository), "--json"];
    words.extend(at.into_iter().flat_map(|at| ["--at", at]));
    world.cto(words).expect(code).json()
}

#[test]
fn a_commit_is_the_source_whatever_lies_in_the_work_tree() {
    let world = world();
    let repository = busy(&world);
    let head = git(&repository, ["rev-parse", "HEAD"]).trim().to_owned();
    git(&repository, ["tag", "-a", "-m", "a tag", "v1"]);
    let branch = git(&repository, ["branch", "--show-current"]).trim().to_owned();
    for named in [head.as_str(), &head[..8], "HEAD", &branch, "v1"] {
        let report = run(&world, &repository, Some(named), 0);
        assert_eq!(report["baseline_commit"], json!(head), "{named}");
        assert!(report["coverage"].as_array().unwrap().contains(&json!("source_worktree_not_compared")), "{report}");
        let at = &report["source_at"];
        assert_eq!((&at["named"], &at["moved"], &at["head_after"]), (&json!(named), &json!([]), &json!(head)));
        assert_eq!(report["changed_files"], json!(["a.txt"]));
        let _ = world.cto(["verify", report["run_id"].as_str().unwrap()]).expect(0);
    }
    assert_eq!(fs::read_to_string(repository.join("b.txt")).unwrap(), "half done\n");

    // The same without --at starts from an unclean tree.
    let report = run(&world, &repository, None, 3);
    assert_eq!(report["blocker_reasons"], json!(["dirty_starting_tree"]));
    assert!(report.get("source_at").is_none());
}

#[test]
fn a_commit_that_nothing_reaches_is_refused() {
    let world = world();
    let repository = busy(&world);
    git(&repository, ["checkout", "-q", "--detach"]);
    git(&repository, ["commit", "-q", "--allow-empty", "-m", "of no branch"]);
    let lost = git(&repository, ["rev-parse", "HEAD"]).trim().to_owned();
    git(&repository, ["checkout", "-q", "-"]);
    for (named, says) in [
        (lost.as_str(), "no local branch and no tag reaches"),
        ("nowhere", "no commit, branch or tag"),
        ("--upload-pack=x", "no commit, branch or tag"),
        ("0000000000000000000000000000000000000001", "no commit, branch or tag"),
    ] {
        let case = world.case("case", &[]);
        let at = format!("--at={named}");
        let report = world.cto(["run", text(&case), "--repo", text(&repository), &at, "--json"]).expect(3).json();
        assert!(report["blockers"].to_string().contains(says), "{named}: {}", report["blockers"]);
    }
    // With a branch on it, it can be had.
    git(&repository, ["branch", "kept", &lost]);
    let _ = run(&world, &repository, Some(&lost), 0);
}

#[test]
fn it_is_for_stage_three_in_the_strict_sandbox_alone() {
    let world = world();
    let repository = busy(&world);
    let case = world.case("case", &[]);
    let base = ["decide", text(&case), "--repo", text(&repository), "--at", "HEAD"];
    for more in [["--stage", "2"], ["--stage", "4"], ["--stage", "5"], ["--sandbox", "none"]] {
        let refused = world.cto(base.iter().chain(&more).copied()).expect(2);
        assert!(refused.stderr.contains("--at"), "{more:?}: {}", refused.stderr);
    }
    let _ = world.cto(base).expect(0);
}

#[test]
fn what_moves_meanwhile_is_listed_and_no_verdict() {
    let world = world();
    let repository = busy(&world);
    let head = git(&repository, ["rev-parse", "HEAD"]).trim().to_owned();
    let steps = "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {sleep: {seconds: 4}}]}";
    let case = world.case("case", &[("fake", steps)]);
    let child = world.start(["run", text(&case), "--repo", text(&repository), "--at", "HEAD", "--json"]);
    let began = Instant::now();
    let is_working = || {
        let active = fs::read_dir(world.home().join("active")).into_iter().flatten().flatten();
        active
            .map(|entry| entry.path().join("events.normalized.jsonl"))
            .any(|file| fs::read_to_string(file).is_ok_and(|events| events.contains("\"engine.started\"")))
    };
    while !is_working() {
        assert!(began.elapsed() < Duration::from_secs(60), "the engine does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    git(&repository, ["commit", "-q", "-am", "meanwhile"]);
    git(&repository, ["branch", "another"]);
    let report = World::finish(child).expect(0).json();
    let at = &report["source_at"];
    assert_eq!((&at["commit"], &at["head_before"]), (&json!(head), &json!(head)));
    assert_ne!(at["head_after"], json!(head));
    let moved = at["moved"].to_string();
    assert!(moved.contains("refs/heads/another") && !moved.contains("refs/tags"), "{moved}");
    assert_eq!(report["blockers"], json!([]));
}

#[test]
fn a_run_from_a_commit_counts_on_no_rung() {
    let world = world();
    know_operator(&world);
    let repository = world.repository("source", FILES);
    let count_newest = || {
        let told = world.cto(["ladder", "explain", "3", "--engine", "fake", "--json"]).expect(0).json();
        told["rungs"][0]["runs"][0].clone()
    };
    let report = run(&world, &repository, Some("HEAD"), 0);
    let counted = count_newest();
    assert_eq!((&counted["run_id"], &counted["counts"]), (&report["run_id"], &json!("not_counted")));
    assert!(counted["why"].as_str().unwrap().contains("from a commit"), "{counted}");

    // Control: the same commit, by the work tree.
    let report = run(&world, &repository, None, 0);
    let counted = count_newest();
    assert_eq!((&counted["run_id"], &counted["counts"]), (&report["run_id"], &json!("for")));
}
