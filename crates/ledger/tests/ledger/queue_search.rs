//! Every history of two workers and one run, by the rules alone: nothing that must not happen can be reached.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::fixtures::{TIME, digest};
use contract::Stamp;
use ledger::{QueueState, QueueTurn};

/// Longer histories repeat these: a lease lasts two ticks.
const TICKS: u64 = 7;
const LEASE: u64 = 2;

/// A worker's knowledge: the epoch that it was given, and how far it went. It may sleep for any time between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Worker {
    epoch: u64,
    has_started: bool,
    is_done: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    turn: QueueTurn,
    now: u64,
    workers: [Option<Worker>; 2],
    starts: u8,
    /// Epochs under which it was sealed.
    seals: Vec<u64>,
    cancelled: bool,
}

fn stamp(tick: u64) -> Stamp {
    TIME.after(Duration::from_secs(tick))
}

impl World {
    /// Every world that one step leads to.
    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        if self.now < TICKS {
            next.push(Self { now: self.now + 1, ..self.clone() });
        }
        next.push(Self { turn: self.turn.lapse(stamp(self.now)), ..self.clone() });
        if !self.cancelled {
            next.push(Self { turn: self.turn.cancel().0, cancelled: true, ..self.clone() });
        }
        for (index, worker) in self.workers.iter().enumerate() {
            match worker {
                None => next.extend(self.claim(index)),
                Some(worker) if worker.is_done => next.push(self.with(index, None)),
                Some(worker) if worker.has_started => next.extend(self.seal(index, *worker)),
                Some(worker) => next.push(self.start(index, *worker)),
            }
        }
        next.extend(self.take_over());
        next
    }

    fn with(&self, index: usize, worker: Option<Worker>) -> Self {
        let mut other = self.clone();
        other.workers[index] = worker;
        other
    }

    fn claim(&self, index: usize) -> Option<Self> {
        let turn = self.turn.lapse(stamp(self.now)).claim_run(digest("0a"), stamp(self.now + LEASE))?;
        let worker = Worker { epoch: turn.epoch, has_started: false, is_done: false };
        Some(Self { turn, ..self.with(index, Some(worker)) })
    }

    fn start(&self, index: usize, worker: Worker) -> Self {
        match self.turn.start_run(worker.epoch, stamp(self.now)) {
            Ok(turn) => {
                let turn = QueueTurn { lease_until: Some(stamp(self.now + LEASE)), ..turn };
                let world = self.with(index, Some(Worker { has_started: true, ..worker }));
                Self { turn, starts: self.starts + 1, ..world }
            }
            Err(_) => self.with(index, Some(Worker { is_done: true, ..worker })),
        }
    }

    /// Seals, or finds that its epoch has gone and leaves everything as it is.
    fn seal(&self, index: usize, worker: Worker) -> Option<Self> {
        let mut world = self.with(index, Some(Worker { is_done: true, ..worker }));
        if self.turn.epoch == worker.epoch && self.turn.state == QueueState::Started {
            world.turn = self.turn.seal();
            world.seals.push(worker.epoch);
        }
        Some(world)
    }

    /// A worker that finds a started run whose lease has lapsed raises the epoch and seals it.
    fn take_over(&self) -> Option<Self> {
        let lapsed = self.turn.state == QueueState::Started && self.turn.lease_until? <= stamp(self.now);
        let epoch = self.turn.epoch + 1;
        let mut world = Self { turn: QueueTurn { epoch, ..self.turn }.seal(), ..self.clone() };
        world.seals.push(epoch);
        lapsed.then_some(world)
    }

    fn check(&self) {
        assert!(self.starts <= 1, "started twice: {self:#?}");
        assert!(self.seals.len() <= 1, "sealed twice: {self:#?}");
        assert_eq!(self.turn.state == QueueState::Sealed, self.seals.len() == 1, "{self:#?}");
        assert_eq!(self.starts == 1, matches!(self.turn.state, QueueState::Started | QueueState::Sealed), "{self:#?}");
        let claims = self.workers.iter().flatten().filter(|worker| worker.epoch == self.turn.epoch);
        assert!(claims.count() <= 1, "two hold one epoch: {self:#?}");
    }
}

#[test]
fn every_history_of_two_workers_starts_and_seals_a_run_at_most_once() {
    let first = World {
        turn: QueueTurn::SUBMITTED,
        now: 0,
        workers: [None; 2],
        starts: 0,
        seals: Vec::new(),
        cancelled: false,
    };
    let mut seen = BTreeSet::from([first.clone()]);
    let mut left = vec![first];
    while let Some(world) = left.pop() {
        world.check();
        left.extend(world.next().into_iter().filter(|next| seen.insert(next.clone())));
    }
    let ends: BTreeSet<QueueState> = seen.iter().map(|world| world.turn.state).collect();
    assert_eq!(ends.len(), QueueState::ALL.len(), "control: every state is reached: {ends:?}");
    assert!(seen.iter().any(|world| world.turn.epoch > 3), "control: claims lapse again and again");
    let late = |world: &World| {
        let gone = |worker: &Worker| worker.has_started && worker.is_done && !world.seals.contains(&worker.epoch);
        world.workers.iter().flatten().any(gone)
    };
    assert!(seen.iter().any(late), "control: a worker comes too late");
}
