//! The guard: anything that is not certainly idle blocks.

use contract::core_route::{
    CoreProcess, CoreWorktree, GuardReason, GuardReport, GuardStatus, NextRouteAction, RecommendedDecision,
    RouteAdmission, SequenceRoute, WorktreeState,
};
use contract::status::NotPromoted;

use super::VERSION;

/// The Core workspace as it was found. Nothing in it was changed to find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreFacts {
    pub core_path: String,
    /// Main work tree; none if it cannot be read.
    pub main: Option<CoreWorktree>,
    /// Reasons for which it is not known whose work is there: other users' folders,
    /// processes that cannot be looked at.
    pub uncertainties: Vec<String>,
    /// Linked worktrees and those that the settings name.
    pub worktrees: Vec<CoreWorktree>,
    /// State of the current sequence route.
    pub sequence_route: SequenceRoute,
    /// Processes that seem to validate something there.
    pub validation_processes: Vec<CoreProcess>,
    /// Named conflicts that were found.
    pub conflicts: Vec<String>,
}

/// Judges the Core workspace.
pub fn judge_guard(facts: CoreFacts, ready_for_core_route_review: bool) -> GuardReport {
    let reasons = list_reasons(&facts);
    let is_blocked = !reasons.is_empty();
    GuardReport {
        schema_version: VERSION.to_owned(),
        core_path: facts.core_path,
        core_route_admission_status: if is_blocked { RouteAdmission::NotAdmitted } else { RouteAdmission::Admitted },
        guard_status: if is_blocked { GuardStatus::Blocked } else { GuardStatus::Passed },
        blocked_reason: reasons.first().copied(),
        blocked_reasons: reasons,
        main: facts.main,
        uncertainties: facts.uncertainties,
        worktrees: facts.worktrees,
        sequence_route: facts.sequence_route,
        validation_processes: facts.validation_processes,
        conflicts: facts.conflicts,
        do_not_touch_other_agent_work: true,
        idle_governed_core_route_required: true,
        no_active_conflicting_core_worktree_required: true,
        ready_for_core_route_review,
        recommended_next_decision: RecommendedDecision::OpenGovernedCorePrdRoute,
        next_allowed_action: match is_blocked {
            true => NextRouteAction::WaitOrOpenLaterCoreRouteWhenIdle,
            false => NextRouteAction::OpenGovernedCorePrdRoute,
        },
        runtime_default_activation: false,
        core_promotion_status: NotPromoted::NotPromoted,
    }
}

/// Every reason that holds, worst first.
fn list_reasons(facts: &CoreFacts) -> Vec<GuardReason> {
    let main_is = |state: WorktreeState| facts.main.as_ref().is_some_and(|main| main.state == state);
    let any = |state: WorktreeState| facts.worktrees.iter().any(|tree| tree.state == state);
    let is_uncertain = !facts.uncertainties.is_empty()
        || any(WorktreeState::Unreadable)
        || facts.worktrees.iter().any(|tree| tree.locked)
        || matches!(facts.sequence_route, SequenceRoute::Unreadable(_));
    let is_active = facts.worktrees.iter().any(|tree| tree.state != WorktreeState::Gone) || !facts.conflicts.is_empty();
    let judged = [
        (facts.main.is_none() || main_is(WorktreeState::Unreadable), GuardReason::CoreUnreadable),
        (is_uncertain, GuardReason::OwnershipUncertain),
        (main_is(WorktreeState::Dirty), GuardReason::CoreMainDirty),
        (main_is(WorktreeState::Unfinished), GuardReason::CoreOperationUnfinished),
        (is_active, GuardReason::ActiveOrConflictingCoreWorkPresent),
        (matches!(facts.sequence_route, SequenceRoute::Active(_)), GuardReason::SequenceRouteActive),
        (!facts.validation_processes.is_empty(), GuardReason::ValidationProcessRunning),
    ];
    judged.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(state: WorktreeState) -> CoreWorktree {
        CoreWorktree {
            path: "/core".to_owned(),
            branch: Some("main".to_owned()),
            head: None,
            state,
            locked: false,
            dirty_paths: Vec::new(),
            unfinished: Vec::new(),
        }
    }

    fn idle() -> CoreFacts {
        CoreFacts {
            core_path: "/core".to_owned(),
            main: Some(tree(WorktreeState::Clean)),
            uncertainties: Vec::new(),
            worktrees: vec![tree(WorktreeState::Gone)],
            sequence_route: SequenceRoute::NotConfigured,
            validation_processes: Vec::new(),
            conflicts: Vec::new(),
        }
    }

    #[test]
    fn each_fact_blocks_by_its_own_reason_and_an_idle_core_passes() {
        let passed = judge_guard(idle(), true);
        assert_eq!((passed.guard_status, passed.blocked_reason), (GuardStatus::Passed, None));
        assert_eq!(passed.next_allowed_action, NextRouteAction::OpenGovernedCorePrdRoute);
        let process = CoreProcess { pid: 1, command: "validate".to_owned() };
        let locked = CoreWorktree { locked: true, ..tree(WorktreeState::Gone) };
        for (facts, reason) in [
            (CoreFacts { main: None, ..idle() }, GuardReason::CoreUnreadable),
            (CoreFacts { uncertainties: vec!["x".to_owned()], ..idle() }, GuardReason::OwnershipUncertain),
            (CoreFacts { worktrees: vec![locked], ..idle() }, GuardReason::OwnershipUncertain),
            (CoreFacts { main: Some(tree(WorktreeState::Dirty)), ..idle() }, GuardReason::CoreMainDirty),
            (CoreFacts { main: Some(tree(WorktreeState::Unfinished)), ..idle() }, GuardReason::CoreOperationUnfinished),
            (
                CoreFacts { worktrees: vec![tree(WorktreeState::Clean)], ..idle() },
                GuardReason::ActiveOrConflictingCoreWorkPresent,
            ),
            (CoreFacts { conflicts: vec!["x".to_owned()], ..idle() }, GuardReason::ActiveOrConflictingCoreWorkPresent),
            (
                CoreFacts { sequence_route: SequenceRoute::Active("r".to_owned()), ..idle() },
                GuardReason::SequenceRouteActive,
            ),
            (CoreFacts { validation_processes: vec![process], ..idle() }, GuardReason::ValidationProcessRunning),
        ] {
            let report = judge_guard(facts, true);
            assert_eq!(report.blocked_reasons, [reason]);
            assert_eq!(report.core_route_admission_status, RouteAdmission::NotAdmitted);
            assert_eq!(report.next_allowed_action, NextRouteAction::WaitOrOpenLaterCoreRouteWhenIdle);
        }
    }
}
