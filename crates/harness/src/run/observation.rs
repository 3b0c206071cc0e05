//! Observation of programs, on which stages that change a repository rest: their proofs say that nothing forbidden was tried, which
//! nobody can say of a sandbox whose recorder of executions saw nothing.

use contract::sandbox::{RecorderKind, RecorderState};
use contract::{Coverage, Reason, Stage};

/// Act that helps where the recorder went blind.
pub(crate) const OBSERVATION_REMEDY: &str = "see what the recorders need: cto doctor";

/// Cause for which a run of this stage must not start in a sandbox with these recorders; none where that of executions works.
pub(crate) fn find_blindness(stage: Stage, recorders: &[RecorderState]) -> Option<String> {
    if !stage.mutation_mode().needs_approval() {
        return None;
    }
    let why = match recorders.iter().find(|state| state.recorder == RecorderKind::Executions) {
        Some(state) => state.missing.clone()?,
        None => "it has no recorder".to_owned(),
    };
    Some(format!("stage {stage} needs a record of the programs that run, and the sandbox makes none: {why}"))
}

/// Blocker of a run of this stage that nobody could observe to its end.
pub(crate) fn judge_observation(stage: Stage, mut gaps: impl Iterator<Item = Coverage>) -> Option<(Reason, String)> {
    let is_blind = stage.mutation_mode().needs_approval() && gaps.any(|gap| gap == Coverage::ActionsNotObserved);
    let text = format!("stage {stage} lands only what was observed, and the recorder of executions was blind");
    is_blind.then_some((Reason::ProviderUnavailable, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_changes_a_repository_needs_a_recorder_of_executions() {
        let state = |recorder, missing: Option<&str>| RecorderState { recorder, missing: missing.map(str::to_owned) };
        let (executions, others) = (RecorderKind::Executions, RecorderKind::Connections);
        let seen = [state(others, Some("busy")), state(executions, None)];
        let blind = [state(others, None), state(executions, Some("busy"))];
        for stage in [Stage::DISPOSABLE_REPOSITORY, Stage::OWNED_REPOSITORY] {
            assert_eq!(find_blindness(stage, &seen), None, "the control");
            assert!(find_blindness(stage, &blind).unwrap().ends_with("makes none: busy"));
            assert!(find_blindness(stage, &blind[..1]).is_some() && find_blindness(stage, &[]).is_some());
        }
        assert_eq!(find_blindness(Stage::COPIED_REPOSITORY, &blind), None, "it lands nothing");
    }

    #[test]
    fn what_nobody_observed_does_not_land() {
        let judge = |stage, gaps: &[Coverage]| judge_observation(stage, gaps.iter().copied()).map(|(reason, _)| reason);
        let blind = [Coverage::RecorderFull, Coverage::ActionsNotObserved];
        assert_eq!(judge(Stage::OWNED_REPOSITORY, &blind), Some(Reason::ProviderUnavailable));
        assert_eq!(judge(Stage::OWNED_REPOSITORY, &blind[..1]), None, "the control");
        assert_eq!(judge(Stage::COPIED_REPOSITORY, &blind), None, "it lands nothing");
    }
}
