//! `cto repeat`: the same task again and again, and what that says about the next time.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use contract::{Purpose, Status};
use harness::{Ask, PassHat, RepeatMeasures, Repetition, run_in_parallel, seal_repetition};
use views::LaneUse;

use super::INTERRUPTED;
use super::race::run_shown_lane;
use crate::args::RepeatArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::junit::{self, CaseEnd, JunitSuite, TestCase};
use crate::lane_table;
use crate::live::lanes::LaneDisplay;
use crate::output::{Output, count_text, duration, duration_text};

/// Runs one task several times and prints the measures.
pub(crate) fn repeat(context: &Context, arguments: &RepeatArgs) -> Result<u8, CommandError> {
    let began = Instant::now();
    let asked = &arguments.asked;
    let task = context.load_asked(asked)?;
    let ask = context.build_ask(asked, &task, Purpose::Governed)?;
    let ask = Ask { timeout_seconds: arguments.timeout, ..ask };
    let harness = context.harness()?;
    let jobs = usize::from(arguments.jobs);
    let trials: Vec<usize> = (0..usize::from(arguments.times)).collect();
    let (title, names) = (format!("{}  {}", task.contract.task_id, ask.engine), trials.iter().map(run_name).collect());
    let display = LaneDisplay::open_display(context.output, title, names, &context.cancel);
    let run = |at: &usize| run_shown_lane(context, &harness, &task, &ask, &display.lane(*at));
    let runs = run_in_parallel(&trials, jobs, run);
    display.close_display();
    let runs = runs?;
    if runs.len() < trials.len() {
        return Ok(INTERRUPTED);
    }
    let repetition = Repetition::of_runs(task.contract.task_id.clone(), ask.engine.clone(), runs);
    let sealed = seal_repetition(&harness, &repetition)?.to_string();
    if let Some(file) = &arguments.junit {
        std::fs::write(file, junit::junit_document(&[suite(&repetition)]))
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

fn run_name(at: &usize) -> String {
    format!("run {}", at + 1)
}

/// `92 %`, with a tenth where it is not whole.
fn percent(per_million: u64) -> String {
    match per_million % 10_000 {
        0 => format!("{} %", per_million / 10_000),
        _ => format!("{}.{} %", (per_million + 500) / 10_000, (per_million + 500) % 10_000 / 1000),
    }
}

/// The lengths of a row of passes that are worth a word.
fn told(measured: &RepeatMeasures) -> impl Iterator<Item = &PassHat> {
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
        count_text(repetition.runs.len(), "run", "runs")
    );
    let width = repetition.status.as_str().len() + 2 + tail.chars().count();
    let left = format!("{}  {tail}", paint.paint_status(repetition.status));
    let mut out = output.headline(&left, width, &duration(took));
    out.push_str("\n\n");
    for (label, text) in facts(measured) {
        let _ = writeln!(out, "  {} {text}", paint.dim(&format!("{label:<13}")));
    }
    out.push('\n');
    out.push_str(&lane_table::lane_table(output, &repetition.runs, Some(&repetition.task_id)));
    let suffix = sealed.rsplit('-').next().unwrap_or(sealed);
    let _ = writeln!(out, "\n  {}    {suffix}  sealed", paint.dim("bundle"));
    out
}

fn facts(measured: &RepeatMeasures) -> Vec<(&'static str, String)> {
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
            format!("{} did not start the engine", count_text(measured.not_started as usize, "run", "runs")),
        ));
    }
    if let Some(time) = measured.time {
        facts.push((
            "time",
            format!("median {}   95th percentile {}", duration_text(time.median_ms), duration_text(time.p95_ms)),
        ));
    }
    if let Some(rate) = measured.false_claim_rate_per_million {
        facts.push(("false claims", format!("in {} of trials", percent(rate))));
    }
    if let Some(used) = measured.used {
        facts.push((
            "cost",
            format!("{} in all   {} for each accepted change", lane_table::cost_text(used), per_change(measured, used)),
        ));
    }
    facts
}

fn per_change(measured: &RepeatMeasures, used: LaneUse) -> String {
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
    out.push_str(&lane_table::lane_lines(&repetition.runs));
    out
}

fn suite(repetition: &Repetition) -> JunitSuite {
    let cases = repetition.runs.iter().enumerate().map(|(at, lane)| {
        let codes: Vec<&str> = lane.reasons.iter().map(|reason| reason.code()).collect();
        let text = format!("{} ({})", lane.status, codes.join(", "));
        let ended = match lane.status {
            Status::Pass => CaseEnd::Pass,
            Status::Fail => CaseEnd::Failure(text),
            Status::Blocked => CaseEnd::Error(text),
        };
        let run = lane.run_id.as_ref().map(ToString::to_string).unwrap_or_default();
        TestCase { name: format!("{} {run}", at + 1), millis: lane.duration_ms.unwrap_or_default(), ended }
    });
    let name = format!("cto repeat {} {}", repetition.task_id, repetition.engine);
    JunitSuite { name, class: "cto.repeat", cases: cases.collect() }
}
