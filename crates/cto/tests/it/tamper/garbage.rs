//! Bundles of garbage, also signed garbage: the holder of a trusted key may write anything, and the check must end with an answer.

use std::fs;

use evidence::names::{ATTESTATION, CONTRACT, DECISION, EVENTS, REPORT, SANDBOX};
use evidence::{HarnessKey, names};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use testkit::Forger;

use super::{Scene, corpus};

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// Values of every type that nobody would write.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!(u64::MAX)),
        ".{0,40}".prop_map(Value::from),
        Just(json!("../../etc/passwd")),
        Just(json!("\u{1b}[2J\u{202e}")),
        Just(json!("9999-99-99T99:99:99.999999Z")),
        Just(json!("-262143-01-01T00:00:00.000000Z")),
        Just(json!("a".repeat(100_000))),
        Just(json!("{{{{{{{{**/**/**/[[[[")),
    ];
    leaf.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(".{0,12}", inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Every place in a document, its own included.
fn places(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(places).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(places).sum::<usize>(),
        _ => 1,
    }
}

/// Puts something else in the place of this number; gives how many places are left to count.
fn put(value: &mut Value, at: usize, other: &Value) -> Option<usize> {
    if at == 0 {
        *value = other.clone();
        return None;
    }
    let below: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => Vec::new(),
    };
    below.into_iter().try_fold(at - 1, |left, it| put(it, left, other))
}

/// Forges one place of one document of a bundle and signs it; gives whether it verifies.
fn forge(scene: &Scene, key: &HarnessKey, document: &str, at: Index, other: &Value) -> bool {
    let forger = Forger::new(&scene.bundle, key);
    let edit = |value: &mut Value| {
        let _ = put(value, at.index(places(value)), other);
    };
    match document {
        // The index and the digests of the report are made again, so that the check gets beyond them.
        REPORT => forger.report(|report| {
            edit(report);
            if !report["artifact_digests"].is_object() {
                *report = json!({"artifact_digests": {}, "was": report.clone()});
            }
        }),
        EVENTS => forger.events(|events| {
            let index = at.index(events.len());
            edit(&mut events[index]);
            if !events[index].is_object() {
                events[index] = json!({"was": events[index].clone()});
            }
        }),
        ATTESTATION => {}
        name => forger.json(name, edit),
    }
    forger.sign(|statement| {
        if document == ATTESTATION {
            edit(statement);
        }
    });
    corpus().verify(&scene.bundle).report.is_some()
}

#[test]
fn signed_garbage_gets_an_answer() {
    let corpus = corpus();
    let kinds: Vec<&str> = corpus.kinds().collect();
    let documents = [REPORT, DECISION, CONTRACT, SANDBOX, EVENTS, ATTESTATION];
    let cases = (0..kinds.len(), 0..documents.len(), any::<Index>(), any_value());
    let refused = std::cell::Cell::new(0);
    let result = runner(400).run(&cases, |(kind, document, at, other)| {
        let scene = corpus.copy(kinds[kind]);
        if !forge(&scene, &corpus.key, documents[document], at, &other) {
            refused.set(refused.get() + 1);
        }
        Ok(())
    });
    result.unwrap();
    assert!(refused.get() > 200, "control: most of it is garbage: {} refused", refused.get());
}

/// Any bytes in the place of any file that every bundle has.
#[test]
fn unsigned_garbage_is_never_a_bundle() {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..4000),
        any_value().prop_map(|value| contract::canonical_bytes(&value).unwrap()),
        (1_usize..5000).prop_map(|depth| "[".repeat(depth).into_bytes()),
        (1_usize..100).prop_map(|depth| [b"{\"a\":".repeat(depth), b"1".to_vec(), b"}".repeat(depth)].concat()),
    ];
    let cases = prop::collection::btree_map(0..names::ALWAYS.len(), bytes, 1..names::ALWAYS.len());
    let result = runner(300).run(&cases, |files| {
        let name = |index: &usize| scene.bundle.join(names::ALWAYS[*index]);
        let before: Vec<(usize, Vec<u8>)> =
            files.keys().map(|index| (*index, fs::read(name(index)).unwrap())).collect();
        files.iter().for_each(|(index, bytes)| fs::write(name(index), bytes).unwrap());
        let checked = corpus.verify(&scene.bundle);
        before.iter().for_each(|(index, bytes)| fs::write(name(index), bytes).unwrap());
        let same = before.iter().all(|(index, bytes)| files[index] == *bytes);
        prop_assert!(same || !checked.failures.is_empty());
        Ok(())
    });
    result.unwrap();
    assert_eq!(corpus.verify(&scene.bundle).failures, vec![], "control: the files were put back");
}
