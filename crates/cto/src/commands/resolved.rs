//! The values that a contract leaves to their defaults, as `cto decide` shows them.

use std::fmt::Write as _;

use contract::TaskContract;
use contract::task::{ForbiddenAction, Limits};
use contract::text::show_controls;
use harness::Task;

use crate::output::{Output, bytes};

/// One line a key for people, below a heading of its own; empty where the contract says
/// everything.
pub(super) fn people(output: Output, task: &Task) -> String {
    let mut out = String::new();
    let mut title = "by default";
    for (key, value) in values(task) {
        let _ = writeln!(out, "  {}  {key:<20} {value}", output.paint.dim(&format!("{title:<12}")));
        title = "";
    }
    out
}

/// One line a key for programs.
pub(super) fn task_lines(task: &Task) -> String {
    values(task).map(|(key, value)| format!("default {key} {value}\n")).collect()
}

fn values(task: &Task) -> impl Iterator<Item = (&'static str, String)> {
    task.unsaid.iter().map(|key| (*key, show_controls(&value(&task.contract, key))))
}

fn value(contract: &TaskContract, key: &str) -> String {
    match key {
        "title" => contract.title.clone(),
        "mutation_mode" => contract.mutation_mode.to_string(),
        "approval_required" => contract.approval_required.to_string(),
        "diff_required" => contract.diff_required.to_string(),
        "forbidden_actions" => ForbiddenAction::ALL.iter().map(|action| action.as_str()).collect::<Vec<_>>().join(" "),
        "limits" => limits(&contract.limits),
        "flaky_retries" => contract.flaky_retries().to_string(),
        "branch_policy" => contract.branch_policy.clone(),
        "source_owner" => format!("{}, as git knows you", contract.source_owner.as_deref().unwrap_or_default()),
        _ => String::new(),
    }
}

fn limits(limits: &Limits) -> String {
    let Limits { wall_seconds, memory_bytes, processes, disk_bytes, output_bytes, .. } = limits;
    let (memory, disk, output) = (bytes(*memory_bytes), bytes(*disk_bytes), bytes(*output_bytes));
    format!("{wall_seconds} s, {memory} of memory, {processes} processes, {disk} of disk, {output} of output")
}
