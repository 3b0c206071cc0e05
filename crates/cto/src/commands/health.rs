//! `cto health`: the program does what it says, shown by real runs in homes that nobody
//! keeps; and Case has earned its stages, read from the verified bundles of the operator's
//! own home.

mod adapter;
mod group;
mod lab;
mod plan;
mod show;

use std::collections::BTreeMap;
use std::time::Instant;

use contract::Status;
use harness::{Engines, run_in_parallel};
use serde::Serialize;

pub(super) use lab::{Lab, Trial};

use super::stage_checks::{
    NamedCheck, StageCheck, TRIAL_CHECK, TrialStop, check_of_error, check_refresh, check_stage, close_failures, worst,
};
use super::{INTERRUPTED, matrix};
use crate::args::HealthArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::duration;
use group::Group;
use plan::{ADAPTER, HealthPart, HealthPlan, MATRIX, REFRESH, SUMMARY, stage_group};

/// The engine of the operator's reports.
const ENGINE: &str = "case";

/// Output of `--json`: a status, and a key for each group.
#[derive(Debug, Serialize)]
struct Health {
    status: Status,
    #[serde(flatten)]
    groups: BTreeMap<String, Group>,
}

/// Runs the wanted checks in parallel and prints the groups.
pub(crate) fn health(context: &Context, arguments: &HealthArgs) -> Result<u8, CommandError> {
    let plan = HealthPlan::read_plan(&arguments.only)?;
    context.refuse_when_halted()?;
    let began = Instant::now();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let found = run_in_parallel(&plan.work(), jobs, |work| do_work(context, &plan, *work).map(Some));
    let found = match found {
        Ok(found) => found,
        Err(TrialStop::Interrupted) => return Ok(INTERRUPTED),
        Err(TrialStop::Failed(error)) => return Err(error),
    };
    let groups = plan.arrange(found);
    // Nothing that was held is no pass.
    let status = if groups.is_empty() { Status::Blocked } else { worst(groups.values().map(|group| group.status)) };
    let health = Health { status, groups };
    let output = context.output;
    if output.json {
        output.print_json(&health)?;
    } else {
        output.print(&show::health_text(output, &health, &duration(began.elapsed())));
    }
    Ok(status.exit_code())
}

/// The checks of one part. What an error keeps from being held is a check that is blocked
/// or wrong; a signal ends everything.
fn do_work(context: &Context, plan: &HealthPlan, work: HealthPart) -> Result<Vec<(String, NamedCheck)>, TrialStop> {
    let (group, checks) = match work {
        HealthPart::Matrix => (MATRIX.to_owned(), run_cases(context)),
        HealthPart::Adapter => (ADAPTER.to_owned(), adapter::checks(context, plan)),
        HealthPart::Stage(stage) => {
            (stage_group(stage), check_stage(context, stage, Some(ENGINE)).map(|found| found.checks))
        }
        HealthPart::Refresh => {
            let check = check_refresh(context, ENGINE).unwrap_or_else(|error| check_of_error(&error));
            (REFRESH.to_owned(), Ok(vec![(REFRESH.to_owned(), check)]))
        }
        HealthPart::Summary => (SUMMARY.to_owned(), super::summary::check_contract(context).map_err(TrialStop::from)),
    };
    let checks = match checks {
        Err(TrialStop::Failed(error)) => vec![(TRIAL_CHECK.to_owned(), check_of_error(&error))],
        other => other?,
    };
    Ok(checks.into_iter().map(|check| (group.clone(), check)).collect())
}

/// Every built-in case on the fake engine ends as it declares.
fn run_cases(context: &Context) -> Result<Vec<NamedCheck>, TrialStop> {
    let home = tempfile::Builder::new().prefix("cto-health-").tempdir()?;
    let harness = context.harness_for_trial(home.path().to_owned(), Engines::default())?;
    let mut checks = Vec::new();
    for case in fixtures::builtin() {
        let task = context.load_task(case.id, None)?;
        let Some((row, report)) = matrix::run_one(context, &harness, harness::FAKE, case.id, &task)? else {
            return Err(TrialStop::Interrupted);
        };
        let wrong = (!row.as_declared).then(|| "it did not end as it declares".to_owned());
        checks.push((case.id.to_owned(), StageCheck::of_report(&report, wrong)));
    }
    Ok(checks)
}
