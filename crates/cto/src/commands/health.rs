//! `cto health`: whether this build does what it says, shown by real runs in a home that nobody keeps.

mod adapter;
mod lab;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use contract::{Reason, Report, Status};
use serde::Serialize;

use super::{INTERRUPTED, matrix};
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, duration};

/// One check: a name that others look for, and what it came to.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    passed: bool,
    /// Of the run that shows it.
    status: Status,
    reasons: Vec<Reason>,
    /// What was expected and is not so.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Check {
    /// A run that must be so; `wrong` says what is not.
    fn of(report: &Report, wrong: Option<String>) -> Self {
        let reasons = report.blocker_reasons.clone();
        Self { passed: wrong.is_none(), status: report.status, reasons, why: wrong }
    }
}

/// Checks that belong together.
#[derive(Debug, Serialize)]
struct Group {
    passed: bool,
    checks: BTreeMap<String, Check>,
}

impl Group {
    fn of(checks: Vec<(String, Check)>) -> Self {
        let passed = !checks.is_empty() && checks.iter().all(|(_, check)| check.passed);
        Self { passed, checks: checks.into_iter().collect() }
    }
}

/// What `--json` prints: a status, and a key for each group.
#[derive(Debug, Serialize)]
struct Health {
    status: Status,
    #[serde(flatten)]
    groups: BTreeMap<&'static str, Group>,
}

pub(crate) fn health(context: &Context) -> Result<u8, CommandError> {
    context.refuse_when_halted()?;
    let began = Instant::now();
    let found = std::thread::scope(|scope| {
        let adapter = scope.spawn(|| adapter::checks(context));
        let matrix = cases(context);
        let adapter = adapter.join().unwrap_or_else(|_| Err(CommandError::fail("the checks of the adapter broke off")));
        Ok::<_, CommandError>([("matrix", matrix?), ("case_provider_adapter", adapter?)])
    })?;
    let mut groups = BTreeMap::new();
    for (name, checks) in found {
        let Some(checks) = checks else { return Ok(INTERRUPTED) };
        groups.insert(name, Group::of(checks));
    }
    let status = if groups.values().all(|group| group.passed) { Status::Pass } else { Status::Fail };
    let health = Health { status, groups };
    let output = context.output;
    if output.json {
        output.print_json(&health)?;
    } else {
        show(output, &health, &duration(began.elapsed()));
    }
    Ok(status.exit_code())
}

/// Every built-in case on the fake engine ends as it declares. None when a signal ended it.
fn cases(context: &Context) -> Result<Option<Vec<(String, Check)>>, CommandError> {
    let home = tempfile::Builder::new().prefix("cto-health-").tempdir()?;
    let harness = context.harness_at(&home.path().to_owned().into())?;
    let mut checks = Vec::new();
    for case in fixtures::builtin() {
        let task = context.load_task(case.id, None)?;
        let Some((row, report)) = matrix::run_one(context, &harness, harness::FAKE, case.id, &task)? else {
            return Ok(None);
        };
        let wrong = (!row.as_declared).then(|| "it did not end as it declares".to_owned());
        checks.push((case.id.to_owned(), Check::of(&report, wrong)));
    }
    Ok(Some(checks))
}

fn show(output: Output, health: &Health, took: &str) {
    let mut out = format!("{} health {took}\n", health.status);
    for (name, group) in &health.groups {
        let good = group.checks.values().filter(|check| check.passed).count();
        let word = if group.passed { "pass" } else { "fail" };
        let _ = writeln!(out, "{word} {name} {good} of {} checks hold", group.checks.len());
        let wrong = group.checks.iter().filter_map(|(name, check)| Some((name, check.why.as_ref()?)));
        for (name, why) in wrong {
            let _ = writeln!(out, "  {name}: {}", contract::text::shown(why));
        }
    }
    output.print(&out);
}
