//! Every history of two workers, up to two runs that want one approval, and a failover to a standby that lags.
//!
//! Each step is a function that the ledger itself uses, and the tests of the queue hold both databases to the same functions. A control
//! leaves one defence out and expects the checker to find the history that the defence prevents.

use std::time::Duration;

use contract::{Digest, RunId, Stage, Stamp};
use serde_json::Value;
use stateright::{Checker as _, HasDiscoveries, Model, Property};

use super::{QueueState, QueueTurn};
use crate::kind::EntryKind;
use crate::objects::judge_witness;
use crate::request::ApprovalUse;
use crate::request_row::{RequestIntent, RequestRow};
use crate::runs::Lease;

/// Ticks that a lease lasts. An engine begins only before half of them have passed.
const LEASE: u8 = 2;
const RUNS: usize = 2;
/// Later than every tick.
const END: u8 = 100;

fn stamp(tick: u8) -> Stamp {
    Stamp::from_unix(Duration::from_secs(1_772_359_200 + u64::from(tick)))
        .unwrap_or_else(|| unreachable!("a time of 2026"))
}

/// Workers of one home: no step asks which of them has a run, only its epoch.
fn owner() -> Digest {
    Digest::of_bytes(b"home")
}

fn run_id(run: usize) -> RunId {
    RunId::try_from(format!("20260301T100000Z-t-aaa{run}")).unwrap_or_else(|_| unreachable!("an id of a run"))
}

/// One database, as of one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Base {
    turns: [QueueTurn; RUNS],
    leases: [Option<Lease>; RUNS],
    /// The highest epoch that a worker was given for a started run.
    given: [u64; RUNS],
    /// Epochs that sealed a run.
    seals: [Vec<u64>; RUNS],
    /// The run that used the approval.
    used_by: Option<usize>,
    timeline: u8,
}

/// The last step of a worker that has a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Claimed,
    /// The ledger has the start of the run, on a timeline that somebody has vouched for.
    Started,
    /// The approval is used and the lease renewed.
    Used,
    /// The witness is its own.
    Witnessed,
    /// Its engine has begun.
    Working,
    /// Another worker's run, taken over to be sealed as interrupted.
    TakenOver,
}

/// A worker's knowledge. It may sleep for any time between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Worker {
    run: usize,
    epoch: u64,
    step: Step,
    /// Timeline that the worker read when it started the run.
    timeline: u8,
    /// Tick of its use, by a clock that nobody sets.
    used_at: u8,
    /// Number that no other use has.
    token: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    now: u8,
    primary: Base,
    standby: Base,
    /// Content of the witness: a run and the number of its use.
    witness: Option<(usize, u8)>,
    workers: [Option<Worker>; 2],
    /// The timeline that an operator has vouched for.
    vouched: u8,
    tokens: u8,
    /// Engines that began with the approval.
    engines: u8,
    /// An engine began for a run that another worker had taken over on the same timeline.
    engine_too_late: bool,
    /// The approval was used on a timeline that nobody had vouched for.
    used_unvouched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Act {
    Tick,
    Claim(usize, usize),
    /// The next step of a worker towards its engine.
    Proceed(usize),
    Renew(usize),
    Seal(usize),
    Die(usize),
    TakeOver(usize, usize),
    Cancel(usize),
    Replicate,
    FailOver,
    Vouch,
}

/// A check that a control leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defence {
    Witness,
    Deadline,
    Epoch,
    Timeline,
}

#[derive(Debug, Clone, Copy)]
struct Fleet {
    runs: usize,
    ticks: u8,
    can_fail_over: bool,
    /// Runs are cancelled, leases renewed, and workers end without a word. One that sleeps for ever is as good as dead.
    has_more_steps: bool,
    without: Option<Defence>,
}

/// One run that is cancelled, and claims that lapse again and again.
const ONE_RUN: Fleet = Fleet { runs: 1, ticks: 7, can_fail_over: false, has_more_steps: true, without: None };

/// Two runs with one approval, and a standby that is promoted.
const FAILOVER: Fleet = Fleet { runs: 2, ticks: 2, can_fail_over: true, has_more_steps: false, without: None };

impl Base {
    fn new() -> Self {
        Self {
            turns: [QueueTurn::SUBMITTED; RUNS],
            leases: [None; RUNS],
            given: [0; RUNS],
            seals: [const { Vec::new() }; RUNS],
            used_by: None,
            timeline: 1,
        }
    }

    /// The row of the approval's request, by the functions that make it from entries.
    fn request(&self) -> RequestRow {
        let request = Digest::of_bytes(b"request");
        let Ok(task_id) = "t".to_owned().try_into() else { unreachable!("an id of a task") };
        let intent = RequestIntent { request, task_id, stage: Stage::DISPOSABLE_REPOSITORY, detail: Value::Null };
        let row = RequestRow::new_request(1, stamp(0), intent).stepped(EntryKind::ApprovalGranted, 2, None);
        match self.used_by {
            Some(run) => row.stepped(EntryKind::ApprovalUsed, 3, Some(run_id(run))),
            None => row,
        }
    }

    /// As [`crate::Ledger::run_started`].
    fn start_run(&mut self, worker: Worker, now: u8) -> Option<()> {
        self.turns[worker.run] = self.turns[worker.run].start_run(worker.epoch, stamp(now)).ok()?;
        self.leases[worker.run] = Some(Lease { owner: owner(), epoch: worker.epoch, until: stamp(now + LEASE) });
        self.given[worker.run] = worker.epoch;
        Some(())
    }

    /// As [`crate::Ledger::engine_starting`], which reads the timeline in the same transaction.
    fn use_approval(&mut self, worker: Worker, now: u8, without: Option<Defence>) -> Option<()> {
        if !self.is_open(worker.run) {
            return None;
        }
        Lease::check_epoch(self.leases[worker.run], Some(worker.epoch)).ok()?;
        let renewed = self.leases[worker.run]?.renew(worker.epoch, stamp(now + LEASE))?;
        let used = ApprovalUse { request: Digest::of_bytes(b"request"), not_before: stamp(0), expires_at: stamp(END) };
        let is_same_timeline = worker.timeline == self.timeline || without == Some(Defence::Timeline);
        if used.refusal(&self.request(), stamp(now), None).is_some() || !is_same_timeline {
            return None;
        }
        self.leases[worker.run] = Some(renewed);
        self.used_by = Some(worker.run);
        Some(())
    }

    /// As [`crate::Ledger::run_sealed`].
    fn seal_run(&mut self, worker: Worker, without: Option<Defence>) -> Option<()> {
        let is_late = Lease::check_epoch(self.leases[worker.run], Some(worker.epoch)).is_err();
        if !self.is_open(worker.run) || (is_late && without != Some(Defence::Epoch)) {
            return None;
        }
        self.turns[worker.run] = self.turns[worker.run].seal();
        self.leases[worker.run] = None;
        self.seals[worker.run].push(worker.epoch);
        Some(())
    }

    fn is_open(&self, run: usize) -> bool {
        self.turns[run].state == QueueState::Started
    }
}

impl State {
    fn claim_run(&mut self, at: usize, run: usize) -> Option<()> {
        let turn = self.primary.turns[run].lapse(stamp(self.now)).claim_run(owner(), stamp(self.now + LEASE))?;
        self.primary.turns[run] = turn;
        self.workers[at] =
            Some(Worker { run, epoch: turn.epoch, step: Step::Claimed, timeline: 0, used_at: 0, token: 0 });
        Some(())
    }

    /// A worker whose step is refused leaves its run as it is.
    fn proceed(&mut self, fleet: Fleet, at: usize) -> Option<()> {
        let worker = self.workers[at]?;
        let stepped = match worker.step {
            Step::Claimed => self.start(worker),
            Step::Started => self.use_approval(worker, fleet.without),
            Step::Used => self.witness_use(worker, fleet.without),
            Step::Witnessed => self.begin_engine(worker, fleet.without),
            Step::Working | Step::TakenOver => return None,
        };
        self.workers[at] = stepped;
        Some(())
    }

    /// The decision comes first: on an unknown timeline it refuses.
    fn start(&mut self, worker: Worker) -> Option<Worker> {
        let timeline = self.primary.timeline;
        (self.vouched == timeline).then_some(())?;
        self.primary.start_run(worker, self.now)?;
        Some(Worker { step: Step::Started, timeline, ..worker })
    }

    fn use_approval(&mut self, worker: Worker, without: Option<Defence>) -> Option<Worker> {
        self.primary.use_approval(worker, self.now, without)?;
        self.used_unvouched |= self.primary.timeline != self.vouched;
        self.tokens += 1;
        Some(Worker { step: Step::Used, used_at: self.now, token: self.tokens, ..worker })
    }

    fn witness_use(&mut self, worker: Worker, without: Option<Defence>) -> Option<Worker> {
        let ours = (worker.run, worker.token);
        let said = *self.witness.get_or_insert(ours);
        let content = |(run, token): (usize, u8)| format!("{}\n{token}\n", run_id(run));
        let judged = judge_witness(content(said).as_bytes(), content(ours).as_bytes());
        let is_ours = judged.is_ours() || without == Some(Defence::Witness);
        is_ours.then_some(Worker { step: Step::Witnessed, ..worker })
    }

    fn begin_engine(&mut self, worker: Worker, without: Option<Defence>) -> Option<Worker> {
        let is_in_time = self.now - worker.used_at < LEASE / 2 || without == Some(Defence::Deadline);
        is_in_time.then_some(())?;
        self.engines += 1;
        // A promoted standby may lack the start itself, and only the witness of an approval outlives that.
        let is_same_timeline = worker.timeline == self.primary.timeline;
        self.engine_too_late |= is_same_timeline && self.primary.given[worker.run] > worker.epoch;
        Some(Worker { step: Step::Working, ..worker })
    }

    fn take_over(&mut self, at: usize, run: usize) -> Option<()> {
        let held = self.primary.leases[run]?;
        let lease = held.take_over(owner(), stamp(self.now), stamp(self.now + LEASE))?;
        self.primary.leases[run] = Some(lease);
        self.primary.given[run] = lease.epoch;
        self.workers[at] =
            Some(Worker { run, epoch: lease.epoch, step: Step::TakenOver, timeline: 0, used_at: 0, token: 0 });
        Some(())
    }

    fn take_step(&mut self, fleet: Fleet, act: Act) -> Option<()> {
        match act {
            Act::Tick => self.now += 1,
            Act::Claim(at, run) => self.claim_run(at, run)?,
            Act::Proceed(at) => self.proceed(fleet, at)?,
            Act::Renew(at) => {
                let worker = self.workers[at]?;
                let renewed = self.primary.leases[worker.run]?.renew(worker.epoch, stamp(self.now + LEASE))?;
                self.primary.leases[worker.run] = Some(renewed);
            }
            Act::Seal(at) => {
                let worker = self.workers[at].take()?;
                let _ = self.primary.seal_run(worker, fleet.without);
            }
            Act::Die(at) => {
                self.workers[at].take()?;
            }
            Act::TakeOver(at, run) => self.take_over(at, run)?,
            Act::Cancel(run) => self.primary.turns[run] = self.primary.turns[run].cancel().0,
            Act::Replicate => self.standby = self.primary.clone(),
            Act::FailOver => {
                self.primary = Base { timeline: self.primary.timeline + 1, ..self.standby.clone() };
                self.standby = self.primary.clone();
            }
            Act::Vouch => self.vouched = self.primary.timeline,
        }
        // States that differ in the names of the workers alone are one.
        self.workers.sort_unstable();
        Some(())
    }

    /// One worker has an epoch, as long as no failover gave the epoch away again.
    fn shares_epoch(&self) -> bool {
        let [Some(first), Some(second)] = self.workers else { return false };
        self.primary.timeline == 1 && (first.run, first.epoch) == (second.run, second.epoch)
    }
}

impl Model for Fleet {
    type State = State;
    type Action = Act;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            now: 0,
            primary: Base::new(),
            standby: Base::new(),
            witness: None,
            workers: [None; 2],
            vouched: 1,
            tokens: 0,
            engines: 0,
            engine_too_late: false,
            used_unvouched: false,
        }]
    }

    fn actions(&self, state: &State, acts: &mut Vec<Act>) {
        acts.extend((state.now < self.ticks).then_some(Act::Tick));
        for (at, worker) in state.workers.iter().enumerate() {
            match worker.map(|worker| worker.step) {
                None => acts.extend((0..self.runs).flat_map(|run| [Act::Claim(at, run), Act::TakeOver(at, run)])),
                Some(Step::Working | Step::TakenOver) => acts.push(Act::Seal(at)),
                Some(_) => acts.push(Act::Proceed(at)),
            }
            if worker.is_some() && self.has_more_steps {
                acts.extend([Act::Renew(at), Act::Die(at)]);
            }
        }
        if self.has_more_steps {
            acts.extend((0..self.runs).map(Act::Cancel));
        }
        if self.can_fail_over && state.primary.timeline == 1 {
            // Of several copies the last one counts.
            acts.extend((state.standby == Base::new()).then_some(Act::Replicate));
            acts.push(Act::FailOver);
        }
        acts.extend((state.vouched != state.primary.timeline).then_some(Act::Vouch));
    }

    fn next_state(&self, last: &State, act: Act) -> Option<State> {
        let mut next = last.clone();
        next.take_step(*self, act)?;
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_ENGINE, |_, state: &State| state.engines <= 1),
            Property::always(IN_TIME, |_, state: &State| !state.engine_too_late),
            Property::always(NO_LATE_RESULT, |_, state: &State| {
                (0..RUNS).all(|run| state.primary.seals[run].iter().all(|epoch| *epoch == state.primary.given[run]))
            }),
            Property::always(VOUCHED, |_, state: &State| !state.used_unvouched),
            Property::always("a run is sealed once, after its start", |_, state: &State| {
                let base = &state.primary;
                (0..RUNS).all(|run| base.seals[run].len() == usize::from(base.turns[run].state == QueueState::Sealed))
            }),
            Property::always("one worker has an epoch", |_, state: &State| !state.shares_epoch()),
            Property::sometimes("an engine begins", |_, state: &State| state.engines == 1),
            Property::sometimes("a worker has an epoch that has passed", |_, state: &State| {
                state.workers.iter().flatten().any(|worker| worker.epoch < state.primary.given[worker.run])
            }),
            Property::sometimes("a run is sealed by another worker", |_, state: &State| {
                (0..RUNS).any(|run| state.primary.seals[run].last() > Some(&state.primary.turns[run].epoch))
            }),
        ]
    }
}

const ONE_ENGINE: &str = "one engine begins with an approval";
const IN_TIME: &str = "no engine begins for a run that another worker took over on its timeline";
const NO_LATE_RESULT: &str = "no result counts under an epoch that has passed";
const VOUCHED: &str = "no approval is used on a timeline that nobody vouched for";

#[test]
fn no_history_breaks_a_promise_of_the_queue() {
    for fleet in [ONE_RUN, FAILOVER] {
        let checked = fleet.checker().threads(2).spawn_bfs().join();
        checked.assert_properties();
        println!("{} states", checked.unique_state_count());
    }
}

/// Each defence is needed: without it the checker finds the history that it prevents.
#[test]
fn without_a_defence_the_checker_finds_the_broken_promise() {
    for (defence, fleet, broken) in [
        (Defence::Witness, FAILOVER, ONE_ENGINE),
        (Defence::Timeline, FAILOVER, VOUCHED),
        (Defence::Deadline, ONE_RUN, IN_TIME),
        (Defence::Epoch, ONE_RUN, NO_LATE_RESULT),
    ] {
        let fleet = Fleet { without: Some(defence), ..fleet };
        let found = HasDiscoveries::AllOf([broken].into());
        let checked = fleet.checker().finish_when(found).threads(2).spawn_bfs().join();
        assert!(checked.discovery(broken).is_some(), "{defence:?}: {} states", checked.unique_state_count());
    }
}
