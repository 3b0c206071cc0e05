//! Judgement: (contract, inputs) in, Eligibility Decision out. Default deny, pure,
//! recomputable from a bundle.
//!
//! Phase A needs only files and settings, phase B looks at the target, phase C talks to the
//! model, phase D holds the baseline's exam. A phase is judged only when the one before it
//! passed; what was not reached is `not_evaluated`. The approval belongs to phase A and is
//! judged after phase B, because a plan names the target's HEAD. An [`Admission`] can be
//! had from [`judge_request`] alone, so that running an ungated task does not compile. [`conduct`]
//! judges afterwards what the recorders of a sandbox saw.

mod admission;
pub mod approval;
mod baseline_exam;
pub mod conduct;
pub mod core_route;
pub mod engine;
pub mod model;
#[cfg(must_not_compile = "literals")]
mod must_not_compile;
mod outcome;
mod rules;
mod target;
#[cfg(test)]
mod tests;

use contract::collection::NO_ENGINE;
use contract::decision::{Decision, DeniedBackend, Escalation, Inputs, NotPromoted, Refusal};
use contract::{BUNDLE_VERSION, Gate, MutationMode, RULES_VERSION, Reason, TaskContract, canonical_digest};

pub use admission::{Admission, Judged, Refused, judge_request};

/// The decision as a document; a pure function of its arguments.
pub fn decide(contract: &TaskContract, inputs: Inputs) -> Result<Decision, serde_json::Error> {
    let outcome = rules::evaluate(contract, &inputs);
    let (required_gates, passed_gates) = (outcome.required(), outcome.passed());
    let (missing_gates, not_evaluated) = (outcome.missing(), outcome.not_evaluated());
    let refusals = outcome.into_refusals();
    let mut reasons: Vec<Reason> = refusals.iter().map(|refusal| refusal.reason).collect();
    reasons.sort_by_key(|reason| reason.rank(false));
    reasons.dedup();
    let (refused, is_document) = (!refusals.is_empty(), inputs.kind.is_some());
    Ok(Decision {
        schema_version: BUNDLE_VERSION.to_owned(),
        rules_version: RULES_VERSION.to_owned(),
        decision_id: canonical_digest(&inputs)?,
        task_id: contract.task_id.clone(),
        contract_digest: inputs.contract_digest,
        selected_backend: if refused || is_document { NO_ENGINE.to_owned() } else { inputs.engine.clone() },
        denied_backends: denied(&inputs, &reasons),
        risk_class: contract.risk_class,
        required_gates,
        passed_gates,
        missing_gates,
        not_evaluated,
        allowed_mutation_mode: if refused {
            MutationMode::None
        } else {
            inputs.stage.mutation_mode().min(contract.mutation_mode)
        },
        approval_required: !is_document && contract.needs_approval_at(inputs.stage),
        escalation_path: escalation(&refusals),
        reasons,
        refusals,
        inputs,
        runtime_default_activation: false,
        core_promotion_status: NotPromoted::NotPromoted,
    })
}

fn denied(inputs: &Inputs, reasons: &[Reason]) -> Vec<DeniedBackend> {
    if reasons.is_empty() {
        Vec::new()
    } else {
        vec![DeniedBackend { backend: inputs.engine.clone(), reasons: reasons.to_vec() }]
    }
}

fn escalation(refusals: &[Refusal]) -> Escalation {
    match refusals {
        [] => Escalation::Operator,
        [..] if refusals.iter().any(|refusal| refusal.reason == Reason::Halted) => Escalation::Blocked,
        [..] if refusals.iter().all(|refusal| refusal.gate == Gate::Approval) => Escalation::Approver,
        _ => Escalation::Operator,
    }
}
