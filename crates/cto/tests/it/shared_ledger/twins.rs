//! Machines made from one image, whose homes may bear one name, and clocks that are set while a run is alive.
//!
//! `CTO_DEFECT=one_instance` gives every home the same name, which is the worst that an image can do. Another machine is played by another
//! boot, another container by another space of processes.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{CtoCommand, Ran, World};

use super::{Pair, Started, is_there, on_a_file_with_stops, wait_for_lapse};
use crate::world;

const ONE_NAME: (&str, &str) = ("CTO_DEFECT", "one_instance");
/// A user namespace in which the user is who it was, and may mount.
const APART: [&str; 3] = ["--user", "--map-current-user", "--keep-caps"];
const OTHER_BOOT: &str = "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"";
const NO_MACHINE_ID: &str =
    "mount --bind /dev/null /etc/machine-id && echo \"$0\" > /proc/sys/kernel/hostname && exec \"$@\"";

/// A place in which the other home's command runs, under the name of ours.
#[derive(Clone, Copy)]
enum Twin {
    SameBoot,
    OtherBoot,
    OtherSpace,
}

impl Pair {
    fn start_named(&self) -> (Started, String) {
        self.start_by(|command| command.env(ONE_NAME.0, ONE_NAME.1).spawn().unwrap())
    }

    /// Recovers in the other home, which bears our name.
    fn recover_as(&self, twin: Twin) -> Value {
        let world = &self.theirs;
        let boot = world.write("boot_id", "11111111-2222-4333-8444-555555555555\n");
        let boot = boot.to_str().unwrap();
        let mut command = match twin {
            Twin::SameBoot => world.command(["recover", "--json"]),
            Twin::OtherBoot => apart(world, &["--mount", "--", "sh", "-c", OTHER_BOOT, boot], &["recover", "--json"]),
            Twin::OtherSpace => apart(world, &["--pid", "--fork", "--mount-proc", "--"], &["recover", "--json"]),
        };
        Ran::of(command.env(ONE_NAME.0, ONE_NAME.1).output().unwrap()).expect(0).json()
    }
}

/// The binary in namespaces of its own.
fn apart(world: &World, more: &[&str], words: &[&str]) -> CtoCommand {
    let wrapper: Vec<&str> = ["unshare"].iter().chain(&APART).chain(more).copied().collect();
    world.under(&world.command(words), &wrapper)
}

#[test]
fn a_live_run_of_a_twin_is_left_alone() {
    on_a_file_with_stops("shared_ledger::twins::a_live_run_of_a_twin_is_left_alone", |pair| {
        let (child, run) = pair.start_named();
        for twin in [Twin::OtherBoot, Twin::OtherSpace] {
            let recovered = pair.recover_as(twin);
            assert_eq!((&recovered["alive"], &recovered["sealed"]), (&json!([run]), &json!([])), "{recovered}");
        }
        let taken = pair.recover_as(Twin::SameBoot);
        assert_eq!(taken["sealed"][0]["run_id"], json!(run), "control: the name is the same: {taken}");
        drop(child.finish());
    });
}

/// The epoch tells the twins apart where their name does not.
#[test]
fn a_run_that_its_twin_took_over_comes_too_late() {
    on_a_file_with_stops("shared_ledger::twins::a_run_that_its_twin_took_over_comes_too_late", |pair| {
        let (child, run) = pair.start_named();
        child.signal(Signal::STOP);
        wait_for_lapse();
        let recovered = pair.recover_as(Twin::OtherBoot);
        assert_eq!(recovered["sealed"][0]["run_id"], json!(run), "its lease has lapsed: {recovered}");
        child.signal(Signal::CONT);
        let late = child.finish();
        assert!(late.code == 3 && late.stderr.contains("lost its lease"), "{}", late.told());
        assert!(is_there(&pair.ours, "late", &run) && !is_there(&pair.ours, "harness-runs", &run));
        assert!(is_there(&pair.theirs, "harness-runs", &run));
        pair.check_ledger();
    });
}

/// An hour ahead every lease looks lapsed; what is renewed while we look is alive all the same.
#[test]
fn a_clock_that_is_ahead_takes_no_live_run() {
    on_a_file_with_stops("shared_ledger::twins::a_clock_that_is_ahead_takes_no_live_run", |pair| {
        let recover_ahead = || {
            let mut command = pair.theirs.command(["recover", "--json"]);
            Ran::of(command.env("CTO_CLOCK_OFFSET", "3600").output().unwrap()).expect(0).json()
        };
        let (child, run) = pair.start();
        let recovered = recover_ahead();
        assert_eq!((&recovered["alive"], &recovered["sealed"]), (&json!([run]), &json!([])), "{recovered}");
        child.signal(Signal::STOP);
        let recovered = recover_ahead();
        assert_eq!(recovered["sealed"][0]["run_id"], json!(run), "control: nobody renews it: {recovered}");
        child.signal(Signal::CONT);
        drop(child.finish());
    });
}

#[test]
fn a_home_of_an_image_without_a_machine_id_gets_an_identity_on_each_machine() {
    let world = world();
    let identity_on = |host: &str| {
        let more = ["--mount", "--uts", "--", "sh", "-c", NO_MACHINE_ID, host];
        let _ = Ran::of(apart(&world, &more, &["recover"]).output().unwrap()).expect(0);
        fs::read_to_string(world.home().join("trust/instance.json")).unwrap()
    };
    let first = identity_on("first");
    assert_eq!(identity_on("first"), first, "kept");
    let second = identity_on("second");
    let id = |text: &str| serde_json::from_str::<Value>(text).unwrap()["id"].clone();
    assert_ne!(id(&second), id(&first), "a clone is another instance");
    let plain = crate::world();
    let _ = plain.cto(["recover"]).expect(0);
    let has_own = fs::read_to_string("/etc/machine-id").is_ok_and(|id| id.trim().len() == 32);
    assert_eq!(
        plain.home().join("trust/instance.json").exists(),
        !has_own,
        "control: a machine's own id needs no file"
    );
}
