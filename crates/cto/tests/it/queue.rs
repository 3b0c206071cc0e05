//! The queue through the real binary: workers of one home and of two, killed, stopped, drained and cancelled.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]

pub(crate) mod chaos;

use std::collections::BTreeSet;
use std::fs;
use std::process::Child;
use std::time::Duration;

use contract::{Stamp, TaskContract};
use ledger::{AppendEntryError, ClaimAsk, Ledger, LedgerPlace, QueueLimits, QueueOrder, RunIntent, RunStarted};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{PostgresServer, Ran, World, wait_for};

use crate::world;

/// Long enough for a busy machine to renew in time.
pub(crate) const LEASE: u32 = 4;

/// Does not end by itself while anybody looks.
const SLEEPS: &str = "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {sleep: {seconds: 600}}]}";

/// Homes that share a ledger, and with it a queue.
pub(crate) struct QueueHomes {
    place: LedgerPlace,
    url: String,
    worlds: Vec<World>,
}

impl QueueHomes {
    pub(crate) fn on(place: LedgerPlace, url: &str, homes: usize) -> Self {
        let worlds: Vec<World> = (0..homes).map(|_| world()).collect();
        let yard = Self { place, url: url.to_owned(), worlds };
        yard.worlds.iter().for_each(|world| configure(world, &format!("  url: {url}\n")));
        yard
    }

    /// Lets one home reach the ledger by another address.
    pub(crate) fn lead_home(&self, home: usize, url: &str, more: &str) {
        configure(&self.worlds[home], &format!("  url: {url}\n{more}"));
    }

    fn first(&self) -> &World {
        &self.worlds[0]
    }

    fn ledger(&self) -> Ledger {
        Ledger::open_place(&self.place, &|_| {}).unwrap()
    }

    /// Checks the end: every run of the queue has ended, was started once at most, and the chain verifies.
    fn check(&self) {
        let rows = lines(&self.first().cto(["queue", "--all", "--json", "--limit", "100000"]).expect(0));
        assert!(rows.iter().all(|row| ["sealed", "cancelled"].contains(&text(&row["state"]))), "{rows:#?}");
        let ledger = self.ledger();
        for row in &rows {
            let entries = ledger.run_entries(&text(&row["run_id"]).to_owned().try_into().unwrap()).unwrap();
            let count = |kind: &str| entries.iter().filter(|entry| entry.kind == kind).count();
            let ran = usize::from(row["state"] == "sealed");
            assert_eq!((count("run.started"), count("evidence.sealed")), (ran, ran), "{row}");
        }
        for world in &self.worlds {
            let checked = world.cto(["ledger", "verify"]);
            assert_eq!(checked.code, 0, "{}", checked.told());
        }
    }
}

fn configure(world: &World, more: &str) {
    let folder = world.path().join("user/.config/cto");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), format!("store:\n  lease_seconds: {LEASE}\n{more}")).unwrap();
}

/// Homes on a ledger in a file, which goes with the folder.
fn on_a_file(homes: usize, check: fn(&QueueHomes)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    check(&QueueHomes::on(LedgerPlace::File(path.clone()), &format!("sqlite://{}", path.display()), homes));
}

fn lines(ran: &Ran) -> Vec<Value> {
    ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn submit(world: &World, words: &[&str]) -> String {
    let all = ["submit"].into_iter().chain(words.iter().copied()).chain(["--json"]);
    text(&world.cto(all).expect(0).json()["run_id"]).to_owned()
}

fn work(world: &World, words: &[&str]) -> Vec<Value> {
    let all = ["worker", "--until-empty", "--json"].into_iter().chain(words.iter().copied());
    lines(&world.cto(all).expect(0))
}

fn state_of(world: &World, run: &str) -> String {
    let rows = lines(&world.cto(["queue", "--all", "--json"]).expect(0));
    rows.iter().find(|row| row["run_id"] == run).map(|row| text(&row["state"]).to_owned()).unwrap_or_default()
}

/// Waits until the engine of a run works in a home.
fn wait_for_engine(world: &World, run: &str) {
    wait_for("the engine", || {
        let events = world.home().join("active").join(run).join("events.normalized.jsonl");
        fs::read_to_string(events).ok()?.contains("\"engine.started\"").then_some(())
    });
}

/// A worker that does not outlive a test that fails.
struct Started(Option<Child>);

impl Started {
    fn worker(world: &World, words: &[&str]) -> Self {
        Self(Some(world.start(["worker", "--json"].into_iter().chain(words.iter().copied()))))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.0.as_ref().unwrap()), signal).unwrap();
    }

    fn finish(mut self) -> Ran {
        World::finish(self.0.take().unwrap())
    }

    /// Kills it, and gives the whole lines that it has printed.
    fn kill(mut self) -> Vec<Value> {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        let ran = World::finish(child);
        ran.text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
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

#[test]
fn runs_go_by_priority_and_after_each_other() {
    on_a_file(1, check_order);
}

pub(crate) fn check_order(yard: &QueueHomes) {
    let world = yard.first();
    let first = submit(world, &["fail-no-diff"]);
    let urgent = submit(world, &["r1-string-slugify", "--priority", "5"]);
    let last = submit(world, &["r1-string-slugify", "--priority", "9", "--after", &first]);
    let later = submit(world, &["r1-string-slugify", "--priority", "8", "--not-before", "2020-01-01T00:00:00Z"]);
    let listed = world.cto(["queue"]).expect(0).text();
    assert_eq!(listed.lines().count(), 4, "{listed}");
    let ran: Vec<String> = work(world, &[]).iter().map(|told| text(&told["run_id"]).to_owned()).collect();
    assert_eq!(ran, [later, urgent, first.clone(), last.clone()]);
    assert_eq!(world.cto(["watch", &first]).code, 1, "the exit code is the run's");
    assert!(world.cto(["watch", &last]).expect(0).text().starts_with("pass "));
    let _ = world.cto(["verify", &last]).expect(0);
    let _ = world.cto(["watch"]).expect(0);
    assert_eq!(world.cto(["queue"]).expect(0).text(), "");
    yard.check();
}

#[test]
fn two_workers_never_run_one_twice() {
    on_a_file(2, check_two_workers);
}

pub(crate) fn check_two_workers(yard: &QueueHomes) {
    let mut words = vec!["submit"];
    words.extend(["r1-string-slugify"; 8]);
    let submitted = yard.first().cto(words).expect(0).text();
    let workers = yard.worlds.iter().map(|world| Started::worker(world, &["--slots", "2", "--until-empty"]));
    let workers: Vec<Started> = workers.collect();
    let told: Vec<Value> = workers.into_iter().flat_map(|worker| lines(&worker.finish().expect(0))).collect();
    let runs: BTreeSet<&str> = told.iter().map(|told| text(&told["run_id"])).collect();
    assert_eq!((told.len(), runs.len(), submitted.lines().count()), (8, 8, 8), "{told:#?}");
    assert!(told.iter().all(|told| told["status"] == "pass" && told["epoch"] == 1), "{told:#?}");
    yard.check();
}

/// A worker that claims and is never heard of again, as one that was killed or stopped between its claim and its start.
fn claim_and_vanish(yard: &QueueHomes, now: Stamp) -> (String, u64) {
    let ask = ClaimAsk {
        owner: contract::Digest::of_bytes(b"another"),
        engines: None,
        labels: Vec::new(),
        limits: QueueLimits::default(),
        lease: Duration::from_secs(1),
        now,
    };
    let claimed = yard.ledger().queue_claimed(&ask).unwrap().unwrap();
    (claimed.run_id.to_string(), claimed.epoch)
}

#[test]
fn a_claim_that_lapsed_is_queued_again_and_its_epoch_starts_nothing() {
    on_a_file(1, check_lapsed_claim);
}

pub(crate) fn check_lapsed_claim(yard: &QueueHomes) {
    let world = yard.first();
    let run = submit(world, &["r1-string-slugify"]);
    let now = harness::RunClock::start_clock().unwrap().started();
    assert_eq!(claim_and_vanish(yard, now), (run.clone(), 1));
    assert_eq!(state_of(world, &run), "claimed");
    let told = work(world, &[]);
    assert_eq!((&told[0]["run_id"], &told[0]["epoch"], &told[0]["status"]), (&json!(run), &json!(2), &json!("pass")));
    let late = submit(world, &["r1-string-slugify"]);
    let (_, epoch) = claim_and_vanish(yard, now);
    std::thread::sleep(Duration::from_millis(1100));
    let intent = RunIntent {
        task_id: "r1-string-slugify".to_owned().try_into().unwrap(),
        engine: "fake".to_owned(),
        stage: contract::Stage::ARTIFICIAL_FIXTURE,
        purpose: contract::Purpose::Governed,
        owner: None,
        epoch: Some(epoch),
        detail: Value::Null,
    };
    let time = harness::RunClock::start_clock().unwrap().started();
    let run_id = late.clone().try_into().unwrap();
    let refused = yard.ledger().run_started(&RunStarted { run_id, time, lease_until: None, intent });
    assert!(matches!(refused, Err(AppendEntryError::TurnRefused { .. })), "{refused:?}");
    assert_eq!(work(world, &[])[0]["run_id"], json!(late), "control: the next worker takes it");
    yard.check();
}

#[test]
fn a_killed_worker_loses_nothing() {
    on_a_file(1, check_killed_worker);
}

pub(crate) fn check_killed_worker(yard: &QueueHomes) {
    let world = yard.first();
    world.case("made", &[("fake", SLEEPS)]);
    let (killed, next) = (submit(world, &["./made"]), submit(world, &["r1-string-slugify"]));
    let worker = Started::worker(world, &[]);
    wait_for_engine(world, &killed);
    assert_eq!((state_of(world, &killed).as_str(), state_of(world, &next).as_str()), ("started", "queued"));
    drop(worker);
    let told = work(world, &[]);
    assert_eq!(told.len(), 1, "what was started is not run again: {told:#?}");
    assert_eq!(told[0]["run_id"], json!(next));
    assert_eq!(world.cto(["watch", &killed]).code, 1);
    let report = fs::read(world.bundles().join(&killed).join("report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["blocker_reasons"], json!(["harness_interrupted"]));
    yard.check();
}

/// Stopped for longer than its lease and woken again: another worker has sealed its run, and what it has counts for nothing.
#[test]
fn a_stalled_worker_that_wakes_changes_nothing() {
    on_a_file(2, check_stalled_worker);
}

pub(crate) fn check_stalled_worker(yard: &QueueHomes) {
    let (ours, theirs) = (&yard.worlds[0], &yard.worlds[1]);
    ours.case("made", &[("fake", SLEEPS)]);
    let run = submit(ours, &["./made"]);
    let stalled = Started::worker(ours, &["--until-empty"]);
    wait_for_engine(ours, &run);
    std::thread::sleep(Duration::from_secs(u64::from(LEASE) + 1));
    let recovered = theirs.cto(["recover", "--json"]).expect(0).json();
    assert_eq!(recovered["alive"], json!([run]), "control: it renews: {recovered}");
    stalled.signal(Signal::STOP);
    let other = Started::worker(theirs, &["--until-empty"]);
    let ended = other.finish().expect(0);
    assert!(ended.stderr.contains(&format!("sealed {run}")), "by its own look at what others left: {}", ended.told());
    stalled.signal(Signal::CONT);
    let woken = lines(&stalled.finish().expect(0));
    assert_eq!((&woken[0]["run_id"], &woken[0]["state"]), (&json!(run), &json!("late")), "{woken:#?}");
    assert!(ours.home().join("late").join(&run).is_dir(), "its evidence is kept apart");
    assert!(theirs.home().join("harness-runs").join(&run).is_dir());
    let rows = lines(&theirs.cto(["queue", "--all", "--json"]).expect(0));
    assert_eq!(
        (&rows[0]["state"], &rows[0]["status"], &rows[0]["epoch"]),
        (&json!("sealed"), &json!("fail"), &json!(2))
    );
    let refused = yard.ledger().entries_of(&[ledger::EntryKind::LateRefused], None).unwrap();
    assert_eq!(refused.len(), 1);
    assert_eq!((&refused[0].body["run_id"], &refused[0].body["epoch"]), (&json!(run), &json!(1)));
    yard.check();
}

#[test]
fn what_is_cancelled_is_not_run_and_what_runs_is_stopped() {
    on_a_file(2, check_cancel);
}

pub(crate) fn check_cancel(yard: &QueueHomes) {
    let (ours, theirs) = (&yard.worlds[0], &yard.worlds[1]);
    ours.case("made", &[("fake", SLEEPS)]);
    let (waits, here, there) =
        (submit(ours, &["r1-string-slugify"]), submit(ours, &["./made"]), submit(ours, &["./made"]));
    assert_eq!(theirs.cto(["cancel", &waits, "--json"]).expect(0).json()["state"], "cancelled");
    assert!(theirs.cto(["cancel", &waits]).expect(3).stderr.contains("has ended"));
    let unknown = ours.cto(["cancel", "nothing"]).expect(2);
    assert!(unknown.stderr.contains("no run `nothing` in the queue"), "{}", unknown.stderr);
    assert_eq!(ours.cto(["watch", &waits]).code, 3);
    let worker = Started::worker(ours, &["--slots", "2", "--until-empty"]);
    [&here, &there].into_iter().for_each(|run| wait_for_engine(ours, run));
    assert_eq!(ours.cto(["cancel", &here, "--json"]).expect(0).json()["state"], "stopping");
    assert_eq!(theirs.cto(["cancel", &there, "--json"]).expect(0).json()["state"], "stopping", "from another home");
    let told = lines(&worker.finish().expect(0));
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told.iter().all(|told| told["reasons"] == json!(["harness_interrupted"])), "{told:#?}");
    yard.check();
}

#[test]
fn limits_hold_over_all_workers() {
    on_a_file(1, check_limits);
}

pub(crate) fn check_limits(yard: &QueueHomes) {
    let world = yard.first();
    let user = world.path().join("user/.config/cto/config.yaml");
    let plain = fs::read_to_string(&user).unwrap();
    // That of the day comes first: it counts every start.
    for (limits, active) in [("{day: 1}", 1), ("{engines: {fake: 1}}", 1), ("{workspace: 2}", 2), ("{}", 3)] {
        fs::write(&user, format!("{plain}  queue_limits: {limits}\n")).unwrap();
        world.case("made", &[("fake", SLEEPS)]);
        let runs = [0; 3].map(|_| submit(world, &["./made"]));
        let worker = Started::worker(world, &["--slots", "3"]);
        runs.iter().take(active).for_each(|run| wait_for_engine(world, run));
        let states = runs.each_ref().map(|run| state_of(world, run));
        let expected = [0, 1, 2].map(|index| if index < active { "started" } else { "queued" });
        assert_eq!(states, expected, "{limits}");
        runs.iter().rev().for_each(|run| drop(world.cto(["cancel", run]).expect(0)));
        worker.signal(Signal::TERM);
        let _ = worker.finish().expect(0);
    }
    yard.check();
}

#[test]
fn a_worker_drains_and_then_interrupts() {
    on_a_file(1, check_drain);
}

pub(crate) fn check_drain(yard: &QueueHomes) {
    let world = yard.first();
    world.case("made", &[("fake", SLEEPS)]);
    let (run, next) = (submit(world, &["./made"]), submit(world, &["r1-string-slugify"]));
    let labelled = submit(world, &["r1-string-slugify", "--labels", "gpu", "--priority", "9"]);
    let worker = Started::worker(world, &[]);
    wait_for_engine(world, &run);
    worker.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(state_of(world, &run), "started", "it finishes what it has");
    worker.signal(Signal::TERM);
    let ended = worker.finish();
    assert_eq!(ended.code, 130, "{}", ended.told());
    assert_eq!(lines(&ended)[0]["reasons"], json!(["harness_interrupted"]));
    assert_eq!(state_of(world, &next), "queued", "nothing new was taken");
    let told = work(world, &["--labels", "gpu,big", "--engines", "fake"]);
    assert_eq!(told[0]["run_id"], json!(labelled), "control: a worker with its label takes it first");
    assert_eq!(told.len(), 2);
    yard.check();
}

/// A run whose worker was killed is repeated as a new run, once.
#[test]
fn an_interrupted_run_is_repeated_as_its_contract_says() {
    on_a_file(1, check_repeated);
}

pub(crate) fn check_repeated(yard: &QueueHomes) {
    let world = yard.first();
    let rule = "{attempts: 1, on: [harness_interrupted]}";
    world.case("made", &[("fake", SLEEPS), ("retry", rule)]);
    let killed = submit(world, &["./made"]);
    for is_last in [false, true] {
        let worker = Started::worker(world, &[]);
        let waits = |listed: &Vec<Value>| listed.iter().find(|row| row["state"] == "started").cloned();
        let run = wait_for("a run", || waits(&lines(&world.cto(["queue", "--json"]).expect(0))));
        wait_for_engine(world, text(&run["run_id"]));
        assert_eq!(run["run_id"] == json!(killed), !is_last, "{run}");
        drop(worker);
        let _ = world.cto(["recover"]).expect(0);
    }
    assert_eq!(world.cto(["queue"]).expect(0).text(), "", "the rule says once");
    let orders = yard.ledger().entries_of(&[ledger::EntryKind::QueueSubmitted], None).unwrap();
    assert_eq!((orders.len(), &orders[1].body["retry_of"]), (2, &json!(killed)));
    let refused = world.case("bad", &[("retry", "{attempts: 1, on: [verification_failed]}")]);
    let refused = world.cto(["submit", refused.to_str().unwrap()]).expect(2);
    assert!(refused.stderr.contains("no reason to repeat a run"), "{}", refused.stderr);
    yard.check();
}

#[test]
fn workers_of_a_home_drain_on_command() {
    on_a_file(2, check_drain_command);
}

pub(crate) fn check_drain_command(yard: &QueueHomes) {
    let (ours, theirs) = (&yard.worlds[0], &yard.worlds[1]);
    ours.case("made", &[("fake", SLEEPS)]);
    let run = submit(ours, &["./made"]);
    assert_eq!(ours.cto(["drain", "--json"]).expect(0).json(), json!({"left": 0, "state": "drained", "workers": 0}));
    let busy = Started::worker(ours, &[]);
    wait_for_engine(ours, &run);
    let (idle, other) = (Started::worker(ours, &[]), Started::worker(theirs, &[]));
    wait_for("both workers", || {
        let files = fs::read_dir(ours.home().join("workers")).ok()?;
        (files.filter(|file| file.as_ref().unwrap().path().extension() == Some("worker".as_ref())).count() == 2)
            .then_some(())
    });
    let asked = ours.cto(["drain", "--json"]).expect(0).json();
    assert_eq!((&asked["workers"], &asked["state"]), (&json!(2), &json!("draining")), "{asked}");
    assert_eq!(idle.finish().expect(0).text(), "", "a worker without a run ends at once");
    let next = submit(ours, &["r1-string-slugify"]);
    let told = lines(&theirs.cto(["watch", &next, "--json"]).expect(0));
    let owner = &told.last().unwrap()["owner"];
    assert_ne!(owner, &lines(&ours.cto(["queue", "--json"]).expect(0))[0]["owner"], "control: another home goes on");
    assert_eq!(state_of(ours, &run), "started", "it finishes what it has");
    // The service manager's first signal does not interrupt a worker that drains.
    busy.signal(Signal::TERM);
    let _ = ours.cto(["cancel", &run]).expect(0);
    assert_eq!(ours.cto(["drain", "--wait", "--json"]).expect(0).json()["left"], 0);
    let ended = busy.finish().expect(0);
    assert_eq!(lines(&ended)[0]["run_id"], json!(run));
    other.signal(Signal::TERM);
    let _ = other.finish().expect(0);
    let later = submit(ours, &["r1-string-slugify"]);
    assert_eq!(work(ours, &[])[0]["run_id"], json!(later), "control: a worker that starts later is not asked");
    yard.check();
}

#[test]
fn a_limit_of_the_machine_holds_over_its_workers() {
    on_a_file(2, |yard| {
        let (ours, theirs) = (&yard.worlds[0], &yard.worlds[1]);
        ours.case("made", &[("fake", SLEEPS)]);
        configure(ours, &format!("  url: {}\n  queue_limits: {{machine: 1}}\n", yard.url));
        let [first, second] = [0; 2].map(|_| submit(ours, &["./made"]));
        let workers = [0; 2].map(|_| Started::worker(ours, &["--slots", "2"]));
        wait_for_engine(ours, &first);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(state_of(ours, &second), "queued", "two workers with two slots each have one run");
        let other = Started::worker(theirs, &[]);
        wait_for_engine(theirs, &second);
        for run in [&first, &second] {
            let _ = ours.cto(["cancel", run]).expect(0);
        }
        for worker in workers.into_iter().chain([other]) {
            worker.signal(Signal::TERM);
            let _ = worker.finish().expect(0);
        }
        yard.check();
    });
}

/// The contract that was accepted is run, or nothing.
#[test]
fn a_task_that_changed_after_it_was_submitted_is_not_run() {
    on_a_file(1, |yard| {
        let world = yard.first();
        world.case("made", &[]);
        let same = submit(world, &["./made"]);
        assert_eq!(work(world, &[])[0]["status"], "pass", "control: {same}");
        let changed = submit(world, &["./made"]);
        world.case("made", &[("allowed_paths", "[\"**\"]")]);
        let told = work(world, &[]);
        assert_eq!((&told[0]["run_id"], &told[0]["state"]), (&json!(changed), &json!("cancelled")), "{told:#?}");
        assert!(text(&told[0]["why"]).contains("contract_invalid"), "{told:#?}");
        yard.check();
    });
}

/// Anybody who can append to the ledger can write an order. What it says beyond its task is not run, however it is digested.
#[test]
fn an_order_with_another_contract_than_its_task_is_not_run() {
    on_a_file(1, check_forged_order);
}

pub(crate) fn check_forged_order(yard: &QueueHomes) {
    let (world, ledger) = (yard.first(), yard.ledger());
    let honest = submit(world, &["r1-string-slugify", "--sandbox", "none"]);
    let row = ledger.queue_run(&honest.clone().try_into().unwrap()).unwrap().unwrap();
    let order = ledger.queue_order(&row).unwrap();
    let touched = world.path().join("touched");
    let touch = json!([{"argv": ["touch", touched]}]);
    let forge = |suffix: &str, change: &dyn Fn(&mut QueueOrder)| {
        let run_id = format!("{}-{suffix}", honest.rsplit_once('-').unwrap().0).try_into().unwrap();
        let mut forged = QueueOrder { run_id, ..order.clone() };
        change(&mut forged);
        let contract: TaskContract = serde_json::from_value(forged.detail["contract"].clone()).unwrap();
        forged.contract_sha256 = contract.digest().unwrap();
        ledger.queue_submitted(&forged, row.submitted_at).unwrap();
        forged.run_id.to_string()
    };
    let forged = [
        forge("zzza", &|order| order.detail["contract"]["verification_commands"] = touch.clone()),
        forge("zzzb", &|order| order.detail["contract"]["source_owner"] = json!("Eve")),
        forge("zzzc", &|order| order.engine = "codex".to_owned()),
        forge("zzzd", &|order| order.stage = contract::Stage::DISPOSABLE_REPOSITORY),
        forge("zzze", &|order| order.target_key = Some("/of/another".to_owned())),
        forge("zzzf", &|order| order.task_id = "another".to_owned().try_into().unwrap()),
    ];
    let told = work(world, &[]);
    let of = |run: &str| told.iter().find(|told| told["run_id"] == run).unwrap();
    for run in &forged {
        assert_eq!(of(run)["state"], "cancelled", "{told:#?}");
        assert!(text(&of(run)["why"]).contains("contract_invalid"), "{told:#?}");
    }
    assert!(!touched.exists(), "its command was run");
    assert_eq!(of(&honest)["status"], "pass", "the control: {told:#?}");
    yard.check();
}

/// A fault of the machine takes no run out of the queue: the claim is given back, and the run goes when the fault has passed.
#[test]
fn a_run_that_cannot_be_begun_now_is_given_back() {
    on_a_file(1, check_given_back);
}

pub(crate) fn check_given_back(yard: &QueueHomes) {
    let world = yard.first();
    let user = world.path().join("user/.config/cto/config.yaml");
    let plain = fs::read_to_string(&user).unwrap();
    let run = submit(world, &["r1-string-slugify"]);
    let away = "evidence:\n  url: s3://cto/fleet\n  endpoint: http://127.0.0.1:1\n  timeout_seconds: 1\n";
    fs::write(&user, format!("{plain}{away}")).unwrap();
    let worker = Started::worker(world, &[]);
    let epoch = || yard.ledger().queue_run(&run.clone().try_into().unwrap()).unwrap().unwrap().epoch;
    wait_for("another claim", || (epoch() > 1).then_some(()));
    worker.signal(Signal::TERM);
    let told = lines(&worker.finish().expect(0));
    assert_eq!((&told[0]["run_id"], &told[0]["state"]), (&json!(run), &json!("given_back")), "{told:#?}");
    fs::write(&user, plain).unwrap();
    let told = work(world, &[]);
    assert_eq!((&told[0]["run_id"], &told[0]["status"]), (&json!(run), &json!("pass")), "{told:#?}");
    yard.check();
}

/// A run that works while nobody can be asked, for less than its lease.
pub(crate) fn check_away(yard: &QueueHomes, server: &PostgresServer) {
    let world = yard.first();
    world.case("made", &[("fake", "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {sleep: {seconds: 3}}]}")]);
    let run = submit(world, &["./made"]);
    let worker = Started::worker(world, &["--until-empty"]);
    wait_for_engine(world, &run);
    server.crash();
    std::thread::sleep(Duration::from_secs(2));
    server.start_again();
    let told = lines(&worker.finish().expect(0));
    assert_eq!((&told[0]["run_id"], &told[0]["status"]), (&json!(run), &json!("pass")), "{told:#?}");
    yard.check();
}

#[test]
fn what_cannot_be_queued_is_refused() {
    let world = world();
    // In two parts, so that it is no secret in this file.
    let secret = ["use sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"].concat();
    world.case("made", &[("brief", &secret)]);
    let rows: [(&[&str], i32, &str); 6] = [
        (&["submit", "no-such-case"], 2, "no case or contract file"),
        (&["submit", "r1-string-slugify", "--after", "zzzz"], 2, "no run `zzzz`"),
        (&["submit", "r1-string-slugify", "--engine", "nothing"], 2, "no engine"),
        (&["submit", "r1-string-slugify", "--not-before", "soon"], 2, "--not-before"),
        (&["submit", "./made"], 2, "looks like a secret"),
        (&["worker", "--engines", "nothing"], 2, "no engine"),
    ];
    for (words, code, says) in rows {
        let ran = world.cto(words.iter().copied());
        assert!(ran.code == code && ran.stderr.contains(says), "{words:?}: {}", ran.told());
    }
    assert_eq!(world.cto(["queue", "--all"]).expect(0).text(), "", "nothing was queued");
    submit(&world, &["r1-string-slugify"]);
    assert_eq!(world.cto(["queue"]).expect(0).text().lines().count(), 1, "control");
}
