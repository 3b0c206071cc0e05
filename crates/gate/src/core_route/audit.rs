//! The audit: each requirement is proven by facts that were verified, or has a gap.

use contract::Stage;
use contract::core_route::{
    AuditGap, AuditRequirement, AuditStatus, CompletionStatus, EndgoalAudit, RequirementStatus,
};
use contract::status::NotPromoted;

use super::VERSION;

/// A rung of the engine's ladder, as it was computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RungAuditFact {
    pub stage: Stage,
    pub is_validated: bool,
    /// Bundles that prove it.
    pub bundles: Vec<String>,
    /// Requirement that is not met yet; none for a validated rung.
    pub missing: Option<String>,
    /// Command that would help.
    pub remedy: Option<String>,
}

/// A verified pass of stage 5 that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedPassFact {
    pub run_id: String,
    /// Digest of the signed approval that it used up.
    pub approval_digest: Option<String>,
    /// Commit that the run put into the target.
    pub target_commit: Option<String>,
    /// Number of changed files.
    pub changed_files: usize,
    /// Allowed and forbidden paths and actions held, as its proof says.
    pub is_bounded: bool,
    /// The target began and ended clean, and no protected tree changed.
    pub target_kept: bool,
}

/// The newest sealed refresh that verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshFact {
    pub run_id: String,
    pub has_passed: bool,
    /// Number of different passes that were found.
    pub repeatability_count: u64,
    /// Number of passes that are required.
    pub repeatability_required: u64,
    /// True if the candidate may be proposed as a default.
    pub is_eligible: bool,
    /// True if no target changed during the refresh.
    pub targets_unchanged: bool,
}

/// Facts about moving the stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransportFacts {
    /// Reasons why it cannot be moved as it is; empty where it can.
    pub problems: Vec<String>,
    pub evidence: Vec<String>,
}

/// Everything that the audit is judged by.
#[derive(Debug, Clone)]
pub struct AuditFacts {
    pub engine: String,
    /// Errors of `cto validate workspace`.
    pub workspace_errors: usize,
    /// Digests of usable, signed admissions of sources and targets, with their files.
    pub source_admissions: Vec<String>,
    /// Files of usable target admissions.
    pub target_admissions: Vec<String>,
    /// Lowest stage first.
    pub rungs: Vec<RungAuditFact>,
    /// Passes of stage 5 that count.
    pub owned_passes: Vec<OwnedPassFact>,
    /// Newest refresh, if there is one.
    pub refresh: Option<RefreshFact>,
    pub transport: TransportFacts,
}

/// Lowest stage whose runs each need an approval that a person signs.
const FIRST_APPROVED_STAGE: u8 = 4;

/// A missing requirement, with its remedy.
#[derive(Debug)]
struct OpenGap {
    text: String,
    remedy: String,
    /// True if a person has to sign something to close it.
    needs_person: bool,
}

/// Evidence, or a gap.
type Judged = Result<Vec<String>, OpenGap>;

/// Judges the end goal.
pub fn judge_endgoal(facts: &AuditFacts) -> EndgoalAudit {
    let requirements: Vec<RequirementStatus> =
        AuditRequirement::ALL.iter().map(|requirement| describe(*requirement, judge(*requirement, facts))).collect();
    let is_complete = requirements.iter().all(|requirement| requirement.status == AuditStatus::Proven);
    EndgoalAudit {
        schema_version: VERSION.to_owned(),
        completion_status: if is_complete { CompletionStatus::Complete } else { CompletionStatus::Incomplete },
        engine: facts.engine.clone(),
        requirements,
        runtime_default_activation: false,
        core_promotion_status: NotPromoted::NotPromoted,
    }
}

fn describe(requirement: AuditRequirement, judged: Judged) -> RequirementStatus {
    let title = requirement.title().to_owned();
    match judged {
        Ok(evidence) => RequirementStatus { requirement, title, status: AuditStatus::Proven, evidence, gap: None },
        Err(open) => {
            let draft_item = draft_item(requirement, &open);
            let gap = Some(AuditGap { text: open.text, remedy: open.remedy, draft_item });
            RequirementStatus { requirement, title, status: AuditStatus::NotProven, evidence: Vec::new(), gap }
        }
    }
}

/// An item for the board that would close the gap.
fn draft_item(requirement: AuditRequirement, gap: &OpenGap) -> String {
    let number = AuditRequirement::ALL.iter().position(|one| *one == requirement).unwrap_or_default() + 1;
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "'").replace('\n', " "));
    format!(
        "- id: ENDGOAL-WORK-{number:03}\n  title: {}\n  type: {}\n  status: draft\n  what_to_build: {}\n",
        quoted(&format!("Prove: {}", requirement.title())),
        if gap.needs_person { "HITL" } else { "AFK" },
        quoted(&gap.text)
    )
}

fn judge(requirement: AuditRequirement, facts: &AuditFacts) -> Judged {
    let open = |text: &str, remedy: &str, needs_person: bool| {
        Err(OpenGap { text: text.to_owned(), remedy: remedy.to_owned(), needs_person })
    };
    let (gap, signed_gap) =
        (|text: &str, remedy: &str| open(text, remedy, false), |text: &str, remedy: &str| open(text, remedy, true));
    match requirement {
        AuditRequirement::CortexGoverns => match (facts.workspace_errors, facts.source_admissions.as_slice()) {
            (0, []) => signed_gap("no admission of an engine's source is usable and signed", "cto admit source ENGINE"),
            (0, admitted) => Ok(admitted.to_vec()),
            (errors, _) => gap(&format!("the workspace has {errors} errors"), "cto validate workspace"),
        },
        AuditRequirement::HermesControls => {
            let approvals: Option<Vec<String>> = facts
                .owned_passes
                .iter()
                .map(|pass| pass.approval_digest.as_ref().map(|digest| format!("{} approval {digest}", pass.run_id)))
                .collect();
            match approvals {
                Some(approvals) if !approvals.is_empty() => Ok(approvals),
                _ => signed_gap(
                    "no pass of stage 5 used up a signed approval",
                    "cto request TASK --stage 5, then cto approve REQUEST",
                ),
            }
        }
        AuditRequirement::CtoRoutes => rungs_up_to(facts, 1),
        AuditRequirement::HarnessProves => rungs_up_to(facts, 4),
        AuditRequirement::CaseExecutesOnlyAfterProof => rungs_up_to(facts, 5),
        AuditRequirement::BoundedCodeChangesWithEvidence => {
            let is_good =
                |pass: &&OwnedPassFact| pass.is_bounded && pass.changed_files > 0 && pass.target_commit.is_some();
            let good: Vec<&OwnedPassFact> = facts.owned_passes.iter().filter(is_good).collect();
            match good.is_empty() || good.len() < facts.owned_passes.len() {
                true => signed_gap(
                    "no pass of stage 5 shows a commit inside of its allowed paths, or one does not",
                    "cto run TASK --stage 5",
                ),
                false => Ok(good
                    .iter()
                    .map(|pass| format!("{} commit {}", pass.run_id, pass.target_commit.as_deref().unwrap_or_default()))
                    .collect()),
            }
        }
        AuditRequirement::TargetReposStayOwnedAndProtected => {
            let kept = facts.owned_passes.iter().all(|pass| pass.target_kept) && !facts.owned_passes.is_empty();
            match (kept, facts.target_admissions.as_slice()) {
                (_, []) => signed_gap("no admission of a target is usable and signed", "cto admit target REPO"),
                (false, _) => signed_gap(
                    "no pass of stage 5 shows that its target stayed clean and protected trees unchanged",
                    "cto run TASK --stage 5",
                ),
                (true, admitted) => Ok(admitted.to_vec()),
            }
        }
        AuditRequirement::DefaultStatusIsEarnedNotAssumed => rungs_up_to(facts, 6),
        AuditRequirement::CandidateDefaultEvidence => match &facts.refresh {
            Some(refresh) if refresh.has_passed && refresh.is_eligible && refresh.targets_unchanged => {
                let RefreshFact { run_id, repeatability_count, repeatability_required, .. } = refresh;
                Ok(vec![format!("{run_id} repeatability {repeatability_count} of {repeatability_required}")])
            }
            Some(_) => gap("the newest refresh does not pass", "cto refresh"),
            None => gap("there is no sealed refresh that verifies", "cto refresh"),
        },
        AuditRequirement::TransportableStack => match facts.transport.problems.as_slice() {
            [] => Ok(facts.transport.evidence.clone()),
            problems => gap(&problems.join("; "), "commit and push the workspace, then cto pack"),
        },
    }
}

/// Every rung up to a stage has to be validated.
fn rungs_up_to(facts: &AuditFacts, highest: u8) -> Judged {
    let mut bundles = Vec::new();
    for number in 1..=highest {
        let open = |text, remedy| Err(OpenGap { text, remedy, needs_person: number >= FIRST_APPROVED_STAGE });
        let Some(rung) = facts.rungs.iter().find(|rung| rung.stage.number() == number) else {
            return open(format!("stage {number} is not known"), "cto ladder".to_owned());
        };
        if !rung.is_validated || rung.bundles.is_empty() {
            let missing = rung.missing.clone().unwrap_or_else(|| "no bundle proves it".to_owned());
            let remedy = rung.remedy.clone().unwrap_or_else(|| format!("cto ladder explain {number}"));
            return open(format!("stage {number} is not validated: {missing}"), remedy);
        }
        bundles.extend(rung.bundles.iter().map(|bundle| format!("stage {number} {bundle}")));
    }
    Ok(bundles)
}

#[cfg(test)]
mod tests;
