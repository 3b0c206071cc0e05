//! Commands that take an engine on towards stage 6, as remedies name them.

use contract::engine::{climb_command, gate_command};
use contract::{ModelPair, Stage, TaskId};

use crate::home::engines::Engines;

/// An engine as its commands name it.
#[derive(Debug, Clone)]
pub(super) struct EngineCommands {
    pub(super) engine: String,
    /// The model, where it is not the configured one.
    pub(super) model: Option<ModelPair>,
    /// True if the gate is shut for runs of stage 5.
    pub(super) is_shut: bool,
}

impl EngineCommands {
    /// Commands for runs of an engine with a model.
    pub(super) fn for_engine(engines: &Engines, engine: &str, model: Option<&ModelPair>) -> Self {
        let config = engines.find_engine(engine).map(|found| found.config);
        let configured = config.as_ref().and_then(|config| config.model.as_ref());
        let is_open = |gate: &_| gate::engine::is_open(engine, gate, Stage::OWNED_REPOSITORY);
        Self {
            engine: engine.to_owned(),
            model: model.filter(|pair| configured != Some(*pair)).cloned(),
            is_shut: config.as_ref().is_some_and(|config| !is_open(&config.gate)),
        }
    }

    /// Makes a comparison, which needs no gate.
    pub(super) fn comparison_command(&self) -> String {
        self.with_model(climb_command(&self.engine, Stage::CANDIDATE_DEFAULT))
    }

    /// Asks for another pass of stage 5, with the gate where it is shut.
    pub(super) fn second_pass_command(&self) -> String {
        self.with_gate(self.with_model(climb_command(&self.engine, Stage::OWNED_REPOSITORY)))
    }

    /// Asks for a case once more at stage 5.
    pub(super) fn request_again(&self, case: &TaskId) -> String {
        let stage = Stage::OWNED_REPOSITORY;
        self.with_gate(self.with_model(format!("cto request {case} --engine {} --stage {stage}", self.engine)))
    }

    fn with_model(&self, command: String) -> String {
        match &self.model {
            Some(pair) => format!("{command} --model {pair}"),
            None => command,
        }
    }

    fn with_gate(&self, command: String) -> String {
        match self.is_shut {
            true => format!("{} && {command}", gate_command(&self.engine, Stage::OWNED_REPOSITORY)),
            false => command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_model_and_opens_the_gate_only_where_it_must() {
        let pair: ModelPair = "local/small".parse().unwrap();
        let task: TaskId = "made".to_owned().try_into().unwrap();
        let of = |model: Option<&ModelPair>, is_shut| {
            let commands = EngineCommands { engine: "toy".to_owned(), model: model.cloned(), is_shut };
            [commands.comparison_command(), commands.second_pass_command(), commands.request_again(&task)]
        };
        assert_eq!(
            of(None, false),
            [
                "cto compare --candidate toy",
                "cto request TASK --engine toy --stage 5",
                "cto request made --engine toy --stage 5"
            ]
        );
        assert_eq!(
            of(Some(&pair), true),
            [
                "cto compare --candidate toy --model local/small",
                "cto engine enable toy --stage 5 && cto request TASK --engine toy --stage 5 --model local/small",
                "cto engine enable toy --stage 5 && cto request made --engine toy --stage 5 --model local/small"
            ]
        );
    }

    #[test]
    fn an_engine_without_settings_is_shut_and_fake_has_no_gate() {
        let shut = |engine: &str| EngineCommands::for_engine(&Engines::default(), engine, None).is_shut;
        assert!(shut("codex"));
        assert!(!shut(crate::home::engines::FAKE));
    }
}
