//! Workers of two homes that are killed and stopped at random while they empty a queue. Meanwhile their server crashes, their object store
//! fails, and the network of one home is cut. A checker reads the ledger, the objects, the bundles and what each worker has said.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use ledger::{Entry, EntryKind};
use rustix::process::Signal;
use serde_json::Value;
use testkit::{left_running, moment, times};

use super::{LEASE, QueueHomes, Started, lines, on_a_file, text};

/// Works for a moment, so that signals meet it in every phase.
const SHORT: &str = "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {sleep: {seconds: 1}}]}";

/// Workers in each home: of the sample, and of a soak.
const WORKERS: usize = 2;
const MANY_WORKERS: usize = 4;
const SAMPLE: u32 = 24;

/// A worker that is left alone, or stopped until then.
struct Harried {
    worker: Started,
    home: usize,
    stopped_until: Option<Instant>,
    /// Output of the workers before it.
    said: Vec<Value>,
}

impl Harried {
    fn begin(yard: &QueueHomes, home: usize) -> Self {
        let worker = Started::worker(&yard.worlds[home], &["--slots", "2"]);
        Self { worker, home, stopped_until: None, said: Vec::new() }
    }

    /// Kills it and starts another, or stops it for longer than its lease.
    fn harry(&mut self, yard: &QueueHomes) {
        if self.stopped_until.is_some() {
            return;
        }
        if moment(Duration::from_secs(2)) > Duration::from_secs(1) {
            let next = Started::worker(&yard.worlds[self.home], &["--slots", "2"]);
            self.said.extend(std::mem::replace(&mut self.worker, next).kill());
        } else {
            self.worker.signal(Signal::STOP);
            let longer = Duration::from_secs(u64::from(LEASE) + 2);
            self.stopped_until = Some(Instant::now() + longer);
        }
    }

    fn wake(&mut self) {
        if self.stopped_until.is_some_and(|until| until <= Instant::now()) {
            self.worker.signal(Signal::CONT);
            self.stopped_until = None;
        }
    }
}

#[test]
fn no_run_is_lost_or_started_twice() {
    on_a_file(2, |yard| check_chaos(yard, &mut |_| {}));
}

/// `shake` does something to servers and network in each round, and mends everything when it gets none.
pub(crate) fn check_chaos(yard: &QueueHomes, shake: &mut dyn FnMut(Option<usize>)) {
    let number = times("CTO_TEST_QUEUED_RUNS", SAMPLE) as usize;
    let made = yard.first().case("made", &[("fake", SHORT)]);
    let made = made.to_str().unwrap();
    let words = ["submit"].into_iter().chain(std::iter::repeat_n(made, number));
    let submitted = yard.first().cto(words).expect(0).text();
    let runs: Vec<&str> = submitted.lines().filter_map(|line| line.strip_prefix("queued ")).collect();
    assert_eq!(runs.len(), number);
    let each = if number > SAMPLE as usize { MANY_WORKERS } else { WORKERS };
    let mut workers: Vec<Harried> = (0..2 * each).map(|at| Harried::begin(yard, at % 2)).collect();
    // Once for every second run.
    for round in 0..number / 2 {
        std::thread::sleep(moment(Duration::from_secs(2)));
        let count = workers.len();
        workers[(round * 7 + 3) % count].harry(yard);
        shake(Some(round));
        workers.iter_mut().for_each(Harried::wake);
    }
    while workers.iter().any(|harried| harried.stopped_until.is_some()) {
        std::thread::sleep(Duration::from_millis(50));
        workers.iter_mut().for_each(Harried::wake);
    }
    shake(None);
    let empty: Vec<Started> = yard.worlds.iter().map(|world| Started::worker(world, &["--until-empty"])).collect();
    let mut said: Vec<Value> = empty.into_iter().flat_map(|worker| lines(&worker.finish().expect(0))).collect();
    for harried in workers {
        harried.worker.signal(Signal::TERM);
        let ran = harried.worker.finish();
        said.extend(harried.said.into_iter().chain(lines(&ran)));
        // A worker that was begun while the server was down says so and ends: its service begins it
        // again.
        assert!(ran.code == 0 || ran.stderr.contains("cannot use the ledger"), "{}", ran.told());
    }
    yard.check();
    check_left(yard, &runs);
    check_said(yard, &said);
}

/// A worker that said that it sealed a run has sealed it, under the epoch that holds; one that said that it came too late has not.
fn check_said(yard: &QueueHomes, said: &[Value]) {
    let rows = lines(&yard.first().cto(["queue", "--all", "--json", "--limit", "100000"]).expect(0));
    let rows: BTreeMap<&str, &Value> = rows.iter().map(|row| (text(&row["run_id"]), row)).collect();
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    // A worker that could not begin says that, and names no run.
    for line in said.iter().filter(|line| line["run_id"].is_string()) {
        let (row, state) = (rows[text(&line["run_id"])], text(&line["state"]));
        *told.entry(state).or_default() += 1;
        match state {
            "sealed" => assert_eq!((&line["epoch"], &line["status"]), (&row["epoch"], &row["status"]), "{line} {row}"),
            "late" => assert_ne!(line["epoch"], row["epoch"], "{line} {row}"),
            _ => {}
        }
    }
    println!("workers said: {told:?}");
    assert!(told.contains_key("sealed"), "control: workers say what they did");
}

/// One bundle for each run, in the home that sealed it; nothing of a run that still works; no refused epoch that sealed.
fn check_left(yard: &QueueHomes, runs: &[&str]) {
    for world in &yard.worlds {
        let _ = world.recover_killed();
    }
    let rows = lines(&yard.first().cto(["queue", "--all", "--json", "--limit", "100000"]).expect(0));
    let epochs: BTreeMap<&str, &Value> = rows.iter().map(|row| (text(&row["run_id"]), &row["epoch"])).collect();
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for run in runs {
        let row = rows.iter().find(|row| row["run_id"] == **run).expect("no run is lost");
        *ends.entry(format!("{} {}", text(&row["state"]), text(&row["status"]))).or_default() += 1;
        let has_bundle = |world: &&testkit::World| Path::new(&world.bundles()).join(run).is_dir();
        let kept: Vec<_> = yard.worlds.iter().filter(has_bundle).collect();
        assert_eq!(kept.len(), 1, "{run} has one bundle");
        let _ = kept[0].cto(["verify", run]).expect(0);
        assert_eq!(left_running(run), Vec::<String>::new(), "{run}");
    }
    let verified = yard.first().cto(["ledger", "verify", "--json"]).expect(0).json();
    if let Some(objects) = verified.get("objects") {
        assert_eq!(objects["absent"], 0, "every sealed bundle was handed in");
    }
    let refused = yard.ledger().entries_of(&[EntryKind::LateRefused], None).unwrap();
    let accepted = |entry: &&Entry| epochs[text(&entry.body["run_id"])] == &entry.body["epoch"];
    assert_eq!(refused.iter().filter(accepted).count(), 0, "an epoch that was refused has sealed nothing");
    println!("{} runs: {ends:?}; {} refused as late", runs.len(), refused.len());
    assert!(ends.contains_key("sealed pass"), "control: some are left alone: {ends:?}");
}
