//! The gates of an engine that is not part of the harness: whether it may run at all,
//! whether its source is admitted, whether it is the program it is called, and whether it
//! has earned the stage it is wanted at.

#[cfg(test)]
mod tests;

use contract::decision::{Inputs, Refusal};
use contract::engine::{EngineSetting, GateSaid, ProgramFact, RungFact, climb_command, gate_command, variable_name};
use contract::record::{FoundRecord, LicenseStatus, SourceAdmission, holds_placeholder};
use contract::report::SourceAdmissionStatus;
use contract::{Digest, Gate, Reason, Stage, Stamp, canonical_digest, text};

use crate::rules::{refuse_gate, rests_on_signed_records};

/// The gate itself: every source that names it must open it, and for this very stage.
pub(crate) fn gate(inputs: &Inputs) -> Vec<Refusal> {
    let said = inputs.settings.engine.as_ref().map_or(&[][..], |engine| &engine.gate);
    let Some(text) = shut(&inputs.engine, said, inputs.stage) else { return Vec::new() };
    let (name, stage) = (variable_name(&inputs.engine), inputs.stage);
    let remedy = format!(
        "cto engine enable {} --stage {stage}     or: export CTO_HARNESS_ALLOW_{name}=1 CTO_HARNESS_{name}_STAGE={stage}",
        inputs.engine
    );
    refuse_gate(Gate::Gate, Reason::GateMissing, text, remedy)
}

/// True if the gate is open. For callers that ask before anything is judged.
pub fn is_open(engine: &str, said: &[GateSaid], stage: Stage) -> bool {
    shut(engine, said, stage).is_none()
}

/// Reason why the gate is shut, if it is.
fn shut(engine: &str, said: &[GateSaid], stage: Stage) -> Option<String> {
    if let Some(said) = said.iter().find(|said| said.allowed == Some(false)) {
        return Some(format!("{} shuts the gate of engine `{engine}`", said.by.as_str()));
    }
    if !said.iter().any(|said| said.allowed == Some(true)) {
        return Some(format!("engine `{engine}` is not enabled"));
    }
    for said in said {
        if let Some(opened) = said.stage.filter(|opened| *opened != stage) {
            let by = said.by.as_str();
            return Some(format!("{by} opens stage {opened} to engine `{engine}`, and stage {stage} is wanted"));
        }
    }
    // Stage 1 needs the gate alone.
    let opened = stage == Stage::GATED_ENGINE || said.iter().any(|said| said.stage == Some(stage));
    (!opened).then(|| format!("stage {stage} is not enabled for engine `{engine}`"))
}

/// The rung below must hold for this very engine, source and pair. Without a program there is no identity to ask for.
pub(crate) fn earned(inputs: &Inputs) -> Vec<Refusal> {
    let Some(engine) = inputs.settings.engine.as_ref() else { return Vec::new() };
    let not_earned = |stage: Stage, text: String| {
        refuse_gate(Gate::Stage, Reason::StageNotEarned, text, climb(&inputs.engine, stage))
    };
    match &engine.below {
        Some(RungFact::Validated { stage, .. }) if !is_below(*stage, inputs.stage) => {
            not_earned(*stage, format!("a pass at stage {stage} does not earn stage {}", inputs.stage))
        }
        None if inputs.stage >= Stage::DISPOSABLE_REPOSITORY => {
            let below = Stage::try_from(inputs.stage.number() - 1).unwrap_or(Stage::COPIED_REPOSITORY);
            not_earned(
                below,
                format!("nobody looked whether engine `{}` has earned stage {}", inputs.engine, inputs.stage),
            )
        }
        None | Some(RungFact::Validated { .. }) => Vec::new(),
        Some(RungFact::NotStarted { stage }) if inputs.stage == Stage::CANDIDATE_DEFAULT => not_earned(
            *stage,
            format!("stage 6 rests on an accepted comparison of engine `{}`, and there is none", inputs.engine),
        ),
        Some(RungFact::NotStarted { stage }) => not_earned(
            *stage,
            format!("engine `{}` has no pass at stage {stage}, on which stage {} rests", inputs.engine, inputs.stage),
        ),
        Some(RungFact::Blocked { stage, run_id, lack: None }) => {
            not_earned(*stage, format!("the latest run at stage {stage} did not pass: {run_id}"))
        }
        Some(RungFact::Blocked { stage, run_id, lack: Some(lack) }) => {
            let text = format!("stage {stage} is not earned: {}", lack.sentence(run_id));
            let remedy = lack.lack_remedy(run_id).unwrap_or_else(|| climb(&inputs.engine, *stage));
            refuse_gate(Gate::Stage, Reason::StageNotEarned, text, remedy)
        }
        Some(RungFact::Stale { stage, run_id, why }) => {
            not_earned(*stage, format!("the pass at stage {stage} ({run_id}) is for {}", text::show_controls(why)))
        }
    }
}

/// True below stage 4 as well, where the stated rung is accepted. Stage 6 rests on its own rung, which a comparison earns.
fn is_below(rung: Stage, wanted: Stage) -> bool {
    match wanted {
        Stage::CANDIDATE_DEFAULT => rung == wanted,
        wanted => wanted < Stage::DISPOSABLE_REPOSITORY || rung.number() + 1 == wanted.number(),
    }
}

/// The one command that earns a rung.
fn climb(engine: &str, stage: Stage) -> String {
    if stage == Stage::CANDIDATE_DEFAULT {
        return climb_command(engine, stage);
    }
    format!("{} && {}", gate_command(engine, stage), climb_command(engine, stage))
}

/// Status of the admission of the engine's source.
pub fn source_status(engine: Option<&EngineSetting>, stage: Stage, time: Stamp) -> SourceAdmissionStatus {
    let Some(engine) = engine else { return SourceAdmissionStatus::BuiltIn };
    let Some(record) = engine.admission.record() else { return SourceAdmissionStatus::NotAdmitted };
    match engine.found() {
        _ if find_shortcoming(record, stage, time).is_some() => SourceAdmissionStatus::NotAdmitted,
        Some(found) if found.tree_sha256 != record.source_tree_sha256 => SourceAdmissionStatus::Stale,
        _ => SourceAdmissionStatus::Admitted,
    }
}

/// Fault for which a record does not admit its source now, and the edit that mends it.
struct Shortcoming {
    why: String,
    edit: String,
}

fn find_shortcoming(record: &SourceAdmission, stage: Stage, time: Stamp) -> Option<Shortcoming> {
    let found = |why: String, edit: &str| Some(Shortcoming { why, edit: edit.to_owned() });
    if record.status != SourceAdmission::ADMITTED {
        let why = format!("its status is `{}`", text::show_controls(&record.status));
        return found(why, "replace each <FILL IN> and set status: admitted");
    }
    if record.expires_at.is_some_and(|expires| time >= expires) {
        return found("it has expired".to_owned(), "look at it again and set a later expires_at");
    }
    if let Some(highest) = record.max_stage.filter(|highest| stage > *highest) {
        return found(format!("it is good to stage {highest}"), &format!("set max_stage: {stage}"));
    }
    let mode = stage.mutation_mode();
    if stage > Stage::GATED_ENGINE && !record.allowed_execution_modes.contains(&mode) {
        let why = format!("its allowed_execution_modes do not name `{mode}`");
        return found(why, &format!("add {mode} to allowed_execution_modes"));
    }
    None
}

/// Reason why an admission does not cover the source of a stage's bundles now; none if it does.
pub fn find_staleness(
    admission: &FoundRecord<SourceAdmission>,
    stage: Stage,
    time: Stamp,
    source_id: &str,
    tree_sha256: Option<Digest>,
) -> Option<String> {
    let record = match admission {
        FoundRecord::Missing => return Some("its source is not admitted".to_owned()),
        FoundRecord::Invalid { why } => {
            return Some(format!("its source admission cannot be used: {}", text::show_controls(why)));
        }
        FoundRecord::Record { record, .. } => record,
    };
    if rests_on_signed_records(stage) && admission.is_unsigned() {
        return Some("its source admission is not signed".to_owned());
    }
    if record.source_id != source_id || Some(record.source_tree_sha256) != tree_sha256 {
        return Some(format!(
            "the admitted source is {}, and the passes are of another",
            text::show_controls(&record.source_id)
        ));
    }
    let shortcoming = find_shortcoming(record, stage, time)?;
    Some(format!("its source admission does not hold: {}", shortcoming.why))
}

/// From stage 3 on the source is admitted; below, what is admitted must at least be what is there.
pub(crate) fn source_admission(inputs: &Inputs) -> Option<Vec<Refusal>> {
    let engine = inputs.settings.engine.as_ref()?;
    let gate = Gate::SourceAdmissionAndTreeDigest;
    let draft = format!("cto admit source {}     then fill it in and set its status to admitted", inputs.engine);
    let not_admitted = |text: String| Some(refuse_gate(gate, Reason::SourceNotAdmitted, text, draft.clone()));
    let needed = inputs.stage >= Stage::COPIED_REPOSITORY;
    let record = match &engine.admission {
        FoundRecord::Missing if needed => {
            return not_admitted(format!("the source of engine `{}` is not admitted", inputs.engine));
        }
        FoundRecord::Missing => return Some(Vec::new()),
        FoundRecord::Invalid { why } => {
            return not_admitted(format!("its source admission cannot be used: {}", text::show_controls(why)));
        }
        FoundRecord::Record { record, .. } => record,
    };
    if record.engine != inputs.engine {
        return not_admitted(format!("its source admission is for engine `{}`", text::show_controls(&record.engine)));
    }
    if let Some(Shortcoming { why, edit }) = find_shortcoming(record, inputs.stage, inputs.time) {
        let text = format!("its source admission does not hold: {why}");
        return match inputs.stage {
            _ if !needed => Some(Vec::new()),
            Stage::COPIED_REPOSITORY => not_admitted(text),
            _ => {
                let file = format!("admissions/source/{}.yaml", inputs.engine);
                let remedy = format!("{edit} in {file} before you sign it: cto record sign {file}");
                Some(refuse_gate(gate, Reason::SourceNotAdmitted, text, remedy))
            }
        };
    }
    let mut refusals = differences(engine, record, &inputs.engine);
    refusals.extend(licence(record, inputs.stage));
    if rests_on_signed_records(inputs.stage) && engine.admission.is_unsigned() {
        let text =
            format!("its source admission is not signed, and stage {} rests on signed records only", inputs.stage);
        let remedy = format!("cto record sign admissions/source/{}.yaml", inputs.engine);
        refusals.extend(refuse_gate(gate, Reason::SourceNotAdmitted, text, remedy));
    }
    Some(refusals)
}

/// Differences between the found and the admitted program.
fn differences(engine: &EngineSetting, record: &SourceAdmission, id: &str) -> Vec<Refusal> {
    let Some(found) = engine.found() else { return Vec::new() };
    let rows = [
        ("its files", found.tree_sha256 != record.source_tree_sha256),
        ("its executable", found.executable_sha256 != record.executable_sha256),
        ("its interpreter", found.interpreter_sha256 != record.interpreter_sha256),
        (
            "its command line",
            !canonical_digest(&record.command_shape).is_ok_and(|shape| shape == found.command_shape_sha256),
        ),
    ];
    let Some((what, _)) = rows.iter().find(|(_, differs)| *differs) else { return Vec::new() };
    refuse_gate(
        Gate::SourceAdmissionAndTreeDigest,
        Reason::ExecutableDigestMismatch,
        format!("{what} changed since {} was admitted", text::show_controls(&record.source_id)),
        format!("install what was admitted, or admit what is there: cto admit source {id} --replace"),
    )
}

fn licence(record: &SourceAdmission, stage: Stage) -> Vec<Refusal> {
    let is_said = |note: &str| !note.trim().is_empty();
    let is_written = |note: &str| is_said(note) && !holds_placeholder(note);
    let internal_use = record.internal_use_note.as_deref();
    let (may, remedy) = match (record.license_status, stage.number()) {
        (LicenseStatus::Resolved, 1..=4) | (LicenseStatus::Unresolved, 1 | 2) => (true, ""),
        (LicenseStatus::Unresolved, 3 | 4) => (
            internal_use.is_some_and(is_said),
            "resolve license_note in its admission, or state an internal_use_note for stages 3 and 4",
        ),
        (LicenseStatus::Resolved, _) => (
            is_written(&record.license_note) && internal_use.is_some_and(is_written),
            "write license_note and internal_use_note in its admission",
        ),
        (LicenseStatus::Unresolved, _) => {
            (false, "write license_note and internal_use_note in its admission, with license_status: resolved")
        }
    };
    if may {
        return Vec::new();
    }
    refuse_gate(
        Gate::SourceAdmissionAndTreeDigest,
        Reason::LicenseUnresolved,
        format!("the licence of {} is not resolved for stage {stage}", text::show_controls(&record.source_id)),
        remedy,
    )
}

/// Is this really that program?
pub(crate) fn identity(inputs: &Inputs) -> Vec<Refusal> {
    let (reason, why, remedy) = match inputs.settings.engine.as_ref().map(|engine| &engine.program) {
        None | Some(ProgramFact::NotLooked | ProgramFact::Found(_)) => return Vec::new(),
        Some(ProgramFact::Unusable { why, remedy }) => (Reason::ProviderUnavailable, why, remedy),
        Some(ProgramFact::CopyMissing { why, remedy }) => (Reason::EngineCopyMissing, why, remedy),
        Some(ProgramFact::CopyChanged { why, remedy }) => (Reason::ExecutableDigestMismatch, why, remedy),
    };
    refuse_gate(Gate::Identity, reason, text::show_controls(why), remedy.clone())
}

/// Nobody has asked the program who it is.
pub(crate) fn is_unasked(inputs: &Inputs) -> bool {
    inputs.settings.engine.as_ref().is_some_and(|engine| engine.program == ProgramFact::NotLooked)
}
