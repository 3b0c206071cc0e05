//! The judgement of a refresh: pure, over facts alone.

use std::collections::BTreeSet;

use contract::approval::OutcomeVerdict;
use contract::report::OperatorOutcome;
use contract::stage6::comparison::{REPEATABILITY_REQUIRED, SourceFreshness, join_verdicts};
use contract::stage6::refresh::{RefreshFault, RefreshRejection, RefreshSubject, RefreshTarget, SubjectVerdict};
use contract::{RunId, Stage, Status};
use ledger::EngineIdentity;

use super::facts::{
    AdmissionFacts, DamagedPrior, PassBundle, PassBundleFacts, PassFacts, PriorFacts, RefreshFacts, TargetsFacts,
};
use super::subjects::{broken_facts, held_sentence};
use crate::after::stage6::commands::EngineCommands;

/// Facts with every reason against them.
#[derive(Debug)]
pub(super) struct JudgedRefresh {
    pub(super) engine: String,
    pub(super) passes: Vec<PassFacts>,
    pub(super) prior: Option<PriorFacts>,
    pub(super) targets: Vec<RefreshTarget>,
    pub(super) freshness: SourceFreshness,
    pub(super) repeats: u64,
    pub(super) findings: RefreshFindings,
}

/// Judges facts.
pub(super) fn judge_facts(facts: RefreshFacts) -> JudgedRefresh {
    let RefreshFacts { engine, commands, passes, prior, damaged_prior, admission, targets } = facts;
    let mut findings = RefreshFindings { engine: engine.clone(), commands, list: Vec::new() };
    for pass in &passes {
        findings.judge_pass(pass);
    }
    findings.judge_identities(&passes);
    let proven = passes.iter().find_map(PassFacts::verified).map(|facts| &facts.identity);
    if let Some(damaged) = &damaged_prior {
        findings.judge_damaged_prior(damaged);
    }
    findings.judge_prior(prior.as_ref(), proven);
    let freshness = findings.judge_admission(admission);
    let targets = findings.judge_targets(targets);
    let repeats = findings.count_repeats(&passes);
    JudgedRefresh { engine, passes, prior, targets, freshness, repeats, findings }
}

/// One fault, and the subject that it is about.
#[derive(Debug, Clone)]
struct RefreshFinding {
    subject: Option<RefreshSubject>,
    rejection: RefreshRejection,
}

/// Findings of a refresh, in the order in which they came up.
#[derive(Debug)]
pub(super) struct RefreshFindings {
    engine: String,
    commands: EngineCommands,
    list: Vec<RefreshFinding>,
}

impl RefreshFindings {
    fn add(&mut self, subject: RefreshSubject, fault: RefreshFault, run: Option<&RunId>, text: String, remedy: String) {
        let rejection = RefreshRejection { fault, run_id: run.cloned(), text, remedy };
        self.list.push(RefreshFinding { subject: Some(subject), rejection });
    }

    fn judge_pass(&mut self, pass: &PassFacts) {
        use RefreshFault::{FailedFact, MissingArtifact};
        let run = pass.row.run_id.clone();
        let facts = match &pass.bundle {
            PassBundle::Verified(facts) => facts.as_ref(),
            PassBundle::Unusable(why) => {
                let text = format!("the bundle of {run} cannot be used: {why}");
                let remedy = format!("cto verify {run}     or name other runs: cto refresh RUN RUN");
                self.add(RefreshSubject::ArtifactCompleteness, MissingArtifact, Some(&run), text, remedy);
                return;
            }
        };
        let other = format!("name other runs: cto refresh RUN RUN     (cto ladder explain 5 --engine {})", self.engine);
        for (subject, fault, text) in broken_facts(facts, &run) {
            self.add(subject, fault, Some(&run), text, other.clone());
        }
        let is_pass = facts.stage == Stage::OWNED_REPOSITORY && facts.status == Status::Pass;
        if let Some(why) = pass.uncounted.as_ref().filter(|_| is_pass) {
            let text = format!("{run} does not count at stage 5: {why}");
            self.add(RefreshSubject::ReportShape, FailedFact, Some(&run), text, other);
        }
        if is_pass {
            self.judge_outcome(pass, &run);
        }
    }

    fn judge_outcome(&mut self, pass: &PassFacts, run: &RunId) {
        let subject = RefreshSubject::OperatorAcceptance;
        match pass.row.operator_outcome {
            OperatorOutcome::Accepted => {}
            OperatorOutcome::Rejected => {
                let again = self.commands.request_again(&pass.row.case_id);
                let remedy = format!("{again}     asks for the case again");
                let text = format!("the operator rejected {run}");
                self.add(subject, RefreshFault::OutcomeRejected, Some(run), text, remedy);
            }
            OperatorOutcome::Pending => {
                let remedy = format!("cto outcome {run} accept --reason \"...\"");
                let text = format!("nobody has signed an outcome of {run}");
                self.add(subject, RefreshFault::MissingOperatorOutcome, Some(run), text, remedy);
            }
        }
    }

    /// Passes prove one engine, source and model, or nothing.
    fn judge_identities(&mut self, passes: &[PassFacts]) {
        let verified: Vec<(&RunId, &PassBundleFacts)> =
            passes.iter().filter_map(|pass| Some((&pass.row.run_id, pass.verified()?))).collect();
        let Some((_, first)) = verified.first() else { return };
        for (run, facts) in &verified {
            let is_same = facts.engine == self.engine && facts.identity == first.identity;
            if !is_same {
                let text = format!("{run} is by {} from {}", facts.engine, facts.identity.source_id);
                let remedy = "name passes of one engine, source and model: cto refresh RUN RUN".to_owned();
                self.add(RefreshSubject::ReportShape, RefreshFault::FailedFact, Some(run), text, remedy);
            }
        }
    }

    /// An older comparison does not stand in for the newest one, whose bundle nobody can read.
    fn judge_damaged_prior(&mut self, damaged: &DamagedPrior) {
        let DamagedPrior { run_id, why, .. } = damaged;
        let text = format!("the bundle of the newest comparison {run_id} cannot be used: {why}");
        let remedy = format!("cto verify {run_id}     or make a new one: {}", self.commands.comparison_command());
        self.add(RefreshSubject::ArtifactCompleteness, RefreshFault::MissingArtifact, Some(run_id), text, remedy);
    }

    /// Lanes and failure closure are carried from a comparison of the passes' own identity that passed and that nobody rejected.
    fn judge_prior(&mut self, prior: Option<&PriorFacts>, proven: Option<&EngineIdentity>) {
        use RefreshFault::{FailedFact, NoComparison};
        use RefreshSubject::{FailureClosure, FailureMatrixCoverageCarryForward};
        let command = self.commands.comparison_command();
        let Some(prior) = prior else {
            let of = proven.map_or_else(|| self.engine.clone(), |proven| self.name_identity(proven));
            self.refuse_prior(NoComparison, None, format!("there is no comparison of stage 6 for {of}"), command);
            return;
        };
        let run = &prior.comparison.run_id;
        if let Some(proven) = proven.filter(|proven| **proven != prior.identity) {
            let (own, other) = (self.name_identity(proven), self.name_identity(&prior.identity));
            let text = format!("the comparison {run} is of {other}, and the passes are of {own}");
            self.refuse_prior(NoComparison, Some(run), text, command.clone());
        }
        if prior.outcome == Some(OutcomeVerdict::Rejected) {
            let text = format!("the operator rejected the comparison {run}");
            let remedy = format!("{command}     makes a new one to decide about");
            self.add(RefreshSubject::OperatorAcceptance, RefreshFault::OutcomeRejected, Some(run), text, remedy);
        }
        let fault_of = |status: Status| match status {
            Status::Pass => None,
            Status::Fail => Some(FailedFact),
            Status::Blocked => Some(NoComparison),
        };
        let carried =
            [(FailureClosure, &prior.failure_closure), (FailureMatrixCoverageCarryForward, &prior.failure_matrix)];
        for (subject, verdict) in carried {
            if let Some(fault) = fault_of(verdict.verdict) {
                let text = format!("the comparison {run} says: {}", verdict.text);
                self.add(subject, fault, Some(run), text, command.clone());
            }
        }
        if let Some(fault) = fault_of(prior.comparison.status) {
            let text = format!("the comparison {run} is {}", prior.comparison.status);
            self.refuse_prior(fault, Some(run), text, command.clone());
        }
        for (is_so, fault, text) in [
            (prior.default_activation, RefreshFault::DefaultActivation, "says that a default was activated"),
            (prior.promoted, RefreshFault::CorePromotion, "says that something was promoted"),
        ] {
            if is_so {
                let (subject, text) = (RefreshSubject::ForbiddenActionClosure, format!("the comparison {run} {text}"));
                self.add(subject, fault, Some(run), text, command.clone());
            }
        }
        for field in &prior.secret_fields {
            let text = format!("the comparison {run} has `{field}`, in the shape of a secret");
            self.add(RefreshSubject::ReportShape, RefreshFault::SecretShapedKey, Some(run), text, command.clone());
        }
    }

    /// A comparison that nothing can be carried from.
    fn refuse_prior(&mut self, fault: RefreshFault, run: Option<&RunId>, text: String, remedy: String) {
        for subject in [RefreshSubject::FailureClosure, RefreshSubject::FailureMatrixCoverageCarryForward] {
            self.add(subject, fault, run, text.clone(), remedy.clone());
        }
    }

    fn name_identity(&self, identity: &EngineIdentity) -> String {
        let EngineIdentity { source_id, model } = identity;
        let model = model.as_ref().map_or_else(String::new, |model| format!(" with model {model}"));
        format!("{} as {source_id}{model}", self.engine)
    }

    fn judge_admission(&mut self, admission: AdmissionFacts) -> SourceFreshness {
        let why = match admission {
            AdmissionFacts::Current => return SourceFreshness::Current,
            AdmissionFacts::Unknown => return SourceFreshness::Stale,
            AdmissionFacts::Stale(why) => why,
        };
        let engine = &self.engine;
        let remedy = format!("cto admit source {engine} --replace     or run its cases with what is admitted");
        self.add(RefreshSubject::SourceAdmissionFreshness, RefreshFault::StaleSourceAdmission, None, why, remedy);
        SourceFreshness::Stale
    }

    fn judge_targets(&mut self, targets: TargetsFacts) -> Vec<RefreshTarget> {
        let targets = match targets {
            TargetsFacts::Read(targets) => targets,
            TargetsFacts::NoSandbox(why, remedy) => {
                self.add(RefreshSubject::TargetValidation, RefreshFault::SandboxUnavailable, None, why, remedy);
                return Vec::new();
            }
        };
        for target in &targets {
            self.judge_target(target);
        }
        targets
    }

    fn judge_target(&mut self, target: &RefreshTarget) {
        let path = &target.target_repository_path;
        if let Some(problem) = &target.problem {
            let remedy = "bring the repository back to the path of its admission".to_owned();
            let text = format!("{path} cannot be read: {problem}");
            self.add(RefreshSubject::TargetValidation, RefreshFault::MissingArtifact, None, text, remedy);
        }
        if target.problem.is_none() && !target.is_unchanged() {
            let text = format!("{path} was changed by somebody while it was read");
            let remedy = "run cto refresh again while nobody works there".to_owned();
            self.add(RefreshSubject::TargetReadOnlyStatus, RefreshFault::TargetMutated, None, text, remedy);
        }
        for validation in target.validations.iter().filter(|validation| !validation.passed()) {
            let why = validation.problem.as_deref().unwrap_or("its commands do not pass");
            let text = format!("{} does not hold at HEAD of {path}: {why}", validation.case_id);
            let remedy = "merge the branches of the accepted runs, or fix HEAD, then: cto refresh".to_owned();
            self.add(RefreshSubject::TargetValidation, RefreshFault::FailedFact, None, text, remedy);
        }
    }

    /// Accepted passes against which nothing stands, on different cases and commits.
    fn count_repeats(&mut self, passes: &[PassFacts]) -> u64 {
        let (mut cases, mut commits) = (BTreeSet::new(), BTreeSet::new());
        for pass in passes {
            let stands = |finding: &RefreshFinding| finding.rejection.run_id.as_ref() == Some(&pass.row.run_id);
            let commit = pass.row.target_commit.as_ref();
            if let Some(commit) = commit.filter(|_| !self.list.iter().any(stands)) {
                cases.insert(&pass.row.case_id);
                commits.insert(commit);
            }
        }
        let count = cases.len().min(commits.len()) as u64;
        if count < REPEATABILITY_REQUIRED {
            let text = format!(
                "{count} of {REPEATABILITY_REQUIRED} accepted passes at stage 5 on different cases and commits"
            );
            let remedy = format!("{}     with another case", self.commands.second_pass_command());
            let fault = RefreshFault::SecondOwnedPass;
            let rejection = RefreshRejection { fault, run_id: None, text, remedy };
            self.list.push(RefreshFinding { subject: None, rejection });
        }
        count
    }

    /// Worst status of all findings; a pass if there are none.
    pub(super) fn status(&self) -> Status {
        join_verdicts(self.list.iter().map(|finding| finding.rejection.fault.status()))
    }

    /// Verdict on a subject: the worst of its findings, or the sentence of one that holds.
    pub(super) fn verdict(&self, subject: RefreshSubject, is_known: bool) -> SubjectVerdict {
        let found: Vec<&RefreshRejection> =
            self.list.iter().filter(|it| it.subject == Some(subject)).map(|it| &it.rejection).collect();
        if found.is_empty() && !is_known {
            return SubjectVerdict {
                subject,
                verdict: Status::Blocked,
                text: "there is nothing to look at".to_owned(),
            };
        }
        let verdict = join_verdicts(found.iter().map(|rejection| rejection.fault.status()));
        let texts: Vec<&str> = found.iter().map(|rejection| rejection.text.as_str()).collect();
        let text = if texts.is_empty() { held_sentence(subject).to_owned() } else { texts.join("; ") };
        SubjectVerdict { subject, verdict, text }
    }

    /// Everything that was found, worst first.
    pub(super) fn rejections(&self) -> Vec<RefreshRejection> {
        let mut all: Vec<RefreshRejection> = self.list.iter().map(|finding| finding.rejection.clone()).collect();
        all.sort_by_key(|rejection| (rejection.fault.status() != Status::Fail, rejection.fault));
        all.dedup();
        all
    }
}
