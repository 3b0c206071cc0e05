//! Passes that somebody with the home's own key and a pen for its ledger has written again: each is refused, by the refresh and by the comparison,
//! and the same forgery without a lie in it passes.
//!
//! No honest home has a pass that activates, promotes, does something forbidden or lacks its approval. Most of these lies already keep a
//! bundle from verifying, so that a program which looks at no fact of a proof is asked as well: it names each by itself.

use std::fs;
use std::path::Path;

use contract::Digest;
use evidence::HarnessKey;
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::{Forger, each_row, stoppable};

use super::scene::{Scene, compare_words};
use super::{against, faults};
use crate::audit::rechain;

const PROOF: &str = "stage5-owned-repo-proof.json";

/// The file and the check by which a verifier refuses a proof that contradicts the rest of its bundle.
const PROOF_REFUSED: &str = "stage5-owned-repo-proof.json stage_proof";

/// The result of a refresh and of a comparison.
enum Verdict {
    /// Both pass.
    Holds,
    /// The bundle does not verify, for this; both say so, and one of two passes is missing.
    Unusable(&'static str),
    /// The bundle verifies, and both name this fault.
    Named { fault: &'static str, subject: &'static str },
}

use Verdict::{Holds, Named, Unusable};

type Forgery = (&'static str, fn(&Forger<'_>), Verdict);

/// Lies that are signed again and that the ledger knows by their new attestation.
const FORGERIES: &[Forgery] = &[
    ("nothing: the control", |_| {}, Holds),
    ("a harmless key: the control", |forger| forger.json(PROOF, |proof| proof["note"] = json!("x")), Holds),
    (
        "a key like a secret's",
        |forger| forger.json(PROOF, |proof| proof["api_key"] = json!("x")),
        Named { fault: "secret_shaped_key", subject: "report_shape" },
    ),
    ("a failed fact", |forger| forger.json(PROOF, |proof| proof["passed"] = json!(false)), Unusable(PROOF_REFUSED)),
    (
        "a mutated target",
        |forger| forger.json(PROOF, |proof| proof["target_repository_ending_clean"] = json!(false)),
        Unusable(PROOF_REFUSED),
    ),
    (
        "a default is activated",
        |forger| forger.report(|report| report["runtime_default_activation"] = json!(true)),
        Unusable("report.json runtime_default_activation"),
    ),
    (
        "a default is activated by the proof",
        |forger| forger.json(PROOF, |proof| proof["runtime_default_activation"] = json!(true)),
        Unusable(PROOF_REFUSED),
    ),
    (
        "something is promoted",
        |forger| forger.report(|report| report["core_promotion_status"] = json!("promoted")),
        Unusable("report.json shape"),
    ),
    (
        "a forbidden action",
        |forger| forger.json(PROOF, |proof| proof["no_forbidden_actions"] = json!(false)),
        Unusable(PROOF_REFUSED),
    ),
    (
        "no approval",
        |forger| forger.json(PROOF, |proof| proof["approval"]["approval_digests"] = json!([])),
        Unusable(PROOF_REFUSED),
    ),
];

/// The same lies, told to a program that verifies no fact of a proof. A promotion is no value that a report can have.
const UNSEEN: &[Forgery] = &[
    ("nothing: the control", |_| {}, Holds),
    (
        "a failed fact",
        |forger| forger.json(PROOF, |proof| proof["passed"] = json!(false)),
        Named { fault: "failed_fact", subject: "proof_facts" },
    ),
    (
        "a mutated target",
        |forger| forger.json(PROOF, |proof| proof["target_repository_ending_clean"] = json!(false)),
        Named { fault: "target_mutated", subject: "proof_facts" },
    ),
    (
        "a default is activated",
        |forger| forger.report(|report| report["runtime_default_activation"] = json!(true)),
        Named { fault: "default_activation", subject: "nothing_activated" },
    ),
    (
        "a default is activated by the proof",
        |forger| forger.json(PROOF, |proof| proof["runtime_default_activation"] = json!(true)),
        Named { fault: "default_activation", subject: "nothing_activated" },
    ),
    (
        "a forbidden action",
        |forger| forger.json(PROOF, |proof| proof["no_forbidden_actions"] = json!(false)),
        Named { fault: "forbidden_action", subject: "forbidden_action_closure" },
    ),
    (
        "no approval",
        |forger| forger.json(PROOF, |proof| proof["approval"]["approval_digests"] = json!([])),
        Named { fault: "missing_approval", subject: "approval_provenance" },
    ),
];

/// Artifacts that are gone, without any new signature.
const MISSING: &[Forgery] = &[
    ("the proof is gone", |forger| fs::remove_file(forger.bundle.join(PROOF)).unwrap(), Unusable(PROOF)),
    ("the bundle is gone", |forger| fs::remove_dir_all(&forger.bundle).unwrap(), Unusable("does not exist")),
];

pub(super) fn each_forgery_is_refused(scene: &Scene, run: &str) {
    each_row(FORGERIES.iter().map(|row| (row.0, row)), |row| check_forgery(scene, run, row, true));
    each_row(MISSING.iter().map(|row| (row.0, row)), |row| check_forgery(scene, run, row, false));
    if let Some(binary) = stoppable("refreshed::forged::each_forgery_is_refused") {
        each_row(UNSEEN.iter().map(|row| (row.0, row)), |row| check_unseen(scene, run, row, &binary));
    }
}

/// A lie that a program believes is named by its judgement. Another build shows no row of the fail-closed matrix, which the control says too.
fn check_unseen(scene: &Scene, run: &str, (_, lie, verdict): &Forgery, binary: &Path) {
    let home = scene.copy_home("unseen-home");
    forge_pass(&home, run, lie);
    let at = home.to_str().unwrap();
    let accept = ["outcome", run, "accept", "--reason", "once more", "--home", at];
    let _ = scene.trusting(binary, &accept).expect(0);
    let (code, compared_code) = if matches!(verdict, Holds) { (0, 3) } else { (1, 1) };
    let refreshed = scene.trusting(binary, &["refresh", "--json", "--home", at]).expect(code).json();
    let compared = scene.trusting(binary, &compare_words(&home)).expect(compared_code).json();
    let (mut expected, mut subjects) = (vec![], vec!["failure_matrix_coverage"]);
    if let Named { fault, subject } = verdict {
        expected = vec![*fault, "second_owned_pass"];
        expected.sort_unstable();
        subjects.push(subject);
    }
    assert_eq!(faults(&refreshed), expected, "{refreshed:#}");
    assert_eq!(against(&compared), subjects, "{compared:#}");
    fs::remove_dir_all(&home).unwrap();
}

/// Signs a bundle of a home again with a lie in it, and has the ledger know it.
fn forge_pass(home: &Path, run: &str, lie: &fn(&Forger<'_>)) {
    let key = HarnessKey::open_file(&home.join("keys/harness.pem")).unwrap();
    let forger = Forger::new(&home.join("harness-runs").join(run), &key);
    lie(&forger);
    forger.sign(|_| {});
    tell_ledger(home, run, Digest::of_bytes(&fs::read(forger.bundle.join("attestation.dsse.json")).unwrap()));
}

fn check_forgery(scene: &Scene, run: &str, (_, lie, verdict): &Forgery, is_signed: bool) {
    let home = scene.copy_home("forged-home");
    if is_signed {
        forge_pass(&home, run, lie);
    } else {
        let key = HarnessKey::open_file(&home.join("keys/harness.pem")).unwrap();
        lie(&Forger::new(&home.join("harness-runs").join(run), &key));
    }
    if !matches!(verdict, Unusable(_)) {
        // The outcome that was signed is about the attestation that was.
        let at = home.to_str().unwrap();
        let _ = scene.cto(&["outcome", run, "accept", "--reason", "once more", "--home", at]).expect(0);
    }
    check_verdict(scene, &home, run, verdict);
    fs::remove_dir_all(&home).unwrap();
}

fn check_verdict(scene: &Scene, home: &Path, run: &str, verdict: &Verdict) {
    let code = if matches!(verdict, Holds) { 0 } else { 1 };
    let refreshed = scene.refresh_in(home, &[], code);
    let compared = scene.compare_in(home, code);
    match verdict {
        Holds => assert_eq!((faults(&refreshed), against(&compared)), (vec![], vec![]), "{refreshed:#}"),
        Named { fault, subject } => {
            // The pass that it contradicts no longer counts.
            let mut expected = [*fault, "second_owned_pass"];
            expected.sort_unstable();
            assert_eq!(faults(&refreshed), expected, "{refreshed:#}");
            assert_eq!(against(&compared), [*subject], "{compared:#}");
        }
        Unusable(why) => {
            let errors = refreshed["errors"].as_array().unwrap();
            let is_it = |error: &&Value| error["fault"] == "missing_artifact" && error["run_id"] == run;
            let text = errors.iter().find(is_it).unwrap()["text"].as_str().unwrap();
            assert!(text.contains(why), "{text}");
            assert_eq!(super::verdict(&refreshed, "artifact_completeness"), "fail");
            assert_eq!(against(&compared), ["artifact_completeness", "repeatability"], "{compared:#}");
            let subjects = compared["subjects"].as_array().unwrap();
            let named = subjects.iter().find(|one| one["subject"] == "artifact_completeness").unwrap();
            let text = named["text"].as_str().unwrap();
            assert!(text.contains(run) && text.contains(why), "the comparison names it too: {text}");
        }
    }
    assert_eq!(
        (&refreshed["runtime_default_activation"], &compared["runtime_default_activation"]),
        (&json!(false), &json!(false))
    );
}

/// Puts another attestation of a run into the ledger, as if it had been sealed so.
pub(super) fn tell_ledger(home: &Path, run: &str, attestation: Digest) {
    let raw = Connection::open(home.join("ledger.db")).unwrap();
    raw.execute_batch("DROP TRIGGER entries_are_never_changed").unwrap();
    let known: String =
        raw.query_row("SELECT attestation_sha256 FROM runs WHERE run_id = ?1", [run], |row| row.get(0)).unwrap();
    let new = attestation.to_string();
    let changed = raw
        .execute(
            "UPDATE entries SET body = replace(body, ?2, ?3) WHERE run_id = ?1 AND kind = 'evidence.sealed'",
            [run, &known, &new],
        )
        .unwrap();
    assert_eq!(changed, 1, "the entry of the seal");
    rechain(&raw);
    raw.execute("UPDATE runs SET attestation_sha256 = ?2 WHERE run_id = ?1", [run, &new]).unwrap();
}
