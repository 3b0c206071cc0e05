//! The gate of the target's admission: which repository a run may change, and where its
//! commit may go.

use contract::approval::TargetAdmissionFacts;
use contract::decision::{Inputs, LandingFacts, OffLimitsTree, Refusal, SourceTarget};
use contract::record::FoundRecord;
use contract::{Gate, Reason, Stage, TaskContract, text};

use crate::rules::{refuse_gate, rests_on_signed_records};

/// Stages that change a repository of the operator's.
pub(crate) fn changes_target(stage: Stage) -> bool {
    stage.number() >= 5
}

/// The target's admission, and which of the contract's repositories the stage takes.
pub(crate) fn judge_admission(contract: &TaskContract, inputs: &Inputs) -> Vec<Refusal> {
    if !changes_target(inputs.stage) {
        return judge_lower_stage(contract, inputs);
    }
    let mut refusals = Vec::new();
    if contract.source_repository.is_some() {
        refusals.extend(not_admitted(
            format!("source_repository is for stages 3 and 4, and stage {} changes an admitted target", inputs.stage),
            "name the repository as target_repository in the contract instead",
        ));
    }
    match &inputs.settings.target_admission {
        Some(facts) => refusals.extend(judge_record(facts, inputs.stage)),
        None => refusals.extend(not_admitted("no target repository is named", "cto admit target DIR")),
    }
    refusals
}

fn not_admitted(text: impl Into<String>, remedy: impl Into<String>) -> Vec<Refusal> {
    refuse_gate(Gate::TargetAdmission, Reason::TargetNotAdmitted, text, remedy)
}

/// Below stage 5 a run works on a copy, never on a target.
fn judge_lower_stage(contract: &TaskContract, inputs: &Inputs) -> Vec<Refusal> {
    if contract.target_repository.is_some() && inputs.stage < Stage::DISPOSABLE_REPOSITORY {
        return not_admitted(
            "no admission record for the target repository",
            "use source_repository (--repo DIR) at stage 3, which changes a copy",
        );
    }
    if contract.target_repository.is_some() {
        return not_admitted(
            format!(
                "target_repository is for stages 5 and 6, and stage {} changes a disposable repository",
                inputs.stage
            ),
            "name the repository as source_repository (--repo DIR), which is copied",
        );
    }
    inputs.settings.source_target.as_ref().map_or_else(Vec::new, |found| judge_source(found, inputs.stage))
}

/// A repository that is admitted for changes is changed with an approval of its own, and
/// never copied on the way there.
fn judge_source(found: &SourceTarget, stage: Stage) -> Vec<Refusal> {
    match found {
        SourceTarget::Admitted { file, source, target } => {
            let (shown_file, file) = (text::show_controls(file), text::shell_word(file));
            let clone = text::shell_word(&format!("{target}-clone"));
            let text = format!(
                "the source repository is a target that {shown_file} admits, and stage {stage} copies no admitted target"
            );
            let remedy = format!(
                "git clone {} {clone}     and --repo {clone}; or --stage 5 --target {file}, without a source repository",
                text::shell_word(source)
            );
            refuse_gate(Gate::TargetAdmission, Reason::GateMissing, text, remedy)
        }
        SourceTarget::Unread { file, why } => {
            let text = format!(
                "{} cannot be read, and may admit the source repository as a target: {}",
                text::show_controls(file),
                text::show_controls(why)
            );
            not_admitted(text, format!("cto record check {}", text::shell_word(file)))
        }
    }
}

fn judge_record(facts: &TargetAdmissionFacts, stage: Stage) -> Vec<Refusal> {
    let record = match &facts.admission {
        FoundRecord::Missing => return not_admitted("there is no admission for the target repository", &facts.remedy),
        FoundRecord::Invalid { why } => {
            let text = format!("the target's admission cannot be used: {}", text::show_controls(why));
            return not_admitted(text, &facts.remedy);
        }
        FoundRecord::Record { record, .. } => record,
    };
    let mut refusals = Vec::new();
    if !record.is_for(&facts.path) {
        let (named, wanted) = (text::show_controls(&record.target_repository_path), text::show_controls(&facts.path));
        let text = format!("the admission is for another repository: `{named}`, and `{wanted}` would be changed");
        refusals.extend(not_admitted(text, &facts.remedy));
    }
    for defect in record.defects() {
        let text = format!("the target's admission does not hold: {defect}");
        refusals.extend(refuse_gate(Gate::TargetAdmission, defect.reason, text, &facts.remedy));
    }
    if rests_on_signed_records(stage) && facts.admission.is_unsigned() {
        let text = format!("the target's admission is not signed, and stage {stage} rests on signed records only");
        refusals.extend(not_admitted(text, sign_command(facts)));
    }
    refusals
}

fn sign_command(facts: &TargetAdmissionFacts) -> String {
    format!("cto record sign {}", facts.file.as_deref().map_or_else(|| "FILE".to_owned(), text::shell_word))
}

/// A branch that is to be moved is checked out: git would then show the whole change as undone.
pub(crate) fn judge_checked_out(contract: &TaskContract, landing: &LandingFacts) -> Vec<Refusal> {
    let Some(place) = &landing.checked_out_at else { return Vec::new() };
    let (branch, at) = (text::show_controls(&landing.branch), text::show_controls(place));
    let made = format!("cto/{}/<request>", contract.task_id);
    let place = text::shell_word(place);
    refuse_gate(
        Gate::Head,
        Reason::GateMissing,
        format!("`branch_policy: current` would move `{branch}`, which is checked out at {at}"),
        format!(
            "leave branch_policy out of the contract, for a merge after the run: git -C {place} merge --ff-only {made}"
        ),
    )
}

/// A repository of another user of this machine is not the operator's to change, whatever a
/// record says.
pub(crate) fn judge_owner(landing: &LandingFacts) -> Vec<Refusal> {
    let Some(uid) = landing.other_owner else { return Vec::new() };
    let text = format!("the repository belongs to another user of this machine, with number {uid}");
    refuse_gate(Gate::Ownership, Reason::UnownedRepository, text, "run as the user whose repository it is")
}

/// Refuses protected trees, the harness's home and the workspace itself, whatever an
/// admission says.
pub(crate) fn judge_off_limits(landing: &LandingFacts) -> Vec<Refusal> {
    let Some(tree) = &landing.off_limits else { return Vec::new() };
    let (text, remedy) = match tree {
        OffLimitsTree::ProtectedRoot(root) => (
            format!("the repository lies in {}, which protected_roots names", text::show_controls(root)),
            "name another repository, or take the tree out of protected_roots in harness.yaml".to_owned(),
        ),
        OffLimitsTree::Home(home) => (
            format!("the repository lies in the harness's own home, {}", text::show_controls(home)),
            "name a repository outside of the harness's home".to_owned(),
        ),
        OffLimitsTree::Workspace(workspace) => (
            format!("the workspace {} lies in the repository that it admits", text::show_controls(workspace)),
            "cto init DIR     in a folder outside of the repository, and sign its admission there".to_owned(),
        ),
    };
    refuse_gate(Gate::Ownership, Reason::CriticalRepository, text, remedy)
}

/// The branch of the result is made new, or not at all.
pub(crate) fn judge_in_the_way(landing: &LandingFacts) -> Vec<Refusal> {
    let Some(found) = &landing.in_the_way else { return Vec::new() };
    let found = text::show_controls(found);
    refuse_gate(
        Gate::CleanStart,
        Reason::DirtyStartingTree,
        format!("the commit has no place: {found}"),
        match landing.branch.as_str() {
            "" => "leave branch_policy out of the contract, for a branch of its own".to_owned(),
            branch => {
                let (branch, away) = (text::shell_word(branch), text::shell_word(&format!("{branch}-before")));
                format!("git branch -m {branch} {away}     (in the repository)")
            }
        },
    )
}

/// A commit says who made it.
pub(crate) fn judge_identity(landing: &LandingFacts) -> Vec<Refusal> {
    let Some(key) = &landing.identity_missing else { return Vec::new() };
    let key = text::show_controls(key);
    refuse_gate(
        Gate::Head,
        Reason::GateMissing,
        format!("git does not know who commits: {key} is not set"),
        format!("git config --global {key} \"...\""),
    )
}
