//! Judging again: decision, paths, status, event order and the rendered report, each from what it rests on.

use std::collections::BTreeSet;

use contract::event::{first_missing, first_out_of_order};
use contract::paths::PathVerdict;
use contract::report::{CheckResult, PassKind, Report, sort_blockers};
use contract::text::path_text;
use contract::{
    Decision, EventKind, RENDERER_VERSION, RULES_VERSION, Reason, Statement, Status, TaskContract, canonical_digest,
};
use serde::de::DeserializeOwned;

use super::Checks;
use super::files::Tree;
use crate::{chain, names, patch, render, seal};

/// A report that could be read, and how far it was judged.
pub(super) struct Judged {
    pub(super) report: Report,
    pub(super) events: u64,
    pub(super) again: bool,
}

pub(super) fn check(tree: &Tree, statement: Option<&Statement>, checks: &mut Checks) -> Option<Judged> {
    let report: Report = parse(tree, names::REPORT, checks)?;
    check_index(tree, &report, checks);
    let events = check_events(tree, &report, statement, checks);
    if let Some(statement) = statement {
        check_statement(&report, statement, checks);
    }
    let again = report.rules_version == RULES_VERSION;
    if again {
        check_decision(tree, &report, checks);
        check_status(&report, checks);
    }
    if report.renderer_version == RENDERER_VERSION
        && let Some(found) = tree.content(names::REPORT_MD)
    {
        let same = render::report_md(&report).as_bytes() == found;
        checks.check(same, names::REPORT_MD, "rendered", "what report.json renders to", "other text");
    }
    Some(Judged { report, events, again })
}

fn parse<T: DeserializeOwned>(tree: &Tree, name: &str, checks: &mut Checks) -> Option<T> {
    let bytes = tree.content(name)?;
    match serde_json::from_slice(bytes) {
        Ok(value) => Some(value),
        Err(error) => {
            checks.check(false, name, "shape", "its published schema", error);
            None
        }
    }
}

/// The report's own index of artifacts, for readers that know nothing of the statement.
fn check_index(tree: &Tree, report: &Report, checks: &mut Checks) {
    let file = names::REPORT;
    for (name, digest) in tree.files.iter().filter(|(name, _)| *name != names::ATTESTATION && *name != file) {
        let expected = report.artifact_digests.get(name).map_or("not listed", String::as_str);
        checks.same(name, "artifact_digest", expected, digest.to_string().as_str());
    }
    for name in report.artifact_digests.keys() {
        checks.check(tree.files.contains_key(name), name, "listed", "a file that is there", "missing");
    }
    let mut blank = report.clone();
    blank.artifact_digests.insert(file.to_owned(), String::new());
    let own = canonical_digest(&blank).map(|digest| digest.to_string()).unwrap_or_default();
    checks.same(
        file,
        "own_digest",
        own.as_str(),
        report.artifact_digests.get(file).map_or("not listed", String::as_str),
    );
    let stale = report.freshness.iter().find(|(_, fresh)| {
        fresh.written_at < report.run_started_at
            || fresh.checked_at < fresh.written_at
            || fresh.checked_at > report.run_finished_at
    });
    let during = format!("{} to {}", report.run_started_at, report.run_finished_at);
    checks.check(stale.is_none(), file, "freshness", during, stale.map_or("", |(name, _)| name));
    let listed: BTreeSet<&String> = report.freshness.keys().collect();
    checks.check(
        tree.files.keys().all(|name| listed.contains(name)),
        file,
        "freshness",
        "every file",
        "some are not listed",
    );
}

fn check_events(tree: &Tree, report: &Report, statement: Option<&Statement>, checks: &mut Checks) -> u64 {
    let file = names::EVENTS;
    let Some(bytes) = tree.content(file) else { return 0 };
    let read = chain::read(bytes, Some(&report.run_id));
    checks.made += read.head.count;
    for broken in &read.broken {
        checks.fail(file, broken.check, Some(broken.line), &broken.expected, &broken.found);
    }
    if let Some(signed) = statement.map(|statement| &statement.predicate.events) {
        checks.same(file, "event_count", signed.count, read.head.count);
        checks.same(file, "chain_head", signed.head, read.head.digest);
    }
    let kinds: Vec<EventKind> = read.events.iter().map(|event| event.kind).collect();
    let out_of_order = first_out_of_order(&kinds);
    checks.check(out_of_order.is_none(), file, "order", "the required order", out_of_order.map_or("", EventKind::name));
    checks.check(
        kinds.first() == Some(&EventKind::RunStarted),
        file,
        "first",
        "run.started",
        kinds.first().map_or("none", |kind| kind.name()),
    );
    let last = read.events.last();
    let status =
        last.filter(|event| event.kind == EventKind::RunCompleted).and_then(|event| event.data.get("status")?.as_str());
    checks.same(file, "last", report.status.as_str(), status.unwrap_or("no run.completed at the end"));
    let missing = first_missing(&report.required_events, &kinds);
    checks.check(
        missing.is_none() == report.required_events_passed,
        file,
        "required_events",
        report.required_events_passed,
        missing.is_none(),
    );
    for reason in &report.blocker_reasons {
        let carried = read.events.iter().any(|event| event.kind == reason.event() && carries(event, *reason));
        checks.check(carried, file, "reason_event", format!("{} carries {reason}", reason.event()), "it does not");
    }
    read.head.count
}

fn carries(event: &contract::Event, reason: Reason) -> bool {
    let reasons = event.data.get("reasons").and_then(|reasons| reasons.as_array());
    let code = reason.code();
    event.data.get("reason").is_some_and(|found| found == code)
        || reasons.is_some_and(|reasons| reasons.iter().any(|found| found == code))
}

/// What is signed and what the report says are the same.
fn check_statement(report: &Report, statement: &Statement, checks: &mut Checks) {
    let (file, signed) = (names::REPORT, &statement.predicate);
    checks.same(file, "signed_run", signed.run_id.as_str(), report.run_id.as_str());
    checks.same(file, "signed_task", signed.task_id.as_str(), report.task_id.as_str());
    checks.same(file, "signed_verdict", signed.verdict, report.status);
    checks.same(file, "signed_stage", signed.stage, report.stage);
    checks.same(file, "signed_purpose", signed.purpose.as_str(), report.purpose.as_str());
    checks.same(file, "signed_contract", signed.contract_digest, report.contract_digest);
    checks.same(file, "signed_decision", signed.decision_id, report.decision_id);
    checks.same(file, "signed_started", signed.started_at, report.run_started_at);
    checks.same(file, "signed_finished", signed.finished_at, report.run_finished_at);
    checks.check(
        signed.blockers == report.blocker_reasons,
        file,
        "signed_blockers",
        codes(&signed.blockers),
        codes(&report.blocker_reasons),
    );
    checks.check(signed.coverage == report.coverage, file, "signed_coverage", "the signed coverage", "another");
    checks.check(signed.result_tree == report.result_tree, file, "signed_result_tree", "the signed tree", "another");
    checks.check(
        signed.baseline_commit == report.baseline_commit,
        file,
        "signed_baseline",
        "the signed commit",
        "another",
    );
    let checks_match = seal::signed_checks(report).is_ok_and(|made| made == signed.verification);
    checks.check(checks_match, file, "signed_verification", "the signed verification", "another");
    checks.check(!report.runtime_default_activation, file, "runtime_default_activation", false, true);
}

fn codes(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| reason.code()).collect::<Vec<_>>().join(", ")
}

fn check_decision(tree: &Tree, report: &Report, checks: &mut Checks) {
    let contract: Option<TaskContract> = parse(tree, names::CONTRACT, checks);
    let decision: Option<Decision> = parse(tree, names::DECISION, checks);
    let (Some(contract), Some(decision)) = (contract, decision) else { return };
    let digest = contract.digest().map(|digest| digest.to_string()).unwrap_or_default();
    checks.same(names::CONTRACT, "contract_digest", report.contract_digest.to_string(), digest);
    let again = gate::decide(&contract, decision.inputs.clone());
    let same = again.is_ok_and(|again| again == decision);
    checks.check(same, names::DECISION, "judged_again", "the decision its inputs make", "another decision");
    checks.same(names::DECISION, "decision_id", report.decision_id, decision.decision_id);
    let started = report.engine.process_started;
    checks.check(
        !started || decision.is_eligible(),
        names::DECISION,
        "admitted",
        "an eligible decision before the engine started",
        "a refusal",
    );
    for reason in &decision.reasons {
        let listed = report.blocker_reasons.contains(reason);
        checks.check(listed, names::REPORT, "decision_reasons", format!("{reason} among the blockers"), "it is not");
    }
    check_paths(tree, report, &contract, checks);
}

/// Changed files and path verdicts, from patch and contract.
fn check_paths(tree: &Tree, report: &Report, contract: &TaskContract, checks: &mut Checks) {
    let file = names::PATCH;
    let (Some(bytes), Ok(rules)) = (tree.content(file), contract.path_rules()) else {
        checks.check(false, file, "paths", "a patch and readable globs", "neither can be judged");
        return;
    };
    let mut paths = match patch::changed_paths(bytes) {
        Ok(paths) => paths,
        Err(error) => {
            checks.check(false, file, "header", "patch headers", error);
            return;
        }
    };
    paths.sort();
    let found: Vec<String> = paths.iter().map(|path| path_text(path)).collect();
    checks.check(
        found == report.changed_files,
        file,
        "changed_files",
        report.changed_files.join(", "),
        found.join(", "),
    );
    for (verdict, reason) in [
        (PathVerdict::Forbidden, Reason::ForbiddenPathChange),
        (PathVerdict::Protected, Reason::ProtectedFileChanged),
        (PathVerdict::Outside, Reason::DisallowedFileChange),
    ] {
        let occurs = paths.iter().any(|path| rules.judge(path) == verdict);
        let listed = report.blocker_reasons.contains(&reason);
        // A refused link or name is a disallowed change as well, so the blocker may stand without such a path.
        checks.check(
            !occurs || listed,
            names::REPORT,
            "path_verdict",
            format!("{reason} among the blockers"),
            "it is not",
        );
    }
    let inside = paths.iter().all(|path| rules.judge(path) == PathVerdict::Allowed);
    checks.check(
        inside || !report.allowed_writes_passed,
        names::REPORT,
        "allowed_writes_passed",
        inside,
        report.allowed_writes_passed,
    );
}

fn check_status(report: &Report, checks: &mut Checks) {
    let file = names::REPORT;
    checks.same(file, "status", report.judged_status(), report.status);
    let listed: Vec<Reason> = report.blockers.iter().map(|blocker| blocker.reason).collect();
    checks.check(
        listed == report.blocker_reasons,
        file,
        "blocker_reasons",
        codes(&listed),
        codes(&report.blocker_reasons),
    );
    let mut sorted = report.blockers.clone();
    sort_blockers(&mut sorted, report.engine.process_started);
    checks.check(sorted == report.blockers, file, "blocker_order", "worst first", "another order");
    let passes = &report.verification.passes;
    let failed = passes.iter().any(|pass| pass.result == CheckResult::Fail);
    let holds = report.status != Status::Pass || !failed;
    checks.check(holds, file, "verification", "no failed check in a pass", "one failed");
    let proven = report.status != Status::Pass
        || report.stage.number() == 1
        || report.coverage.contains(&contract::Coverage::NoVerification)
        || passes.iter().any(|pass| pass.kind == PassKind::Exam && pass.result == CheckResult::Pass);
    checks.check(proven, file, "verification", "an exam that passed, or a reason why there is none", "neither");
    let wrong_pass = passes
        .iter()
        .find(|pass| pass.result == CheckResult::Pass && pass.kind == PassKind::Exam && pass.exit != Some(0));
    checks.check(
        wrong_pass.is_none(),
        file,
        "verification",
        "exit 0 where the exam passed",
        wrong_pass.map_or("", |pass| pass.name.as_str()),
    );
}
