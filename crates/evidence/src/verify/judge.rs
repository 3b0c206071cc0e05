//! Judging again: decision, paths, status, event order and the rendered report, each from
//! what it rests on.

use std::collections::BTreeSet;

use contract::decision::Profile;
use contract::event::{first_missing, first_out_of_order};
use contract::exam::ecosystems_of;
use contract::paths::{PathRules, PathVerdict};
use contract::report::{HitClass, PassKind, Report, VerificationPass, no_change_exercised, sort_blockers};
use contract::statement::SealedBy;
use contract::task::BlindCheck;
use contract::text::path_text;
use contract::version::{self, JudgedRun};
use contract::{
    Coverage, Decision, Digest, Ecosystem, Event, EventKind, MutationMode, RENDERER_VERSION, Reason, Statement,
    TaskContract, canonical_digest, from_json,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::checks::{Checks, FORMAT_VERSION};
use super::files::Tree;
use super::governed::GovernedRun;
use super::truth::RunDocuments;
use super::{collection, copied, exam, governed, model, sandbox, signed, truth};
use crate::exam_change::altered_exam_files;
use crate::render::RenderSources;
use crate::{chain, names, patch, render};

/// A report that could be read, and how far it was judged.
pub(super) struct JudgedReport {
    pub(super) report: Report,
    pub(super) events: u64,
    pub(super) again: bool,
}

/// Judges a bundle again from its own artifacts. Returns none if its report cannot be read
/// at all.
pub(super) fn judge_again(tree: &Tree, statement: Option<&Statement>, checks: &mut Checks) -> Option<JudgedReport> {
    let report: Option<Report> = parse(tree, names::REPORT, checks);
    check_version(tree, report.as_ref(), checks);
    let report = report?;
    check_index(tree, &report, checks);
    let (events, count) = check_events(tree, &report, statement, checks);
    if let Some(statement) = statement {
        signed::check_signed(tree, &report, statement, checks);
    }
    let again = is_judged_again(tree, &report);
    if again {
        let contract: Option<TaskContract> = parse(tree, names::CONTRACT, checks);
        let decision: Option<Decision> = parse(tree, names::DECISION, checks);
        if let (Some(contract), Some(decision)) = (&contract, &decision) {
            check_decision(tree, &report, contract, decision, checks);
            check_blind(&report, contract, checks);
            check_exercised(&report, contract, checks);
            exam::check_controls(&report, contract, checks);
            exam::check_excuses(&report, contract, checks);
        }
        if let Some(decision) = &decision {
            check_governed(tree, &report, decision, statement, &events, checks);
        }
        let (no_target, copied) = (parse(tree, names::STAGE_2, checks), parse(tree, names::STAGE_3, checks));
        copied::check_repository_proofs(&report, no_target.as_ref(), copied.as_ref(), checks);
        check_status(&report, checks);
        let sandbox = parse(tree, names::SANDBOX, checks);
        if let Some(document) = &sandbox {
            sandbox::check_sandbox(document, tree.postures(), &report, checks);
        }
        let records = model::usage_records(tree, checks);
        if let Some(decision) = &decision {
            model::check_model(&records, decision, &report, checks);
        }
        truth::check_events(
            &RunDocuments { events: &events, report: &report, sandbox: sandbox.as_ref(), records: &records },
            checks,
        );
    }
    if report.renderer_version == RENDERER_VERSION
        && let Some(found) = tree.content(names::REPORT_MD)
    {
        let content = |name| tree.content(name).unwrap_or_default();
        let sources = RenderSources { contract: content(names::CONTRACT), patch: content(names::PATCH) };
        let same = render::report_md(&report, &sources).as_bytes() == found;
        checks.count_check(
            same,
            names::REPORT_MD,
            "rendered",
            "what report, contract and patch render to",
            "other text",
        );
    }
    Some(JudgedReport { report, events: count, again })
}

/// True if this program has the rules that the run was judged by. A contract or a decision that cannot be read counts against the bundle
/// and is not passed over.
fn is_judged_again(tree: &Tree, report: &Report) -> bool {
    let contract = tree.content(names::CONTRACT).and_then(|bytes| from_json::<TaskContract>(bytes).ok());
    let mode = contract.map_or(MutationMode::None, |contract| contract.mutation_mode);
    let decision = tree.content(names::DECISION).and_then(|bytes| from_json::<Decision>(bytes).ok());
    let is_refused = decision.is_some_and(|decision| !decision.refusals.is_empty());
    version::has_these_rules(&report.rules_version, JudgedRun { stage: report.stage, mode, is_refused })
}

/// Refuses other format versions. The meaning of a later format's fields cannot be guessed,
/// even if they look like ours.
fn check_version(tree: &Tree, report: Option<&Report>, checks: &mut Checks) {
    #[derive(Deserialize)]
    struct Claimed {
        schema_version: String,
    }
    let claimed = || Some(serde_json::from_slice::<Claimed>(tree.content(names::REPORT)?).ok()?.schema_version);
    let Some(found) = report.map(|report| report.schema_version.clone()).or_else(claimed) else { return };
    let readable = version::readable_bundles();
    checks.count_check(
        version::is_readable(&found),
        names::REPORT,
        FORMAT_VERSION,
        format_args!("{readable}.x, which this program reads"),
        found,
    );
}

fn parse<T: DeserializeOwned>(tree: &Tree, name: &str, checks: &mut Checks) -> Option<T> {
    let bytes = tree.content(name)?;
    match from_json(bytes) {
        Ok(value) => Some(value),
        Err(error) => {
            checks.count_check(false, name, "shape", "its published schema", error);
            None
        }
    }
}

/// The report's own index of artifacts, for readers that know nothing of the statement.
fn check_index(tree: &Tree, report: &Report, checks: &mut Checks) {
    let file = names::REPORT;
    for (name, digest) in tree.files.iter().filter(|(name, _)| *name != names::ATTESTATION && *name != file) {
        let expected = report.artifact_digests.get(name).map_or("not listed", String::as_str);
        checks.count_check(expected.parse() == Ok(*digest), name, "artifact_digest", expected, digest);
    }
    for name in report.artifact_digests.keys() {
        checks.count_check(tree.files.contains_key(name), name, "listed", "a file that is there", "missing");
    }
    let own = own_digest(tree, report).map(|digest| digest.to_string()).unwrap_or_default();
    checks.check_same(
        file,
        "own_digest",
        own.as_str(),
        report.artifact_digests.get(file).map_or("not listed", String::as_str),
    );
    let named = report.artifact_paths.iter().all(|(name, path)| name == path && tree.files.contains_key(name));
    let all_named = named && report.artifact_paths.len() == tree.files.len();
    checks.count_check(all_named, file, "artifact_paths", "every file under its own name", "another list");
    let stale = report.freshness.iter().find(|(_, fresh)| {
        fresh.written_at < report.run_started_at
            || fresh.checked_at < fresh.written_at
            || fresh.checked_at > report.run_finished_at
    });
    checks.count_check(
        stale.is_none(),
        file,
        "freshness",
        format_args!("{} to {}", report.run_started_at, report.run_finished_at),
        stale.map_or("", |(name, _)| name),
    );
    let listed: BTreeSet<&String> = report.freshness.keys().collect();
    checks.count_check(
        tree.files.keys().all(|name| listed.contains(name)),
        file,
        "freshness",
        "every file",
        "some are not listed",
    );
}

/// Digest over the whole document, so that fields of later versions count too.
fn own_digest(tree: &Tree, report: &Report) -> Option<Digest> {
    let bytes = tree.content(names::REPORT)?;
    if let Some(digest) = report.artifact_digests.get(names::REPORT).and_then(|own| spliced(bytes, own)) {
        return Some(digest);
    }
    let mut report: Value = serde_json::from_slice(bytes).ok()?;
    *report.get_mut("artifact_digests")?.get_mut(names::REPORT)? = "".into();
    canonical_digest(&report).ok()
}

/// Digest with its own entry cut out, if that occurs exactly once. The bytes are canonical,
/// or the bundle does not verify anyway.
fn spliced(bytes: &[u8], own: &str) -> Option<Digest> {
    let text = std::str::from_utf8(bytes).ok()?;
    let entry = format!("\"{}\":\"{own}\"", names::REPORT);
    let mut places = text.match_indices(&entry);
    let (Some((at, _)), None) = (places.next(), places.next()) else { return None };
    let value = at + entry.len() - own.len() - 1;
    let hasher = Sha256::new_with_prefix(&bytes[..value]).chain_update(&bytes[value + own.len()..]);
    Some(Digest::from_bytes(hasher.finalize().into()))
}

fn check_events(tree: &Tree, report: &Report, statement: Option<&Statement>, checks: &mut Checks) -> (Vec<Event>, u64) {
    let file = names::EVENTS;
    let Some(bytes) = tree.content(file) else { return (Vec::new(), 0) };
    let read = chain::read_chain(bytes, Some(&report.run_id));
    checks.made += read.head.count;
    for broken in &read.broken {
        checks.fail(file, broken.check, Some(broken.line), &broken.expected, &broken.found);
    }
    if let Some(signed) = statement.map(|statement| &statement.predicate.events) {
        checks.check_same(file, "event_count", signed.count, read.head.count);
        checks.check_same(file, "chain_head", signed.head, read.head.digest);
    }
    let kinds: Vec<EventKind> = read.events.iter().map(|event| event.kind).collect();
    let times = || read.events.iter().map(|event| event.time);
    let during =
        times().is_sorted() && times().all(|time| (report.run_started_at..=report.run_finished_at).contains(&time));
    checks.count_check(during, file, "time", "times during the run, none before the one before it", "another order");
    let out_of_order = first_out_of_order(&kinds);
    checks.count_check(
        out_of_order.is_none(),
        file,
        "order",
        "the required order",
        out_of_order.map_or("", EventKind::name),
    );
    checks.count_check(
        kinds.first() == Some(&EventKind::RunStarted),
        file,
        "first",
        "run.started",
        kinds.first().map_or("none", |kind| kind.name()),
    );
    let last = read.events.last();
    let status =
        last.filter(|event| event.kind == EventKind::RunCompleted).and_then(|event| event.data.get("status")?.as_str());
    checks.check_same(file, "last", report.status.as_str(), status.unwrap_or("no run.completed at the end"));
    let missing = first_missing(&report.required_events, &kinds);
    checks.count_check(
        missing.is_none() == report.required_events_passed,
        file,
        "required_events",
        report.required_events_passed,
        missing.is_none(),
    );
    for reason in &report.blocker_reasons {
        let carried = read.events.iter().any(|event| event.kind == reason.event() && carries(event, *reason));
        checks.count_check(
            carried,
            file,
            "reason_event",
            format_args!("{} carries {reason}", reason.event()),
            "it does not",
        );
    }
    // What a dead run had found is lost but for its events, so a recovered bundle may lack
    // a blocker they carry.
    if statement.is_some_and(|statement| statement.predicate.sealed_by == SealedBy::Run) {
        let listed = |code: &str| report.blocker_reasons.iter().any(|reason| reason.code() == code);
        let unlisted = read.events.iter().flat_map(carried).find(|code| !listed(code));
        checks.count_check(
            unlisted.is_none(),
            file,
            "unlisted_reason",
            "only reasons of blockers",
            unlisted.unwrap_or(""),
        );
    }
    (read.events, read.head.count)
}

/// The codes in an event's `reason` and `reasons`.
fn carried(event: &contract::Event) -> impl Iterator<Item = &str> {
    let reasons = event.data.get("reasons").and_then(Value::as_array);
    event.data.get("reason").into_iter().chain(reasons.into_iter().flatten()).filter_map(Value::as_str)
}

fn carries(event: &contract::Event, reason: Reason) -> bool {
    carried(event).any(|code| code == reason.code())
}

/// Codes of the reasons, separated by commas, for failure messages.
pub(super) fn codes(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| reason.code()).collect::<Vec<_>>().join(", ")
}

fn check_decision(tree: &Tree, report: &Report, contract: &TaskContract, decision: &Decision, checks: &mut Checks) {
    // The file is canonical, or the bundle does not verify anyway.
    if let Some(digest) = tree.files.get(names::CONTRACT)
        && !is_target_redacted(report, contract)
    {
        checks.check_same(names::CONTRACT, "contract_digest", report.contract_digest, *digest);
    }
    let again = gate::decide(contract, decision.inputs.clone());
    let same = again.is_ok_and(|again| {
        let again = Decision { rules_version: report.rules_version.clone(), ..again };
        without_words(again) == without_words(decision.clone())
    });
    checks.count_check(same, names::DECISION, "judged_again", "the decision its inputs make", "another decision");
    checks.check_same(names::DECISION, "decision_id", report.decision_id, decision.decision_id);
    check_request(report, decision, checks);
    collection::check_collection(tree, report, decision, checks);
    let started = report.engine.process_started;
    checks.count_check(
        !started || decision.is_eligible(),
        names::DECISION,
        "admitted",
        "an eligible decision before the engine started",
        "a refusal",
    );
    for reason in &decision.reasons {
        let listed = report.blocker_reasons.contains(reason);
        checks.count_check(
            listed,
            names::REPORT,
            "decision_reasons",
            format_args!("{reason} among the blockers"),
            "it is not",
        );
    }
    check_ecosystems(contract, decision, checks);
    check_paths(tree, report, contract, decision, checks);
}

/// True if the contract is written without the path of a target that the run was not
/// admitted to. Its digest is then that of the full contract and cannot be compared. Only a
/// run that started nothing may do this.
fn is_target_redacted(report: &Report, contract: &TaskContract) -> bool {
    let redacted = contract.target_repository.as_deref().is_some_and(|path| path.starts_with("redacted:sha256:"));
    redacted && report.coverage.contains(&Coverage::TargetRedacted) && !report.engine.process_started
}

/// Approval and proof of a run that changed a repository.
fn check_governed(
    tree: &Tree,
    report: &Report,
    decision: &Decision,
    statement: Option<&Statement>,
    events: &[Event],
    checks: &mut Checks,
) {
    let disposable = parse(tree, names::STAGE_4, checks);
    let owned = parse(tree, names::owned_proof(report.stage), checks);
    let events: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
    let signed = statement.map(|statement| &statement.predicate);
    let (disposable, owned) = (disposable.as_ref(), owned.as_ref());
    governed::check_governed(&GovernedRun { report, decision, signed, events: &events, disposable, owned }, checks);
}

/// Checks that the decision lists every ecosystem that the contract's commands name;
/// leaving one out would unprotect its exam files. The baseline's own files are not in the
/// bundle and cannot be checked here.
fn check_ecosystems(contract: &TaskContract, decision: &Decision, checks: &mut Checks) {
    let argvs = contract.verification_commands.iter().map(|command| command.argv.as_slice());
    let unlisted =
        ecosystems_of([].into_iter(), argvs).into_iter().find(|named| !decision.ecosystems().contains(named));
    let found = unlisted.map_or("", Ecosystem::as_str);
    checks.count_check(
        unlisted.is_none(),
        names::DECISION,
        "ecosystems",
        "those that the contract's commands name",
        found,
    );
}

/// A decision without its sentences: a later program may say the same thing in better words.
fn without_words(mut decision: Decision) -> Decision {
    for refusal in &mut decision.refusals {
        refusal.text.clear();
        refusal.remedy.clear();
    }
    decision
}

/// The report is about the request that was judged, and about no other.
fn check_request(report: &Report, decision: &Decision, checks: &mut Checks) {
    let (file, asked) = (names::DECISION, &decision.inputs);
    checks.check_same(file, "decision_contract", report.contract_digest, asked.contract_digest);
    checks.check_same(file, "decision_purpose", report.purpose.as_str(), asked.purpose.as_str());
    checks.check_same(file, "decision_stage", report.stage, asked.stage);
    checks.check_same(file, "decision_engine", report.backend.as_str(), asked.engine.as_str());
    checks.check_same(file, "decision_engine", report.engine.id.as_str(), asked.engine.as_str());
    let baseline = asked.target.as_ref().and_then(|target| target.baseline_commit.as_deref());
    if report.baseline_commit.is_some() {
        let reported = report.baseline_commit.as_deref().unwrap_or("none");
        checks.check_same(file, "decision_baseline", reported, baseline.unwrap_or("none"));
    }
}

/// Changed files and path verdicts, from patch, contract and the ecosystems that the
/// decision recorded.
fn check_paths(tree: &Tree, report: &Report, contract: &TaskContract, decision: &Decision, checks: &mut Checks) {
    let file = names::PATCH;
    let (Some(bytes), Ok(rules)) = (tree.content(file), decision.path_rules(contract)) else {
        checks.count_check(false, file, "paths", "a patch and readable globs", "neither can be judged");
        return;
    };
    let mut paths = match patch::changed_paths(bytes) {
        Ok(paths) => paths,
        Err(error) => {
            checks.count_check(false, file, "header", "patch headers", error);
            return;
        }
    };
    paths.sort();
    let found: Vec<String> = paths.iter().map(|path| path_text(path)).collect();
    checks.count_check(
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
        let occurs = paths.iter().any(|path| rules.judge_path(path) == verdict);
        let listed = report.blocker_reasons.contains(&reason);
        // A refused link or name is a disallowed change as well, so the blocker may stand
        // without such a path.
        checks.count_check(
            !occurs || listed,
            names::REPORT,
            "path_verdict",
            format_args!("{reason} among the blockers"),
            "it is not",
        );
    }
    check_exam_changes(bytes, &rules, report, checks);
    let inside = paths.iter().all(|path| rules.judge_path(path) == PathVerdict::Allowed);
    checks.count_check(
        inside || !report.allowed_writes_passed,
        names::REPORT,
        "allowed_writes_passed",
        inside,
        report.allowed_writes_passed,
    );
    let none_forbidden = paths.iter().all(|path| rules.judge_path(path) != PathVerdict::Forbidden);
    checks.count_check(
        none_forbidden || !report.forbidden_paths_passed,
        names::REPORT,
        "forbidden_paths_passed",
        none_forbidden,
        report.forbidden_paths_passed,
    );
}

/// Checks that a patch which alters exam files is reported as such. Lines of a redacted
/// patch are not the judged ones.
fn check_exam_changes(patch: &[u8], rules: &PathRules, report: &Report, checks: &mut Checks) {
    let altered = altered_exam_files(patch, |path| rules.is_protected(path)).unwrap_or_default();
    let examined = !report.verification.passes.is_empty() && !report.coverage.contains(&Coverage::PatchRedacted);
    let listed = report.coverage.contains(&Coverage::ExamChangeNotControlled);
    let found = altered.first().map_or_else(String::new, |path| format!("not listed: {}", path_text(path)));
    let holds = altered.is_empty() || !examined || listed;
    checks.count_check(holds, names::REPORT, "coverage", Coverage::ExamChangeNotControlled.code(), found);
}

fn check_status(report: &Report, checks: &mut Checks) {
    let file = names::REPORT;
    checks.check_same(file, "status", report.judged_status(), report.status);
    let listed: Vec<Reason> = report.blockers.iter().map(|blocker| blocker.reason).collect();
    checks.count_check(
        listed == report.blocker_reasons,
        file,
        "blocker_reasons",
        codes(&listed),
        codes(&report.blocker_reasons),
    );
    let mut sorted = report.blockers.clone();
    sort_blockers(&mut sorted, report.engine.process_started);
    checks.count_check(sorted == report.blockers, file, "blocker_order", "worst first", "another order");
    exam::check_exam(report, checks);
    check_coverage(report, checks);
    check_secrets(report, checks);
}

/// Checks that findings of the secret scan and blockers agree in both directions.
fn check_secrets(report: &Report, checks: &mut Checks) {
    for (class, reason) in [(HitClass::Leak, Reason::SecretLeak), (HitClass::Canary, Reason::CanaryTouched)] {
        let (found, told) = (report.secret_scan.has_class(class), report.blocker_reasons.contains(&reason));
        checks.count_check(
            found == told,
            names::REPORT,
            "secret_scan",
            format_args!("{reason} as a blocker: {found}"),
            told,
        );
    }
}

/// A contract that names tests which must pass rests on a changed file that they read.
fn check_exercised(report: &Report, contract: &TaskContract, checks: &mut Checks) {
    let unread = !contract.must_pass.is_empty() && no_change_exercised(&report.verification.poisoned);
    let holds = report.status != contract::Status::Pass || !unread;
    checks.count_check(holds, names::REPORT, "verification", "a changed file that the exam reads", "none");
}

/// Blind checks that compare no output leave the exam to the word of its own process.
fn check_blind(report: &Report, contract: &TaskContract, checks: &mut Checks) {
    let examined = report.verification.passes.iter().any(|pass| pass.kind == exam::proving(report));
    let compared = contract.blind_checks.iter().any(BlindCheck::compares_output);
    let listed = report.coverage.contains(&Coverage::ExamInProcess);
    let holds = !examined || compared || listed;
    checks.count_check(holds, names::REPORT, "coverage", Coverage::ExamInProcess.code(), "not listed");
}

/// Checks that the coverage lists every gap that the report itself reveals.
fn check_coverage(report: &Report, checks: &mut Checks) {
    let ran = |kind: PassKind| report.verification.passes.iter().any(|pass| pass.kind == kind);
    let proving = exam::proving(report);
    let exam = |pass: &&VerificationPass| pass.kind == proving;
    let uncompared = report
        .verification
        .passes
        .iter()
        .filter(exam)
        .any(|pass| pass.tests.baseline.is_none_or(|tests| tests.executed == 0));
    let unsandboxed = report.engine.process_started && report.sandbox.profile == Profile::None;
    for (unproven, coverage) in [
        (unsandboxed, Coverage::SandboxNone),
        (ran(proving) && !ran(PassKind::Blind), Coverage::ExamInProcess),
        (ran(proving) && !ran(PassKind::Control), Coverage::ExamWithoutControl),
        (uncompared, Coverage::TestsNotCompared),
        (report.source_at.is_some(), Coverage::SourceWorktreeNotCompared),
    ] {
        let listed = report.coverage.contains(&coverage);
        checks.count_check(!unproven || listed, names::REPORT, "coverage", coverage.code(), "not listed");
    }
    let unread = report.verification.not_exercised().next();
    let listed = report.coverage.contains(&Coverage::ChangeNotExercised);
    let expected = "change_not_exercised exactly where a poisoned file is not exercised";
    checks.count_check(
        unread.is_some() == listed,
        names::REPORT,
        "coverage",
        expected,
        unread.unwrap_or("no such file"),
    );
}
