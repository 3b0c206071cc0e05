//! `cto compare`: any set of runs side by side. `comparison.json`, which a race seals, is made here too.

use contract::{Digest, Reason, Status, TaskId};
use harness::{Lane, combine_lanes as together};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::error::CommandError;
use crate::lane_table;
use crate::output::count;
use crate::seek::{Places, trusted};

/// `comparison.json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Comparison")]
pub(crate) struct Comparison {
    pub(crate) schema_version: String,
    /// `fail` if a lane failed, else `blocked` if one was blocked.
    pub(crate) status: Status,
    /// Null where the lanes are of several.
    pub(crate) task_id: Option<TaskId>,
    /// Null where the lanes are of several.
    pub(crate) contract_digest: Option<Digest>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) runtime_default_activation: bool,
}

impl Comparison {
    pub(crate) fn of(lanes: Vec<Lane>) -> Self {
        Self {
            schema_version: "1.0".to_owned(),
            status: together(&lanes),
            task_id: shared(lanes.iter().filter_map(|lane| lane.task_id.clone())),
            contract_digest: shared(lanes.iter().filter_map(|lane| lane.contract_digest)),
            lanes,
            runtime_default_activation: false,
        }
    }
}

impl Comparison {
    /// The reason that a bundle of it carries, of the same status as the comparison: the worst of a lane where none failed.
    pub(crate) fn reason(&self) -> Reason {
        let blocked = self.lanes.iter().filter(|lane| lane.status == Status::Blocked);
        let worst = blocked.filter_map(|lane| lane.reasons.first().copied()).min();
        match self.status {
            Status::Blocked => {
                worst.filter(|it| it.status(false) == Status::Blocked).unwrap_or(Reason::ProviderUnavailable)
            }
            Status::Pass | Status::Fail => Reason::VerificationFailed,
        }
    }
}

/// What all of them are, if they are all the same.
fn shared<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

pub(crate) fn compare(context: &Context, runs: &[String]) -> Result<u8, CommandError> {
    let keys = trusted(context, &[])?;
    let mut places = Places::new(context);
    let mut lanes = Vec::new();
    for run in runs {
        let found = places.locate(run)?;
        // A bundle that does not verify has no verdict that could be set beside others.
        let bound = found.bind(&found.keys(&keys, &[]))?;
        lanes.push(Lane::of(bound.report(), bound.attestation_sha256()));
    }
    let comparison = Comparison::of(lanes);
    let output = context.output;
    if output.json {
        output.print_json(&comparison)?;
    } else if output.terminal {
        output.print(&format!(
            "{}\n\n{}",
            heading(&comparison),
            lane_table::table(output, &comparison.lanes, comparison.task_id.as_ref())
        ));
    } else {
        output.print(&lane_table::lines(&comparison.lanes));
    }
    Ok(0)
}

fn heading(comparison: &Comparison) -> String {
    let runs = count(comparison.lanes.len(), "run", "runs");
    match (&comparison.task_id, comparison.contract_digest) {
        (Some(task), Some(_)) => format!("{runs} of {task}, under one contract"),
        (Some(task), None) => format!("{runs} of {task}, under several contracts"),
        (None, _) => format!("{runs} of several tasks"),
    }
}
