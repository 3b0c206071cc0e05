//! Comparisons that a refresh carries nothing from: of another source, rejected by the operator, or damaged. Each is refused by its name, and the
//! command that the refresh names mends it.

use std::fs;
use std::path::{Path, PathBuf};

use contract::Digest;
use evidence::HarnessKey;
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::{Forger, each_row};

use super::faults;
use super::forged::tell_ledger;
use super::remedies::{paste_in, remedy_of};
use super::scene::Scene;
use crate::audit::rechain;

/// A comparison that does not serve: its change, the status and the faults of a refresh by the runs' names.
type ComparedRow = (&'static str, fn(&Scene, &Path, &str), i32, &'static [&'static str]);

const ROWS: &[ComparedRow] = &[
    ("signed again as it was: the control", |_, home, run| forge_comparison(home, run, |_| {}), 0, &[]),
    ("of another source", |_, home, run| forge_source(home, run), 3, &["no_comparison"]),
    ("rejected by the operator", reject_comparison, 1, &["outcome_rejected"]),
    (
        "damaged",
        |_, home, run| fs::write(home.join("harness-runs").join(run).join("report.md"), "other").unwrap(),
        1,
        &["missing_artifact", "no_comparison"],
    ),
    (
        "gone",
        |_, home, run| fs::remove_dir_all(home.join("harness-runs").join(run)).unwrap(),
        1,
        &["missing_artifact", "no_comparison"],
    ),
];

pub(super) fn each_comparison_that_does_not_serve_is_refused(scene: &Scene, first: &str, second: &str) {
    each_row(ROWS.iter().map(|row| (row.0, row)), |(_, change, code, expected)| {
        let home = scene.copy_home("compared-home");
        let run = newest_comparison(scene, &home);
        // The copy is a home of its own, whose ledger goes on.
        let words = ["ledger", "continue", "--reason", "a copy for a test", "--home", home.to_str().unwrap()];
        let _ = scene.cto(&words).expect(0);
        change(scene, &home, &run);
        for words in [&[][..], &[first, second]] {
            let refreshed = scene.refresh_in(&home, words, *code);
            assert_eq!(faults(&refreshed), *expected, "{refreshed:#}");
            if *code != 0 {
                let errors = refreshed["errors"].as_array().unwrap();
                assert!(
                    errors.iter().all(|error| error["remedy"].as_str().unwrap().contains("cto compare")),
                    "{errors:#?}"
                );
                assert_eq!(refreshed["candidate_default_repeatability_eligible"], false);
            }
        }
        if let Some(fault) = expected.last() {
            let refreshed = scene.refresh_in(&home, &[], *code);
            let _ = paste_in(scene, &home, &remedy_of(&refreshed, fault)).expect(0);
            let mended = scene.refresh_in(&home, &[], 0);
            assert_eq!(mended["errors"], json!([]), "the comparison that the remedy makes serves");
        }
        fs::remove_dir_all(&home).unwrap();
    });
}

/// Folder of the newest comparison, which a refresh that holds names.
fn newest_comparison(scene: &Scene, home: &Path) -> String {
    let refreshed = scene.refresh_in(home, &[], 0);
    refreshed["prior_comparison"]["run_id"].as_str().unwrap().to_owned()
}

fn reject_comparison(scene: &Scene, home: &Path, run: &str) {
    let words = ["outcome", run, "reject", "--reason", "too slow", "--home", home.to_str().unwrap()];
    let _ = scene.cto(&words).expect(0);
}

/// Signs the comparison again with a lie in it, and has the ledger know it.
fn forge_comparison(home: &Path, run: &str, lie: impl FnOnce(&Forger<'_>)) {
    let key = HarnessKey::open_file(&home.join("keys/harness.pem")).unwrap();
    let forger = Forger::new(&home.join("harness-runs").join(run), &key);
    lie(&forger);
    forger.sign(|_| {});
    tell_ledger(home, run, Digest::of_bytes(&fs::read(forger.bundle.join("attestation.dsse.json")).unwrap()));
}

/// An honest comparison of an older source, as far as bundle and ledger can say.
fn forge_source(home: &Path, run: &str) {
    let file: PathBuf = home.join("harness-runs").join(run).join("report.json");
    let report: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let source = report["engine"]["source_id"].as_str().unwrap().to_owned();
    let other = source.replace("1.0.0", "0.9.0");
    assert_ne!(source, other);
    forge_comparison(home, run, |forger| {
        forger.json("stage6-candidate-default-comparison.json", |document| {
            document["candidate"]["source_id"] = json!(other);
        });
        forger.report(|report| report["engine"]["source_id"] = json!(other));
    });
    let raw = Connection::open(home.join("ledger.db")).unwrap();
    let sealed = "UPDATE entries SET body = replace(body, ?2, ?3) WHERE run_id = ?1 AND kind = 'evidence.sealed'";
    assert_eq!(raw.execute(sealed, [run, &source, &other]).unwrap(), 1);
    rechain(&raw);
    assert_eq!(raw.execute("UPDATE runs SET source_id = ?2 WHERE run_id = ?1", [run, &other]).unwrap(), 1);
}
