//! The judgement of a comparison: a pure function of its facts.

use std::collections::BTreeSet;

use contract::event::first_out_of_order;
use contract::proof::{ApprovalAnswer, OwnedRepositoryProof};
use contract::report::{CheckResult, OperatorOutcome};
use contract::stage6::comparison::{
    CandidateComparison, CandidateIdentity, CandidateLane, ComparedSubject, ComparisonSubject, ComparisonType,
    HeldShare, LaneMeasures, REPEATABILITY_REQUIRED, SourceFreshness, join_verdicts,
};
use contract::status::NotPromoted;
use contract::{CitedBundle, EventKind, RunId, Stage, Status};
use evidence::names;

use super::facts::{BundleFacts, ComparisonFacts, LaneFacts, OwnedPass, SpoiledRun};
use super::rows::{compared_pass, failure_row};
use crate::home::engines::FAKE;

/// Keys that every report has, whatever became of the run.
const REQUIRED_KEYS: [&str; 16] = [
    "case_id",
    "run_id",
    "status",
    "backend",
    "run_started_at",
    "run_finished_at",
    "backend_exit_code",
    "artifacts_dir",
    "changed_files",
    "allowed_writes_passed",
    "approval_status",
    "verification",
    "blockers",
    "artifact_paths",
    "artifact_digests",
    "freshness",
];

/// Judges a comparison. The same facts always give the same document.
pub(super) fn judge_comparison(facts: &ComparisonFacts) -> CandidateComparison {
    let lanes: Vec<CandidateLane> = facts.lanes.iter().map(|lane| judge_lane(lane, &facts.candidate.engine)).collect();
    let mut subjects: Vec<ComparedSubject> =
        ComparisonSubject::CRITERIA.iter().map(|criterion| judge_criterion(*criterion, facts, &lanes)).collect();
    let count = count_distinct(&facts.passes);
    let repeatability = judge_repeatability(facts, count);
    let repeatability_status = repeatability.verdict;
    subjects.extend([judge_admission(facts), judge_matrix(facts), repeatability]);
    subjects.extend([
        judge_passes(ComparisonSubject::ProofFacts, facts, "every fact of the stage 5 proofs holds", find_failed_fact),
        judge_passes(
            ComparisonSubject::ApprovalProvenance,
            facts,
            "each pass used an approval of its own",
            find_approval,
        ),
        judge_passes(ComparisonSubject::ForbiddenActionClosure, facts, "no forbidden action was tried", find_action),
        judge_activation(facts),
    ]);
    let stage = Stage::CANDIDATE_DEFAULT;
    CandidateComparison {
        schema_version: "1.0".to_owned(),
        comparison_type: ComparisonType::CandidateDefault,
        status: join_verdicts(subjects.iter().map(|subject| subject.verdict)),
        stage,
        mutation_mode: stage.mutation_mode(),
        allowed_mutation_scope: stage.allowed_mutation_scope().to_owned(),
        candidate: CandidateIdentity {
            engine: facts.candidate.engine.clone(),
            source_id: facts.candidate.source_id.clone(),
            model: facts.candidate.model.clone(),
            bundle_schema: views::bundle_schema().to_owned(),
        },
        subjects,
        source_admission_freshness: facts.freshness,
        failure_matrix: facts.matrix.iter().map(failure_row).collect(),
        stage5_passes: facts.passes.iter().map(compared_pass).collect(),
        repeatability_required: REPEATABILITY_REQUIRED,
        repeatability_count: count,
        repeatability_status,
        repeatability_passed: repeatability_status == Status::Pass,
        operator_outcome: OperatorOutcome::Pending,
        operator_outcome_required: true,
        bundles: cited(facts, &lanes),
        lanes,
        runtime_default_activation: false,
        core_promotion_status: NotPromoted::NotPromoted,
    }
}

/// Every bundle that was read, each once.
fn cited(facts: &ComparisonFacts, lanes: &[CandidateLane]) -> Vec<CitedBundle> {
    let passes = facts.passes.iter().map(|pass| &pass.bundle.cited);
    let rows = facts.matrix.iter().filter_map(|row| row.bundle.as_ref());
    let all: BTreeSet<&CitedBundle> = lanes.iter().flat_map(|lane| &lane.bundles).chain(passes).chain(rows).collect();
    all.into_iter().cloned().collect()
}

/// Problem of a bundle by one criterion; the outer none means that the criterion does not
/// apply.
fn find_problem(criterion: ComparisonSubject, facts: &BundleFacts) -> Option<Option<String>> {
    let passed = facts.status == Status::Pass;
    match criterion {
        ComparisonSubject::ReportShape => {
            let missing = REQUIRED_KEYS.iter().find(|key| !facts.keys.contains(**key));
            let secret =
                || facts.secret_fields.first().map(|field| format!("it has `{field}`, in the shape of a secret"));
            Some(missing.map(|key| format!("its report has no `{key}`")).or_else(secret))
        }
        ComparisonSubject::EventValidity => Some(find_event_problem(&facts.events)),
        ComparisonSubject::AllowedPathCompliance => passed.then(|| {
            let inside = facts.allowed_writes_passed && facts.forbidden_paths_passed;
            (!inside).then(|| "it changed a path that it may not".to_owned())
        }),
        ComparisonSubject::FailureClosure => {
            (!passed).then(|| match (&facts.target_commit, facts.reasons.is_empty()) {
                (Some(_), _) => Some("it did not pass and landed a commit".to_owned()),
                (None, true) => Some("it did not pass and names no reason".to_owned()),
                (None, false) => None,
            })
        }
        ComparisonSubject::ArtifactCompleteness => {
            let missing = names::ALWAYS.iter().find(|name| !facts.files.contains(**name));
            Some(missing.map(|name| format!("it has no {name}")))
        }
        _ => None,
    }
}

fn find_event_problem(events: &[EventKind]) -> Option<String> {
    if let Some(kind) = first_out_of_order(events) {
        return Some(format!("its event {kind} is out of order"));
    }
    let is_framed = events.first() == Some(&EventKind::RunStarted) && events.last() == Some(&EventKind::RunCompleted);
    (!is_framed).then(|| "its events do not go from run.started to run.completed".to_owned())
}

fn measure(criterion: ComparisonSubject, bundles: &[BundleFacts]) -> HeldShare {
    let judged: Vec<_> = bundles.iter().filter_map(|bundle| find_problem(criterion, bundle)).collect();
    let held = judged.iter().filter(|problem| problem.is_none()).count();
    HeldShare { held: held as u64, of: judged.len() as u64 }
}

fn judge_lane(lane: &LaneFacts, candidate: &str) -> CandidateLane {
    let of = |criterion| measure(criterion, &lane.bundles);
    let measures = (!lane.bundles.is_empty()).then(|| LaneMeasures {
        report_shape: of(ComparisonSubject::ReportShape),
        event_validity: of(ComparisonSubject::EventValidity),
        allowed_path_compliance: of(ComparisonSubject::AllowedPathCompliance),
        failure_closure: of(ComparisonSubject::FailureClosure),
        artifact_completeness: of(ComparisonSubject::ArtifactCompleteness),
    });
    let is_whole = |measures: LaneMeasures| {
        ComparisonSubject::CRITERIA.iter().filter_map(|one| measures.share(*one)).all(HeldShare::is_whole)
    };
    let (status, rationale) = match measures.map(is_whole) {
        None => (Status::Blocked, lane.missing.clone()),
        Some(true) => (Status::Pass, format!("{} verified bundles, every criterion holds", lane.bundles.len())),
        Some(false) => (Status::Fail, format!("{} verified bundles, a criterion does not hold", lane.bundles.len())),
    };
    let bundles = lane.bundles.iter().map(|bundle| bundle.cited.clone()).collect();
    CandidateLane {
        engine: lane.engine.clone(),
        candidate: lane.engine == candidate,
        status,
        rationale,
        measures,
        bundles,
    }
}

/// The candidate holds a criterion in all its bundles, and no lane does better.
fn judge_criterion(criterion: ComparisonSubject, facts: &ComparisonFacts, lanes: &[CandidateLane]) -> ComparedSubject {
    let engine = &facts.candidate.engine;
    let share = |lane: &CandidateLane| lane.measures.and_then(|measures| measures.share(criterion));
    if let Some(spoiled) = facts.spoiled.first().filter(|_| criterion == ComparisonSubject::ArtifactCompleteness) {
        return refuse_spoiled(spoiled, facts);
    }
    let Some(own) = lanes.first().and_then(share) else {
        let text = format!("there is no verified bundle of {engine}");
        return blocked(criterion, text, format!("cto ladder --engine {engine}"));
    };
    let bundles = facts.lanes.first().map_or(&[][..], |lane| &lane.bundles);
    let wrong = bundles.iter().find_map(|bundle| Some((bundle, find_problem(criterion, bundle)??)));
    if let Some((bundle, problem)) = wrong {
        return failed(criterion, &bundle.cited.run_id, &problem);
    }
    if let Some(lane) = lanes.iter().find(|lane| share(lane).is_some_and(|other| !own.matches(other))) {
        let remedy = format!("cto ladder --engine {engine}     and newer runs that do as well");
        return refuse_subject(criterion, format!("{} does better than {engine}", lane.engine), remedy);
    }
    // Failures are closed by the harness, which the fake engine's bundles show.
    let fake = lanes.iter().find(|lane| lane.engine == FAKE).and_then(share);
    match (criterion, fake) {
        (ComparisonSubject::FailureClosure, None) => {
            blocked(criterion, "there is no verified bundle of fake".to_owned(), "cto matrix".to_owned())
        }
        (ComparisonSubject::FailureClosure, Some(fake)) if !fake.is_whole() => {
            refuse_subject(criterion, "a failing run of fake was not closed".to_owned(), "cto matrix".to_owned())
        }
        _ => passed(criterion, format!("{} of {} bundles of {engine}", own.held, own.of)),
    }
}

/// A bundle that is gone or does not verify is named, and not only missed.
fn refuse_spoiled(spoiled: &SpoiledRun, facts: &ComparisonFacts) -> ComparedSubject {
    let SpoiledRun { run_id, why } = spoiled;
    let text = format!("the bundle of {run_id} cannot be used: {why}");
    let again = facts.commands.second_pass_command();
    let remedy = format!("cto verify {run_id}     and newer runs without it: {again}");
    refuse_subject(ComparisonSubject::ArtifactCompleteness, text, remedy)
}

fn judge_admission(facts: &ComparisonFacts) -> ComparedSubject {
    let (subject, text) = (ComparisonSubject::SourceAdmissionFreshness, facts.admission.clone());
    match facts.freshness {
        SourceFreshness::Current => passed(subject, text),
        SourceFreshness::Stale => blocked(subject, text, format!("cto admit source {}", facts.candidate.engine)),
    }
}

fn judge_matrix(facts: &ComparisonFacts) -> ComparedSubject {
    let subject = ComparisonSubject::FailureMatrixCoverage;
    let open = facts.matrix.iter().filter(|row| row.bundle.is_none() && row.rationale.is_none());
    let open: Vec<&str> = open.map(|row| row.fixture).collect();
    match open.as_slice() {
        [] => passed(subject, format!("{} rows, each with a bundle or a rationale", facts.matrix.len())),
        open => {
            blocked(subject, format!("no bundle of this build shows: {}", open.join(", ")), "cto matrix".to_owned())
        }
    }
}

/// Passes with a case and a commit that no other has.
fn count_distinct(passes: &[OwnedPass]) -> u64 {
    let cases: BTreeSet<_> = passes.iter().map(|pass| &pass.bundle.case_id).collect();
    let commits: BTreeSet<_> = passes.iter().filter_map(|pass| pass.bundle.target_commit.as_ref()).collect();
    cases.len().min(commits.len()) as u64
}

fn judge_repeatability(facts: &ComparisonFacts, count: u64) -> ComparedSubject {
    let subject = ComparisonSubject::Repeatability;
    let text =
        format!("{count} accepted passes of stage 5, of distinct cases and commits, of {REPEATABILITY_REQUIRED}");
    if count >= REPEATABILITY_REQUIRED {
        return passed(subject, text);
    }
    blocked(subject, text, facts.commands.second_pass_command())
}

/// Judges each pass of stage 5. A problem in one fails the subject; without a pass there is
/// no finding.
fn judge_passes(
    subject: ComparisonSubject,
    facts: &ComparisonFacts,
    holds: &str,
    find: fn(&OwnedPass) -> Option<String>,
) -> ComparedSubject {
    if facts.passes.is_empty() {
        return blocked(
            subject,
            "there is no accepted pass of stage 5".to_owned(),
            facts.commands.second_pass_command(),
        );
    }
    match facts.passes.iter().find_map(|pass| Some((pass, find(pass)?))) {
        Some((pass, problem)) => failed(subject, &pass.bundle.cited.run_id, &problem),
        None => passed(subject, holds.to_owned()),
    }
}

fn find_failed_fact(pass: &OwnedPass) -> Option<String> {
    let Some(proof) = &pass.proof else { return Some(format!("it has no {}", names::STAGE_5)) };
    let OwnedRepositoryProof { paths, .. } = proof;
    let wrong = [
        ("passed", proof.passed),
        ("verification", proof.verification == CheckResult::Pass),
        ("allowed_paths_passed", paths.allowed_paths_passed),
        ("forbidden_paths_passed", paths.forbidden_paths_passed),
        ("target_repository_start_clean", proof.target_repository_start_clean),
        ("target_repository_ending_clean", proof.target_repository_ending_clean),
        ("target_commit", proof.target_commit.is_some() && proof.target_commit == pass.bundle.target_commit),
        ("case_process_started", proof.case_process_started),
    ];
    wrong.iter().find(|(_, holds)| !holds).map(|(fact, _)| format!("its proof says that {fact} does not hold"))
}

fn find_approval(pass: &OwnedPass) -> Option<String> {
    let Some(proof) = &pass.proof else { return Some(format!("it has no {}", names::STAGE_5)) };
    let approval = &proof.approval;
    let is_used = approval.status == ApprovalAnswer::Granted && approval.approval_consumed;
    let is_named =
        approval.approval_digests.first() == Some(&proof.approval_digest) && !proof.approval_source.is_empty();
    (!is_used || !is_named).then(|| "its proof names no approval that it used".to_owned())
}

fn find_action(pass: &OwnedPass) -> Option<String> {
    let tried = pass.proof.as_ref().is_none_or(|proof| {
        let actions = &proof.actions;
        !actions.no_forbidden_actions
            || actions.public_publication_attempted
            || actions.push_merge_deploy_close_pr_open_attempted
    });
    let named = pass.bundle.forbidden_actions.first().map(|action| format!("it tried: {action}"));
    named.or_else(|| tried.then(|| "its proof does not rule out a forbidden action".to_owned()))
}

/// No bundle of any lane and no proof activates a default or promotes.
fn judge_activation(facts: &ComparisonFacts) -> ComparedSubject {
    let subject = ComparisonSubject::NothingActivated;
    let passes = facts.passes.iter().map(|pass| &pass.bundle);
    let mut bundles = facts.lanes.iter().flat_map(|lane| &lane.bundles).chain(passes);
    let claimed = bundles.find(|bundle| bundle.activates || bundle.promotes).map(|bundle| &bundle.cited.run_id);
    let is_active = |pass: &&OwnedPass| pass.proof.as_ref().is_some_and(|proof| proof.runtime_default_activation);
    let proven = facts.passes.iter().find(is_active).map(|pass| &pass.bundle.cited.run_id);
    match claimed.or(proven) {
        Some(run_id) => failed(subject, run_id, "it claims an activation or a promotion"),
        None => passed(subject, "no bundle activates a default or promotes".to_owned()),
    }
}

fn passed(subject: ComparisonSubject, text: String) -> ComparedSubject {
    ComparedSubject { subject, verdict: Status::Pass, text, remedy: None }
}

/// A wrong fact of a run is mended by newer bundles alone.
fn failed(subject: ComparisonSubject, run_id: &RunId, problem: &str) -> ComparedSubject {
    let run = run_id.suffix();
    refuse_subject(
        subject,
        format!("run {run}: {problem}"),
        format!("cto show {run} -v     and a newer run without it"),
    )
}

fn refuse_subject(subject: ComparisonSubject, text: String, remedy: String) -> ComparedSubject {
    ComparedSubject { subject, verdict: Status::Fail, text, remedy: Some(remedy) }
}

fn blocked(subject: ComparisonSubject, text: String, remedy: String) -> ComparedSubject {
    ComparedSubject { subject, verdict: Status::Blocked, text, remedy: Some(remedy) }
}
