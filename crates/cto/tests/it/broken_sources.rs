//! Source repositories that are damaged, crafted or of a kind that is not read: each is refused by name, with the command that
//! helps, a bundle that verifies and the repository as it was. None of it is an interruption of the harness.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod craft;
mod objects;
mod places;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{World, content_digest};

use crate::world;

/// A good repository that is spoilt.
struct Row {
    name: &'static str,
    spoil: fn(&Path),
    /// Stands in the sentence.
    says: &'static [&'static str],
    /// Stands in the remedy.
    fix: &'static str,
}

const FILES: &[(&str, &str)] = &[("a.txt", "one\n"), ("deep/b.txt", "stays\n")];

/// The report of a run on a repository, which must stay what it was.
fn run(world: &World, root: &Path, exit: i32) -> Value {
    let before = content_digest(root, &[]);
    let words = ["run", "./made", "--json", "--repo", root.to_str().unwrap()];
    let report = world.cto(words).expect(exit).json();
    assert_eq!(content_digest(root, &[]), before, "{}: the source is what it was", root.display());
    report
}

fn check(world: &World, row: &Row) {
    let Row { name, spoil, says, fix } = row;
    let root = world.repository(name, FILES);
    spoil(&root);
    check_refused(world, name, &root, says, fix);
}

fn check_refused(world: &World, name: &str, root: &Path, says: &[&str], fix: &str) {
    let report = run(world, root, 3);
    assert_eq!(report["blocker_reasons"], json!(["source_missing"]), "{name}: {}", report["blockers"]);
    assert_eq!((&report["status"], &report["engine"]["process_started"]), (&json!("blocked"), &json!(false)), "{name}");
    let blocker = &report["blockers"][0];
    let (text, remedy) = (blocker["text"].as_str().unwrap(), blocker["remedy"].as_str().unwrap());
    for words in says {
        assert!(text.contains(words), "{name}: {words:?} is not in {text:?}");
    }
    assert!(remedy.contains(fix), "{name}: {fix:?} is not in {remedy:?}");
    let events = world.bundles().join(report["run_id"].as_str().unwrap()).join("events.normalized.jsonl");
    let events = fs::read_to_string(events).unwrap();
    let blocked = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut blocked = blocked.filter(|event| event["type"] == "backend.gate.blocked");
    assert_eq!(blocked.next().map(|event| event["data"]["reason"].clone()), Some(json!("source_missing")), "{name}");
}

fn check_all(rows: &[Row]) {
    let world = world();
    world.case("made", &[]);
    let whole = world.repository("whole", FILES);
    run(&world, &whole, 0);
    rows.iter().for_each(|row| check(&world, row));
    check_bundles(&world, rows.len() + 1);
}

/// Every bundle verifies.
fn check_bundles(world: &World, expected: usize) {
    let names = fs::read_dir(world.bundles()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(names.len(), expected);
    let _ = world.cto(["verify".to_owned()].into_iter().chain(names)).expect(0);
}
