//! `cto matrix`: every case, and every cheat where asked, through the real run path, compared with how it says it ends; once
//! for each engine.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use contract::case::Expect;
use contract::{Purpose, Reason, Report, Status};
use harness::{Collection, CollectionProblem, Harness, Quiet, Task, Watch, govern};
use schemars::JsonSchema;
use serde::Serialize;

use super::INTERRUPTED;
use crate::args::MatrixArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::junit::{self, Ended, Suite, TestCase};
use crate::lanes::in_parallel;
use crate::output::{Output, count, duration, millis};

/// `matrix.json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Matrix")]
pub(crate) struct Matrix {
    pub(crate) schema_version: String,
    pub(crate) status: Status,
    pub(crate) engine: String,
    pub(crate) cases: Vec<Row>,
    pub(crate) runtime_default_activation: bool,
}

/// One case.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Row {
    pub(crate) case_id: String,
    pub(crate) run_id: String,
    pub(crate) status: Status,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) expected_status: Status,
    pub(crate) expected_reasons: Vec<Reason>,
    pub(crate) as_declared: bool,
    pub(crate) duration_ms: u64,
    /// SHA-256 of the bundle's attestation.
    pub(crate) attestation_sha256: contract::Digest,
}

pub(crate) fn matrix(context: &Context, arguments: &MatrixArgs) -> Result<u8, CommandError> {
    let harness = context.harness()?;
    let tasks = tasks(context, arguments.cheats)?;
    let jobs = arguments.jobs.map(usize::from);
    let jobs = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    for engine in &arguments.engine {
        known(context, engine, &tasks)?;
    }
    let mut matrices = Vec::new();
    for engine in &arguments.engine {
        let began = Instant::now();
        let Some((matrix, bundle)) = one(context, &harness, engine, &tasks, jobs)? else { return Ok(INTERRUPTED) };
        show(context.output, &matrix, &bundle, began.elapsed(), jobs);
        matrices.push(matrix);
    }
    if let Some(file) = &arguments.junit {
        let suites: Vec<Suite> = matrices.iter().map(suite).collect();
        std::fs::write(file, junit::document(&suites))
            .map_err(|error| CommandError::usage(format!("cannot write {}: {error}", file.display())))?;
    }
    if context.output.json {
        match matrices.as_slice() {
            [one] => context.output.print_json(one)?,
            all => context.output.print_json(&all)?,
        }
    }
    let failed = matrices.iter().any(|matrix| matrix.status != Status::Pass);
    Ok(if failed { Status::Fail } else { Status::Pass }.exit_code())
}

/// An engine that nobody knows is told before anything runs.
fn known(context: &Context, engine: &str, tasks: &[(String, Task)]) -> Result<(), CommandError> {
    match tasks.first() {
        Some((_, task)) => context.plain_ask(engine, task, Purpose::Validation).map(drop),
        None => Ok(()),
    }
}

/// The matrix of one engine and the id of its bundle; none when a signal ended it.
fn one(
    context: &Context,
    harness: &Harness,
    engine: &str,
    tasks: &[(String, Task)],
    jobs: usize,
) -> Result<Option<(Matrix, String)>, CommandError> {
    let rows = run_all(context, harness, engine, tasks, jobs)?;
    if rows.len() < tasks.len() {
        return Ok(None);
    }
    let all = rows.iter().all(|row| row.as_declared);
    let matrix = Matrix {
        schema_version: "1.0".to_owned(),
        status: if all { Status::Pass } else { Status::Fail },
        engine: engine.to_owned(),
        cases: rows,
        runtime_default_activation: false,
    };
    let name = format!("run-all-{engine}");
    let collection = Collection {
        name: &name,
        title: "every case",
        brief: "Run every case and compare its end with what it declares.",
        success: "every case ends as it declares",
        file: "matrix.json",
    };
    let sealed = harness::seal_collection(harness, &collection, &matrix, wrong(&matrix))?;
    Ok(Some((matrix, sealed.report.run_id.to_string())))
}

fn show(output: Output, matrix: &Matrix, bundle: &str, took: Duration, jobs: usize) {
    if output.json {
        return;
    }
    if output.terminal {
        let suffix = bundle.rsplit('-').next().unwrap_or(bundle);
        output.print(&table(output, matrix, suffix, took, jobs));
    } else {
        output.print(&lines(matrix, bundle));
    }
}

/// Every built-in case and every case of the workspace, and the cheats where they are asked for.
fn tasks(context: &Context, cheats: bool) -> Result<Vec<(String, Task)>, CommandError> {
    let mut ids = super::case::ids(context)?;
    if cheats {
        ids.extend(fixtures::cheats().iter().map(|cheat| cheat.id.to_owned()));
        ids.sort();
        ids.dedup();
    }
    let mut tasks = Vec::new();
    for id in ids {
        let task = context.load_task(&id, None)?;
        tasks.push((id, task));
    }
    Ok(tasks)
}

fn run_all(
    context: &Context,
    harness: &Harness,
    engine: &str,
    tasks: &[(String, Task)],
    jobs: usize,
) -> Result<Vec<Row>, CommandError> {
    let run = |(id, task): &(String, Task)| Ok(run_one(context, harness, engine, id, task)?.map(|(row, _)| row));
    let mut rows = in_parallel(tasks, jobs, run)?;
    rows.sort_by(|a: &Row, b: &Row| a.case_id.cmp(&b.case_id));
    Ok(rows)
}

/// None when a signal ended it.
pub(super) fn run_one(
    context: &Context,
    harness: &Harness,
    engine: &str,
    id: &str,
    task: &Task,
) -> Result<Option<(Row, Report)>, CommandError> {
    let ask = context.plain_ask(engine, task, Purpose::Validation)?;
    let outcome = govern(harness, task, &ask, Watch { cancel: &context.cancel, observer: &Quiet })?;
    if outcome.interrupted {
        return Ok(None);
    }
    let report = outcome.sealed.report;
    let expect = task.expect.clone().unwrap_or_default();
    let row = Row {
        case_id: id.to_owned(),
        run_id: report.run_id.to_string(),
        status: report.status,
        as_declared: as_declared(&expect, report.status, &report.blocker_reasons),
        reasons: report.blocker_reasons.clone(),
        expected_status: expect.status,
        expected_reasons: expect.reasons,
        duration_ms: report.duration_ms,
        attestation_sha256: outcome.sealed.attestation_sha256,
    };
    Ok(Some((row, report)))
}

/// The same status and the same reasons, whatever their order.
fn as_declared(expect: &Expect, status: Status, reasons: &[Reason]) -> bool {
    let sorted = |reasons: &[Reason]| {
        let mut reasons = reasons.to_vec();
        reasons.sort();
        reasons
    };
    expect.status == status && sorted(&expect.reasons) == sorted(reasons)
}

fn wrong(matrix: &Matrix) -> Option<CollectionProblem> {
    let wrong: Vec<&str> = matrix.cases.iter().filter(|row| !row.as_declared).map(|row| row.case_id.as_str()).collect();
    let text = format!("did not end as declared: {}", wrong.join(", "));
    (!wrong.is_empty()).then_some(CollectionProblem { reason: Reason::VerificationFailed, text })
}

fn ended(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| reason.code()).collect::<Vec<_>>().join(", ")
}

fn table(output: Output, matrix: &Matrix, bundle: &str, took: Duration, jobs: usize) -> String {
    let paint = output.paint;
    let good = matrix.cases.iter().filter(|row| row.as_declared).count();
    let tail = format!("{good} of {} cases on {} ended as declared", matrix.cases.len(), matrix.engine);
    let right = format!("{}, {}", duration(took), count(jobs, "job", "jobs"));
    let mut out = output.headline(&format!("{}  {tail}", paint.status(matrix.status)), 6 + tail.len(), &right);
    out.push_str("\n\n");
    let width = matrix.cases.iter().map(|row| row.case_id.len()).max().unwrap_or_default();
    for row in &matrix.cases {
        let mark = if row.as_declared { paint.tick() } else { paint.like(Status::Fail, "✗") };
        let pad = " ".repeat(8 - row.status.as_str().len());
        let _ = writeln!(
            out,
            "  {mark} {:<width$} {}{pad} {:>8}  {}",
            row.case_id,
            paint.status(row.status),
            millis(row.duration_ms),
            ended(&row.reasons)
        );
        if !row.as_declared {
            let _ =
                writeln!(out, "    {:<width$} declared: {} {}", "", row.expected_status, ended(&row.expected_reasons));
        }
    }
    let _ = writeln!(out, "\n  {}    {bundle}  sealed", paint.dim("bundle"));
    out
}

fn lines(matrix: &Matrix, bundle: &str) -> String {
    let mut out = format!("{} {bundle}\n", matrix.status);
    for row in &matrix.cases {
        let declared = if row.as_declared { "as-declared" } else { "not-as-declared" };
        let reasons: Vec<&str> = row.reasons.iter().map(|reason| reason.code()).collect();
        let _ = writeln!(
            out,
            "case {} {} {declared} {} {}",
            row.case_id,
            row.status,
            row.run_id,
            if reasons.is_empty() { "-".to_owned() } else { reasons.join(",") }
        );
    }
    out
}

fn suite(matrix: &Matrix) -> Suite {
    let cases = matrix.cases.iter().map(|row| {
        let ended = match row.as_declared {
            true => Ended::Pass,
            false => Ended::Failure(format!(
                "ended {} ({}), declared {} ({})",
                row.status,
                ended(&row.reasons),
                row.expected_status,
                ended(&row.expected_reasons)
            )),
        };
        TestCase { name: row.case_id.clone(), millis: row.duration_ms, ended }
    });
    Suite { name: format!("cto matrix {}", matrix.engine), class: "cto.matrix", cases: cases.collect() }
}
