//! The queue of a store against the pure rules: random histories, many workers at once, and each refusal.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::fixtures::{TIME, at, digest, run, sealed, started};
use crate::world::{World, open_at};
use contract::task::RetryRule;
use contract::{Digest, Reason, RunId, Stage, Stamp};
use ledger::{
    AppendEntryError, CancelledTurn, ClaimAsk, LeaseBeat, LeaseRenewal, Ledger, MoveLedgerError, QueueLimits,
    QueueOrder, QueueRefusal, QueueState, QueueTurn, QueuedRun, RunIntent, RunSealed, RunStarted, pick_turn,
};
use serde_json::json;

const LEASE: Duration = Duration::from_secs(30);

pub(crate) fn order(suffix: &str) -> QueueOrder {
    QueueOrder {
        run_id: run(suffix),
        task_id: "r1".to_owned().try_into().unwrap(),
        engine: "fake".to_owned(),
        stage: Stage::ARTIFICIAL_FIXTURE,
        contract_sha256: digest("cc"),
        workspace: String::new(),
        target_key: None,
        priority: 0,
        after: None,
        not_before: None,
        labels: Vec::new(),
        retry: None,
        retry_of: None,
        attempt: 0,
        detail: json!({"task": "r1"}),
    }
}

pub(crate) fn ask(now: Stamp) -> ClaimAsk {
    let (engines, labels, limits) = (None, Vec::new(), QueueLimits::default());
    ClaimAsk { owner: digest("0a"), engines, labels, limits, lease: LEASE, now }
}

fn start(ledger: &Ledger, run_id: &RunId, epoch: Option<u64>, now: Stamp) -> Result<(), AppendEntryError> {
    let plain = started(run_id, 0);
    let intent = RunIntent { owner: Some(digest("0a")), epoch, ..plain.intent };
    ledger.run_started(&RunStarted { time: now, lease_until: Some(now.after(LEASE)), intent, ..plain }).map(drop)
}

fn seal(ledger: &Ledger, run_id: &RunId, epoch: u64) -> Result<(), AppendEntryError> {
    ledger.run_sealed(&RunSealed { epoch: Some(epoch), ..sealed(run_id) }).map(drop)
}

/// Numbers that are the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// The queue as the rules have it, and every turn that a worker was ever given.
struct Model {
    rows: Vec<QueuedRun>,
    given: Vec<(usize, u64)>,
    starts: BTreeSet<usize>,
    now: Stamp,
}

impl Model {
    fn put(&mut self, index: usize, turn: QueueTurn) {
        let row = &mut self.rows[index];
        (row.state, row.epoch, row.owner) = (turn.state, turn.epoch, turn.owner);
        (row.lease_until, row.stopping) = (turn.lease_until, turn.stopping);
    }

    fn submit(&mut self, ledger: &Ledger, dice: &mut Dice) {
        let number = self.rows.len();
        let others: Vec<RunId> = self.rows.iter().map(|row| row.run_id.clone()).collect();
        let after = (!others.is_empty() && dice.below(4) == 0).then(|| dice.pick(&others));
        let wanted = QueueOrder {
            engine: dice.pick(&["fake", "other"]).to_owned(),
            workspace: dice.pick(&["", "/w"]).to_owned(),
            target_key: dice.pick(&[None, None, Some("t1"), Some("t2")]).map(str::to_owned),
            priority: i32::try_from(dice.below(3)).unwrap() - 1,
            labels: dice.pick(&[vec![], vec!["gpu".to_owned()]]),
            not_before: (dice.below(5) == 0).then(|| self.now.after(Duration::from_secs(20))),
            after,
            ..order(&format!("{number:04}"))
        };
        let position = ledger.queue_submitted(&wanted, self.now).unwrap();
        let QueueOrder { run_id, task_id, engine, stage, workspace, target_key, priority, labels, .. } = wanted.clone();
        let QueueTurn { state, epoch, owner, lease_until, stopping } = QueueTurn::SUBMITTED;
        self.rows.push(QueuedRun {
            run_id,
            task_id,
            engine,
            stage,
            state,
            epoch,
            owner,
            lease_until,
            priority,
            after: wanted.after.clone(),
            not_before: wanted.not_before,
            target_key,
            labels,
            workspace,
            submitted_at: self.now,
            started_at: None,
            stopping,
            seq: position.seq,
        });
        assert_eq!(ledger.queue_order(&self.rows[number]).unwrap(), wanted, "as the entry has it");
    }

    fn claim(&mut self, ledger: &Ledger, dice: &mut Dice) {
        let limits = match dice.below(3) {
            0 => QueueLimits { engines: [("fake".to_owned(), 1)].into(), workspace: Some(2), day: None },
            1 => QueueLimits { day: Some(4), ..QueueLimits::default() },
            _ => QueueLimits::default(),
        };
        let wanted = ClaimAsk {
            owner: dice.pick(&[digest("0a"), digest("0b"), digest("0c")]),
            engines: dice.pick(&[None, Some(vec!["fake".to_owned()])]),
            labels: dice.pick(&[vec![], vec!["gpu".to_owned(), "more".to_owned()]]),
            limits,
            ..ask(self.now)
        };
        for index in 0..self.rows.len() {
            self.put(index, self.rows[index].turn().lapse(self.now));
        }
        let picked = pick_turn(&self.rows, &wanted, &|_| false).map(|row| row.run_id.clone());
        let got = ledger.queue_claimed(&wanted).unwrap();
        assert_eq!(got.as_ref().map(|row| &row.run_id), picked.as_ref(), "{wanted:?}");
        if let Some(index) = self.rows.iter().position(|row| Some(&row.run_id) == picked.as_ref()) {
            let turn = self.rows[index].turn().claim_run(wanted.owner, self.now.after(LEASE)).unwrap();
            self.put(index, turn);
            self.given.push((index, turn.epoch));
            assert_eq!(got.as_ref(), Some(&self.rows[index]));
        }
    }

    fn start(&mut self, ledger: &Ledger, dice: &mut Dice) {
        if self.given.is_empty() {
            return;
        }
        let (index, epoch) = dice.pick(&self.given);
        let (row, now) = (self.rows[index].clone(), self.now);
        if row.state == QueueState::Started || row.state == QueueState::Sealed {
            return;
        }
        let got = start(ledger, &row.run_id, Some(epoch), now);
        match row.turn().start_run(epoch, now) {
            Ok(turn) => {
                got.unwrap();
                assert!(self.starts.insert(index), "{} is started twice", row.run_id);
                self.put(index, QueueTurn { lease_until: Some(now.after(LEASE)), owner: Some(digest("0a")), ..turn });
                self.rows[index].started_at = Some(now);
            }
            Err(why) => {
                assert!(matches!(got, Err(AppendEntryError::TurnRefused { why: said, .. }) if said == why), "{got:?}");
            }
        }
    }

    fn seal(&mut self, ledger: &Ledger, dice: &mut Dice) {
        let started: Vec<usize> =
            (0..self.rows.len()).filter(|at| self.rows[*at].state == QueueState::Started).collect();
        if started.is_empty() {
            return;
        }
        let index = dice.pick(&started);
        let row = self.rows[index].clone();
        let epoch = dice.pick(&[row.epoch, row.epoch - 1, row.epoch]);
        let got = seal(ledger, &row.run_id, epoch);
        if epoch == row.epoch {
            got.unwrap();
            self.put(index, row.turn().seal());
        } else {
            assert!(matches!(got, Err(AppendEntryError::LeaseLost { .. })), "{got:?}");
        }
    }

    /// An instance that finds a started run whose lease has lapsed.
    fn take_over(&mut self, ledger: &Ledger) {
        for index in 0..self.rows.len() {
            let row = self.rows[index].clone();
            let Some(until) = row.lease_until.filter(|_| row.state == QueueState::Started) else { continue };
            let owner: Digest = digest("0d");
            let got = ledger.lease_taken_over(&row.run_id, owner, self.now, self.now.after(LEASE)).unwrap();
            let lapsed = until <= self.now;
            assert_eq!(got, lapsed.then_some(row.epoch + 1));
            if lapsed {
                let lease_until = Some(self.now.after(LEASE));
                self.put(index, QueueTurn { epoch: row.epoch + 1, owner: Some(owner), lease_until, ..row.turn() });
            }
        }
    }

    /// A worker that cannot run what it claimed once: it takes the run out, or gives the claim back.
    fn refuse_or_give_back(&mut self, ledger: &Ledger, dice: &mut Dice) {
        if self.given.is_empty() {
            return;
        }
        let (index, epoch) = dice.pick(&self.given);
        let (turn, run_id, now) = (self.rows[index].turn(), self.rows[index].run_id.clone(), self.now);
        let pause = Duration::from_secs(5);
        let (made, got) = match dice.below(4) {
            0 => (turn.refuse_run(epoch), ledger.queue_refused(&run_id, epoch, now, &json!({}))),
            _ => (turn.give_back(epoch, now.after(pause)), ledger.queue_given_back(&run_id, epoch, now, pause)),
        };
        match made {
            Ok(turn) => {
                got.unwrap();
                self.put(index, turn);
            }
            Err(why) => {
                assert!(matches!(got, Err(AppendEntryError::TurnRefused { why: said, .. }) if said == why), "{got:?}");
            }
        }
    }

    fn cancel(&mut self, ledger: &Ledger, dice: &mut Dice) {
        if self.rows.is_empty() {
            return;
        }
        let index = dice.below(self.rows.len());
        let (turn, outcome) = self.rows[index].turn().cancel();
        let got = ledger.queue_cancelled(&self.rows[index].run_id, self.now, &json!({"why": "w"})).unwrap();
        assert_eq!(got, outcome);
        self.put(index, turn);
    }
}

fn play(seed: u64, steps: usize) {
    let world = World::new();
    let ledger = world.open();
    let mut dice = Dice(seed);
    let mut model = Model { rows: Vec::new(), given: Vec::new(), starts: BTreeSet::new(), now: *TIME };
    world.set_clock(model.now);
    for step in 0..steps {
        match dice.below(22) {
            0..5 => model.submit(&ledger, &mut dice),
            5..10 => model.claim(&ledger, &mut dice),
            10..15 => model.start(&ledger, &mut dice),
            15..18 => model.seal(&ledger, &mut dice),
            18 => model.take_over(&ledger),
            19 => model.cancel(&ledger, &mut dice),
            20 => model.refuse_or_give_back(&ledger, &mut dice),
            _ => {
                model.now = model.now.after(Duration::from_secs(u64::try_from(dice.below(40)).unwrap()));
                world.set_clock(model.now);
            }
        }
        let mut rows = ledger.queue_runs(true, 1000).unwrap();
        rows.sort_by_key(|row| row.seq);
        assert_eq!(rows, model.rows, "seed {seed}, step {step}");
    }
    assert!(model.starts.len() > 2, "control: the history has runs that start");
    assert_eq!(ledger.verify().unwrap().problems, vec![]);
}

#[test]
fn random_histories_are_those_of_the_rules() {
    for seed in 1..=World::HISTORIES {
        play(seed, 220);
    }
}

#[test]
fn no_two_workers_get_one_run() {
    let world = World::new();
    let ledger = world.open();
    world.set_clock(*TIME);
    for number in 0..40 {
        ledger.queue_submitted(&order(&format!("{number:04}")), *TIME).unwrap();
    }
    let place = world.place();
    let taken: Vec<RunId> = std::thread::scope(|scope| {
        let work = |_| {
            let place = &place;
            scope.spawn(move || {
                let ledger = open_at(place);
                let take = || ledger.queue_claimed(&ask(*TIME)).unwrap().map(|row| row.run_id);
                std::iter::from_fn(take).collect::<Vec<_>>()
            })
        };
        let workers: Vec<_> = (0..8).map(work).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!((taken.len(), taken.iter().collect::<BTreeSet<_>>().len()), (40, 40));
}

/// Limits and targets hold even if many workers ask at once.
#[test]
fn no_limit_is_passed_by_asking_at_once() {
    for (target, limits) in [
        (Some("one"), QueueLimits::default()),
        (None, QueueLimits { engines: [("fake".to_owned(), 1)].into(), ..QueueLimits::default() }),
        (None, QueueLimits { workspace: Some(1), ..QueueLimits::default() }),
        (None, QueueLimits { day: Some(1), ..QueueLimits::default() }),
        (None, QueueLimits::default()),
    ] {
        let world = World::new();
        let ledger = world.open();
        world.set_clock(*TIME);
        for number in 0..8 {
            let target_key = target.map(str::to_owned);
            ledger.queue_submitted(&QueueOrder { target_key, ..order(&format!("{number:04}")) }, *TIME).unwrap();
        }
        let (place, asked) = (world.place(), ClaimAsk { limits: limits.clone(), ..ask(*TIME) });
        let taken: usize = std::thread::scope(|scope| {
            let work = |_| scope.spawn(|| usize::from(open_at(&place).queue_claimed(&asked).unwrap().is_some()));
            let workers: Vec<_> = (0..8).map(work).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        let control = target.is_none() && limits.is_empty();
        assert_eq!(taken, if control { 8 } else { 1 }, "{target:?} {limits:?}");
    }
}

#[test]
fn an_old_epoch_starts_nothing_and_is_recorded() {
    let world = World::new();
    let ledger = world.open();
    world.set_clock(*TIME);
    ledger.queue_submitted(&order("aaaa"), *TIME).unwrap();
    let refused = start(&ledger, &run("aaaa"), None, *TIME);
    assert!(matches!(refused, Err(AppendEntryError::TurnRefused { .. })), "nobody has claimed it: {refused:?}");
    let first = ledger.queue_claimed(&ask(*TIME)).unwrap().unwrap();
    let later = TIME.after(LEASE);
    world.set_clock(later);
    let refused = start(&ledger, &run("aaaa"), Some(1), later);
    let lapsed = |why: &QueueRefusal| *why == QueueRefusal::Lapsed;
    assert!(matches!(&refused, Err(AppendEntryError::TurnRefused { why, .. }) if lapsed(why)), "{refused:?}");
    let second = ledger.queue_claimed(&ask(later)).unwrap().unwrap();
    assert_eq!((first.epoch, second.epoch, &second.run_id), (1, 2, &first.run_id));
    let refused = start(&ledger, &run("aaaa"), Some(1), later);
    assert!(matches!(refused, Err(AppendEntryError::TurnRefused { .. })), "{refused:?}");
    ledger.late_refused(&run("aaaa"), 1, later, &json!({"step": "start"})).unwrap();
    start(&ledger, &run("aaaa"), Some(2), later).expect("control: the epoch that holds");
    let engine = |epoch| {
        let renewal = LeaseRenewal { epoch, until: later };
        ledger.engine_starting(&run("aaaa"), Some(renewal), later, &json!({}), None)
    };
    assert!(matches!(engine(1), Err(AppendEntryError::LeaseLost { epoch: 1, held: 2, .. })));
    engine(2).expect("control");
    assert!(matches!(seal(&ledger, &run("aaaa"), 1), Err(AppendEntryError::LeaseLost { .. })));
    seal(&ledger, &run("aaaa"), 2).unwrap();
    let row = ledger.queue_run(&run("aaaa")).unwrap().unwrap();
    assert_eq!((row.state, row.epoch, row.lease_until), (QueueState::Sealed, 2, None));
    assert!(matches!(start(&ledger, &run("bbbb"), Some(1), later), Err(AppendEntryError::TurnRefused { .. })));
    start(&ledger, &run("bbbb"), None, later).expect("control: a run that was never submitted");
    assert_eq!(ledger.verify().unwrap().problems, vec![]);
}

/// A run is repeated as a new run that names the old one, as often as the rule of its contract says, and for its reasons alone.
#[test]
fn a_run_is_repeated_as_often_as_its_rule_says() {
    let rule = |reason: Reason| Some(RetryRule { attempts: 2, on: vec![reason] });
    for (retry, is_cancelled, runs) in [
        (rule(Reason::NoDiff), false, 3),
        (rule(Reason::ProviderUnavailable), false, 1),
        (None, false, 1),
        (rule(Reason::NoDiff), true, 1),
    ] {
        let world = World::new();
        let ledger = world.open();
        let now = at("2026-03-02T10:00:00.000000Z");
        world.set_clock(now);
        ledger.queue_submitted(&QueueOrder { retry: retry.clone(), ..order("aaaa") }, *TIME).unwrap();
        let mut ran: Vec<RunId> = Vec::new();
        while let Some(claimed) = ledger.queue_claimed(&ask(now)).unwrap() {
            let order = ledger.queue_order(&claimed).unwrap();
            assert_eq!((order.retry_of.as_ref(), usize::from(order.attempt)), (ran.last(), ran.len()));
            start(&ledger, &claimed.run_id, Some(1), now).unwrap();
            if is_cancelled {
                ledger.queue_cancelled(&claimed.run_id, now, &json!({})).unwrap();
            }
            seal(&ledger, &claimed.run_id, 1).unwrap();
            seal(&ledger, &claimed.run_id, 1).expect("saying it again repeats nothing");
            ran.push(claimed.run_id);
        }
        assert_eq!(ran.len(), runs, "{retry:?} {is_cancelled}: {ran:?}");
        assert_eq!(ledger.verify().unwrap().problems, vec![]);
    }
}

/// A worker whose claim lapsed neither takes out nor gives back what another has by now, whether that has started or not.
#[test]
fn an_old_epoch_takes_nothing_out_and_gives_nothing_back() {
    for has_started in [false, true] {
        let world = World::new();
        let ledger = world.open();
        world.set_clock(*TIME);
        ledger.queue_submitted(&order("aaaa"), *TIME).unwrap();
        ledger.queue_claimed(&ask(*TIME)).unwrap().unwrap();
        let later = TIME.after(LEASE);
        world.set_clock(later);
        assert_eq!(ledger.queue_claimed(&ask(later)).unwrap().unwrap().epoch, 2);
        if has_started {
            start(&ledger, &run("aaaa"), Some(2), later).unwrap();
        }
        let before = (ledger.queue_run(&run("aaaa")).unwrap(), ledger.head().unwrap());
        let refuse = |epoch| ledger.queue_refused(&run("aaaa"), epoch, later, &json!({}));
        let give_back = |epoch| ledger.queue_given_back(&run("aaaa"), epoch, later, Duration::from_secs(1));
        for got in [refuse(1), give_back(1)] {
            let why = QueueRefusal::OldEpoch { epoch: 1, held: 2 };
            assert!(matches!(got, Err(AppendEntryError::TurnRefused { why: said, .. }) if said == why), "{got:?}");
        }
        assert_eq!((ledger.queue_run(&run("aaaa")).unwrap(), ledger.head().unwrap()), before);
        if has_started {
            assert!(refuse(2).is_err() && give_back(2).is_err(), "it is not only claimed any more");
            continue;
        }
        give_back(2).expect("control: the epoch that holds");
        let soon = later.after(Duration::from_secs(1));
        world.set_clock(soon);
        assert_eq!(
            ledger.queue_claimed(&ask(soon)).unwrap().unwrap().epoch,
            3,
            "long before the lease would have lapsed"
        );
        refuse(3).expect("control: the epoch that holds");
        assert_eq!(ledger.queue_run(&run("aaaa")).unwrap().unwrap().state, QueueState::Cancelled);
        assert_eq!(ledger.verify().unwrap().problems, vec![]);
    }
}

/// A worker that waits notices a run that somebody submits, without asking for one again and again.
#[test]
fn a_change_of_the_queue_is_noticed() {
    let world = World::new();
    let (ours, theirs) = (world.open(), world.open());
    let mark = || ours.queue_mark().unwrap();
    mark();
    for suffix in ["aaaa", "bbbb"] {
        let before = mark();
        assert_eq!(mark(), before, "control: nothing has happened");
        theirs.queue_submitted(&order(suffix), *TIME).unwrap();
        let begun = Instant::now();
        while mark() == before {
            assert!(begun.elapsed() < Duration::from_secs(10), "nothing was noticed");
        }
    }
}

/// A heartbeat renews its own epoch, and says that somebody wants the run to stop.
#[test]
fn a_heartbeat_keeps_its_own_epoch() {
    let world = World::new();
    let ledger = world.open();
    world.set_clock(*TIME);
    ledger.queue_submitted(&order("aaaa"), *TIME).unwrap();
    ledger.queue_claimed(&ask(*TIME)).unwrap().unwrap();
    start(&ledger, &run("aaaa"), Some(1), *TIME).unwrap();
    let (soon, long) = (TIME.after(LEASE / 2), LEASE * 3);
    world.set_clock(soon);
    let beat = |epoch| ledger.lease_kept(&run("aaaa"), epoch, long, soon).unwrap();
    assert_eq!(beat(1), LeaseBeat { is_held: true, is_stopping: false });
    assert_eq!(ledger.lease(&run("aaaa")).unwrap().unwrap().until, soon.after(long));
    assert_eq!(beat(2), LeaseBeat { is_held: false, is_stopping: false });
    ledger.queue_cancelled(&run("aaaa"), soon, &json!({})).unwrap();
    assert_eq!(beat(1), LeaseBeat { is_held: true, is_stopping: true });
    seal(&ledger, &run("aaaa"), 1).unwrap();
    assert!(!beat(1).is_held, "a sealed run has no lease");
}

#[test]
fn what_is_cancelled_is_not_taken() {
    let world = World::new();
    let ledger = world.open();
    world.set_clock(*TIME);
    for suffix in ["aaaa", "bbbb"] {
        ledger.queue_submitted(&order(suffix), *TIME).unwrap();
    }
    assert!(matches!(ledger.queue_submitted(&order("aaaa"), *TIME), Err(AppendEntryError::AlreadyStarted { .. })));
    let cancel = |suffix: &str| ledger.queue_cancelled(&run(suffix), *TIME, &json!({}));
    assert_eq!(cancel("aaaa").unwrap(), CancelledTurn::Cancelled);
    assert_eq!(cancel("aaaa").unwrap(), CancelledTurn::Over);
    assert!(matches!(cancel("nnnn"), Err(AppendEntryError::NotStarted { .. })));
    assert_eq!(ledger.queue_claimed(&ask(*TIME)).unwrap().unwrap().run_id, run("bbbb"));
    assert_eq!(ledger.queue_claimed(&ask(*TIME)).unwrap(), None);
    start(&ledger, &run("bbbb"), Some(1), *TIME).unwrap();
    assert!(!ledger.queue_stopping(&run("bbbb")).unwrap());
    assert_eq!((cancel("bbbb").unwrap(), cancel("bbbb").unwrap()), (CancelledTurn::Stopping, CancelledTurn::Before));
    assert!(ledger.queue_stopping(&run("bbbb")).unwrap());
}

#[test]
fn a_ledger_whose_queue_waits_is_not_moved() {
    let (world, folder) = (World::new(), tempfile::tempdir().unwrap());
    let ledger = world.open();
    ledger.queue_submitted(&order("aaaa"), *TIME).unwrap();
    let other = Ledger::open_file(&folder.path().join("other.db")).unwrap();
    assert!(matches!(ledger.move_to(&other), Err(MoveLedgerError::RunsWait { runs: 1 })));
    ledger.queue_cancelled(&run("aaaa"), at("2026-03-01T10:00:01Z"), &json!({})).unwrap();
    ledger.queue_submitted(&order("bbbb"), *TIME).unwrap();
    world.set_clock(*TIME);
    assert_eq!(ledger.queue_claimed(&ask(*TIME)).unwrap().unwrap().run_id, run("bbbb"));
    start(&ledger, &run("bbbb"), Some(1), *TIME).unwrap();
    seal(&ledger, &run("bbbb"), 1).unwrap();
    ledger.move_to(&other).expect("control: nothing waits");
    let rows = ledger.queue_runs(true, 9).unwrap();
    assert_eq!((rows.len(), &other.queue_runs(true, 9).unwrap()), (2, &rows), "what ended comes along");
    assert_eq!(other.verify().unwrap().problems, vec![]);
}
