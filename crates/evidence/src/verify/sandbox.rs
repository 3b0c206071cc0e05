//! The sandbox judged again: signed and measured postures agree, every probe from inside
//! was refused, and the recorders' observations count against the run.

use contract::report::Report;
use contract::sandbox::{
    Attempt, AttemptKind, AttemptVerdict, ENGINE_CELL, HeldLimit, MountRecord, Posture, Probe, RecorderState,
    SandboxDocument, SandboxIds, SandboxRecord, probe_sha256,
};
use contract::{AnyText, Coverage, Digest, Reason, from_json};
use gate::conduct::judge_conduct;

use super::checks::Checks;
use crate::names;

/// `sandbox.json` as far as it is judged. Names of the sandbox's facts are only checked to
/// be text: nothing here rests on them, and a bundle of another version may have names that
/// this one does not know.
pub(super) type Document = SandboxDocument<AnyLimit, AnyPosture, JudgedSandbox>;

type AnyLimit = HeldLimit<AnyText, AnyText>;
type AnyMount = MountRecord<AnyText, AnyText, AnyText>;
type AnyPosture<P = Probe<AnyText>> = Posture<AnyText, AnyMount, AnyLimit, RecorderState<AnyText, AnyText>, P>;
type JudgedSandbox = SandboxRecord<SandboxIds<AnyText>, AnyText>;

/// Checks `sandbox.json` against the report and the signed digest of the postures.
pub(super) fn check_sandbox(document: &Document, postures: Option<&[u8]>, report: &Report, checks: &mut Checks) {
    let file = names::SANDBOX;
    checks.check_same(file, "sandbox_asked", report.sandbox.asked, document.asked);
    checks.check_same(file, "sandbox_applied", report.sandbox.profile, document.applied);
    checks.count_check(
        document.engine_ran == report.engine.process_started,
        file,
        "sandbox_engine",
        report.engine.process_started,
        document.engine_ran,
    );
    // Of the bytes as they stand: they hold what a later version added.
    let measured = postures.and_then(probe_sha256);
    let shown = |digest: Option<Digest>| digest.map_or_else(|| "none".to_owned(), |digest| digest.to_string());
    checks.count_check(
        measured == report.sandbox.probe_sha256,
        file,
        "probe_sha256",
        shown(measured),
        shown(report.sandbox.probe_sha256),
    );
    check_postures(document, postures, checks);
    check_attempts(document, report, checks);
    let full = document.cells.iter().any(|cell| cell.seen.is_full());
    let told = report.coverage.contains(&Coverage::RecorderFull);
    checks.count_check(full == told, file, "recorder_full", full, told);
}

fn check_postures(document: &Document, postures: Option<&[u8]>, checks: &mut Checks) {
    let file = names::SANDBOX;
    let all_refused = document.postures.iter().flat_map(|posture| &posture.probes).all(|probe| probe.refused);
    let open = if all_refused { String::new() } else { not_refused(postures) };
    checks.count_check(all_refused, file, "probes", "everything that was tried is refused", open);
    let weaker =
        document.postures.iter().any(|posture| posture.profile != document.applied || posture.probes.is_empty());
    checks.count_check(!weaker, file, "postures", document.applied, "a posture of another profile, or without a probe");
    let placed = document.cells.iter().all(|cell| cell.posture < document.postures.len());
    checks.count_check(placed, file, "cells", "a posture for each", "one that is not there");
}

/// Names, read only if a message needs them.
fn not_refused(postures: Option<&[u8]>) -> String {
    let postures: Vec<AnyPosture<Probe>> = postures.and_then(|bytes| from_json(bytes).ok()).unwrap_or_default();
    let probes = postures.iter().flat_map(|posture| &posture.probes);
    let open: Vec<&str> = probes.filter(|probe| !probe.refused).map(|probe| probe.name.as_str()).collect();
    open.join(", ")
}

/// Judges the engine's recorded conduct again and compares the attempts. Findings about its
/// git configuration are left out, because the configuration is not in the bundle.
fn check_attempts(document: &Document, report: &Report, checks: &mut Checks) {
    let file = names::SANDBOX;
    let engine = |cell: &&JudgedSandbox| cell.name == ENGINE_CELL;
    let again: Vec<Attempt> =
        document.cells.iter().filter(engine).flat_map(|cell| judge_conduct(&cell.name, &cell.seen)).collect();
    let listed: Vec<&Attempt> = document
        .attempts
        .iter()
        .filter(|attempt| attempt.cell == ENGINE_CELL && attempt.kind != AttemptKind::GitConfiguration)
        .collect();
    let same = again.iter().collect::<Vec<_>>() == listed;
    checks.count_check(same, file, "attempts", "what the recorders' lists are judged to be", "another list");
    for (verdict, reason) in [
        (AttemptVerdict::Violation, Reason::SandboxViolation),
        (AttemptVerdict::ForbiddenAction, Reason::ForbiddenActionAttempted),
    ] {
        let tried = document.attempts.iter().any(|attempt| attempt.judged == verdict);
        let told = report.blocker_reasons.contains(&reason);
        checks.count_check(tried == told, file, "attempts", format_args!("{reason} as a blocker: {tried}"), told);
    }
}
