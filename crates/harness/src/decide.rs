//! Gathering facts for the gate and asking it, phase by phase.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use contract::decision::{HiddenProgram, Inputs, Profile, SettingFacts, TargetFacts};
use contract::model::AnswerFact;
use contract::task::Environment;
use contract::{Decision, EventKind, Gate, Purpose, Reason, Stage, Stamp};
use evidence::{names, stop};
use gate::{Admission, Judged, Refused};
use serde_json::json;
use tree::Listing;

use crate::model::{self, ModelAsk};
use crate::run::{Harness, Run, Stopped};
use crate::scan::baseline_reader;
use crate::target::{Target, inspect};
use crate::task::{Origin, Task};
use crate::watch::{Step, StepState};
use crate::{availability, environment, halt};

/// What is asked for. It says what is wanted; the gate says what is allowed.
#[derive(Debug, Clone)]
pub struct Ask {
    pub engine: String,
    pub stage: Stage,
    pub purpose: Purpose,
    pub sandbox: Profile,
    /// The smaller of it and the contract's limit holds.
    pub timeout_seconds: Option<u64>,
    pub keep_workspace: bool,
    pub model: ModelAsk,
}

/// Why `decide` could not answer at all.
#[derive(Debug)]
pub enum DecideError {
    Clock(crate::clock::ReadClockError),
    Encode(serde_json::Error),
    Scratch(String),
}

impl std::fmt::Display for DecideError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Clock(error) => error.fmt(f),
            Self::Encode(error) => error.fmt(f),
            Self::Scratch(error) => write!(f, "cannot look at the target: {error}"),
        }
    }
}

impl std::error::Error for DecideError {}

/// The Eligibility Decision, and what else was seen on the way.
#[derive(Debug)]
pub struct Answer {
    pub decision: Decision,
    /// None where the baseline was not looked at, or could not be read.
    pub exam: Option<ExamFiles>,
}

/// How much of the baseline belongs to the exam set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExamFiles {
    pub protected: usize,
    pub all: usize,
}

/// The Eligibility Decision alone: nothing is run and nothing of it stays on disk.
pub fn decide(harness: &Harness, task: &Task, ask: &Ask, scratch: &Path) -> Result<Answer, DecideError> {
    let clock = crate::clock::RunClock::start().map_err(DecideError::Clock)?;
    let digest = task.contract.digest().map_err(DecideError::Encode)?;
    let settings = settings(harness, task, ask, clock.started());
    let inputs = |target| Inputs {
        contract_digest: digest,
        engine: ask.engine.clone(),
        stage: ask.stage,
        purpose: ask.purpose,
        time: clock.started(),
        settings: settings.clone(),
        target,
        // Asking a model costs, so only a run does it: what it would answer stays not evaluated.
        answer: None,
    };
    let first = gate::judge(&task.contract, inputs(None)).map_err(DecideError::Encode)?;
    let Judged::Pending(_) = first else { return Ok(Answer { decision: first.decision().clone(), exam: None }) };
    let Target { facts, copy } =
        inspect(harness, task, ask.sandbox, scratch).map_err(|error| DecideError::Scratch(error.to_string()))?;
    let exam = copy.and_then(|copy| exam_files(task, &facts, &copy.baseline.listing));
    let judged = gate::judge(&task.contract, inputs(Some(facts))).map_err(DecideError::Encode)?;
    Ok(Answer { decision: judged.decision().clone(), exam })
}

fn exam_files(task: &Task, facts: &TargetFacts, baseline: &Listing) -> Option<ExamFiles> {
    let rules = task.contract.path_rules(&facts.ecosystems).ok()?;
    let protected = baseline.0.keys().filter(|path| rules.is_protected(path)).count();
    Some(ExamFiles { protected, all: baseline.0.len() })
}

/// What phase A looks at.
fn settings(harness: &Harness, task: &Task, ask: &Ask, now: Stamp) -> SettingFacts {
    let gated = gate::REGISTRY.iter().any(|engine| engine.id == ask.engine && engine.gated_by_env);
    let engine_unavailable = (ask.engine == "fake" && task.fake.is_none())
        .then(|| format!("`{}` says nothing to the fake engine, and no other engine was named", task.contract.task_id));
    let (sandbox_available, sandbox_shortfall) = availability::profiles(harness, ask.sandbox);
    let (missing_programs, hidden_programs) = missing_programs(harness, task, ask.sandbox);
    let confined = ask.sandbox != Profile::None;
    SettingFacts {
        gated,
        engine_unavailable,
        missing_programs,
        halted: halt::look(&harness.switch).is_some(),
        sandbox_asked: ask.sandbox,
        sandbox_available,
        sandbox_shortfall,
        hidden_programs,
        environment_unavailable: if confined { Vec::new() } else { environment_unavailable(task) },
        environment_problems: if confined { environment::problems(task) } else { Vec::new() },
        model: model::facts(&harness.models, &ask.engine, task, &ask.model, now),
    }
}

/// Programs of the exam that are not on the search path, and those that are but not where a sandbox looks. One with a slash
/// lies in the tree and is found out later, and so is one that may lie in a folder of the tree.
fn missing_programs(harness: &Harness, task: &Task, profile: Profile) -> (Vec<String>, Vec<HiddenProgram>) {
    let environment = &task.contract.environment;
    let searched = harness.tools.path(&environment.path, profile);
    if environment.path.iter().any(|dir| !dir.starts_with('/')) {
        return (Vec::new(), Vec::new());
    }
    let hosts: Vec<PathBuf> = searched.iter().map(|dir| environment::host_path(environment, dir)).collect();
    let commands = task.contract.verification_commands.iter().chain(&environment.setup).map(|command| &command.argv);
    let blind = task.contract.blind_checks.iter().map(|check| &check.argv);
    let find = |program: &str, dirs: &[PathBuf]| sandbox::find_program(program, dirs, Path::new("/"));
    let names: BTreeSet<&String> = commands.chain(blind).filter_map(|argv| argv.first()).collect();
    let (mut missing, mut hidden) = (Vec::new(), Vec::new());
    for name in names {
        if let Some(hidden_place) = hidden_place(harness, environment, profile, name) {
            hidden.push(HiddenProgram { name: name.clone(), directory: hidden_place });
        }
        if name.contains('/') || find(name, &hosts).is_some() {
            continue;
        }
        let everywhere = harness.tools.path(&environment.path, Profile::None);
        match find(name, &everywhere).as_deref().and_then(Path::parent) {
            Some(directory) => {
                hidden.push(HiddenProgram { name: name.clone(), directory: directory.display().to_string() });
            }
            None => missing.push(name.clone()),
        }
    }
    (missing, hidden)
}

/// The folder of a program that is named by its whole path, if a sandbox does not show it.
fn hidden_place(harness: &Harness, environment: &Environment, profile: Profile, name: &str) -> Option<String> {
    let path = Path::new(name);
    let shown = |dir: &Path| {
        environment::is_shown(environment, dir) || harness.tools.shown().iter().any(|shown| dir.starts_with(shown))
    };
    let hidden =
        profile != Profile::None && path.is_absolute() && !path.starts_with(crate::quarters::TREE) && !shown(path);
    hidden.then(|| path.parent().unwrap_or(path).display().to_string())
}

/// Parts of a contract's environment that only a real sandbox gives; without one they are refused, never left out.
fn environment_unavailable(task: &Task) -> Vec<String> {
    let environment = &task.contract.environment;
    let parts = [
        ("mounts", !environment.mounts.is_empty()),
        ("setup", !environment.setup.is_empty()),
        ("setup_inputs", !environment.setup_inputs.is_empty()),
        ("setup_network", !environment.setup_network.is_empty()),
    ];
    parts.iter().filter(|(_, asked)| *asked).map(|(name, _)| (*name).to_owned()).collect()
}

/// A run that was decided on.
pub(crate) enum Decided<'a> {
    Refused(RefusedRun<'a>),
    /// Stage 1: the gates are all there is.
    Preflight(AdmittedRun<'a>),
    Admitted(AdmittedRun<'a>, Box<Target>),
}

/// A run whose decision is a refusal.
pub(crate) struct RefusedRun<'a> {
    pub(crate) run: Run<'a>,
    pub(crate) refused: Refused,
}

/// A run whose decision is an admission.
pub(crate) struct AdmittedRun<'a> {
    pub(crate) run: Run<'a>,
    pub(crate) admission: Admission,
}

impl<'a> Run<'a> {
    /// Asks the gate, gathers what the next phase needs, asks again. Writes contract and decision before anything else.
    pub(crate) fn decide(mut self) -> Result<Decided<'a>, Stopped> {
        self.step(Step::Gates, StepState::Began, "")?;
        self.event(EventKind::RunStarted, self.started_data())?;
        let settings = settings(self.harness, self.task, self.ask, self.clock.started());
        let first = self.judge(&settings, None, None)?;
        let (judged, target) = match first {
            Judged::Pending(_) => {
                self.prepare_stage()?;
                stop::here("work.making");
                self.make_work()?;
                stop::here("work.made");
                let target = inspect(self.harness, self.task, self.ask.sandbox, &self.work)?;
                if let Some(copy) = &target.copy {
                    self.draft.censor_mut().compare_with(baseline_reader(copy.baseline.store.clone(), copy.commit));
                }
                self.trace("preflight.target", json!(target.facts))?;
                let second = self.judge(&settings, Some(&target.facts), None)?;
                let judged = match (&second, self.ask_model(&second, &settings)?) {
                    (Judged::Pending(_), Some(answer)) => self.judge(&settings, Some(&target.facts), Some(answer))?,
                    _ => second,
                };
                (judged, Some(target))
            }
            judged => (judged, None),
        };
        stop::here("decision.made");
        self.record_decision(judged.decision())?;
        stop::here("decision.recorded");
        let passed = judged.decision().passed_gates.len();
        let required = judged.decision().required_gates.len();
        let detail = format!("{passed} of {required}");
        match (judged, target) {
            (Judged::Admitted(admission), Some(target)) => {
                self.step(Step::Gates, StepState::Ended, &detail)?;
                Ok(Decided::Admitted(AdmittedRun { run: self, admission }, Box::new(target)))
            }
            (Judged::Admitted(admission), None) => {
                self.step(Step::Gates, StepState::Ended, &detail)?;
                Ok(Decided::Preflight(AdmittedRun { run: self, admission }))
            }
            (Judged::Refused(refused), _) => {
                self.close_link()?;
                self.step(Step::Gates, StepState::Refused, &detail)?;
                self.record_refusal(refused.decision())?;
                Ok(Decided::Refused(RefusedRun { run: self, refused }))
            }
            // All facts were given, so nothing can be pending; treated as what it would be: not admitted.
            (Judged::Pending(_), _) => Err(Stopped::Cancelled),
        }
    }

    fn started_data(&self) -> serde_json::Value {
        json!({
            "engine": self.ask.engine,
            "harness_version": self.harness.host.harness_version,
            "purpose": self.ask.purpose,
            "stage": self.ask.stage,
            "task_id": self.task.contract.task_id,
        })
    }

    fn judge(
        &mut self,
        settings: &SettingFacts,
        target: Option<&TargetFacts>,
        answer: Option<AnswerFact>,
    ) -> Result<Judged, Stopped> {
        let phase = match (target, &answer) {
            (None, _) => "A",
            (Some(_), None) => "B",
            (Some(_), Some(_)) => "C",
        };
        let inputs = Inputs {
            contract_digest: self.contract_digest,
            engine: self.ask.engine.clone(),
            stage: self.ask.stage,
            purpose: self.ask.purpose,
            time: self.clock.started(),
            settings: settings.clone(),
            target: target.cloned(),
            answer,
        };
        let inputs = self.clean(names::DECISION, inputs)?;
        let judged = gate::judge(&self.task.contract, inputs)?;
        let decision = judged.decision();
        let data = json!({"missing": decision.missing_gates, "not_evaluated": decision.not_evaluated, "passed": decision.passed_gates, "phase": phase});
        self.trace("preflight.judged", data)?;
        Ok(judged)
    }

    /// Blockers of a refusal come first, so that each event carries its reason.
    fn record_decision(&mut self, decision: &Decision) -> Result<(), Stopped> {
        for refusal in &decision.refusals {
            self.findings.block_with(refusal.reason, refusal.text.clone(), &refusal.remedy, names::DECISION);
        }
        if let Some(target) = &decision.inputs.target {
            self.findings.baseline_commit = target.baseline_commit.clone();
            self.findings.baseline_tree = target.baseline_tree.clone();
        }
        self.findings.decision = Some(decision.clone());
        let at = self.clock.now();
        self.draft.write_json(names::CONTRACT, &self.task.contract, at)?;
        self.draft.write_json(names::DECISION, decision, at)?;
        self.announce_decision(decision)
    }

    fn announce_decision(&mut self, decision: &Decision) -> Result<(), Stopped> {
        self.event(
            EventKind::TaskContractCreated,
            json!({"contract_digest": self.contract_digest, "task_id": decision.task_id}),
        )?;
        let decided = json!({
            "allowed_mutation_mode": decision.allowed_mutation_mode,
            "decision_id": decision.decision_id,
            "eligible": decision.is_eligible(),
            "missing_gates": decision.missing_gates,
            "selected_backend": decision.selected_backend,
        });
        self.event(EventKind::EligibilityDecided, decided)?;
        Ok(())
    }

    /// The events of a dead run that were not written yet, so that its chain says all its decision says.
    pub(crate) fn catch_up(&mut self) -> Result<(), Stopped> {
        let Some(decision) = self.findings.decision.clone() else { return Ok(()) };
        let seen = |run: &Self, kind| run.draft.events_seen().contains(&kind);
        if !seen(self, EventKind::RunStarted) {
            self.event(EventKind::RunStarted, self.started_data())?;
        }
        if !seen(self, EventKind::TaskContractCreated) {
            self.announce_decision(&decision)?;
        }
        if !decision.refusals.is_empty() && !seen(self, EventKind::BackendGateBlocked) {
            self.record_refusal(&decision)?;
        }
        Ok(())
    }

    fn record_refusal(&mut self, decision: &Decision) -> Result<(), Stopped> {
        for refusal in &decision.refusals {
            let data = json!({
                "backend": self.ask.engine,
                "case_executed": false,
                "engine_executed": false,
                "gate": refusal.gate,
                "mutation_mode": self.task.contract.mutation_mode,
                "reason": refusal.reason,
            });
            let at = self.clock.now();
            self.draft.event(at, EventKind::BackendGateBlocked, data)?;
        }
        self.write_gate_markers(decision)
    }

    /// What other tools look for in `backend/`.
    fn write_gate_markers(&mut self, decision: &Decision) -> Result<(), Stopped> {
        let gate_log: Vec<String> = decision
            .refusals
            .iter()
            .map(|refusal| format!("{} {}: {}", refusal.gate, refusal.reason, refusal.text))
            .collect();
        let name = format!("{}-gate.log", self.ask.engine);
        self.marker(&name, &gate_log.join("\n"))?;
        for (reason, name) in MARKERS {
            if let Some(refusal) = decision.refusals.iter().find(|refusal| refusal.reason == *reason) {
                self.marker(name, &refusal.text)?;
            }
        }
        let missing_tests = decision.missing_gates.contains(&Gate::VerificationCommandPresent);
        if missing_tests {
            self.event(EventKind::VerificationCompleted, json!({"result": "not_run"}))?;
        }
        Ok(())
    }
}

/// What lies in `backend/` when a gate refuses for one of these.
const MARKERS: &[(Reason, &str)] = &[
    (Reason::ProviderUnavailable, "provider-unavailable.txt"),
    (Reason::ModelNotAdmitted, "provider-model-not-admitted.txt"),
    (Reason::ProviderAuthUnavailable, "provider-auth-unavailable.txt"),
    (Reason::LocalProviderConfigMissing, "provider-local-config-unavailable.txt"),
    (Reason::ProviderResponseShape, "provider-reasoning-only.txt"),
];

/// The repository a task works on, where it works on one.
pub(crate) fn repository(task: &Task) -> Option<&Path> {
    match &task.origin {
        Origin::Repository(path) => Some(path),
        Origin::Case(_) => None,
    }
}
