//! Two homes on one ledger: neither seals, recovers or collects a live run of the other.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{CtoCommand, Ran, World, wait_for};

use crate::world;

mod elsewhere;
mod twins;

/// Long enough for a busy machine to renew in time.
const LEASE: u32 = 4;

/// Homes of two users on one machine would look the same: all that they share is the ledger.
pub(crate) struct Pair {
    ours: World,
    theirs: World,
}

impl Pair {
    /// On the ledger at this address.
    pub(crate) fn on(url: &str) -> Self {
        Self::of(world(), world(), [Some(url), Some(url)])
    }

    /// On the ledgers at these addresses, ours first; without one it is the home's own.
    fn of(ours: World, theirs: World, urls: [Option<&str>; 2]) -> Self {
        let pair = Self { ours, theirs };
        for (world, url) in [&pair.ours, &pair.theirs].into_iter().zip(urls) {
            let folder = world.path().join("user/.config/cto");
            fs::create_dir_all(&folder).unwrap();
            let url = url.map_or_else(String::new, |url| format!("  url: {url}\n"));
            let text = format!("store:\n{url}  lease_seconds: {LEASE}\n");
            fs::write(folder.join("config.yaml"), text).unwrap();
            // An engine that does not end by itself while anybody looks.
            let steps = json!({"steps": [
                {"write": {"path": "a.txt", "text": "two\n"}},
                {"run": {"argv": ["sh", "-c", "exec sleep 7077"]}},
            ]});
            world.case("made", &[("fake", &steps.to_string())]);
        }
        pair
    }

    /// Starts a run of ours and waits until its engine works.
    fn start(&self) -> (Started, String) {
        self.start_by(|command| command.spawn().unwrap())
    }

    fn start_by(&self, spawn: impl FnOnce(&mut CtoCommand) -> Child) -> (Started, String) {
        let mut command = self.ours.command(["run", "./made", "--json"]);
        let child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let active = self.ours.home().join("active");
        let working = || {
            let run = fs::read_dir(&active).ok()?.flatten().next()?.file_name().into_string().ok()?;
            let events = fs::read_to_string(active.join(&run).join("events.normalized.jsonl")).ok()?;
            events.contains("\"engine.started\"").then_some(run)
        };
        let child = Started(Some(child));
        let run = wait_for("the engine", working);
        (child, run)
    }

    fn recover(world: &World) -> Value {
        world.cto(["recover", "--json"]).expect(0).json()
    }

    /// Changes the ledger's file behind everybody's back.
    fn change_leases(&self, sql: &str) {
        assert_eq!(self.open_ledger().execute(sql, []).unwrap(), 1);
    }

    fn open_ledger(&self) -> rusqlite::Connection {
        let settings = fs::read_to_string(self.ours.path().join("user/.config/cto/config.yaml")).unwrap();
        let file = settings.lines().find_map(|line| line.trim().strip_prefix("url: sqlite://")).unwrap();
        let ledger = rusqlite::Connection::open(file).unwrap();
        ledger.busy_timeout(Duration::from_secs(10)).unwrap();
        ledger
    }

    fn check_ledger(&self) {
        for world in [&self.ours, &self.theirs].into_iter().filter(|world| world.home().is_dir()) {
            let checked = world.cto(["ledger", "verify"]);
            assert_eq!(checked.code, 0, "{}", checked.told());
        }
        assert!(!self.ours.home().join("ledger.db").exists(), "there is one ledger");
    }
}

/// A run that does not outlive a test that fails.
struct Started(Option<Child>);

impl Started {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.0.as_ref().unwrap()), signal).unwrap();
    }

    fn finish(mut self) -> Ran {
        World::finish(self.0.take().unwrap())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn wait_for_lapse() {
    std::thread::sleep(Duration::from_secs(u64::from(LEASE) + 1));
}

fn is_there(world: &World, folder: &str, run: &str) -> bool {
    world.home().join(folder).join(run).is_dir()
}

/// The same for a program that can be given a defect or another clock; skips the test where there is none.
fn on_a_file_with_stops(test: &str, check: fn(&Pair)) {
    let Some(binary) = testkit::stoppable(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("ledger.db").display());
    let new = || World::new(binary.to_str().unwrap());
    check(&Pair::of(new(), new(), [Some(&url), Some(&url)]));
}

/// Two homes on a ledger in a file, which goes with the folder.
fn on_a_file(check: fn(&Pair)) {
    let folder = tempfile::tempdir().unwrap();
    check(&Pair::on(&format!("sqlite://{}", folder.path().join("ledger.db").display())));
}

#[test]
fn a_live_run_is_left_alone_however_long_it_works() {
    on_a_file(check_live_run);
}

#[test]
fn a_run_whose_lease_lapsed_is_sealed_by_another_and_comes_too_late() {
    on_a_file(check_lapsed_run);
}

#[test]
fn a_killed_run_is_recovered_once() {
    on_a_file(check_killed_run);
}

pub(crate) fn check_live_run(pair: &Pair) {
    let (child, run) = pair.start();
    wait_for_lapse();
    let recovered = Pair::recover(&pair.theirs);
    assert_eq!((&recovered["alive"], &recovered["sealed"]), (&json!([run]), &json!([])), "{recovered}");
    let _ = pair.theirs.cto(["gc", "--older-than", "0s", "--keep", "0"]).expect(0);
    let listed = pair.theirs.cto(["runs", "--json"]).expect(0).json();
    assert_eq!((&listed["run_id"], &listed["status"]), (&json!(run), &json!("running")));
    child.signal(Signal::INT);
    assert_eq!(child.finish().code, 130);
    assert!(is_there(&pair.ours, "harness-runs", &run) && !is_there(&pair.theirs, "harness-runs", &run));
    let _ = pair.ours.cto(["verify", &run]).expect(0);
    // What is over is in both lists, and its bundle is where it was made.
    let elsewhere = pair.theirs.cto(["show", &run]).expect(1);
    assert!(elsewhere.stderr.contains("another home"), "{}", elsewhere.stderr);
    let _ = pair.theirs.cto(["gc", "--older-than", "0s", "--keep", "0"]).expect(0);
    let _ = pair.ours.cto(["verify", &run]).expect(0);
    pair.check_ledger();
}

pub(crate) fn check_lapsed_run(pair: &Pair) {
    let (child, run) = pair.start();
    child.signal(Signal::STOP);
    let recovered = Pair::recover(&pair.theirs);
    assert_eq!(recovered["alive"], json!([run]), "its lease holds: {recovered}");
    wait_for_lapse();
    let recovered = Pair::recover(&pair.theirs);
    assert_eq!(recovered["sealed"], json!([{"run_id": run, "status": "fail"}]), "{recovered}");
    let report = pair.theirs.home().join("harness-runs").join(&run).join("report.json");
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["blocker_reasons"], json!(["harness_interrupted"]));
    assert!(report["blockers"][0]["text"].as_str().unwrap().contains("lease"), "{:#}", report["blockers"]);
    let _ = pair.theirs.cto(["verify", &run]).expect(0);
    child.signal(Signal::CONT);
    let late = child.finish();
    assert!(late.code == 3 && late.stderr.contains("lost its lease"), "{}", late.told());
    assert!(is_there(&pair.ours, "late", &run), "its own evidence is kept");
    assert!(!is_there(&pair.ours, "harness-runs", &run) && !is_there(&pair.ours, "active", &run));
    let nothing = Pair::recover(&pair.ours);
    assert_eq!((&nothing["sealed"], &nothing["alive"]), (&json!([]), &json!([])), "{nothing}");
    pair.check_ledger();
}

/// A run that is killed is its own home's, at once; and one that another sealed meanwhile is put aside by the next command.
pub(crate) fn check_killed_run(pair: &Pair) {
    for taken_over in [false, true] {
        let (child, run) = pair.start();
        drop(child);
        if taken_over {
            wait_for_lapse();
            assert_eq!(Pair::recover(&pair.theirs)["sealed"][0]["run_id"], json!(run));
            assert_eq!(Pair::recover(&pair.ours)["late"], json!([run]));
        } else {
            assert_eq!(Pair::recover(&pair.ours)["sealed"][0]["run_id"], json!(run));
            let nothing = Pair::recover(&pair.theirs);
            assert_eq!((&nothing["sealed"], &nothing["alive"]), (&json!([]), &json!([])), "{nothing}");
        }
        let (sealed, other) = if taken_over { (&pair.theirs, &pair.ours) } else { (&pair.ours, &pair.theirs) };
        assert!(is_there(sealed, "harness-runs", &run) && !is_there(other, "harness-runs", &run));
        assert_eq!(is_there(&pair.ours, "late", &run), taken_over);
        pair.check_ledger();
    }
}

#[test]
fn bad_stores_are_refused() {
    for (store, says) in [
        ("url: postgres://x/y", "store.url"),
        ("url: postgres://cto:hunter2@db/ledger", "holds no password"),
        ("url: postgres://cto@db/ledger?sslmode=disable", "store.url"),
        ("password_env: NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE"),
        ("url: sqlite://relative", "store.url"),
        ("lease_seconds: 0", "lease_seconds"),
        ("lease: 5", "lease"),
    ] {
        let world = world();
        let folder = world.path().join("user/.config/cto");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.yaml"), format!("store:\n  {store}\n")).unwrap();
        let ran = world.cto(["runs"]).expect(2);
        assert!(ran.stderr.contains(says), "{store}: {}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2"), "{store}: {}", ran.stderr);
        assert!(!Path::new(&world.home().join("ledger.db")).exists());
    }
}
