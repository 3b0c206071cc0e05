//! The gates themselves, in the order in which they are judged.

use contract::decision::{HiddenProgram, Inputs, Profile, Refusal, SettingFacts, Shortfall, TargetFacts};
use contract::task::RiskClass;
use contract::{Gate, MutationMode, Reason, Stage, Status, TaskContract, text};

use crate::outcome::GateOutcome;
use crate::{approval, baseline_exam, engine, model, target};

type Rule = fn(&TaskContract, &Inputs) -> Vec<Refusal>;
type TargetRule = fn(&TaskContract, &Inputs, &TargetFacts) -> Vec<Refusal>;

const PHASE_A: &[(Gate, Rule)] = &[
    (Gate::Gate, gate),
    (Gate::Stage, stage),
    (Gate::KillSwitch, kill_switch),
    (Gate::Contract, scope),
    (Gate::VerificationCommandPresent, verification_command_present),
    (Gate::Identity, identity),
    (Gate::TargetAdmission, target::judge_admission),
    (Gate::SandboxAvailable, sandbox_available),
];

const PHASE_B: &[(Gate, TargetRule)] = &[
    (Gate::TargetIdentity, target_identity),
    (Gate::Ownership, ownership),
    (Gate::Head, head),
    (Gate::CleanStart, clean_start),
];

/// Judges all gates for which the inputs have facts, phase by phase. A phase is judged only
/// if the phase before refused nothing.
pub(crate) fn evaluate(contract: &TaskContract, inputs: &Inputs) -> GateOutcome {
    if inputs.kind.is_some() {
        return evaluate_document(contract, inputs);
    }
    let mut outcome = GateOutcome::default();
    for (gate, rule) in PHASE_A {
        if *gate == Gate::Identity {
            outcome.judge_source(inputs);
        }
        match rule(contract, inputs) {
            refusals if *gate == Gate::Identity && refusals.is_empty() && engine::is_unasked(inputs) => {
                outcome.pass_over(*gate);
            }
            refusals => outcome.record_refusals(*gate, refusals),
        }
        if *gate == Gate::Identity {
            outcome.judge_model(inputs);
        }
        // Its place in the order; what it rests on is known only after phase B.
        if *gate == Gate::TargetAdmission {
            outcome.judge_approval_early(contract, inputs);
        }
    }
    let reached = outcome.has_none_missing();
    // Stage 1 touches no tree, so there is none to look at.
    let phase_b = if inputs.stage == Stage::GATED_ENGINE { &[][..] } else { PHASE_B };
    for (gate, rule) in phase_b {
        match &inputs.target {
            Some(target) if reached => outcome.record_refusals(*gate, rule(contract, inputs, target)),
            _ => outcome.pass_over(*gate),
        }
    }
    if reached && (inputs.target.is_some() || inputs.stage == Stage::GATED_ENGINE) {
        outcome.judge_approval_late(contract, inputs);
    }
    if inputs.settings.model.is_some() && inputs.stage > Stage::GATED_ENGINE {
        outcome.judge_answer(inputs);
    }
    if inputs.stage > Stage::GATED_ENGINE {
        outcome.judge_baseline_exam(contract, inputs);
    }
    outcome
}

/// A document about other bundles rests on the kill switch and on a contract that lets it
/// start and change nothing.
fn evaluate_document(contract: &TaskContract, inputs: &Inputs) -> GateOutcome {
    let mut outcome = GateOutcome::default();
    outcome.record_refusals(Gate::KillSwitch, kill_switch(contract, inputs));
    outcome.record_refusals(Gate::Contract, document_scope(contract));
    outcome
}

fn document_scope(contract: &TaskContract) -> Vec<Refusal> {
    let is_idle = contract.mutation_mode == MutationMode::None
        && contract.allowed_paths.is_empty()
        && contract.verification_commands.is_empty();
    let text = "a document about other bundles changes and runs nothing, and its contract would";
    let remedy = "leave allowed_paths and verification_commands out, with mutation_mode: none";
    if is_idle { Vec::new() } else { refuse_gate(Gate::Contract, Reason::GateMissing, text, remedy) }
}

impl GateOutcome {
    /// Judges a run that needs no approval, or for which none was looked up, at once.
    fn judge_approval_early(&mut self, contract: &TaskContract, inputs: &Inputs) {
        match &inputs.approval {
            Some(_) if contract.needs_approval_at(inputs.stage) => self.pass_over(Gate::Approval),
            _ => self.push_verdict(Gate::Approval, approval::judge_approval(contract, inputs)),
        }
    }

    /// Judges the approval of a plan. The plan names the target's HEAD, so this waits until
    /// phase A has passed and the target was read, with any result.
    fn judge_approval_late(&mut self, contract: &TaskContract, inputs: &Inputs) {
        self.place_verdict(Gate::Approval, approval::judge_approval(contract, inputs));
    }

    /// An engine that is part of the harness has no source of its own.
    fn judge_source(&mut self, inputs: &Inputs) {
        if let Some(refusals) = engine::source_admission(inputs) {
            self.record_refusals(Gate::SourceAdmissionAndTreeDigest, refusals);
        }
    }

    /// An engine that needs no model has none of these gates.
    fn judge_model(&mut self, inputs: &Inputs) {
        let Some(facts) = &inputs.settings.model else { return };
        for (gate, rule) in model::SETTINGS {
            match rule(facts, inputs) {
                Some(refusals) => self.record_refusals(*gate, refusals),
                None => self.pass_over(*gate),
            }
        }
    }

    /// Phase C, which only a run reaches whose every other gate has passed.
    fn judge_answer(&mut self, inputs: &Inputs) {
        let reached = self.has_all_passed();
        for (gate, rule) in model::ANSWER {
            match inputs.answer.as_ref().filter(|_| reached).and_then(rule) {
                Some(refusals) => self.record_refusals(*gate, refusals),
                None => self.pass_over(*gate),
            }
        }
    }

    /// Phase D, the last one: it costs time, so that every other gate has passed before.
    fn judge_baseline_exam(&mut self, contract: &TaskContract, inputs: &Inputs) {
        let reached = self.has_all_passed();
        match inputs.baseline_exam.as_ref().filter(|_| reached) {
            Some(facts) => {
                self.record_refusals(Gate::BaselineExam, baseline_exam::judge_baseline_exam(contract, facts))
            }
            None => self.pass_over(Gate::BaselineExam),
        }
    }
}

/// True for stages at which only signed records count.
pub(crate) fn rests_on_signed_records(stage: Stage) -> bool {
    stage.number() >= 5
}

/// Makes the one refusal of a gate.
pub(crate) fn refuse_gate(
    gate: Gate,
    reason: Reason,
    text: impl Into<String>,
    remedy: impl Into<String>,
) -> Vec<Refusal> {
    vec![Refusal { gate, reason, text: text.into(), remedy: remedy.into() }]
}

fn gate(_: &TaskContract, inputs: &Inputs) -> Vec<Refusal> {
    if inputs.settings.gated { engine::gate(inputs) } else { Vec::new() }
}

fn stage(contract: &TaskContract, inputs: &Inputs) -> Vec<Refusal> {
    let mode = inputs.stage.mutation_mode();
    if mode > contract.mutation_mode {
        return refuse_gate(
            Gate::Stage,
            Reason::GateMissing,
            format!("stage {} means `{mode}`; the contract allows `{}`", inputs.stage, contract.mutation_mode),
            format!("ask for a lower --stage, or set mutation_mode: {mode} in the contract"),
        );
    }
    // The engine that is part of the harness is what candidates are compared with, and
    // never one.
    if inputs.stage == Stage::CANDIDATE_DEFAULT && inputs.settings.engine.is_none() {
        return refuse_gate(
            Gate::Stage,
            Reason::StageNotEarned,
            format!("stage {} is not earned by engine `{}`", inputs.stage, inputs.engine),
            "ask for --stage 5, which changes an admitted target",
        );
    }
    engine::earned(inputs)
}

fn kill_switch(_: &TaskContract, inputs: &Inputs) -> Vec<Refusal> {
    if inputs.settings.halted {
        refuse_gate(Gate::KillSwitch, Reason::Halted, "the kill switch is set", Reason::Halted.remedy())
    } else {
        Vec::new()
    }
}

fn scope(contract: &TaskContract, inputs: &Inputs) -> Vec<Refusal> {
    let missing = |text: &str, remedy: &str| refuse_gate(Gate::Contract, Reason::GateMissing, text, remedy);
    let mut refusals = Vec::new();
    if contract.allowed_paths.is_empty() && inputs.stage.mutation_mode() > MutationMode::None {
        refusals.extend(missing(
            "the contract allows no path to change",
            "name the paths that may change in allowed_paths",
        ));
    }
    if contract.forbidden_actions.is_empty() {
        refusals.extend(missing(
            "the contract forbids no action",
            "leave forbidden_actions out, which forbids all ten, or list some",
        ));
    }
    if contract.risk_class == RiskClass::Critical {
        refusals.extend(missing("a task of risk class `critical` is always blocked", "split off a part of lower risk"));
    }
    refusals.extend(risk(contract, inputs.stage));
    refusals
}

/// The risk that a stage takes; a critical task is refused at every one.
fn risk(contract: &TaskContract, stage: Stage) -> Vec<Refusal> {
    let (text, remedy) = match contract.risk_class {
        RiskClass::High if stage.mutation_mode() > MutationMode::CopiedFixture => (
            format!("a task of risk class `high` never goes beyond stage 3, and stage {stage} is wanted"),
            "ask for --stage 3",
        ),
        RiskClass::Medium if target::changes_target(stage) => (
            format!("stage {stage} takes only tasks of risk class `low`, and this one is `medium`"),
            "ask for --stage 4",
        ),
        RiskClass::Low | RiskClass::Medium | RiskClass::High | RiskClass::Critical => return Vec::new(),
    };
    refuse_gate(Gate::Contract, Reason::GateMissing, text, remedy)
}

fn verification_command_present(contract: &TaskContract, inputs: &Inputs) -> Vec<Refusal> {
    if contract.verification_commands.is_empty() && target::changes_target(inputs.stage) {
        return refuse_gate(
            Gate::VerificationCommandPresent,
            Reason::MissingTestCommand,
            format!("stage {} takes no contract without a verification command, whatever its rationale", inputs.stage),
            "add verification_commands to the contract",
        );
    }
    if contract.verification_commands.is_empty() && contract.no_test_rationale.is_none() {
        let remedy = Reason::MissingTestCommand.remedy();
        return refuse_gate(
            Gate::VerificationCommandPresent,
            Reason::MissingTestCommand,
            "the contract has no verification command",
            remedy,
        );
    }
    Vec::new()
}

fn identity(_: &TaskContract, inputs: &Inputs) -> Vec<Refusal> {
    let SettingFacts { engine_unavailable, missing_programs, hidden_programs, .. } = &inputs.settings;
    let mut refusals = engine::identity(inputs);
    if let Some(why) = engine_unavailable {
        refusals.extend(refuse_gate(
            Gate::Identity,
            Reason::ProviderUnavailable,
            why.clone(),
            "add `fake` to the case, or choose another engine with --engine",
        ));
    }
    for program in missing_programs {
        let program = text::show_controls(program);
        refusals.extend(refuse_gate(
            Gate::Identity,
            Reason::ToolMissing,
            format!("the verification needs `{program}`, which was not found"),
            format!("install {program}, or name its directory in environment.path"),
        ));
    }
    for HiddenProgram { name, directory } in hidden_programs {
        let (name, directory) = (text::show_controls(name), text::show_controls(directory));
        refusals.extend(refuse_gate(
            Gate::Identity,
            Reason::ToolMissing,
            format!("the verification needs `{name}`, which lies in {directory}, and the sandbox does not show that"),
            "cto environment suggest     in the repository; it writes the mounts and the path for the contract",
        ));
    }
    refusals
}

fn sandbox_available(_: &TaskContract, inputs: &Inputs) -> Vec<Refusal> {
    let SettingFacts { sandbox_asked, sandbox_available, sandbox_shortfall, .. } = &inputs.settings;
    let SettingFacts { environment_unavailable, environment_problems, .. } = &inputs.settings;
    let unavailable =
        |text: String, remedy: &str| refuse_gate(Gate::SandboxAvailable, Reason::SandboxUnavailable, text, remedy);
    let mut refusals = Vec::new();
    if !sandbox_available.contains(sandbox_asked) {
        let (why, remedy) = match sandbox_shortfall {
            Some(Shortfall { text, remedy }) => (format!(": {}", text::show_controls(text)), remedy.as_str()),
            None => (String::new(), "ask for --sandbox strict"),
        };
        refusals.extend(unavailable(format!("sandbox profile `{sandbox_asked}` is not available{why}"), remedy));
    }
    if *sandbox_asked == Profile::None && inputs.stage > Stage::ARTIFICIAL_FIXTURE {
        refusals.extend(unavailable(
            format!("profile `none` is not accepted at stage {}", inputs.stage),
            "ask for --sandbox strict",
        ));
    }
    if *sandbox_asked == Profile::None && inputs.settings.model.is_some() {
        refusals.extend(unavailable(
            "a model-backed engine needs a network of its own, and profile `none` has none".to_owned(),
            "ask for --sandbox strict",
        ));
    }
    for part in environment_unavailable {
        refusals.extend(unavailable(
            format!("environment.{part} needs a sandbox, and profile `{sandbox_asked}` has none"),
            "ask for --sandbox strict, or leave it out of the contract",
        ));
    }
    for Shortfall { text, remedy } in environment_problems {
        refusals.extend(unavailable(text::show_controls(text), remedy));
    }
    refusals
}

fn target_identity(_: &TaskContract, inputs: &Inputs, target: &TargetFacts) -> Vec<Refusal> {
    if let Some(run) = target.baseline_run.as_ref().filter(|run| run.status != Status::Pass) {
        // A stage that rests on another run is blocked by what blocked that run; one that
        // failed proves nothing to rest on.
        let blocked_by = run.reason.filter(|_| run.status == Status::Blocked);
        let why = run.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        return refuse_gate(
            Gate::TargetIdentity,
            blocked_by.unwrap_or(Reason::StageNotEarned),
            format!(
                "stage {} rests on a pass of the fake engine on the same case, which ended `{}`{why}: {}",
                inputs.stage, run.status, run.run_id
            ),
            "repair what it says: cto run TASK",
        );
    }
    let Some(why) = &target.unreadable else { return Vec::new() };
    let remedy = target.unreadable_remedy.as_deref().unwrap_or(Reason::SourceMissing.remedy());
    refuse_gate(Gate::TargetIdentity, Reason::SourceMissing, text::show_controls(why), text::show_controls(remedy))
}

fn ownership(_: &TaskContract, _: &Inputs, target: &TargetFacts) -> Vec<Refusal> {
    if target.repository && !(target.owned_local && target.owner.is_some()) {
        let remedy = Reason::UnownedRepository.remedy();
        return refuse_gate(
            Gate::Ownership,
            Reason::UnownedRepository,
            "nothing says that the source repository is owned",
            remedy,
        );
    }
    let judge = |landing| target::judge_owner(landing).into_iter().chain(target::judge_off_limits(landing));
    target.landing.iter().flat_map(judge).collect()
}

fn head(contract: &TaskContract, _: &Inputs, target: &TargetFacts) -> Vec<Refusal> {
    if target.unreadable.is_none() && target.baseline_commit.is_none() {
        return refuse_gate(
            Gate::Head,
            Reason::SourceMissing,
            "the repository has no commit to start from",
            "commit something first",
        );
    }
    let absent = target.absent_allowed.iter().flat_map(|path| {
        let text = format!("`{}` may change, but git does not hold its content", text::show_controls(path));
        refuse_gate(Gate::Head, Reason::SourceMissing, text, "leave it out of allowed_paths")
    });
    let landing = target.landing.iter().flat_map(|landing| {
        let identity = target::judge_identity(landing);
        target::judge_checked_out(contract, landing).into_iter().chain(identity)
    });
    absent.chain(landing).collect()
}

fn clean_start(_: &TaskContract, _: &Inputs, target: &TargetFacts) -> Vec<Refusal> {
    let mut refusals = dirty_paths(target);
    refusals.extend(target.landing.iter().flat_map(target::judge_in_the_way));
    refusals
}

fn dirty_paths(target: &TargetFacts) -> Vec<Refusal> {
    let Some(first) = target.dirty_paths.first() else { return Vec::new() };
    let more = match target.dirty_paths.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let remedy = "git stash -u     (in the repository)";
    refuse_gate(
        Gate::CleanStart,
        Reason::DirtyStartingTree,
        format!("not clean before work: `{}`{more}", text::show_controls(first)),
        remedy,
    )
}
