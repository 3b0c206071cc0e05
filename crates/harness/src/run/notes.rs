//! Findings of the steps of a run as its notes keep them, each in the type of its step.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The steps that note what they found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NotedStep {
    Standing,
    Sandboxes,
    Engine,
    Taken,
    Checked,
}

/// Findings of one step, in the type that the step itself has of them.
pub(crate) trait StepFindings: Serialize + DeserializeOwned + Default {
    const STEP: NotedStep;
}

/// Findings of the steps that are done, as they are written down: the steps come after this folder, and their types are theirs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StepNotes(BTreeMap<NotedStep, Value>);

impl StepNotes {
    /// Keeps what a step has found, in place of what it had found before.
    pub(crate) fn keep_found<T: StepFindings>(&mut self, found: &T) {
        if let Ok(found) = serde_json::to_value(found) {
            self.0.insert(T::STEP, found);
        }
    }

    /// Takes out the findings of a step, in its own type; those of a step that noted none are empty. None if they cannot be read.
    pub(crate) fn take_findings<T: StepFindings>(&mut self) -> Option<T> {
        self.0.remove(&T::STEP).map_or_else(|| Some(T::default()), |found| serde_json::from_value(found).ok())
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::{NotedStep, StepFindings, StepNotes};

    macro_rules! findings {
        ($($name:ident($field:ty) = $step:ident,)*) => {$(
            #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
            struct $name { status: $field }

            impl StepFindings for $name {
                const STEP: NotedStep = NotedStep::$step;
            }
        )*};
    }

    findings! {
        EngineStatus(u8) = Engine,
        TakenStatus(u8) = Taken,
        CheckedStatus(u8) = Checked,
        EngineText(String) = Engine,
    }

    #[test]
    fn fields_of_one_name_in_two_steps_stay_apart() {
        let mut findings = StepNotes::default();
        findings.keep_found(&EngineStatus { status: 1 });
        findings.keep_found(&TakenStatus { status: 2 });
        let bytes = serde_json::to_vec(&findings).unwrap();
        let mut read: StepNotes = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read.take_findings(), Some(EngineStatus { status: 1 }));
        assert_eq!(read.take_findings(), Some(TakenStatus { status: 2 }));
        assert_eq!(read.take_findings(), Some(CheckedStatus::default()), "a step that noted nothing");
        let mut read: StepNotes = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read.take_findings::<EngineText>(), None, "not of this type");
    }
}
