//! A ledger that lies in another home's folder, runs that no lease speaks for, homes that were moved, and a newer program beside us.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;

use super::{Pair, check_killed_run, check_lapsed_run, check_live_run, is_there, on_a_file};
use crate::world;

/// Two homes on the ledger that lies in their folder, known to ours alone, to both by its address, or to ours through a link.
fn in_their_home(check: fn(&Pair)) {
    for (theirs_named, linked) in [(false, false), (true, false), (false, true)] {
        let (ours, theirs) = (world(), world());
        fs::DirBuilder::new().mode(0o700).create(theirs.home()).unwrap();
        let link = ours.path().join("linked");
        symlink(theirs.home(), &link).unwrap();
        let url = |folder: &Path| format!("sqlite://{}", folder.join("ledger.db").display());
        let (direct, through) = (url(&theirs.home()), url(&link));
        let named = if linked { &through } else { &direct };
        check(&Pair::of(ours, theirs, [Some(named), theirs_named.then_some(&direct)]));
    }
}

#[test]
fn a_live_run_on_the_ledger_of_another_home_is_left_alone() {
    in_their_home(check_live_run);
}

#[test]
fn a_lapsed_run_on_the_ledger_of_another_home_is_sealed_there() {
    in_their_home(check_lapsed_run);
}

#[test]
fn a_killed_run_on_the_ledger_of_another_home_is_recovered_once() {
    in_their_home(check_killed_run);
}

/// A run without a lease, as rows of before leases have none: its own home has its folder, and no other may guess that it is dead.
#[test]
fn a_run_without_a_lease_is_its_own_homes() {
    on_a_file(|pair| {
        let (child, run) = pair.start();
        pair.change_leases("DELETE FROM leases");
        let recovered = Pair::recover(&pair.theirs);
        assert_eq!((&recovered["alive"], &recovered["sealed"]), (&json!([run]), &json!([])), "{recovered}");
        drop(child);
        assert_eq!(Pair::recover(&pair.theirs)["sealed"], json!([]));
        assert_eq!(Pair::recover(&pair.ours)["sealed"][0]["run_id"], json!(run), "control: by its folder");
    });
}

/// A home that was restored or moved bears another name: its dead run is its own all the same, once no lease holds.
#[test]
fn a_dead_run_of_a_home_that_was_moved_is_sealed_from_its_folder() {
    on_a_file(|pair| {
        let (child, run) = pair.start();
        drop(child);
        let (home, aside) = (pair.ours.home(), pair.ours.path().join("aside"));
        let copied = testkit::program("cp", Path::new("/")).arg("-a").args([&home, &aside]).status().unwrap();
        assert!(copied.success());
        fs::remove_dir_all(&home).unwrap();
        fs::rename(&aside, &home).unwrap();
        pair.change_leases("UPDATE leases SET lease_until = '2999-01-01T00:00:00.000000Z'");
        let waits = Pair::recover(&pair.ours);
        assert_eq!((&waits["alive"], &waits["late"]), (&json!([run]), &json!([])), "its lease holds: {waits}");
        pair.change_leases("UPDATE leases SET lease_until = '2026-01-01T00:00:00.000000Z'");
        let sealed = Pair::recover(&pair.ours);
        assert_eq!(sealed["sealed"][0]["run_id"], json!(run), "{sealed}");
        let _ = pair.ours.cto(["verify", &run]).expect(0);
        assert!(!is_there(&pair.ours, "late", &run), "its evidence counts");
        pair.check_ledger();
    });
}

/// The kill switch is a home's own: runs of other homes are listed, and not as stopped.
#[test]
fn a_kill_switch_stops_the_runs_of_its_home() {
    on_a_file(|pair| {
        let (child, run) = pair.start();
        let halted = pair.theirs.cto(["halt", "--json"]).expect(0).json();
        assert_eq!((&halted["stopping"], &halted["elsewhere"]), (&json!([]), &json!([run])), "{halted}");
        let halted = pair.ours.cto(["halt", "--json"]).expect(0).json();
        assert_eq!((&halted["stopping"], &halted["elsewhere"]), (&json!([run]), &json!([])), "control: {halted}");
        drop(child.finish());
    });
}

/// A file that a newer program brings forward under a run: nothing is written into it by the rules of before.
#[test]
fn a_ledger_that_became_newer_is_not_written() {
    on_a_file(|pair| {
        let (child, run) = pair.start();
        child.signal(Signal::STOP);
        let version = |version: i32| {
            let ledger = pair.open_ledger();
            ledger.pragma_update(None, "user_version", version).unwrap();
            ledger.execute("UPDATE meta SET value = ?1 WHERE key = 'schema_version'", [version.to_string()]).unwrap();
        };
        let entries =
            || -> i64 { pair.open_ledger().query_row("SELECT max(seq) FROM entries", [], |row| row.get(0)).unwrap() };
        let known: i32 = pair.open_ledger().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        let before = entries();
        version(known + 1);
        child.signal(Signal::CONT);
        child.signal(Signal::INT);
        let ended = child.finish();
        assert!(ended.code == 3 && ended.stderr.contains("newer program"), "{}", ended.told());
        assert_eq!(entries(), before, "nothing was written");
        version(known);
        let sealed = Pair::recover(&pair.ours);
        let found = sealed["sealed"][0]["run_id"] == json!(run) || sealed["recorded"] == json!([run]);
        assert!(found, "control: {sealed}");
        assert!(entries() > before);
        pair.check_ledger();
    });
}
