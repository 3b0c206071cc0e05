//! The proofs that a judgement ends in. In a module of their own, so that the rest of this crate cannot make one either.

use contract::decision::{Decision, Inputs};
use contract::{RunId, TaskContract};

use crate::decide;

/// The proof that every gate passed, for one run. Only [`judge_request`] makes one; it is neither made up, nor changed, nor used twice:
///
/// ```compile_fail,E0451
/// fn admit(run_id: contract::RunId, decision: contract::Decision) -> gate::Admission {
///     gate::Admission { run_id, decision }
/// }
/// ```
///
/// ```compile_fail,E0616
/// fn admit_another(mut admission: gate::Admission, other: contract::RunId) -> gate::Admission {
///     admission.run_id = other;
///     admission
/// }
/// ```
///
/// ```compile_fail,E0382
/// fn admit_twice(admission: gate::Admission) -> [gate::Admission; 2] {
///     [admission, admission]
/// }
/// ```
///
/// It can be looked at:
///
/// ```
/// fn look(admission: &gate::Admission) -> (&contract::RunId, &contract::Decision) {
///     (admission.run_id(), admission.decision())
/// }
/// ```
#[derive(Debug)]
pub struct Admission {
    run_id: RunId,
    decision: Decision,
}

/// The proof that a decision refused.
#[derive(Debug)]
pub struct Refused {
    decision: Decision,
}

/// End of a judgement. `Pending`: all that could be judged passed, but facts of a later phase are not gathered.
#[derive(Debug)]
pub enum Judged {
    Admitted(Admission),
    Refused(Refused),
    Pending(Decision),
}

impl Admission {
    /// The only run that it admits.
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Decision that was made.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The decision alone, which proves nothing any more.
    pub fn into_decision(self) -> Decision {
        self.decision
    }
}

impl Refused {
    /// Decision that was made.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The decision alone, which proves nothing any more.
    pub fn into_decision(self) -> Decision {
        self.decision
    }
}

impl Judged {
    /// Decision that was made.
    pub fn decision(&self) -> &Decision {
        match self {
            Self::Admitted(admission) => &admission.decision,
            Self::Refused(refused) => &refused.decision,
            Self::Pending(decision) => decision,
        }
    }
}

/// Judges the request of a run.
pub fn judge_request(run_id: &RunId, contract: &TaskContract, inputs: Inputs) -> Result<Judged, serde_json::Error> {
    let decision = decide(contract, inputs)?;
    Ok(if decision.is_pending() {
        Judged::Pending(decision)
    } else if decision.is_eligible() {
        Judged::Admitted(Admission { run_id: run_id.clone(), decision })
    } else {
        Judged::Refused(Refused { decision })
    })
}
