//! Somebody else's run: by its archive or its folder, with a key that is listed once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::path::PathBuf;

use testkit::{World, copy_bundle};

use crate::world;

/// Maker and reviewer, who has the maker's key, archive and bundle.
struct Review {
    reviewer: World,
    run_id: String,
    archive: PathBuf,
    key: PathBuf,
}

impl Review {
    fn new() -> Self {
        let (maker, reviewer) = (world(), world());
        let (report, bundle) = maker.run("r1-string-slugify", 0);
        let archive = reviewer.here().join("run.cto.tar.zst");
        let _ = maker.cto(["export", "@", "-o", archive.to_str().unwrap()]).expect(0);
        copy_bundle(&bundle, &reviewer.here().join("bundle"));
        let key = reviewer.here().join("maker.pub");
        std::fs::copy(maker.home().join("keys/harness.pub"), &key).unwrap();
        let run_id = report["run_id"].as_str().unwrap().to_owned();
        Self { reviewer, run_id, archive, key }
    }

    fn trust(&self, more: &[&str]) {
        let words = ["trust", "key", "add", self.key.to_str().unwrap(), "--name", "maker"];
        let _ = self.reviewer.cto(words.iter().chain(more)).expect(0);
    }
}

/// Commands of a reviewer, each with words that its output must hold.
const LOOKS: [(&str, &str); 6] = [
    ("verify", "pass"),
    ("show", "pass"),
    ("diff", "diff --git a/strings.py"),
    ("logs", "prints"),
    ("compare", "lane fake pass"),
    ("reverify", "pass"),
];

#[test]
fn a_listed_key_is_enough_for_archive_and_folder() {
    let review = Review::new();
    let archive = review.archive.to_str().unwrap();
    for (command, _) in LOOKS {
        for place in [archive, "./bundle"] {
            let ran = review.reviewer.cto([command, place]);
            assert_eq!(ran.code, 1, "control: {command} {place} without a key: {}", ran.told());
        }
    }
    review.trust(&["--bundles"]);
    for (command, word) in LOOKS {
        for place in [archive, "./bundle"] {
            let ran = review.reviewer.cto([command, place]).expect(0);
            assert!(ran.text().contains(word), "{command} {place}: no `{word}` in {}", ran.told());
        }
    }
    let body =
        review.reviewer.cto(["show", archive, "--markdown", "--bundle-url", "https://example.com/b"]).expect(0).text();
    assert!(body.contains("1 file, +") && body.contains("The bundle: https://example.com/b"), "{body}");
    assert!(body.contains("<details><summary>Digests</summary>"), "{body}");
    let _ = review.reviewer.cto(["show", archive, "--markdown", "--bundle-url", "javascript:x"]).expect(2);
    assert!(!std::fs::read_dir("/tmp").unwrap().flatten().any(|entry| {
        entry.file_name().to_string_lossy().starts_with("cto-archive-")
            && entry.path().join("bundle").join(&review.run_id).exists()
    }));
}

#[test]
fn a_person_s_key_and_a_retired_one_verify_no_bundle() {
    let review = Review::new();
    let archive = review.archive.to_str().unwrap();
    review.trust(&[]);
    assert_eq!(review.reviewer.cto(["verify", archive]).code, 1, "a key that signs records signs no bundles");
    review.trust(&["--bundles"]);
    let _ = review.reviewer.cto(["verify", archive]).expect(0);
    let _ = review.reviewer.cto(["trust", "key", "retire", "maker"]).expect(0);
    assert_eq!(review.reviewer.cto(["verify", archive]).code, 1, "retired");
    let key = review.key.to_str().unwrap();
    let _ = review.reviewer.cto(["verify", archive, "--key", key]).expect(0);
}

#[test]
fn imported_runs_are_listed_apart() {
    let review = Review::new();
    review.trust(&["--bundles"]);
    let _ = review.reviewer.cto(["import", review.archive.to_str().unwrap()]).expect(0);
    let listed = review.reviewer.cto(["runs", "--imported"]).expect(0).text();
    assert!(listed.starts_with(&format!("{} pass r1-string-slugify fake 2 ", review.run_id)), "{listed}");
    assert_eq!(review.reviewer.cto(["runs"]).expect(0).text(), "", "they are not this home's own");
    for (since, expected) in [("2d", true), ("2999-01-01", false)] {
        let some = review.reviewer.cto(["runs", "--imported", "--since", since]).expect(0).text();
        assert_eq!(!some.is_empty(), expected, "{since}");
    }
    let json = review.reviewer.cto(["runs", "--imported", "--json"]).expect(0).json();
    assert_eq!((&json["status"], &json["task_id"]), (&"pass".into(), &"r1-string-slugify".into()));
}

/// A run that was imported is named by its id and by the last part of it, with neither a path nor a key.
#[test]
fn an_imported_run_is_named_by_its_id() {
    let review = Review::new();
    let named = |command: &str, id: &str| review.reviewer.cto([command, id]);
    for (command, _) in LOOKS {
        let ran = named(command, &review.run_id);
        assert_eq!(ran.code, 2, "control: {command} before the import: {}", ran.told());
    }
    review.trust(&["--bundles"]);
    let _ = review.reviewer.cto(["import", review.archive.to_str().unwrap()]).expect(0);
    std::fs::remove_file(&review.archive).unwrap();
    let suffix = review.run_id.rsplit('-').next().unwrap();
    for (command, word) in LOOKS {
        for id in [review.run_id.as_str(), suffix] {
            let ran = named(command, id).expect(0);
            assert!(ran.text().contains(word), "{command} {id}: no `{word}` in {}", ran.told());
        }
    }
}

#[test]
fn ages_choose_runs() {
    let world = world();
    let _ = world.run("shell-script-rotate-logs", 0);
    assert_eq!(world.cto(["runs", "--since", "2d"]).expect(0).text().lines().count(), 1);
    assert_eq!(world.cto(["runs", "--since", "0s"]).expect(0).text(), "");
    let _ = world.cto(["runs", "--since", "2 days"]).expect(2);
}

/// Mistyped names of everything that a person names, and what was meant.
const MISTYPED: &[(&[&str], &str)] = &[
    (&["packet", "re-REQUEST"], "req-REQUEST"),
    (&["approve", "rq-REQUEST"], "req-REQUEST"),
    (&["hold", "reqq-REQUEST", "--reason", "x"], "req-REQUEST"),
    (&["trust", "key", "retire", "adda"], "ada"),
    (&["trust", "key", "compromised", "aad", "--since", "2026-01-01"], "ada"),
    (&["record", "check", "admissions/source/toyy.yaml"], "admissions/source/toy.yaml"),
    (&["work", "show", "DEMO-WORK-0001"], "DEMO-WORK-001"),
    (&["work", "closeout", "DEMO-WORK-01"], "DEMO-WORK-001"),
    (&["work", "status", "DEMO-WROK-001", "candidate", "--evidence", "document:CONTEXT.md"], "DEMO-WORK-001"),
    (&["watch", "QUEUEDx"], "QUEUED"),
    (&["cancel", "QUEUEDx"], "QUEUED"),
    (&["race", "r1-string-slugify", "--engines", "fake,codxe"], "codex"),
    (&["run", "r1-string-slugify", "--engine", "clade"], "claude"),
    (&["health", "--only", "matrx"], "matrix"),
];

#[test]
fn every_mistyped_name_is_told_with_the_one_that_is_meant() {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    let item = "  - id: DEMO-WORK-001\n    title: the first\n    type: AFK\n    status: draft\n";
    world.write("WORKBOARD.yaml", format!("items:\n{item}"));
    world.write("admissions/source/toy.yaml", "status: draft\n");
    let _ = world.cto(["key", "init"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "ada"]).expect(0);
    world.case("made", &[("mutation_mode", "sandbox-repo")]);
    let request = world.cto(["request", "./made", "--stage", "4", "--json"]).expect(0).json();
    let number = request["request"].as_str().unwrap().trim_start_matches("req-").to_owned();
    let queued = world.cto(["submit", "shell-script-rotate-logs", "--json"]).expect(0).json();
    let queued = queued["run_id"].as_str().unwrap().to_owned();
    let fill = |word: &str| word.replace("REQUEST", &number).replace("QUEUED", &queued);
    testkit::each_row(MISTYPED.iter().map(|row| (row.0.join(" "), row)), |(words, meant)| {
        let ran = world.cto(words.iter().map(|word| fill(word)));
        // A lane that cannot run is a row of the race, and no reason to stop the others.
        assert_eq!(ran.code, if words[0] == "race" { 3 } else { 2 }, "{}", ran.told());
        assert!(ran.told().contains(&format!("did you mean `{}`?", fill(meant))), "{}", ran.told());
        let other = world.cto(words.iter().map(|word| fill(word).replace(|it: char| it.is_ascii_alphanumeric(), "z")));
        assert!(!other.told().contains("did you mean"), "control: {}", other.told());
    });
}

#[test]
fn a_mistyped_run_is_told_with_the_one_that_is_meant() {
    let world = world();
    let (report, _) = world.run("shell-script-rotate-logs", 0);
    let id = report["run_id"].as_str().unwrap();
    let suffix = id.rsplit('-').next().unwrap();
    let mistyped = |text: &str| format!("{}{}", &text[..text.len() - 1], if text.ends_with('x') { 'y' } else { 'x' });
    for command in ["show", "diff", "logs", "verify", "attach", "stop"] {
        for meant in [suffix, id] {
            let refused = world.cto([command, &mistyped(meant)]);
            assert!(refused.stderr.contains(&format!("did you mean `{meant}`?")), "{command}: {}", refused.stderr);
        }
        // Control: of a word that is like no run nothing is guessed.
        let refused = world.cto([command, "nothing-of-this-name"]);
        assert!(
            refused.stderr.contains("no run matches") && !refused.stderr.contains("did you mean"),
            "{}",
            refused.stderr
        );
    }
}
