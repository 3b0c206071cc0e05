//! The group `case_provider_adapter`: that Case is let in only as it should be, each check
//! by a run of its stand-in. The names are those that the operator's reports use.

use contract::{Purpose, Reason, Report, Status};
use fixtures::scripted::{Reply, Script};

use super::lab::{Lab, Trial, WORK, working};
use super::plan::{ADAPTER, HealthPlan};
use super::{NamedCheck, StageCheck, TrialStop};
use crate::commands::stage_checks::{ended_otherwise, not_refused};
use crate::context::Context;

/// Trial, and the check of its report.
struct Row {
    name: &'static str,
    trial: fn() -> Trial,
    wrong: fn(&Report) -> Option<String>,
}

/// Before any gate is open.
const SHUT: &[Row] = &[
    Row {
        name: "case_default_disabled",
        trial: || Trial { stage: 1, ..Trial::default() },
        wrong: |report| not_refused(report, Reason::GateMissing),
    },
    Row { name: "fake_lane_passes", trial: || Trial { engine: harness::FAKE, ..Trial::default() }, wrong: passed },
];

/// Checks with the gate open for stage 2.
const OPEN: &[Row] = &[
    Row {
        name: "model_provider_gate_blocks",
        trial: || Trial { admitted: false, ..Trial::default() },
        wrong: |report| not_refused(report, Reason::ModelNotAdmitted),
    },
    Row { name: "qwen_local_openai_compat_allows_case", trial: Trial::default, wrong: two_names },
    Row {
        name: "local_provider_delayed_content_allows_case",
        trial: || {
            let late = Reply { reasoning: Some("well ".repeat(100)), delay_head_ms: 500, ..Reply::text("ready") };
            Trial { script: Script { otherwise: late, ..working(WORK) }, ..Trial::default() }
        },
        wrong: passed,
    },
    Row {
        name: "provider_timeout_fail_closed",
        trial: || Trial { script: working("sleep 600"), timeout_seconds: Some(2), ..Trial::default() },
        wrong: |report| {
            let marked = report.artifact_paths.contains_key("backend/provider-timeout.txt");
            ended_otherwise(report, Status::Blocked, &[Reason::Timeout])
                .or_else(|| (!marked).then(|| "there is no backend/provider-timeout.txt".to_owned()))
        },
    },
    Row {
        name: "lifecycle_supervision_accepts_committed_diff",
        trial: || Trial {
            script: working(&format!("{WORK} && git add strings.py && git commit -qm work")),
            timeout_seconds: Some(60),
            words: "quiet linger",
            ..Trial::default()
        },
        wrong: |report| {
            let marked = report.artifact_paths.contains_key("backend/provider-lifecycle-harness-completed.txt");
            passed(report).or_else(|| (!marked).then(|| "the engine was not ended by the harness".to_owned()))
        },
    },
];

/// Names of all checks here.
pub(super) fn check_names() -> Vec<&'static str> {
    SHUT.iter().chain(OPEN).map(|row| row.name).collect()
}

/// Runs the wanted checks of this group.
pub(super) fn checks(context: &Context, plan: &HealthPlan) -> Result<Vec<NamedCheck>, TrialStop> {
    let mut lab = Lab::build_lab(context)?;
    let mut checks = hold(&lab, SHUT, plan)?;
    if OPEN.iter().any(|row| plan.wants(ADAPTER, row.name)) {
        // The rung that stage 2 rests on, in a home that nobody keeps.
        lab.open_gate(1)?;
        let _ = lab.run_trial(Trial { stage: 1, purpose: Purpose::Governed, ..Trial::default() })?;
        lab.open_gate(2)?;
        checks.extend(hold(&lab, OPEN, plan)?);
    }
    Ok(checks)
}

fn hold(lab: &Lab<'_>, rows: &[Row], plan: &HealthPlan) -> Result<Vec<NamedCheck>, TrialStop> {
    let wanted = rows.iter().filter(|row| plan.wants(ADAPTER, row.name));
    wanted
        .map(|Row { name, trial, wrong }| {
            let report = lab.run_trial(trial())?;
            Ok(((*name).to_owned(), StageCheck::of_report(&report, wrong(&report))))
        })
        .collect()
}

fn passed(report: &Report) -> Option<String> {
    ended_otherwise(report, Status::Pass, &[])
}

/// Checks that the admitted provider and the name in the engine's configuration stay apart.
fn two_names(report: &Report) -> Option<String> {
    let names =
        report.case.as_ref().map(|it| (it.case_model_provider.as_deref(), it.case_runtime_model_provider.as_deref()));
    let apart = names == Some((Some("qwen-local"), Some("openai")));
    passed(report)
        .or_else(|| (!apart).then(|| "the report does not distinguish admitted and runtime provider".to_owned()))
}
