//! Any byte of any file, and any line of the events.

use std::fs;

use evidence::names;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use testkit::files_of;

use super::{check_refused, corpus};

const CASES: u32 = 2000;

#[derive(Debug, Clone)]
enum Change {
    Flip { at: Index, bit: u8 },
    Insert { at: Index, byte: u8 },
    Delete { at: Index, count: usize },
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<Index>(), 0_u8..8).prop_map(|(at, bit)| Change::Flip { at, bit }),
        2 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Insert { at, byte }),
        1 => (any::<Index>(), 1_usize..40).prop_map(|(at, count)| Change::Delete { at, count }),
    ]
}

/// Every change gives other bytes; an empty file can only grow.
fn changed(bytes: &[u8], change: &Change) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match change {
        Change::Flip { at, bit } if !bytes.is_empty() => {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        Change::Delete { at, count } if !bytes.is_empty() => {
            let at = at.index(bytes.len());
            bytes.drain(at..(at + count).min(bytes.len()));
        }
        Change::Insert { at, byte } => bytes.insert(at.index(bytes.len() + 1), *byte),
        _ => bytes.push(b'\n'),
    }
    bytes
}

#[test]
fn any_changed_byte_is_found_and_its_file_named() {
    let corpus = corpus();
    let scenes: Vec<_> = corpus.kinds().map(|kind| corpus.copy(kind)).collect();
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let cases = (0..scenes.len(), any::<Index>(), any_change());
    let result = runner.run(&cases, |(scene, file, change)| {
        let bundle = &scenes[scene].bundle;
        let files = files_of(bundle);
        let name = file.get(&files);
        let path = bundle.join(name);
        let original = fs::read(&path).unwrap();
        fs::write(&path, changed(&original, &change)).unwrap();
        let checked = corpus.verify(bundle);
        fs::write(&path, original).unwrap();
        check_refused(&checked, "a changed byte", name.to_str().unwrap(), &[]);
        Ok(())
    });
    result.unwrap();
    for scene in &scenes {
        assert_eq!(corpus.verify(&scene.bundle).failures, vec![], "the files were put back");
    }
}

type Lines<'a> = Vec<&'a [u8]>;

/// Every way to disturb a list of lines at one place.
fn disturbed<'a>(lines: &Lines<'a>, at: usize) -> Vec<(&'static str, Lines<'a>)> {
    let with = |edit: &dyn Fn(&mut Lines<'a>)| {
        let mut lines = lines.clone();
        edit(&mut lines);
        lines
    };
    let mut all = vec![
        (
            "dropped",
            with(&|lines| {
                lines.remove(at);
            }),
        ),
        ("duplicated", with(&|lines| lines.insert(at, lines[at]))),
        ("appended", with(&|lines| lines.push(lines[at]))),
        ("cut", with(&|lines| lines.truncate(at))),
    ];
    for other in at + 1..lines.len() {
        all.push(("swapped", with(&|lines| lines.swap(at, other))));
    }
    all
}

#[test]
fn any_disturbed_event_line_is_found() {
    let corpus = corpus();
    for kind in corpus.kinds() {
        let scene = corpus.copy(kind);
        let path = scene.bundle.join(names::EVENTS);
        let original = fs::read(&path).unwrap();
        let lines: Lines<'_> = original.split_inclusive(|byte| *byte == b'\n').collect();
        for at in 0..lines.len() {
            for (what, lines) in disturbed(&lines, at) {
                fs::write(&path, lines.concat()).unwrap();
                let what = format!("{kind}: line {at} {what}");
                let checks =
                    if what.ends_with("cut") { ["event_count", "event_count"] } else { ["chain", "chain_head"] };
                check_refused(&corpus.verify(&scene.bundle), &what, names::EVENTS, &checks);
            }
        }
    }
}
