//! Judged again: contradictory fields of `sandbox.json`, signed by the right key.

use contract::canonical_digest;
use evidence::names::SANDBOX;
use evidence::verify::Failure;
use serde_json::{Value, json};
use testkit::Forger;

use super::{all_hold, corpus, refusal};

struct Lie {
    name: &'static str,
    tell: fn(&mut Value),
    check: &'static str,
    /// A part of what was found.
    found: &'static str,
}

#[rustfmt::skip]
const LIES: &[Lie] = &[
    Lie { name: "a probe that was not refused", tell: |s| s["postures"][0]["probes"][0]["refused"] = json!(false), check: "probes", found: "mount" },
    Lie { name: "a probe of the last posture", tell: |s| probes(last(s))[1]["refused"] = json!(false), check: "probes", found: "unshare" },
    Lie { name: "no probes", tell: |s| probes(last(s)).clear(), check: "postures", found: "without a probe" },
    Lie { name: "a weaker profile for one", tell: |s| last(s)["profile"] = json!("none"), check: "postures", found: "another profile" },
    Lie { name: "a cell without its posture", tell: |s| s["cells"][0]["posture"] = json!(99), check: "cells", found: "not there" },
    Lie { name: "another profile applied", tell: |s| s["applied"] = json!("none"), check: "sandbox_applied", found: "none" },
    Lie { name: "another profile asked for", tell: |s| s["asked"] = json!("none"), check: "sandbox_asked", found: "none" },
    Lie { name: "an engine that did not run", tell: |s| s["engine_ran"] = json!(false), check: "sandbox_engine", found: "false" },
    Lie { name: "an attempt left out", tell: seen_bpf, check: "attempts", found: "another list" },
    Lie { name: "an attempt that nobody saw", tell: |s| s["attempts"] = json!([attempt()]), check: "attempts", found: "another list" },
    // What is judged by its shape alone still has one.
    Lie { name: "words of a probe that are none", tell: |s| s["postures"][0]["probes"][0]["detail"] = json!(7), check: "shape", found: "expected a string" },
    Lie { name: "a mount without a target", tell: |s| drop(s["postures"][0]["mounts"][0].as_object_mut().unwrap().remove("target")), check: "shape", found: "target" },
    Lie { name: "a namespace that is a list", tell: |s| s["postures"][0]["namespaces"][0] = json!([]), check: "shape", found: "expected a string" },
    Lie { name: "a field nobody knows", tell: |s| s["trust"] = json!(true), check: "shape", found: "trust" },
];

fn last(sandbox: &mut Value) -> &mut Value {
    sandbox["postures"].as_array_mut().unwrap().last_mut().unwrap()
}

fn probes(posture: &mut Value) -> &mut Vec<Value> {
    posture["probes"].as_array_mut().unwrap()
}

/// The recorders saw something that the list of attempts does not have.
fn seen_bpf(sandbox: &mut Value) {
    let mut cells = sandbox["cells"].as_array_mut().unwrap().iter_mut();
    let engine = cells.find(|cell| cell["name"] == "engine").unwrap();
    engine["seen"]["refused"] = json!([{"comm": "sh", "count": 1, "name": "bpf"}]);
}

fn attempt() -> Value {
    json!({"action": null, "by": "sh", "cell": "engine", "count": 1, "judged": "note", "kind": "call", "what": "bpf"})
}

/// Report and statement carry the digest of the postures as they then are.
fn check(lie: &Lie) -> Result<(), String> {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    let forger = Forger::new(&scene.bundle, &corpus.key);
    forger.json(SANDBOX, lie.tell);
    sign(&forger);
    let checked = corpus.verify(&scene.bundle);
    refusal(&checked, lie.name, SANDBOX, &[lie.check])?;
    let told = |failure: &Failure| failure.check == lie.check && failure.found.contains(lie.found);
    let is_told = checked.failures.iter().any(told);
    if is_told { Ok(()) } else { Err(format!("{}: not {:?}: {:#?}", lie.name, lie.found, checked.failures)) }
}

fn sign(forger: &Forger<'_>) {
    let digest = canonical_digest(&forger.read(SANDBOX)["postures"]).unwrap();
    forger.report(|report| report["sandbox"]["probe_sha256"] = json!(digest));
    forger.sign(|statement| statement["predicate"]["sandbox"]["probe_sha256"] = json!(digest));
}

#[test]
fn a_sandbox_that_contradicts_itself_is_refused() {
    all_hold(LIES.iter().map(check));
}

/// Words of the sandbox that another version may have others for; the shape tests above are the control.
#[rustfmt::skip]
const NAMES: &[fn(&mut Value) -> &mut Value] = &[
    |s| &mut s["limits"][0]["kind"], |s| &mut s["limits"][0]["by"],
    |s| &mut s["postures"][0]["namespaces"][0],
    |s| &mut s["postures"][0]["mounts"][0]["kind"], |s| &mut s["postures"][0]["mounts"][0]["access"],
    |s| &mut s["postures"][0]["limits"][0]["kind"], |s| &mut s["postures"][0]["limits"][0]["by"],
    |s| &mut s["postures"][0]["recorders"][0]["recorder"],
    |s| &mut s["cells"][0]["ids"]["ownership"],
];

/// A name that this version does not write is no reason to refuse a bundle: nothing is judged by it.
#[test]
fn names_of_later_versions_are_ignored() {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    let forger = Forger::new(&scene.bundle, &corpus.key);
    forger.json(SANDBOX, |sandbox| {
        for name in NAMES {
            assert!(name(sandbox).is_string(), "{sandbox}");
            *name(sandbox) = json!("of_another_version");
        }
        sandbox["cells"][0]["limit_hits"] = json!(["of_another_version"]);
    });
    sign(&forger);
    assert_eq!(corpus.verify(&scene.bundle).failures, vec![]);
}

/// The control, and the one lie that such a signature would cover up.
#[test]
fn the_digest_of_the_postures_is_the_signed_one() {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    let forger = Forger::new(&scene.bundle, &corpus.key);
    let edit = |sandbox: &mut Value| last(sandbox)["probes"][0]["detail"] = json!("in other words");
    forger.json(SANDBOX, edit);
    sign(&forger);
    assert_eq!(corpus.verify(&scene.bundle).failures, vec![]);
    let scene = corpus.copy("pass");
    let forger = Forger::new(&scene.bundle, &corpus.key);
    forger.json(SANDBOX, edit);
    forger.sign(|_| {});
    all_hold([refusal(&corpus.verify(&scene.bundle), "other words", SANDBOX, &["probe_sha256"])]);
}
