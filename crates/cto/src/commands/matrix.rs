//! `cto matrix`: every case, and every cheat where asked, through the real run path,
//! compared with how it says it ends; once for each engine.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use contract::{Purpose, Reason, Report, Status};
use harness::{Harness, Matrix, MatrixRow, Quiet, Task, Watch, run_case, run_in_parallel, seal_matrix};

use super::INTERRUPTED;
use crate::args::MatrixArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::junit::{self, CaseEnd, JunitSuite, TestCase};
use crate::output::{Output, count_text, duration, duration_text};

/// Runs every case with every engine and compares the ends.
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
        let suites: Vec<JunitSuite> = matrices.iter().map(suite).collect();
        std::fs::write(file, junit::junit_document(&suites))
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

/// Fails on an unknown engine before anything runs.
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
    let matrix = Matrix::of_cases(engine, rows);
    let sealed = seal_matrix(harness, &matrix)?.to_string();
    Ok(Some((matrix, sealed)))
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

/// Every built-in case and every case of the workspace, and the cheats where they are asked
/// for.
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
) -> Result<Vec<MatrixRow>, CommandError> {
    let run =
        |(id, task): &(String, Task)| run_one(context, harness, engine, id, task).map(|ran| ran.map(|(row, _)| row));
    let mut rows = run_in_parallel(tasks, jobs, run)?;
    rows.sort_by(|a: &MatrixRow, b: &MatrixRow| a.case_id.cmp(&b.case_id));
    Ok(rows)
}

/// Runs one case; none if a signal ended it.
pub(super) fn run_one(
    context: &Context,
    harness: &Harness,
    engine: &str,
    id: &str,
    task: &Task,
) -> Result<Option<(MatrixRow, Report)>, CommandError> {
    let ask = context.plain_ask(engine, task, Purpose::Validation)?;
    Ok(run_case(harness, id, task, &ask, Watch { cancel: &context.cancel, observer: &Quiet })?)
}

fn ended(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| reason.code()).collect::<Vec<_>>().join(", ")
}

fn table(output: Output, matrix: &Matrix, bundle: &str, took: Duration, jobs: usize) -> String {
    let paint = output.paint;
    let good = matrix.cases.iter().filter(|row| row.as_declared).count();
    let tail = format!("{good} of {} cases on {} ended as declared", matrix.cases.len(), matrix.engine);
    let right = format!("{}, {}", duration(took), count_text(jobs, "job", "jobs"));
    let mut out = output.headline(&format!("{}  {tail}", paint.paint_status(matrix.status)), 6 + tail.len(), &right);
    out.push_str("\n\n");
    let width = matrix.cases.iter().map(|row| row.case_id.len()).max().unwrap_or_default();
    for row in &matrix.cases {
        let mark = if row.as_declared { paint.tick() } else { paint.like(Status::Fail, "✗") };
        let pad = " ".repeat(8 - row.status.as_str().len());
        let _ = writeln!(
            out,
            "  {mark} {:<width$} {}{pad} {:>8}  {}",
            row.case_id,
            paint.paint_status(row.status),
            duration_text(row.duration_ms),
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

fn suite(matrix: &Matrix) -> JunitSuite {
    let cases = matrix.cases.iter().map(|row| {
        let ended = match row.as_declared {
            true => CaseEnd::Pass,
            false => CaseEnd::Failure(format!(
                "ended {} ({}), declared {} ({})",
                row.status,
                ended(&row.reasons),
                row.expected_status,
                ended(&row.expected_reasons)
            )),
        };
        TestCase { name: row.case_id.clone(), millis: row.duration_ms, ended }
    });
    JunitSuite { name: format!("cto matrix {}", matrix.engine), class: "cto.matrix", cases: cases.collect() }
}
