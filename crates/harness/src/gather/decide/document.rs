//! The decision on a document about other bundles: the kill switch and its contract, and
//! nothing of an engine.

use contract::decision::{Inputs, Profile, SettingFacts};
use contract::{CollectionKind, EventKind};
use evidence::{names, stop};
use gate::Judged;

use super::{AdmittedRun, Decided, Gathering, PreflightRun, Preparation, RefusedRun};
use crate::home::watch::{Step, StepState};
use crate::run::file::{RunFile, Stopped};
use crate::run::halt;

impl<'a> RunFile<'a> {
    /// Judges a document of this kind. An admitted one is a preflight: it has no target and
    /// starts no engine.
    pub(crate) fn decide_document(mut self, kind: CollectionKind) -> Result<Decided<'a>, Stopped> {
        self.step(Step::Gates, StepState::Began, "")?;
        self.event(EventKind::RunStarted, self.started_data())?;
        let halted = halt::look(&self.harness.switch).is_some();
        let inputs = Inputs {
            contract_digest: self.contract_digest,
            engine: self.ask.engine.clone(),
            stage: self.ask.stage,
            purpose: self.ask.purpose,
            kind: Some(kind),
            time: self.clock.started(),
            settings: SettingFacts { halted, ..SettingFacts::unknown(Profile::None) },
            target: None,
            answer: None,
            baseline_exam: None,
            approval: None,
        };
        let inputs = self.clean(names::DECISION, inputs)?;
        let _ = self.journal().note_inputs(&inputs);
        let judged = gate::judge(self.id(), &self.task.contract, inputs)?;
        stop::here("decision.made");
        self.record_decision(judged.decision())?;
        stop::here("decision.recorded");
        let decision = judged.decision();
        let detail = format!("{} of {}", decision.passed_gates.len(), decision.required_gates.len());
        let preparation = Preparation::default();
        match judged {
            Judged::Admitted(admission) => {
                self.step(Step::Gates, StepState::Ended, &detail)?;
                let gathering = Gathering { run: self, preparation };
                Ok(Decided::Preflight(PreflightRun(AdmittedRun::new(gathering, admission)?)))
            }
            Judged::Refused(refused) => {
                self.step(Step::Gates, StepState::Refused, &detail)?;
                self.record_refusal(refused.decision())?;
                Ok(Decided::Refused(RefusedRun { run: self, preparation, refused }))
            }
            Judged::Pending(_) => Err(Stopped::Impossible("a document's decision is pending")),
        }
    }
}
