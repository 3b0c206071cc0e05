//! Gathering facts for the gate and asking it, phase by phase.

mod document;

use std::path::Path;

use contract::approval::ApprovalInput;
use contract::baseline_exam::BaselineExamFacts;
use contract::decision::{BaselineRun, Inputs, Refusal, SettingFacts, TargetFacts};
use contract::event_data::{ContractCreatedData, RunStartedData, VerificationCompletedData};
use contract::model::AnswerFact;
use contract::report::CheckResult;
use contract::{Coverage, Decision, EventData, EventKind, Gate, Purpose, Reason, Report, Stage, Stamp};
use evidence::{names, stop};
use gate::approval::{CountedApprovals, counted_approvals};
use gate::{Admission, Judged, Refused};
use ledger::ApprovalUse;
use serde_json::{Map, json};
use tree::Listing;

use crate::gather::approval::{CountedRequest, FindApprovalError, FoundApproval, ReadApproval, find_approval};
use crate::gather::approval_events;
use crate::gather::engine::equip::Equipped;
use crate::gather::ladder;
use crate::gather::model::ModelSession;
use crate::gather::plan::{BuildPlanError, PlanScene};
use crate::gather::protected::SeenRoot;
use crate::gather::settings::settings;
use crate::gather::target::{Target, inspect};
use crate::home::ask::Ask;
use crate::home::cause::ErrorCause;
use crate::home::engines::FAKE;
use crate::home::model_settings::ModelAsk;
use crate::home::task::Task;
use crate::home::watch::{Quiet, Step, StepState, Watch};
use crate::judge::copy::Copy;
use crate::judge::environment::{self, Layer};
use crate::judge::exam::{BaselineExam, Examined, Examiner, Furnished, Trees};
use crate::run::file::{RunFile, Stopped};
use crate::run::harness::Harness;
use crate::run::scan::baseline_reader;

/// Reason why `decide` could not answer at all.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    #[error(transparent)]
    Clock(crate::home::clock::ReadClockError),
    #[error("{0}")]
    Encode(#[source] serde_json::Error),
    #[error("cannot look at the target: {0}")]
    Scratch(#[source] tree::TreeError),
    #[error("cannot look for an approval: {0}")]
    Approval(#[from] FindApprovalError),
}

/// The Eligibility Decision, and what else was seen on the way.
#[derive(Debug)]
pub struct DecideAnswer {
    pub decision: Decision,
    /// Exam files; none if the baseline was not read.
    pub exam: Option<ExamShare>,
}

/// Share of the baseline that belongs to the exam set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExamShare {
    pub protected: usize,
    pub all: usize,
}

/// The Eligibility Decision alone: nothing is run and nothing of it stays on disk.
pub fn decide_only(harness: &Harness, task: &Task, ask: &Ask, scratch: &Path) -> Result<DecideAnswer, DecideError> {
    let clock = crate::home::clock::RunClock::start_clock().map_err(DecideError::Clock)?;
    let digest = task.contract.digest().map_err(DecideError::Encode)?;
    let (settings, _) = settings(harness, task, ask, clock.started());
    let inputs = Inputs {
        contract_digest: digest,
        engine: ask.engine.clone(),
        stage: ask.stage,
        purpose: ask.purpose,
        kind: None,
        time: clock.started(),
        settings,
        target: None,
        // Asking a model costs, so only a run does it: what it would answer stays not
        // evaluated.
        answer: None,
        // Neither does asking start a command of the baseline.
        baseline_exam: None,
        approval: defer_approval(ask),
    };
    let first = gate::decide(&task.contract, inputs).map_err(DecideError::Encode)?;
    if !first.is_pending() {
        return Ok(DecideAnswer { decision: first, exam: None });
    }
    let inputs = first.inputs;
    let settings = &inputs.settings;
    let mut target = inspect(harness, task, ask, settings, scratch).map_err(DecideError::Scratch)?;
    let scene = PlanScene { harness, task, ask, contract_digest: digest, settings, target: &target };
    let approval = look_for_approval(&scene, clock.started())?.map(|found| found.input);
    target.settle_branch(task, approval.as_ref()).map_err(DecideError::Scratch)?;
    let Target { facts, copy } = target;
    let exam = copy.and_then(|copy| exam_files(task, settings, &facts, &copy.baseline.listing));
    let inputs = Inputs { target: Some(facts), approval, ..inputs };
    let decision = gate::decide(&task.contract, inputs).map_err(DecideError::Encode)?;
    Ok(DecideAnswer { decision, exam })
}

/// Placeholder for the approval of a run that needs one: it is looked up once the target is
/// known.
fn defer_approval(ask: &Ask) -> Option<ApprovalInput> {
    ask.stage.mutation_mode().needs_approval().then_some(ApprovalInput::Deferred)
}

/// Looks for the approval of a run that needs one. Where a fact of the plan is missing, a
/// gate refuses for that, and the approval stays deferred.
fn look_for_approval(scene: &PlanScene<'_>, now: Stamp) -> Result<Option<FoundApproval>, FindApprovalError> {
    if defer_approval(scene.ask).is_none() {
        return Ok(None);
    }
    match find_approval(scene, now) {
        Err(FindApprovalError::Plan(BuildPlanError::Incomplete(_))) => Ok(Some(FoundApproval::deferred())),
        found => found.map(Some),
    }
}

fn exam_files(task: &Task, settings: &SettingFacts, facts: &TargetFacts, baseline: &Listing) -> Option<ExamShare> {
    let rules = settings.path_rules(&task.contract, &facts.ecosystems).ok()?;
    let protected = baseline.0.keys().filter(|path| rules.is_protected(path)).count();
    Some(ExamShare { protected, all: baseline.0.len() })
}

/// A run that was decided on.
pub(crate) enum DecidedRun<'a> {
    Refused(RefusedRun<'a>),
    /// Stage 1: the gates are all there is.
    Preflight(PreflightRun<'a>),
    Admitted(AdmittedRun<'a>, Box<Target>),
}

/// A run whose decision is a refusal.
pub(crate) struct RefusedRun<'a> {
    run: RunFile<'a>,
    preparation: Preparation,
    refused: Refused,
}

impl<'a> RefusedRun<'a> {
    /// Parts for the next step.
    pub(crate) fn into_parts(self) -> (RunFile<'a>, Preparation, Refused) {
        (self.run, self.preparation, self.refused)
    }
}

/// A run whose decision is an admission of this very run.
pub(crate) struct AdmittedRun<'a> {
    run: RunFile<'a>,
    preparation: Preparation,
    admission: Admission,
}

impl<'a> AdmittedRun<'a> {
    fn new(gathering: Gathering<'a>, admission: Admission) -> Result<Self, Stopped> {
        let Gathering { mut run, mut preparation } = gathering;
        if let Some(counted) = counted_approvals(&admission.decision().inputs) {
            let CountedApprovals { request_digest, not_before, expires_at, coverage, .. } = counted;
            let using = ApprovalUse { request: request_digest, not_before, expires_at };
            let read = preparation.approval_read.take();
            let read = read.ok_or(Stopped::Impossible("an approval was counted without entries of the ledger"))?;
            preparation.approval = Some(CountedRequest { using, read });
            run.standing.cover_all(coverage.into_iter().chain(std::mem::take(&mut preparation.approval_coverage)));
        }
        match admission.run_id() == run.id() {
            true => Ok(Self { run, preparation, admission }),
            false => Err(Stopped::Impossible("an admission names another run")),
        }
    }

    /// Parts for the next step.
    pub(crate) fn into_parts(self) -> (RunFile<'a>, Preparation, Admission) {
        (self.run, self.preparation, self.admission)
    }
}

/// An admitted run of stage 1, which has no target and starts no engine.
pub(crate) struct PreflightRun<'a>(AdmittedRun<'a>);

impl<'a> PreflightRun<'a> {
    /// The open run.
    pub(crate) fn run_mut(&mut self) -> &mut RunFile<'a> {
        &mut self.0.run
    }

    /// Parts for the next step.
    pub(crate) fn into_parts(self) -> (RunFile<'a>, Preparation, Admission) {
        self.0.into_parts()
    }
}

/// Everything that was found, made and asked before an engine may start.
#[derive(Default)]
pub(crate) struct Preparation {
    /// The engine's program, where it is not part of the harness.
    equipped: Option<Equipped>,
    model: ModelSession,
    /// The run that this one is held beside.
    compared_with: Option<Report>,
    /// Layer that setup made for the baseline, if the contract has a setup.
    layer: Option<Layer>,
    baseline: Option<BaselineExam>,
    baseline_log: Vec<u8>,
    /// Protected trees before the engine started.
    protected: Vec<SeenRoot>,
    /// Approval that the engine's start uses up.
    approval: Option<CountedRequest>,
    /// Entries and lists that the look for an approval read.
    approval_read: Option<ReadApproval>,
    /// Said of that approval once the run is admitted.
    approval_coverage: Vec<Coverage>,
}

impl Preparation {
    /// The preparation of a dead run, as far as it is known.
    pub(crate) fn recovered(model: ModelSession) -> Self {
        Self { model, ..Self::default() }
    }

    /// External engine of the run; none for the fake engine.
    pub(crate) fn equipped(&self) -> Option<&Equipped> {
        self.equipped.as_ref()
    }

    /// Model of the run.
    pub(crate) fn model(&self) -> &ModelSession {
        &self.model
    }

    /// Model of the run, to start or stop its bridge.
    pub(crate) fn model_mut(&mut self) -> &mut ModelSession {
        &mut self.model
    }

    /// Report of the run that this one is compared with.
    pub(crate) fn compared_with(&self) -> Option<&Report> {
        self.compared_with.as_ref()
    }

    /// The approval that the start of the engine uses up; none where the run needs none.
    pub(crate) fn approval(&self) -> Option<&CountedRequest> {
        self.approval.as_ref()
    }

    /// Layer that setup made for the baseline.
    pub(crate) fn layer(&self) -> Option<&Layer> {
        self.layer.as_ref()
    }

    /// Keeps what protected trees were before the engine started.
    pub(crate) fn protect(&mut self, roots: Vec<SeenRoot>) {
        self.protected = roots;
    }

    /// Protected trees with their state before the run.
    pub(crate) fn protected(&self) -> &[SeenRoot] {
        &self.protected
    }

    /// The layer and the exam of the baseline, for the exam of the result.
    pub(crate) fn take_baseline(&mut self) -> (Option<Layer>, Option<BaselineExam>) {
        (self.layer.take(), self.baseline.take())
    }

    /// Output of the commands in the baseline's exam. Can be taken once.
    pub(crate) fn take_baseline_log(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.baseline_log)
    }
}

/// Governs another run of the same task to its end, for this one to be compared with.
pub(crate) type HoldBeside<'b> = &'b dyn Fn(&Harness, &Task, &Ask, Watch<'_>) -> Result<Report, ErrorCause>;

/// A run whose facts are being gathered.
struct Gathering<'a> {
    run: RunFile<'a>,
    preparation: Preparation,
}

impl<'a> RunFile<'a> {
    /// Asks the gate, gathers what the next phase needs, asks again. Writes contract and
    /// decision before anything else.
    pub(crate) fn decide_run(self, hold_beside: HoldBeside<'_>) -> Result<DecidedRun<'a>, Stopped> {
        Gathering { run: self, preparation: Preparation::default() }.decide(hold_beside)
    }
}

impl<'a> Gathering<'a> {
    fn decide(mut self, hold_beside: HoldBeside<'_>) -> Result<DecidedRun<'a>, Stopped> {
        self.run.step(Step::Gates, StepState::Began, "")?;
        self.run.add_event(&self.run.started_data())?;
        let (settings, equipped) =
            settings(self.run.harness(), self.run.task(), self.run.ask(), self.run.clock().started());
        self.preparation.equipped = equipped;
        self.run.conceal_target(settings.target_admission.as_ref());
        let first = self.judge(&settings, Reached::default())?;
        let (judged, target) = match first {
            Judged::Pending(_) => {
                let (judged, target) = self.judge_target(&settings, hold_beside)?;
                (judged, Some(target))
            }
            judged => (judged, None),
        };
        stop::pass_place("decision.made");
        self.run.record_decision(judged.decision())?;
        stop::pass_place("decision.recorded");
        let passed = judged.decision().passed_gates.len();
        let required = judged.decision().required_gates.len();
        let detail = format!("{passed} of {required}");
        match (judged, target) {
            (Judged::Admitted(admission), Some(target)) => {
                self.run.step(Step::Gates, StepState::Ended, &detail)?;
                Ok(DecidedRun::Admitted(AdmittedRun::new(self, admission)?, Box::new(target)))
            }
            (Judged::Admitted(admission), None) => {
                self.run.step(Step::Gates, StepState::Ended, &detail)?;
                Ok(DecidedRun::Preflight(PreflightRun(AdmittedRun::new(self, admission)?)))
            }
            (Judged::Refused(refused), _) => {
                let Self { mut run, mut preparation } = self;
                preparation.model.close_bridge(&mut run)?;
                run.step(Step::Gates, StepState::Refused, &detail)?;
                run.record_refusal(refused.decision())?;
                Ok(DecidedRun::Refused(RefusedRun { run, preparation, refused }))
            }
            // All facts were given, so nothing can be pending; treated as what it would be:
            // not admitted.
            (Judged::Pending(_), _) => Err(Stopped::Impossible("a decision is pending although every fact was given")),
        }
    }

    /// Phases B to D: the target, the model's answer, the baseline's exam.
    fn judge_target(
        &mut self,
        settings: &SettingFacts,
        hold_beside: HoldBeside<'_>,
    ) -> Result<(Judged, Target), Stopped> {
        self.run.prepare_stages()?;
        stop::pass_place("work.making");
        self.run.make_work()?;
        stop::pass_place("work.made");
        let mut target = inspect(self.run.harness(), self.run.task(), self.run.ask(), settings, self.run.work())?;
        target.facts.baseline_run = self.run_baseline(settings, hold_beside)?;
        if let Some(copy) = &target.copy {
            let reader = baseline_reader(copy.baseline.store.clone(), copy.commit);
            self.run.draft.censor_mut().compare_with(reader);
        }
        let approval = self.look_for_approval(settings, &target)?;
        target.settle_branch(self.run.task(), approval.as_ref())?;
        self.run.add_trace("preflight.target", json!(target.facts))?;
        let mut reached = Reached { target: Some(&target.facts), approval, ..Reached::default() };
        let mut judged = self.judge(settings, reached.clone())?;
        if let (Judged::Pending(_), Some(facts)) = (&judged, &settings.model) {
            reached.answer = Some(self.preparation.model.ask_model(&mut self.run, facts)?);
            judged = self.judge(settings, reached.clone())?;
        }
        if let (Judged::Pending(_), Some(copy)) = (&judged, &target.copy) {
            reached.baseline_exam = Some(self.hold_baseline_exam(copy, settings, &target.facts)?);
            judged = self.judge(settings, reached)?;
        }
        Ok((judged, target))
    }

    /// The approval of this run's plan, which the gate judges.
    fn look_for_approval(
        &mut self,
        settings: &SettingFacts,
        target: &Target,
    ) -> Result<Option<ApprovalInput>, Stopped> {
        let (harness, task, ask) = (self.run.harness(), self.run.task(), self.run.ask());
        let scene = PlanScene { harness, task, ask, contract_digest: self.run.contract_digest(), settings, target };
        let began = self.run.clock().elapsed();
        let found = look_for_approval(&scene, self.run.clock().started());
        let found = found.map_err(|error| Stopped::Approval(error.into()))?;
        let Some(FoundApproval { input, coverage, read }) = found else { return Ok(None) };
        self.preparation.approval_coverage = coverage;
        self.preparation.approval_read = read;
        let took = self.run.clock().elapsed().saturating_sub(began);
        self.run.add_trace("approval.found", json!({"micros": took.as_micros()}))?;
        Ok(Some(input))
    }

    /// Makes the run with which another engine is compared: at stage 2 the fake engine on
    /// the same case in the same invocation, above it the pass of the stage before.
    fn run_baseline(
        &mut self,
        settings: &SettingFacts,
        hold_beside: HoldBeside<'_>,
    ) -> Result<Option<BaselineRun>, Stopped> {
        let run = &self.run;
        if run.ask().engine == FAKE {
            return Ok(None);
        }
        if run.ask().stage != Stage::ARTIFICIAL_FIXTURE {
            let proof = settings.engine.as_ref().and_then(|engine| ladder::proof(run.harness(), engine));
            self.preparation.compared_with = proof;
            return Ok(None);
        }
        let ask = Ask {
            engine: FAKE.to_owned(),
            purpose: Purpose::Validation,
            timeout_seconds: None,
            keep_workspace: false,
            model: ModelAsk::default(),
            ..run.ask().clone()
        };
        let watch = Watch { cancel: run.watch().cancel, observer: &Quiet };
        // The yardstick solves the whole case, whatever the engine begins with.
        let whole = Task { continued: None, ..run.task().clone() };
        let report = hold_beside(run.harness(), &whole, &ask, watch).map_err(Stopped::Baseline)?;
        run.check_cancelled()?;
        let reason = report.blocker_reasons.first().copied();
        let baseline = BaselineRun { run_id: report.run_id.clone(), status: report.status, reason };
        self.preparation.compared_with = Some(report);
        Ok(Some(baseline))
    }

    /// Phase D: makes the environment on the baseline and holds its exam. Every other gate
    /// has passed; nothing is consumed yet.
    fn hold_baseline_exam(
        &mut self,
        copy: &Copy,
        settings: &SettingFacts,
        facts: &TargetFacts,
    ) -> Result<BaselineExamFacts, Stopped> {
        let run = &mut self.run;
        let layer = match environment::prepare_environment(run, copy)? {
            Ok(layer) => layer,
            Err(why) => return Ok(BaselineExamFacts { unprepared: Some(why), ..BaselineExamFacts::default() }),
        };
        stop::pass_place("environment.prepared");
        let rules = settings.path_rules(&run.task().contract, &facts.ecosystems)?;
        let listing = &copy.baseline.listing;
        let trees = Trees { store: &copy.baseline.store, baseline: listing, result: listing, rules: &rules };
        let mounts = run.sandboxes().environment().mounts.clone();
        let furnished = Furnished { mounts, layer: layer.clone(), baseline: None };
        let examiner = Examiner::new(run.setting(), run.watch(), trees, None, furnished);
        let (held, Examined { log, cells, setup, blocks, .. }) = examiner.examine_baseline()?;
        stop::pass_place("baseline.examined");
        run.sandboxes_mut().add_setup(setup);
        run.add_sandbox_records(cells)?;
        let mut facts = held.exam_facts(&run.task().contract);
        // A limit that the baseline's own tests reach is one that every result would reach.
        facts.unprepared = blocks.into_iter().next().map(|(_, why)| why);
        run.add_trace("preflight.baseline_exam", json!(facts))?;
        self.preparation.layer = layer;
        self.preparation.baseline = Some(held);
        self.preparation.baseline_log = log;
        Ok(facts)
    }

    fn judge(&mut self, settings: &SettingFacts, reached: Reached<'_>) -> Result<Judged, Stopped> {
        let Reached { target, approval, answer, baseline_exam } = reached;
        let phase = match (target, &answer, &baseline_exam) {
            (None, ..) => "A",
            (Some(_), None, None) => "B",
            (Some(_), Some(_), None) => "C",
            (Some(_), _, Some(_)) => "D",
        };
        let run = &mut self.run;
        let inputs = Inputs {
            contract_digest: run.contract_digest(),
            engine: run.ask().engine.clone(),
            stage: run.ask().stage,
            purpose: run.ask().purpose,
            kind: None,
            time: run.clock().started(),
            settings: settings.clone(),
            target: target.cloned(),
            answer,
            baseline_exam,
            approval: approval.or_else(|| defer_approval(run.ask())),
        };
        let inputs = run.clean(names::DECISION, inputs)?;
        let _ = run.journal().note_inputs(&inputs);
        let judged = gate::judge_request(run.id(), &run.task().contract, inputs)?;
        let decision = judged.decision();
        let data = json!({"missing": decision.missing_gates, "not_evaluated": decision.not_evaluated, "passed": decision.passed_gates, "phase": phase});
        run.add_trace("preflight.judged", data)?;
        Ok(judged)
    }
}

impl RunFile<'_> {
    fn started_data(&self) -> EventData {
        EventData::RunStarted(RunStartedData {
            engine: self.ask().engine.clone(),
            harness_version: self.harness().host.harness_version.clone(),
            purpose: self.ask().purpose,
            stage: self.ask().stage,
            task_id: self.task().contract.task_id.clone(),
        })
    }

    /// Blockers of a refusal come first, so that each event carries its reason.
    fn record_decision(&mut self, decision: &Decision) -> Result<(), Stopped> {
        for refusal in &decision.refusals {
            self.standing.block_with(refusal.reason, refusal.text.clone(), &refusal.remedy, names::DECISION);
        }
        let at = self.clock().now();
        self.draft.write_json(names::CONTRACT, &self.task().contract, at)?;
        self.draft.write_json(names::DECISION, decision, at)?;
        self.announce_decision(decision)
    }

    fn announce_decision(&mut self, decision: &Decision) -> Result<(), Stopped> {
        let created =
            ContractCreatedData { contract_digest: self.contract_digest(), task_id: decision.task_id.clone() };
        self.add_event(&EventData::TaskContractCreated(created))?;
        Ok(self.add_event(&EventData::EligibilityDecided(decision.into()))?)
    }

    /// The events of a dead run that were not written yet, so that its chain says all its
    /// decision says.
    pub(crate) fn catch_up(&mut self, decision: &Decision) -> Result<(), Stopped> {
        let seen = |run: &Self, kind| run.draft.events_seen().contains(&kind);
        if !seen(self, EventKind::RunStarted) {
            self.add_event(&self.started_data())?;
        }
        if !seen(self, EventKind::TaskContractCreated) {
            self.announce_decision(decision)?;
        }
        if !decision.refusals.is_empty() && !seen(self, EventKind::BackendGateBlocked) {
            self.record_refusal(decision)?;
        }
        Ok(())
    }

    fn record_refusal(&mut self, decision: &Decision) -> Result<(), Stopped> {
        self.announce_refused_approval(decision)?;
        for refusal in &decision.refusals {
            let (at, data) = (self.clock().now(), self.blocked_data(refusal.gate, false, Some(refusal.reason)));
            self.draft.add_event_data(at, &data, Map::new())?;
        }
        self.write_gate_markers(decision)
    }

    /// The request that a refusal is about, and its denial, before the gate's own event.
    fn announce_refused_approval(&mut self, decision: &Decision) -> Result<(), Stopped> {
        let Some(ApprovalInput::Found(facts)) = &decision.inputs.approval else { return Ok(()) };
        let is_asked = decision.missing_gates.contains(&Gate::Approval);
        let Some(request) = facts.request.as_ref().filter(|_| is_asked) else { return Ok(()) };
        self.add_event(&approval_events::requested_event(request))?;
        if decision.refusals.iter().any(|refusal| refusal.reason == Reason::ApprovalDenied) {
            self.add_event(&approval_events::denied_event(request.denials.last()))?;
        }
        Ok(())
    }

    /// Writes the marker files in `backend/` that other tools look for.
    fn write_gate_markers(&mut self, decision: &Decision) -> Result<(), Stopped> {
        let gate_log: Vec<String> = decision
            .refusals
            .iter()
            .map(|refusal| format!("{} {}: {}", refusal.gate, refusal.reason, refusal.text))
            .collect();
        let name = format!("{}-gate.log", self.ask().engine);
        self.marker(&name, &gate_log.join("\n"))?;
        for (name, text) in markers_of(&decision.refusals) {
            self.marker(name, text)?;
        }
        let missing_tests = decision.missing_gates.contains(&Gate::VerificationCommandPresent);
        if missing_tests {
            let completed = VerificationCompletedData { checks: None, result: CheckResult::NotRun };
            self.add_event(&EventData::VerificationCompleted(completed))?;
        }
        Ok(())
    }
}

/// Facts of the phases after the first, as far as they were reached.
#[derive(Clone, Default)]
struct Reached<'t> {
    target: Option<&'t TargetFacts>,
    approval: Option<ApprovalInput>,
    answer: Option<AnswerFact>,
    baseline_exam: Option<BaselineExamFacts>,
}

/// Markers of the refusals that other tools look for, with the text of the first refusal of
/// each kind.
fn markers_of(refusals: &[Refusal]) -> impl Iterator<Item = (&'static str, &str)> {
    MARKERS.iter().filter_map(move |(reason, name)| {
        let refusal = refusals.iter().find(|refusal| refusal.reason == *reason)?;
        Some((*name, refusal.text.as_str()))
    })
}

/// Marker files in `backend/` for refusals with one of these reasons.
const MARKERS: &[(Reason, &str)] = &[
    (Reason::ProviderUnavailable, "provider-unavailable.txt"),
    (Reason::ModelNotAdmitted, "provider-model-not-admitted.txt"),
    (Reason::ProviderAuthUnavailable, "provider-auth-unavailable.txt"),
    (Reason::LocalProviderConfigMissing, "provider-local-config-unavailable.txt"),
    (Reason::ProviderResponseShape, "provider-reasoning-only.txt"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::two_sided;

    #[test]
    fn each_refusal_that_other_tools_look_for_has_its_marker() {
        let refusal = |reason: Reason, text: &str| {
            let (text, remedy) = (text.to_owned(), String::new());
            Refusal { gate: Gate::CredentialSourcePresent, reason, text, remedy }
        };
        for (reason, name) in [
            (Reason::ProviderUnavailable, "provider-unavailable.txt"),
            (Reason::ModelNotAdmitted, "provider-model-not-admitted.txt"),
            (Reason::ProviderAuthUnavailable, "provider-auth-unavailable.txt"),
            (Reason::LocalProviderConfigMissing, "provider-local-config-unavailable.txt"),
            (Reason::ProviderResponseShape, "provider-reasoning-only.txt"),
        ] {
            let refusals = [refusal(reason, "first"), refusal(reason, "second")];
            let has_marker = |refusals: &[Refusal]| markers_of(refusals).any(|(marker, _)| marker == name);
            two_sided(reason, has_marker(&refusals), has_marker(&[refusal(Reason::MissingTestCommand, "x")]));
            assert_eq!(markers_of(&refusals).collect::<Vec<_>>(), [(name, "first")], "{reason:?}");
        }
        assert_eq!(markers_of(&[refusal(Reason::MissingTestCommand, "x")]).count(), 0, "control");
    }
}
