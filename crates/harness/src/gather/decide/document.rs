//! The decision on a document about other bundles: the kill switch and its contract, and
//! nothing of an engine.

use contract::CollectionKind;
use contract::decision::{Inputs, Profile, SettingFacts};
use evidence::{names, stop};
use gate::Judged;

use super::{AdmittedRun, DecidedRun, Gathering, PreflightRun, Preparation, RefusedRun};
use crate::home::watch::{Step, StepState};
use crate::run::file::{RunFile, Stopped};
use crate::run::halt;

impl<'a> RunFile<'a> {
    /// Judges a document of this kind. An admitted one is a preflight: it has no target and
    /// starts no engine.
    pub(crate) fn decide_document(mut self, kind: CollectionKind) -> Result<DecidedRun<'a>, Stopped> {
        self.step(Step::Gates, StepState::Began, "")?;
        self.add_event(&self.started_data())?;
        let halted = halt::look_for_halt(&self.harness().switch).is_some();
        let inputs = Inputs {
            contract_digest: self.contract_digest(),
            engine: self.ask().engine.clone(),
            stage: self.ask().stage,
            purpose: self.ask().purpose,
            kind: Some(kind),
            time: self.clock().started(),
            settings: SettingFacts { halted, ..SettingFacts::unknown(Profile::None) },
            target: None,
            answer: None,
            baseline_exam: None,
            approval: None,
        };
        let inputs = self.clean(names::DECISION, inputs)?;
        let _ = self.journal().note_inputs(&inputs);
        let judged = gate::judge_request(self.id(), &self.task().contract, inputs)?;
        stop::pass_place("decision.made");
        self.record_decision(judged.decision())?;
        stop::pass_place("decision.recorded");
        let decision = judged.decision();
        let detail = format!("{} of {}", decision.passed_gates.len(), decision.required_gates.len());
        let preparation = Preparation::default();
        match judged {
            Judged::Admitted(admission) => {
                self.step(Step::Gates, StepState::Ended, &detail)?;
                let gathering = Gathering { run: self, preparation };
                Ok(DecidedRun::Preflight(PreflightRun(AdmittedRun::new(gathering, admission)?)))
            }
            Judged::Refused(refused) => {
                self.step(Step::Gates, StepState::Refused, &detail)?;
                self.record_refusal(refused.decision())?;
                Ok(DecidedRun::Refused(RefusedRun { run: self, preparation, refused }))
            }
            Judged::Pending(_) => Err(Stopped::Impossible("a document's decision is pending")),
        }
    }
}
