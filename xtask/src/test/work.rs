//! The work itself: test programs side by side, each watched to its end.
//!
//! One thread begins jobs and hears of their ends by signal. We are the reaper of orphans
//! here, so that whatever a test leaves running is found in the end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, set_child_subreaper, waitid};
use signal_hook::consts::signal::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::ChoreResult;

use super::counts::Counts;
use super::plan::{Job, TestSuite};
use super::processes::{cpu_time, end_descendants, end_tree, reap_orphans};
use super::{TestVariables, empty_folder, remove_folder};

/// A test that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Times the patience with a job of many tests.
const MOST_PATIENCE: usize = 3;

/// Orphans are looked for this often: a look reads all of /proc.
const REAPING: Duration = Duration::from_secs(1);

/// Time for what tests leave to go by itself, such as the removal of a shared folder.
const LEFTOVER_PATIENCE: Duration = Duration::from_secs(60);

/// Jobs that failed beside others and are run once more, alone. Where more fail, the load is not the cause.
const MOST_SECOND_TRIES: usize = 5;

/// A job that was run, with the times it took.
pub(super) struct FinishedJob {
    pub(super) label: String,
    pub(super) tests: usize,
    pub(super) suite: TestSuite,
    /// Since the first job was begun.
    pub(super) begun: Duration,
    pub(super) wall: Duration,
    pub(super) cpu: Duration,
    counts: Counts,
}

struct RunningJob<'a> {
    job: &'a Job<'a>,
    child: Child,
    output: PathBuf,
    begun: Instant,
    hangs: bool,
}

/// Runs all jobs in their order and prints a line for each; the whole output of those that
/// fail, or of all. `finished` holds what was run, also where the run is interrupted.
pub(super) fn run_jobs(
    jobs: &[Job<'_>],
    environment: &TestVariables,
    show_output: bool,
    finished: &mut Vec<FinishedJob>,
) -> ChoreResult<Counts> {
    let failed = |error: std::io::Error| format!("cannot watch test programs: {error}");
    let signals = hear_signals().map_err(failed)?;
    set_child_subreaper(Some(rustix::process::getpid())).map_err(|error| failed(error.into()))?;
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let crew = Crew {
        environment,
        show_output,
        folder: empty_folder("output")?,
        slots: Slots::of(processors),
        all: jobs.len(),
        start: Instant::now(),
    };
    let worked = crew.work(jobs, &signals, finished).and_then(|()| crew.try_again(jobs, &signals, finished));
    let left = end_descendants(if worked.is_ok() { LEFTOVER_PATIENCE } else { Duration::ZERO });
    remove_folder(&crew.folder)?;
    worked?;
    for left in left {
        println!("left running by a test, and ended: {left}");
    }
    let mut counts = Counts::default();
    for job in finished.iter() {
        counts.join_counts(job.counts);
    }
    for job in finished.iter().filter(|job| job.counts.failed > 0) {
        println!("failed: {}", job.label);
    }
    Ok(counts)
}

/// Programs at a time.
#[derive(Debug, Clone, Copy)]
struct Slots {
    /// Twice as many as processors: many tests wait for a part of their time.
    working: usize,
    /// For jobs that are known to use less than a quarter of a processor.
    idle: usize,
}

impl Slots {
    fn of(processors: usize) -> Self {
        Self { working: processors * 2, idle: processors * 3 }
    }

    /// Next job of the order for which there is a slot, beside so many working and idle ones. No suite is begun before its turn.
    fn take_next<'j>(
        self,
        waiting: &mut VecDeque<(usize, &'j Job<'j>)>,
        (working, idle): (usize, usize),
    ) -> Option<(usize, &'j Job<'j>)> {
        let suite = waiting.front()?.1.suite;
        let has_slot = |job: &Job<'_>| if job.is_idle { idle < self.idle } else { working < self.working };
        let place = waiting.iter().take_while(|(_, job)| job.suite == suite).position(|(_, job)| has_slot(job))?;
        waiting.remove(place)
    }
}

/// Ends of children and interrupts, as numbers of signals.
fn hear_signals() -> std::io::Result<Receiver<i32>> {
    let mut signals = Signals::new([SIGCHLD, SIGINT, SIGTERM, SIGHUP])?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if sender.send(signal).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

struct Crew<'a> {
    environment: &'a TestVariables,
    show_output: bool,
    /// Holds what running programs print.
    folder: PathBuf,
    slots: Slots,
    all: usize,
    start: Instant,
}

impl Crew<'_> {
    fn work(&self, jobs: &[Job<'_>], signals: &Receiver<i32>, finished: &mut Vec<FinishedJob>) -> ChoreResult {
        let mut waiting: VecDeque<(usize, &Job<'_>)> = jobs.iter().enumerate().collect();
        let mut running: BTreeMap<i32, RunningJob<'_>> = BTreeMap::new();
        let mut reaped = Instant::now();
        loop {
            while let Some((number, job)) = self.slots.take_next(&mut waiting, Self::count_running(&running)) {
                let begun = self.begin(number, job)?;
                running.insert(begun.child.id().cast_signed(), begun);
            }
            if running.is_empty() {
                return Ok(());
            }
            match signals.recv_timeout(Duration::from_secs(1)) {
                Ok(SIGCHLD) | Err(RecvTimeoutError::Timeout) => {}
                Ok(signal) => return Err(format!("interrupted by signal {signal}")),
                Err(RecvTimeoutError::Disconnected) => return Err("signals are no longer heard".to_owned()),
            }
            // Many children end at once; one look sees them all.
            let others: Vec<i32> = signals.try_iter().filter(|signal| *signal != SIGCHLD).collect();
            if let Some(signal) = others.first() {
                return Err(format!("interrupted by signal {signal}"));
            }
            for pid in ended(&running)? {
                if let Some(job) = running.remove(&pid) {
                    let job = self.finish(job)?;
                    println!("{}", self.line(finished.len() + 1, &job));
                    finished.push(job);
                }
            }
            running.values_mut().for_each(RunningJob::end_if_it_hangs);
            if reaped.elapsed() > REAPING {
                reap_orphans(&running.keys().copied().collect::<BTreeSet<i32>>());
                reaped = Instant::now();
            }
        }
    }

    /// Runs the few jobs that failed once more, each alone. One that passes now is named and counted as unsteady.
    fn try_again(&self, jobs: &[Job<'_>], signals: &Receiver<i32>, finished: &mut [FinishedJob]) -> ChoreResult {
        let failed: Vec<usize> = (0..finished.len()).filter(|place| finished[*place].counts.failed > 0).collect();
        if failed.len() > MOST_SECOND_TRIES || jobs.len() == 1 {
            return Ok(());
        }
        for place in failed {
            let Some(job) = jobs.iter().find(|job| job.label == finished[place].label) else { continue };
            println!("once more, alone: {}", job.label);
            let mut again = Vec::new();
            self.work(std::slice::from_ref(job), signals, &mut again)?;
            if let Some(passed) = again.pop().filter(|again| again.counts.failed == 0) {
                println!("unsteady: {} failed beside others and passed alone", job.label);
                finished[place].counts = passed.counts.as_unsteady();
            }
        }
        Ok(())
    }

    /// Jobs that work, and jobs that only wait.
    fn count_running(running: &BTreeMap<i32, RunningJob<'_>>) -> (usize, usize) {
        let idle = running.values().filter(|running| running.job.is_idle).count();
        (running.len() - idle, idle)
    }

    fn begin<'j>(&self, number: usize, job: &'j Job<'j>) -> ChoreResult<RunningJob<'j>> {
        let output = self.folder.join(format!("{number}.txt"));
        let failed = |error: std::io::Error| format!("cannot run {}: {error}", job.label);
        let stdout = File::create(&output).map_err(failed)?;
        let stderr = stdout.try_clone().map_err(failed)?;
        let mut command = self.environment.command(job);
        command.args(job.arguments()).stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
        let child = command.spawn().map_err(failed)?;
        Ok(RunningJob { job, child, output, begun: Instant::now(), hangs: false })
    }

    fn finish(&self, mut running: RunningJob<'_>) -> ChoreResult<FinishedJob> {
        let (job, wall) = (running.job, running.begun.elapsed());
        let failed = |error: std::io::Error| format!("cannot look after {}: {error}", job.label);
        // Before it is waited for: then its line in /proc is gone.
        let cpu = Pid::from_raw(running.child.id().cast_signed()).map_or(Duration::ZERO, cpu_time);
        let status = running.child.wait().map_err(failed)?;
        let output = std::fs::read(&running.output).map_err(failed)?;
        let output = String::from_utf8_lossy(&output);
        let counts = Counts::of_program(job.tests.len(), status.success(), &output);
        if counts.failed > 0 || self.show_output {
            println!("{}", output.trim_end());
        }
        if running.hangs {
            println!("{}: ended after {} minutes", job.label, patience_with(job).as_secs() / 60);
        } else if let Some(signal) = status.signal() {
            println!("{}: ended by signal {signal}", job.label);
        }
        std::fs::remove_file(&running.output).map_err(failed)?;
        let begun = running.begun.saturating_duration_since(self.start);
        let (label, tests) = (job.label.clone(), job.tests.len());
        Ok(FinishedJob { label, tests, suite: job.suite, begun, wall, cpu, counts })
    }

    fn line(&self, number: usize, job: &FinishedJob) -> String {
        let word = match (job.counts.failed, job.counts.passed) {
            (0, 0) => "ignored",
            (0, _) => "ok",
            _ => "FAILED",
        };
        let width = self.all.to_string().len();
        let (wall, cpu) = (job.wall.as_secs_f64(), job.cpu.as_secs_f64());
        let tests = if job.tests > 1 { format!(" ({} tests)", job.tests) } else { String::new() };
        format!("{number:>width$}/{} {wall:>7.2} s {cpu:>7.2} s CPU  {word:<6} {}{tests}", self.all, job.label)
    }
}

/// Those that have ended; they are still to be waited for.
fn ended(running: &BTreeMap<i32, RunningJob<'_>>) -> ChoreResult<Vec<i32>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let mut found = Vec::new();
    for pid in running.keys() {
        let Some(id) = Pid::from_raw(*pid) else { continue };
        let status = waitid(WaitId::Pid(id), options).map_err(|error| format!("cannot wait for {pid}: {error}"))?;
        found.extend(status.map(|_| *pid));
    }
    Ok(found)
}

fn patience_with(job: &Job<'_>) -> Duration {
    PATIENCE * u32::try_from(job.tests.len().min(MOST_PATIENCE)).unwrap_or(1)
}

impl RunningJob<'_> {
    fn end_if_it_hangs(&mut self) {
        if !self.hangs && self.begun.elapsed() > patience_with(self.job) {
            self.hangs = true;
            Pid::from_raw(self.child.id().cast_signed()).into_iter().for_each(end_tree);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::programs::TestProgram;
    use super::*;

    #[test]
    fn idle_jobs_have_slots_of_their_own_and_begin_no_suite_before_its_turn() {
        let folder = PathBuf::from("/");
        let program =
            TestProgram { package: "cto".to_owned(), target: "it".to_owned(), executable: folder.clone(), folder };
        let job = |test: &str, is_idle| Job { is_idle, ..Job::of_one(&program, test.to_owned()) };
        let jobs = [job("a", false), job("b", false), job("c", true), job("agents::d", true), job("e", false)];
        let order = |slots: Slots, running| {
            let mut waiting: VecDeque<(usize, &Job<'_>)> = jobs.iter().enumerate().collect();
            let mut running: (usize, usize) = running;
            let mut taken = Vec::new();
            while let Some((number, job)) = slots.take_next(&mut waiting, running) {
                taken.push(number);
                if job.is_idle { running.1 += 1 } else { running.0 += 1 }
            }
            taken
        };
        let slots = Slots { working: 1, idle: 2 };
        assert_eq!(order(slots, (0, 0)), [0, 2], "the second that works waits, the agents too");
        assert_eq!(order(slots, (1, 2)), [0; 0]);
        assert_eq!(order(Slots { working: 2, idle: 2 }, (0, 0)), [0, 1, 2, 3], "after the first suite the next");
        assert_eq!(order(Slots { working: 9, idle: 9 }, (0, 0)), [0, 1, 2, 3, 4]);
    }
}
