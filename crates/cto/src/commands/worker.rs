//! `cto worker`: takes runs from the queue and runs them, as `cto run` would.
//!
//! Each slot is a thread with a connection of its own, and runs one run at a time. The first thread looks for signals: the first one
//! drains, the second one interrupts. Another thread seals what others left.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

use contract::Purpose;
use harness::{
    ClaimedTurn, GovernError, Harness, MachinePlace, People, Quiet, RunClock, Watch, WorkerPlace, govern_claimed,
};
use ledger::{AppendEntryError, ClaimAsk, Ledger, QueuedRun, ReadLedgerError};
use serde_json::{Value, json};
use views::WorkerKeys;

use super::INTERRUPTED;
use super::submit::QueuedAsk;
use crate::args::WorkerArgs;
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};

/// The shortest wait of a slot that found nothing.
const SHORTEST_WAIT: Duration = Duration::from_millis(20);

/// Questions of an idle slot in the time of one lease. Whatever changes the queue wakes the slot, and the ledger names the time of everything
/// else: a thousand idle workers are no load.
const IDLE_LOOKS: u32 = 4;

/// Pause between two looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// A lease, where the configuration says nothing of it.
const LEASE: Duration = Duration::from_secs(60);

/// Bytes of a slot's stack, as the first thread has.
const STACK: usize = 8 << 20;

/// The first pause of a slot, and of a run, after a fault. Each is twice as long as the one before, up to a lease.
const FIRST_TROUBLE: Duration = Duration::from_secs(1);

/// Claims after which a run that nobody could start is taken out of the queue.
const MOST_CLAIMS: u64 = 100;

/// The outcome of one look of a slot.
enum Served {
    /// A run was claimed, and has ended or is somebody else's.
    Run,
    /// There is no run for this worker now.
    Nothing,
    /// The queue has no run left, and the worker was told to end then.
    Empty,
    /// Somebody has removed this machine.
    Removed,
}

/// Place of a slot within the limit of the machine; without a limit nothing is held.
struct SlotPlace {
    _held: Option<MachinePlace>,
}

struct Worker<'a> {
    context: &'a Context,
    harness: &'a Harness,
    arguments: &'a WorkerArgs,
    lease: Duration,
    place: WorkerPlace,
    /// Nothing new is taken.
    draining: AtomicBool,
    /// A signal has come.
    signalled: AtomicBool,
    /// Runs are interrupted and sealed.
    interrupt: AtomicBool,
    /// Every slot has ended.
    ended: AtomicBool,
}

/// Takes runs from the queue until a signal, or an empty queue, ends it.
pub(crate) fn worker(context: &Context, arguments: &WorkerArgs) -> Result<u8, CommandError> {
    for engine in arguments.engines.iter().flatten() {
        context.known_engine(engine)?;
    }
    let harness = context.harness()?;
    let worker = Worker {
        context,
        harness: &harness,
        arguments,
        lease: context.config.store.lease.unwrap_or(LEASE),
        place: harness.home.register_worker().map_err(CommandError::blocked_with)?,
        draining: AtomicBool::new(false),
        signalled: AtomicBool::new(false),
        interrupt: AtomicBool::new(false),
        ended: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        let begin = |_| Builder::new().stack_size(STACK).spawn_scoped(scope, || worker.serve_slot());
        let slots = (0..arguments.slots).map(begin).collect::<io::Result<Vec<_>>>();
        if slots.is_err() {
            worker.draining.store(true, Ordering::Relaxed);
        }
        let slots = slots?;
        scope.spawn(|| worker.look_for_left());
        worker.attend(&slots);
        worker.ended.store(true, Ordering::Relaxed);
        let ended_early = |_| Err(CommandError::blocked_with("a slot ended early"));
        slots.into_iter().try_for_each(|slot| slot.join().unwrap_or_else(ended_early))
    })?;
    Ok(if worker.interrupt.load(Ordering::Relaxed) { INTERRUPTED } else { 0 })
}

impl Worker<'_> {
    /// Looks for signals until every slot has ended.
    fn attend(&self, slots: &[ScopedJoinHandle<'_, Result<(), CommandError>>]) {
        while !slots.iter().all(ScopedJoinHandle::is_finished) {
            std::thread::sleep(LOOK);
            if self.context.cancel.swap(false, Ordering::Relaxed) {
                self.heed_signal();
            }
            if !self.draining.load(Ordering::Relaxed) && self.place.must_drain() {
                self.drain();
            }
        }
    }

    /// Looks for runs that others left, or whose bundle could not be handed in, until every slot has ended. On a thread of its own,
    /// since a store that is away keeps it waiting.
    fn look_for_left(&self) {
        let mut looked = Instant::now();
        while !self.ended.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            if looked.elapsed() > self.lease / 2 {
                self.recover();
                looked = Instant::now();
            }
        }
    }

    /// The first signal drains, also after `cto drain`, and the second one interrupts.
    fn heed_signal(&self) {
        if self.signalled.swap(true, Ordering::Relaxed) {
            self.interrupt.store(true, Ordering::Relaxed);
            self.context.output.print_note("interrupting: what runs is sealed as interrupted\n");
        } else {
            self.drain();
        }
    }

    fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.context.output.print_note("draining: nothing new is taken; a second signal interrupts\n");
    }

    /// Seals runs of workers that died, and of other homes whose leases have lapsed. What cannot be done now is tried again.
    fn recover(&self) {
        if let Err(error) = self.context.recover_runs(self.harness) {
            self.note_trouble(&error);
        }
    }

    fn note_trouble(&self, error: &CommandError) {
        self.context.output.print_note(&format!("{}\n", contract::text::shown_lines(&error.message)));
    }

    /// Takes one run after the other. The worker reports a fault and waits: a slot ends when it drains, or with the queue.
    fn serve_slot(&self) -> Result<(), CommandError> {
        let (mut wait, mut trouble) = (SHORTEST_WAIT, FIRST_TROUBLE);
        let Some(ledger) = self.open_ledger() else { return Ok(()) };
        while !self.draining.load(Ordering::Relaxed) {
            // Before the question, so that what comes after it is noticed.
            let mark = ledger.queue_mark().ok();
            match self.serve_next(&ledger) {
                Ok(Served::Run) => {
                    (wait, trouble) = (SHORTEST_WAIT, FIRST_TROUBLE);
                    continue;
                }
                Ok(Served::Empty) => return Ok(()),
                Ok(Served::Removed) => return self.end_removed(&ledger),
                Ok(Served::Nothing) => {
                    let longest =
                        ledger.queue_pause(self.lease / IDLE_LOOKS).unwrap_or(SHORTEST_WAIT).max(SHORTEST_WAIT);
                    self.pause(wait.min(longest), || mark == ledger.queue_mark().ok());
                    wait = (wait * 2).min(self.lease);
                }
                // What fails here fails again: others get the time to take the run.
                Err(error) => {
                    self.note_trouble(&error);
                    self.pause(trouble, || true);
                    trouble = (trouble * 2).min(self.lease);
                }
            }
        }
        Ok(())
    }

    /// Ends all slots of a machine that was removed.
    fn end_removed(&self, ledger: &Ledger) -> Result<(), CommandError> {
        self.draining.store(true, Ordering::Relaxed);
        find_removal(self.context, self.harness, ledger).map_or(Ok(()), Err)
    }

    /// The slot's own connection, as soon as there can be one; `None` where the worker drains before.
    fn open_ledger(&self) -> Option<Ledger> {
        while !self.draining.load(Ordering::Relaxed) {
            match self.harness.home.ledger() {
                Ok(ledger) => return Some(ledger),
                Err(error) => self.note_trouble(&error.into()),
            }
            self.pause(FIRST_TROUBLE, || true);
        }
        None
    }

    fn serve_next(&self, ledger: &Ledger) -> Result<Served, CommandError> {
        if find_removal(self.context, self.harness, ledger).is_some() {
            return Ok(Served::Removed);
        }
        let Some(_place) = self.take_place()? else { return Ok(Served::Nothing) };
        match self.take(ledger)? {
            Some(run) => self.run_claimed(ledger, &run).map(|()| Served::Run),
            None if self.arguments.until_empty && ledger.queue_runs(false, 1)?.is_empty() => Ok(Served::Empty),
            None => Ok(Served::Nothing),
        }
    }

    /// Sleeps while the queue is as it was, and wakes early to drain.
    fn pause(&self, wait: Duration, is_still: impl Fn() -> bool) {
        let begun = Instant::now();
        while begun.elapsed() < wait && !self.draining.load(Ordering::Relaxed) {
            std::thread::sleep(SHORTEST_WAIT);
            if !is_still() {
                return;
            }
        }
    }

    /// A place within the machine's limit, for as long as the slot has a run; none while other runs of this home fill it.
    fn take_place(&self) -> Result<Option<SlotPlace>, CommandError> {
        let Some(most) = self.context.config.store.machine_limit else { return Ok(Some(SlotPlace { _held: None })) };
        let place = self.harness.home.take_machine_place(most).map_err(CommandError::blocked_with)?;
        Ok(place.map(|place| SlotPlace { _held: Some(place) }))
    }

    /// The run whose turn it is. While the kill switch is set nothing is taken: it would only be refused.
    fn take(&self, ledger: &Ledger) -> Result<Option<QueuedRun>, CommandError> {
        if harness::halted(&self.context.config.home).is_some() {
            return Ok(None);
        }
        let ask = ClaimAsk {
            owner: self.harness.home.instance()?,
            engines: self.arguments.engines.clone(),
            labels: self.arguments.labels.clone(),
            limits: self.context.config.store.queue_limits.clone(),
            lease: self.lease,
            now: RunClock::start_clock().map_err(CommandError::blocked_with)?.started(),
        };
        ledger.queue_claimed(&ask).map_err(|error| CommandError::blocked_with(&error))
    }

    /// Runs it and reports the result. An invalid order is removed from the queue, with the reason. If something else failed
    /// before the run started, the claim is given back for another try.
    fn run_claimed(&self, ledger: &Ledger, run: &QueuedRun) -> Result<(), CommandError> {
        let turn = ClaimedTurn { run_id: run.run_id.clone(), epoch: run.epoch };
        match self.govern(ledger, run, &turn) {
            Ok(told) => {
                self.tell(&told);
                Ok(())
            }
            Err(error) if error.kind != ErrorKind::Blocked || run.epoch >= MOST_CLAIMS => {
                self.refuse(ledger, run, &error)
            }
            Err(error) => {
                let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
                let pause = FIRST_TROUBLE.saturating_mul(1 << run.epoch.min(6)).min(self.lease);
                // An epoch that no longer holds gives nothing back, and a claim that stays lapses by itself.
                let given = ledger.queue_given_back(&run.run_id, run.epoch, now, pause);
                let state = if given.is_ok() { "given_back" } else { "claimed" };
                self.tell(&json!({"epoch": run.epoch, "run_id": run.run_id, "state": state, "why": error.message}));
                Err(error)
            }
        }
    }

    fn refuse(&self, ledger: &Ledger, run: &QueuedRun, why: &CommandError) -> Result<(), CommandError> {
        let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
        let refused = ledger.queue_refused(&run.run_id, run.epoch, now, &json!({"why": why.message}));
        let state = match &refused {
            Ok(()) => "cancelled",
            Err(AppendEntryError::TurnRefused { .. }) => "late",
            Err(error) => return Err(CommandError::blocked_with(error)),
        };
        self.note_trouble(why);
        self.tell(&json!({"epoch": run.epoch, "run_id": run.run_id, "state": state, "why": why.message}));
        Ok(())
    }

    fn govern(&self, ledger: &Ledger, run: &QueuedRun, turn: &ClaimedTurn) -> Result<Value, CommandError> {
        let order = ledger.queue_order(run).map_err(|error| match error {
            ReadLedgerError::Entry { .. } => CommandError::usage(&error),
            other => CommandError::blocked_with(&other),
        })?;
        let queued = serde_json::from_value::<QueuedAsk>(order.detail.clone()).map_err(CommandError::usage)?;
        let task = queued.load_task(self.context, &order)?;
        let mut ask = self.context.build_ask(&queued.asked()?, &task, Purpose::Governed)?;
        ask.timeout_seconds = queued.timeout.into_iter().chain(ask.timeout_seconds).min();
        let watch = Watch { cancel: &self.interrupt, observer: &Quiet };
        let (run_id, epoch) = (&turn.run_id, turn.epoch);
        match govern_claimed(self.harness, &task, &ask, watch, turn) {
            Ok(outcome) => {
                let report = &outcome.sealed.report;
                let (status, reasons) = (report.status, &report.blocker_reasons);
                Ok(json!({"epoch": epoch, "reasons": reasons, "run_id": run_id, "state": "sealed", "status": status}))
            }
            // The run did not start: another try may.
            Err(error @ GovernError::Open(_)) if !is_late(&error) => Err(CommandError::blocked_with(&error)),
            // The present holder of the run ends it; a run that could not be sealed now is found by recovery.
            Err(error) => {
                let state = if is_late(&error) { "late" } else { "failed" };
                Ok(json!({"epoch": epoch, "run_id": run_id, "state": state, "why": error.to_string()}))
            }
        }
    }

    /// Prints it; a reader that went away does not end the worker.
    fn tell(&self, told: &Value) {
        let output = self.context.output;
        if output.json {
            let _ = output.print_json(told);
            return;
        }
        let text = |key: &str| told[key].as_str().map(contract::text::show_controls).unwrap_or_default();
        let word = if told["status"].is_string() { text("status") } else { text("state") };
        let why = if told["why"].is_string() { format!(" {}", text("why")) } else { String::new() };
        output.print(&format!("{word} {}{why}\n", text("run_id")));
    }
}

/// The removal of this machine's key from the fleet; none also where the ledger cannot be asked now.
fn find_removal(context: &Context, harness: &Harness, ledger: &Ledger) -> Option<CommandError> {
    if !harness.home.shares_ledger() {
        return None;
    }
    let people = People::read_lists(&context.config.records).ok()?;
    let workers = WorkerKeys::read_keys(ledger, &|key, namespace, at| people.judge_key(key, namespace, at)).ok()?;
    let key = harness.key_id();
    let name = contract::text::show_controls(&workers.find_removed(&key)?.record.name);
    let text = format!("worker {name} was removed from the fleet: nothing of its key {key} counts any more");
    Some(CommandError::blocked_with(text).hint("ask the operator: cto trust worker list"))
}

/// True of a run that belongs to somebody else by now.
fn is_late(error: &GovernError) -> bool {
    use harness::OpenRunError::Ledger;
    matches!(
        error,
        GovernError::Late { .. }
            | GovernError::Open(Ledger(AppendEntryError::TurnRefused { .. } | AppendEntryError::LeaseLost { .. }))
    )
}
