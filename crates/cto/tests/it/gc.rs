//! `cto gc`: what nothing rests on goes, and everything else is there as it was.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod interrupted;
mod stuff;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{World, content_digest, copy_bundle, left_running, program, wait_for};

use crate::world;

/// Everything is old, and nothing is kept for being new.
const ALL: [&str; 5] = ["gc", "--older-than", "0s", "--keep", "0"];

/// Runs of the gates alone: as cheap as a run can be, and sealed like any other. They pass, so that the last one stays.
fn quick_runs(world: &World, number: usize) -> Vec<String> {
    world.case("made", &[]);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut ids = Vec::new();
        while next.fetch_add(1, Ordering::Relaxed) < number {
            let report = world.cto(["run", "./made", "--stage", "1", "--json"]).expect(0).json();
            ids.push(report["run_id"].as_str().unwrap().to_owned());
        }
        ids
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

fn bundles(world: &World) -> BTreeSet<String> {
    let listed = fs::read_dir(world.bundles()).unwrap();
    listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The document of a collection, and what became of each run.
fn collect(world: &World, words: &[&str]) -> (Value, BTreeMap<String, String>) {
    let document = world.cto(words.iter().chain(&["--json"])).expect(0).json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let runs = document["runs"].as_array().unwrap().iter();
    let fates = runs.map(|run| (text(&run["run_id"]), text(&run["fate"]))).collect();
    (document, fates)
}

/// Checks the state after any collection: bundles here verify, removed ones are recorded, and the ledger verifies.
fn check_whole(world: &World, all: &[String]) {
    let here = bundles(world);
    if !here.is_empty() {
        let _ = world.cto(["verify"].into_iter().chain(here.iter().map(String::as_str))).expect(0);
    }
    let ledger = world.cto(["ledger", "verify", "--json"]).expect(0).json();
    assert_eq!(ledger["problems"], json!([]));
    let rows = world.cto(["runs", "--json", "--limit", "100000"]).expect(0).text();
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let gone: BTreeSet<String> =
        rows.filter(|row| row["collected"].is_object()).map(|row| row["run_id"].as_str().unwrap().to_owned()).collect();
    let all: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(gone, &all - &here, "exactly what is gone is called collected");
    assert_eq!(fs::read_dir(world.home().join("trash")).map_or(0, Iterator::count), 0, "the trash is empty");
}

#[test]
fn of_many_runs_the_latest_stay() {
    let world = world();
    let number = testkit::times("CTO_TEST_RUNS", 300) as usize;
    let all = quick_runs(&world, number);
    let before = bundles(&world);
    assert_eq!(before.len(), number);
    let (young, _) = collect(&world, &["gc"]);
    assert_eq!(young["kept"]["young"]["runs"], number - 1, "a new run is young: {}", young["kept"]);

    let words = ["gc", "--older-than", "0s", "--keep", "10"];
    let digest = content_digest(&world.bundles(), &[]);
    let (dry, would) = collect(&world, &[&words[..], &["--dry-run"]].concat());
    assert_eq!((content_digest(&world.bundles(), &[]), &dry["dry_run"]), (digest, &json!(true)), "nothing was touched");
    let (done, did) = collect(&world, &words);
    assert_eq!((&dry["collected"], would), (&done["collected"], did), "it was explained as it was done");
    assert_eq!(done["collected"]["runs"], number - 10);
    assert_eq!((&done["kept"]["latest_pass"]["runs"], &done["kept"]["recent"]["runs"]), (&json!(1), &json!(9)));
    assert!(done["collected"]["bytes"].as_u64().unwrap() > 1000 * (number as u64 - 10));
    let here = bundles(&world);
    let newest = world.cto(["runs", "--json", "--limit", "10"]).expect(0).text();
    let newest = newest.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["run_id"].clone());
    assert_eq!(newest.map(|id| id.as_str().unwrap().to_owned()).collect::<BTreeSet<_>>(), here);
    check_whole(&world, &all);
    let (again, _) = collect(&world, &words);
    assert_eq!(again["collected"]["runs"], 0);
}

/// Each reason to stay, side by side with one that has none.
#[test]
fn whatever_something_rests_on_stays() {
    let world = world();
    let (stated, stated_bundle) = world.run("shell-script-rotate-logs", 0);
    let _ = world.cto(["reverify", "@"]).expect(0);
    let id = |report: &Value| report["run_id"].as_str().unwrap().to_owned();
    let [plain, named, tampered, swapped, held, spoken] = [(); 6].map(|()| id(&world.run("fail-critical-risk", 3).0));
    let passes = quick_runs(&world, 2);
    let (first, last) = (&passes[0], &passes[1]);
    let bundle = |run: &str| world.bundles().join(run);
    // A matrix that stays for a reason of its own, so that what it names is all that matters of it.
    let matrix = json!({"cases": [{"run_id": named}]}).to_string();
    fs::write(stated_bundle.join("matrix.json"), matrix).unwrap();
    fs::write(bundle(&tampered).join("patch.diff"), "x").unwrap();
    fs::remove_dir_all(bundle(&swapped)).unwrap();
    copy_bundle(&bundle(&plain), &bundle(&swapped));
    copy_bundle(&bundle(&plain), &bundle("20260101T000000Z-made-up-aaaa"));
    fs::create_dir(bundle("notes")).unwrap();
    // A reader that opened this as a file would wait for ever.
    assert!(
        program("mkfifo", &bundle("notes")).arg("matrix.json").arg("attestation.dsse.json").status().unwrap().success()
    );
    let reader = File::open(bundle(&held)).unwrap();
    reader.lock_shared().unwrap();
    let ledger = ledger::Ledger::open_file(&world.home().join("ledger.db")).unwrap();
    let (kind, time) = (ledger::EntryKind::PatchTaken, "2026-03-01T10:00:00.000000Z".parse().unwrap());
    ledger.append(kind, Some(&spoken.clone().try_into().unwrap()), time, &json!({})).unwrap();

    let kept_before = content_digest(&bundle(&tampered), &[]);
    let (document, fates) = collect(&world, &ALL);
    let expected = [
        (id(&stated), "stated"),
        (plain.clone(), "collected"),
        (named, "named"),
        (tampered.clone(), "unverified"),
        (swapped.clone(), "unverified"),
        (held.clone(), "in_use"),
        (spoken, "stated"),
        (first.max(last).clone(), "latest_pass"),
        (first.min(last).clone(), "collected"),
        ("20260101T000000Z-made-up-aaaa".to_owned(), "unrecorded"),
        ("notes".to_owned(), "unrecorded"),
    ];
    let expected: BTreeMap<String, String> = expected.into_iter().map(|(run, fate)| (run, fate.to_owned())).collect();
    // Two passes may be of the same second: then either may be the later one.
    let comparable = |mut fates: BTreeMap<String, String>| {
        let of_passes: BTreeSet<String> = passes.iter().map(|run| fates.remove(run).unwrap()).collect();
        (fates, of_passes)
    };
    assert_eq!(comparable(fates), comparable(expected));
    assert_eq!(content_digest(&bundle(&tampered), &[]), kept_before);
    let detail = |run: &str| {
        let mut runs = document["runs"].as_array().unwrap().iter();
        runs.find(|it| it["run_id"] == run).unwrap()["detail"].as_str().unwrap().to_owned()
    };
    assert_eq!(detail(&tampered), "patch.diff digest");
    assert_eq!(detail(&swapped), "attestation.dsse.json run_mismatch");
    // What is odd is named, also where nobody asks for names.
    let told = world.cto(ALL).expect(0).text();
    for run in [tampered.as_str(), &swapped, "20260101T000000Z-made-up-aaaa", "notes"] {
        assert!(told.lines().any(|line| line.starts_with(&format!("run {run} un"))), "{run}: {told}");
    }
    drop(reader);
    let (_, fates) = collect(&world, &ALL);
    assert_eq!(fates[&held], "collected", "now that nobody reads it");
    // What was tampered with, what nobody knows and nothing else is wrong with the ledger's bundles.
    let problems = world.cto(["ledger", "verify"]).expect(1).text();
    let told = |words: &str| problems.lines().filter(|line| line.contains(words)).count();
    assert_eq!(told("is not the one that was sealed"), 1, "{problems}");
    assert_eq!(told("no entry names it"), 2, "{problems}");
    assert_eq!(problems.lines().count(), 4, "{problems}");
}

#[test]
fn a_pass_that_is_not_whole_is_nothing_to_rest_on() {
    let world = world();
    let mut passes = Vec::new();
    for _ in 0..3 {
        passes.extend(quick_runs(&world, 1));
    }
    fs::write(world.bundles().join(&passes[2]).join("patch.diff"), "x").unwrap();
    let (_, fates) = collect(&world, &ALL);
    let of = |index: usize| fates[&passes[index]].as_str();
    assert_eq!((of(0), of(1), of(2)), ("collected", "latest_pass", "unverified"));
    // Without the key nothing can be shown to be whole, so that nothing goes.
    fs::remove_file(world.home().join("keys/harness.pem")).unwrap();
    let (document, _) = collect(&world, &ALL);
    assert_eq!((&document["collected"]["runs"], &document["kept"]["unverified"]["runs"]), (&json!(0), &json!(2)));
}

#[test]
fn a_run_that_goes_on_is_left_alone() {
    let world = world();
    world.case("slow", &[("fake", "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {sleep: {seconds: 3}}]}")]);
    let child = world.start(["run", "./slow", "--json"]);
    wait_for("an engine", || {
        let active = fs::read_dir(world.home().join("active")).ok()?.flatten().next()?;
        let events = fs::read_to_string(active.path().join("events.normalized.jsonl")).ok()?;
        events.contains("engine.started").then_some(())
    });
    let (document, fates) = collect(&world, &ALL);
    assert!(fates.is_empty(), "{document}");
    let report = World::finish(child).expect(0).json();
    let run = report["run_id"].as_str().unwrap();
    assert_eq!(left_running(run), Vec::<String>::new());
    let _ = world.cto(["verify", run]).expect(0);
}

#[test]
fn a_collected_run_is_still_known() {
    let world = world();
    let (report, _) = world.run("fail-critical-risk", 3);
    let run = report["run_id"].as_str().unwrap();
    let archive = world.path().join("kept.tar.zst");
    let _ = world.cto(["export", run, "-o", archive.to_str().unwrap()]).expect(0);
    let _ = collect(&world, &ALL);
    let why = "older than 0s, not among the latest 0 of its task, nothing rests on it";
    let line = world.cto(["runs"]).expect(0).text();
    assert!(line.starts_with(&format!("{run} blocked ")) && line.contains(" collected=20"), "{line}");
    let shown = world.cto(["show", run]).expect(0).text();
    assert!(shown.starts_with(&format!("blocked {run}\n")), "{shown}");
    assert!(shown.lines().any(|line| line.starts_with("collected 20") && line.ends_with(why)), "{shown}");
    let document = world.cto(["show", run, "--json"]).expect(0).json();
    assert_eq!((&document["collected"]["reason"], &document["run"]["run_id"]), (&json!(why), &json!(run)));
    for command in ["verify", "replay", "diff", "logs", "export"] {
        let ran = world.cto([command, run]).expect(1);
        assert!(ran.stderr.contains("was collected on 20") && ran.stderr.contains(why), "{command}: {ran:?}");
    }
    // An archive brings it back, as an imported run.
    let _ = world.cto(["import".as_ref(), archive.as_os_str()]).expect(0);
    let _ = world.cto(["verify", run]).expect(0);
    assert!(!world.cto(["runs"]).expect(0).text().contains("collected="));
    assert_eq!(world.cto(["show", run, "--json"]).expect(0).json(), report);
}

#[test]
fn calls_that_make_no_sense() {
    let world = world();
    for age in ["30", "d", "", "+1d", "1w", "1.5d", "99999999999999999999d", "9999999999999999d"] {
        let ran = world.cto(["gc", "--older-than", age]);
        assert_eq!(ran.code, 2, "{age:?}: {ran:?}");
        assert!(ran.stderr.contains("a number and s, m, h or d"), "{age:?}: {}", ran.stderr);
    }
    assert_eq!(world.cto(["gc", "--keep", "-1"]).code, 2);
    // A home that was named and is not there is a mistake; one that was not named is a home with nothing in it.
    let _ = world.cto(["gc"]).expect(2);
    let mut unnamed = world.command(["gc", "--json"]);
    let ran = unnamed.env_remove("CTO_HOME").output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert!(!world.home().exists() && !world.user().join(PathBuf::from(".local")).exists());
}
