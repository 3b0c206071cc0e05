//! `cto repeat`: the same task again and again, and what that says about the next time.

mod measure;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use contract::{Digest, Purpose, Reason, Status, TaskId};
use harness::{Ask, Collection, CollectionProblem};
use schemars::JsonSchema;
use serde::Serialize;
use views::{Lane, LaneUse, join_statuses};

use super::INTERRUPTED;
use super::race::run_lane;
use crate::args::RepeatArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::junit::{self, Ended, Suite, TestCase};
use crate::lane_table;
use crate::lanes::{collection_name, in_parallel};
use crate::output::{Output, count, duration, millis};
use measure::Measured;

/// `repeat.json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Repetition")]
pub(crate) struct Repetition {
    pub(crate) schema_version: String,
    /// `fail` if a run failed, else `blocked` if one was blocked.
    pub(crate) status: Status,
    pub(crate) task_id: TaskId,
    pub(crate) engine: String,
    pub(crate) contract_digest: Option<Digest>,
    pub(crate) times: u64,
    pub(crate) measured: Measured,
    pub(crate) runs: Vec<Lane>,
    pub(crate) runtime_default_activation: bool,
}

pub(crate) fn repeat(context: &Context, arguments: &RepeatArgs) -> Result<u8, CommandError> {
    let began = Instant::now();
    let asked = &arguments.asked;
    let task = context.load_task(&asked.task, asked.repo.as_deref())?;
    let ask = context.ask(asked, &task, Purpose::Governed)?;
    let ask = Ask { timeout_seconds: arguments.timeout, ..ask };
    let harness = context.harness()?;
    let jobs = usize::from(arguments.jobs);
    let trials = vec![(); usize::from(arguments.times)];
    let runs = in_parallel(&trials, jobs, |()| run_lane(context, &harness, &task, &ask, jobs == 1))?;
    if runs.len() < trials.len() {
        return Ok(INTERRUPTED);
    }
    let repetition = Repetition {
        schema_version: "1.0".to_owned(),
        status: join_statuses(&runs),
        task_id: task.contract.task_id.clone(),
        engine: ask.engine.clone(),
        contract_digest: runs.first().and_then(|lane| lane.contract_digest),
        times: u64::from(arguments.times),
        measured: Measured::of(&runs),
        runs,
        runtime_default_activation: false,
    };
    let sealed = seal(&harness, &repetition)?;
    if let Some(file) = &arguments.junit {
        std::fs::write(file, junit::document(&[suite(&repetition)]))
            .map_err(|error| CommandError::usage(format!("cannot write {}: {error}", file.display())))?;
    }
    let output = context.output;
    if output.json {
        output.print_json(&repetition)?;
    } else if output.terminal {
        output.print(&view(output, &repetition, &sealed, began.elapsed()));
    } else {
        output.print(&lines(&repetition, &sealed));
    }
    Ok(repetition.status.exit_code())
}

fn seal(harness: &harness::Harness, repetition: &Repetition) -> Result<String, CommandError> {
    let others = repetition.runs.iter().filter(|lane| lane.status != Status::Pass).count();
    let text = format!("{others} of {} runs did not pass", repetition.times);
    let wrong = (others > 0).then_some(CollectionProblem { reason: Reason::VerificationFailed, text });
    let collection = Collection {
        name: &collection_name("repeat", &repetition.task_id),
        title: "one task again and again",
        brief: "Run the same contract with the same engine several times and measure how often it passes.",
        success: "every run passes",
        file: "repeat.json",
    };
    let sealed = harness::seal_collection(harness, &collection, repetition, wrong)?;
    Ok(sealed.report.run_id.to_string())
}

/// `92 %`, with a tenth where it is not whole.
fn percent(per_million: u64) -> String {
    match per_million % 10_000 {
        0 => format!("{} %", per_million / 10_000),
        _ => format!("{}.{} %", (per_million + 500) / 10_000, (per_million + 500) % 10_000 / 1000),
    }
}

/// The lengths of a row of passes that are worth a word.
fn told(measured: &Measured) -> impl Iterator<Item = &measure::PassHat> {
    let trials = measured.trials;
    measured.pass_hat.iter().filter(move |hat| matches!(hat.k, 1 | 2 | 3 | 5 | 8) || hat.k == trials)
}

// Writing to a String cannot fail, so the results of `write!` below are dropped.

fn view(output: Output, repetition: &Repetition, sealed: &str, took: Duration) -> String {
    let (paint, measured) = (output.paint, &repetition.measured);
    let tail = format!(
        "{}  {}  {} of {} passed",
        repetition.task_id,
        repetition.engine,
        measured.passed,
        count(repetition.runs.len(), "run", "runs")
    );
    let width = repetition.status.as_str().len() + 2 + tail.chars().count();
    let left = format!("{}  {tail}", paint.status(repetition.status));
    let mut out = output.headline(&left, width, &duration(took));
    out.push_str("\n\n");
    for (label, text) in facts(measured) {
        let _ = writeln!(out, "  {} {text}", paint.dim(&format!("{label:<13}")));
    }
    out.push('\n');
    out.push_str(&lane_table::table(output, &repetition.runs, Some(&repetition.task_id)));
    let suffix = sealed.rsplit('-').next().unwrap_or(sealed);
    let _ = writeln!(out, "\n  {}    {suffix}  sealed", paint.dim("bundle"));
    out
}

fn facts(measured: &Measured) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let (Some(rate), Some(interval)) = (measured.pass_rate_per_million, measured.interval_95) {
        let (low, high) = (percent(interval.low_per_million), percent(interval.high_per_million));
        facts.push(("pass rate", format!("{} of {} trials   95 %: {low} to {high}", percent(rate), measured.trials)));
        let hats: Vec<String> =
            told(measured).map(|hat| format!("pass^{} {}", hat.k, percent(hat.per_million))).collect();
        facts.push(("in a row", hats.join("   ")));
    }
    if measured.not_started > 0 {
        facts.push((
            "no trial",
            format!("{} did not start the engine", count(measured.not_started as usize, "run", "runs")),
        ));
    }
    if let Some(time) = measured.time {
        facts.push(("time", format!("median {}   95th percentile {}", millis(time.median_ms), millis(time.p95_ms))));
    }
    if let Some(rate) = measured.false_claim_rate_per_million {
        facts.push(("false claims", format!("in {} of trials", percent(rate))));
    }
    if let Some(used) = measured.used {
        facts.push((
            "cost",
            format!("{} in all   {} for each accepted change", lane_table::cost(used), per_change(measured, used)),
        ));
    }
    facts
}

fn per_change(measured: &Measured, used: LaneUse) -> String {
    let cost = measured.cost_per_accepted_change_micros;
    cost.map_or_else(|| "no sum".to_owned(), |micros| lane_table::at_least(micros, used))
}

/// The piped form: the first line `<status> <run_id>`.
fn lines(repetition: &Repetition, sealed: &str) -> String {
    let measured = &repetition.measured;
    let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let mut out = format!("{} {sealed}\n", repetition.status);
    let _ = writeln!(
        out,
        "trials {} passed={} not_started={} pass_rate_ppm={}",
        measured.trials,
        measured.passed,
        measured.not_started,
        number(measured.pass_rate_per_million)
    );
    if let Some(interval) = measured.interval_95 {
        let _ = writeln!(out, "interval95 low_ppm={} high_ppm={}", interval.low_per_million, interval.high_per_million);
    }
    for hat in &measured.pass_hat {
        let _ = writeln!(out, "pass^{} ppm={}", hat.k, hat.per_million);
    }
    if let Some(time) = measured.time {
        let _ = writeln!(out, "time median={}ms p95={}ms", time.median_ms, time.p95_ms);
    }
    let _ = writeln!(out, "false-claims ppm={}", number(measured.false_claim_rate_per_million));
    let _ = writeln!(out, "cost-per-accepted-change micros={}", number(measured.cost_per_accepted_change_micros));
    out.push_str(&lane_table::lines(&repetition.runs));
    out
}

fn suite(repetition: &Repetition) -> Suite {
    let cases = repetition.runs.iter().enumerate().map(|(at, lane)| {
        let codes: Vec<&str> = lane.reasons.iter().map(|reason| reason.code()).collect();
        let text = format!("{} ({})", lane.status, codes.join(", "));
        let ended = match lane.status {
            Status::Pass => Ended::Pass,
            Status::Fail => Ended::Failure(text),
            Status::Blocked => Ended::Error(text),
        };
        let run = lane.run_id.as_ref().map(ToString::to_string).unwrap_or_default();
        TestCase { name: format!("{} {run}", at + 1), millis: lane.duration_ms.unwrap_or_default(), ended }
    });
    let name = format!("cto repeat {} {}", repetition.task_id, repetition.engine);
    Suite { name, class: "cto.repeat", cases: cases.collect() }
}
