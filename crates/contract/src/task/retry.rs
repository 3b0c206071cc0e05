//! Repetition of a queued run that ended before anybody could judge its patch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reason::Reason;
use crate::stage::Stage;

/// Rule of a contract for repeating a run of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRule {
    /// Number of repetitions after the first run.
    #[schemars(range(min = 1, max = 10))]
    pub attempts: u8,
    /// Reasons for a repetition. A run with another reason beside them is not repeated.
    #[schemars(length(min = 1))]
    pub on: Vec<Reason>,
}

/// Largest number of repetitions.
const MOST_ATTEMPTS: u8 = 10;

/// Reasons that say nothing about the patch. Repeating a run for another reason would look for luck.
const REPEATABLE: [Reason; 10] = [
    Reason::HarnessInterrupted,
    Reason::ProviderUnavailable,
    Reason::ProviderAuthUnavailable,
    Reason::LocalProviderConfigMissing,
    Reason::ProviderResponseShape,
    Reason::EnvironmentBroken,
    Reason::EngineCopyMissing,
    Reason::SourceMissing,
    Reason::ToolMissing,
    Reason::SandboxUnavailable,
];

impl RetryRule {
    /// True if a run that ended for these reasons is repeated. From stage 4 on a run rests on an approval, which is spent.
    pub fn allows(&self, stage: Stage, repetitions: u8, reasons: &[Reason]) -> bool {
        let is_named = |reason: &Reason| self.on.contains(reason);
        !stage.mutation_mode().needs_approval()
            && repetitions < self.attempts
            && !reasons.is_empty()
            && reasons.iter().all(is_named)
    }

    /// The first thing that is wrong with the rule, as key and sentence.
    pub(super) fn find_problem(&self) -> Option<(&'static str, String)> {
        if !(1..=MOST_ATTEMPTS).contains(&self.attempts) {
            return Some(("attempts", format!("a run is repeated 1 to {MOST_ATTEMPTS} times")));
        }
        if self.on.is_empty() {
            return Some(("on", "name the reasons for which the run is repeated".to_owned()));
        }
        let other = self.on.iter().find(|reason| !REPEATABLE.contains(reason))?;
        let names: Vec<&str> = REPEATABLE.iter().map(|reason| reason.code()).collect();
        Some(("on", format!("`{}` is no reason to repeat a run; there are: {}", other.code(), names.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_repeated_only_for_the_reasons_of_its_rule() {
        use Reason::{HarnessInterrupted as Interrupted, NoDiff, ProviderUnavailable as Unavailable};
        let rule = RetryRule { attempts: 2, on: vec![Interrupted, Unavailable] };
        let stage = Stage::COPIED_REPOSITORY;
        assert_eq!(rule.find_problem(), None);
        for (stage, repetitions, reasons, expected) in [
            (stage, 0, vec![Unavailable], true),
            (stage, 1, vec![Interrupted, Unavailable], true),
            (stage, 2, vec![Unavailable], false),
            (stage, 0, vec![], false),
            (stage, 0, vec![NoDiff], false),
            (stage, 0, vec![Unavailable, NoDiff], false),
            (Stage::DISPOSABLE_REPOSITORY, 0, vec![Unavailable], false),
        ] {
            assert_eq!(rule.allows(stage, repetitions, &reasons), expected, "{stage} {repetitions} {reasons:?}");
        }
    }

    #[test]
    fn a_rule_that_would_look_for_luck_is_refused() {
        for (rule, key) in [
            (RetryRule { attempts: 0, on: vec![Reason::ProviderUnavailable] }, "attempts"),
            (RetryRule { attempts: 11, on: vec![Reason::ProviderUnavailable] }, "attempts"),
            (RetryRule { attempts: 1, on: Vec::new() }, "on"),
            (RetryRule { attempts: 1, on: vec![Reason::VerificationFailed] }, "on"),
        ] {
            assert_eq!(rule.find_problem().map(|(key, _)| key), Some(key), "{rule:?}");
        }
    }
}
