//! Damage to the records, to the target or to outcomes, each refused by its name; the undamaged home beside it passes.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use testkit::{each_row, git, run_git};

use super::forged::each_forgery_is_refused;
use super::remedies::refresh_when_mended;
use super::scene::{ENGINE, Scene};
use super::{against, faults, verdict};

pub(super) fn each_damage_is_refused(scene: &Scene, first: &str, second: &str) {
    too_few_are_blocked(scene, second);
    facts_that_do_not_hold(scene, first);
    each_forgery_is_refused(scene, first);
    a_rejected_pass(scene, first, second);
    a_source_that_is_no_longer_admitted(scene);
    a_target_that_changes_meanwhile(scene);
    a_head_that_breaks_a_test(scene);
    older_proof_of_failures(scene);
    wrong_words(scene, first);
    let again = scene.refresh(&[], 0);
    assert_eq!(again["errors"], json!([]), "the control: nothing of this is left");
}

fn too_few_are_blocked(scene: &Scene, run: &str) {
    let document = scene.refresh(&[run], 3);
    assert_eq!(faults(&document), ["second_owned_pass"], "{document:#}");
    assert_eq!((&document["repeatability_count"], &document["repeatability_status"]), (&json!(1), &json!("blocked")));
    assert_eq!(document["candidate_default_repeatability_eligible"], false);
    assert_eq!(document["repeat_stage5_proof"], Value::Null);
    let _ = scene.cto(&["verify", document["run_id"].as_str().unwrap()]).expect(0);
}

/// A run of stage 4 is no pass of stage 5, whatever it passed.
fn facts_that_do_not_hold(scene: &Scene, first: &str) {
    let runs = scene.cto(&["runs", "--engine", ENGINE, "--json"]).expect(0).text();
    let mut runs = runs.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let other = runs.find(|run| run["stage"] == 4 && run["status"] == "pass").unwrap();
    let document = scene.refresh(&[first, other["run_id"].as_str().unwrap()], 1);
    let found = faults(&document);
    assert!(found.contains(&"failed_fact") && found.contains(&"missing_artifact"), "{document:#}");
    assert_eq!(verdict(&document, "report_shape"), "fail");
    let _ = scene.cto(&["verify", document["run_id"].as_str().unwrap()]).expect(0);
}

/// Any number of newer runs of a failing case hides no older one that shows its failure.
fn older_proof_of_failures(scene: &Scene) {
    let home = scene.copy_home("many-home");
    let case = "fail-no-diff";
    let shown = scene.compare_in(&home, 0);
    // Rows of runs whose bundles are gone: most of what an old ledger has of a case.
    let raw = rusqlite::Connection::open(home.join("ledger.db")).unwrap();
    let newer = "CREATE TEMP TABLE newer AS SELECT * FROM runs WHERE task_id = ?1 LIMIT 1";
    raw.execute(newer, [case]).unwrap();
    for number in 1000..1100 {
        let name = format!("29991231T000000Z-{case}-{number}");
        raw.execute("UPDATE newer SET seq = ?1 + 1000000, run_id = ?2, suffix = CAST(?1 AS TEXT)", (number, name))
            .unwrap();
        raw.execute("UPDATE newer SET started_at = '2999-12-31T00:00:00.000000Z'", []).unwrap();
        assert_eq!(raw.execute("INSERT INTO runs SELECT * FROM newer", []).unwrap(), 1);
    }
    let mut listed = raw.prepare("SELECT run_id FROM runs WHERE task_id = ?1").unwrap();
    let runs: Vec<String> = listed.query_map([case], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let compared = scene.compare_in(&home, 0);
    assert_eq!(compared["failure_matrix"], shown["failure_matrix"], "a hundred newer rows hide nothing");
    for bundle in runs.iter().map(|run| home.join("harness-runs").join(run)).filter(|bundle| bundle.exists()) {
        fs::remove_dir_all(bundle).unwrap();
    }
    let compared = scene.compare_in(&home, 3);
    assert_eq!(against(&compared), ["failure_matrix_coverage"], "the control: {compared:#}");
    fs::remove_dir_all(&home).unwrap();
}

fn a_rejected_pass(scene: &Scene, first: &str, second: &str) {
    let home = scene.copy_home("rejected-home");
    let at = home.to_str().unwrap();
    let _ = scene.cto(&["outcome", first, "reject", "--reason", "slower", "--home", at]).expect(0);
    let document = scene.refresh_in(&home, &[first, second], 1);
    assert!(faults(&document).contains(&"outcome_rejected"), "{document:#}");
    assert_eq!(verdict(&document, "operator_acceptance"), "fail");
    fs::remove_dir_all(&home).unwrap();
}

fn a_source_that_is_no_longer_admitted(scene: &Scene) {
    let file = scene.world.here().join(format!("admissions/source/{ENGINE}.yaml"));
    let signature = file.with_extension("yaml.sig");
    let (good, signed) = (fs::read_to_string(&file).unwrap(), fs::read(&signature).unwrap());
    let sign = || {
        let _ = fs::remove_file(&signature);
        let _ = scene.cto(&["record", "sign", file.to_str().unwrap()]).expect(0);
    };
    let expired = format!("{good}expires_at: 2026-01-01T00:00:00.000000Z\n");
    let withdrawn = good.replace("status: admitted", "status: withdrawn");
    let rows: [(&str, &str, bool); 3] =
        [("expired", &expired, true), ("withdrawn", &withdrawn, true), ("not signed", &good, false)];
    each_row(rows.map(|row| (row.0, row)), |(_, text, is_signed)| {
        fs::write(&file, text).unwrap();
        if is_signed {
            sign();
        } else {
            fs::remove_file(&signature).unwrap();
        }
        let document = scene.refresh(&[], 1);
        assert_eq!(faults(&document), ["stale_source_admission"], "{document:#}");
        assert_eq!(document["source_admission_freshness"], "stale");
        // The newest comparison decides, so that a blocked one is made elsewhere.
        let home = scene.copy_home("stale-home");
        let compared = scene.compare_in(&home, 3);
        assert_eq!(against(&compared), ["source_admission_freshness"], "{compared:#}");
        assert_eq!(compared["source_admission_freshness"], "stale");
        fs::remove_dir_all(&home).unwrap();
    });
    fs::write(&file, good).unwrap();
    fs::write(&signature, signed).unwrap();
}

/// Somebody makes branches all the while.
fn a_target_that_changes_meanwhile(scene: &Scene) {
    let is_over = AtomicBool::new(false);
    let document = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                number += 1;
                let _ = run_git(&scene.target, ["branch", &format!("noise-{number}")]);
            }
        });
        let document = scene.cto(&["refresh", "--json"]);
        is_over.store(true, Ordering::Relaxed);
        document.expect(1).json()
    });
    assert_eq!(faults(&document), ["target_mutated"], "{document:#}");
    assert_eq!(document["target_read_only_status"], "changed");
    assert_eq!(document["target_repository_mutation"], true);
    let noise = git(&scene.target, ["for-each-ref", "--format=%(refname:short)", "refs/heads/noise-*"]);
    for branch in noise.lines() {
        git(&scene.target, ["branch", "-q", "-D", branch]);
    }
}

fn a_head_that_breaks_a_test(scene: &Scene) {
    fs::write(scene.target.join("a.txt"), "one\n").unwrap();
    git(&scene.target, ["commit", "-q", "-am", "break it"]);
    let document = scene.refresh(&[], 1);
    assert_eq!(faults(&document), ["failed_fact"], "{document:#}");
    assert_eq!(verdict(&document, "target_validation"), "fail");
    assert_eq!(document["target_validation"]["result"], "fail");
    git(&scene.target, ["reset", "-q", "--hard", "HEAD^"]);
    refresh_when_mended(scene, &document);
}

fn wrong_words(scene: &Scene, first: &str) {
    for (words, code) in
        [(&["refresh", "no-such-run"][..], 2), (&["refresh", first, first], 2), (&["refresh", "--engine", "nobody"], 2)]
    {
        let _ = scene.cto(words).expect(code);
    }
    let _ = scene.cto(&["halt", "--reason", "a test"]).expect(0);
    let refused = scene.cto(&["refresh"]).expect(3);
    assert!(refused.stderr.contains("cto resume"), "{}", refused.stderr);
    let _ = scene.cto(&["resume"]).expect(0);
}
