//! The parts of health that are wanted, the work for them, and the groups that they make.

use std::collections::BTreeMap;

use contract::Stage;
use contract::text::shown;

use super::group::Group;
use super::{CommandError, NamedCheck, adapter, close_failures};
use crate::commands::stage_checks::CANDIDATE_CHECKS;

pub(super) const MATRIX: &str = "matrix";
pub(super) const ADAPTER: &str = "case_provider_adapter";
pub(super) const REFRESH: &str = "case_stage6_real_governed_refresh";
pub(super) const SUMMARY: &str = "webui_summary";
/// The check that stage 6 takes from stage 5.
pub(super) const CLOSURE: &str = "stage5_failure_closure_inherited";

/// One part, done by one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Matrix,
    Adapter,
    Stage(Stage),
    Refresh,
    Summary,
}

/// Name of the group of a stage.
pub(super) fn stage_group(stage: Stage) -> String {
    format!("case_stage{stage}")
}

/// The groups and checks that are wanted: all, or those that were named.
#[derive(Debug)]
pub(super) struct HealthPlan {
    only: Vec<String>,
}

impl HealthPlan {
    /// Reads the wanted names. An unknown name is an error.
    pub(super) fn read(only: &[String]) -> Result<Self, CommandError> {
        let known = || all_groups().into_iter().flat_map(|(group, checks)| std::iter::once(group).chain(checks));
        match only.iter().find(|name| !known().any(|known| known == **name)) {
            None => Ok(Self { only: only.to_vec() }),
            Some(name) => {
                let names: Vec<String> = known().collect();
                Err(CommandError::usage(format!("there is no group or named check `{}`", shown(name)))
                    .hint(format!("one of {}", names.join(", "))))
            }
        }
    }

    /// True if a check of this group is wanted.
    pub(super) fn wants(&self, group: &str, check: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == group || name == check)
    }

    fn wants_group(&self, group: &str) -> bool {
        let checks = all_groups().into_iter().find(|(name, _)| name == group).map(|(_, checks)| checks);
        self.wants(group, group) || checks.is_some_and(|checks| checks.iter().any(|check| self.wants(group, check)))
    }

    /// Work for what is wanted, the longest first.
    pub(super) fn work(&self) -> Vec<Work> {
        let stages = [5, 3, 4, 2, 1, 6].into_iter().filter_map(|number| Stage::try_from(number).ok());
        let mut work: Vec<Work> = stages.map(Work::Stage).collect();
        work.insert(1, Work::Matrix);
        work.insert(1, Work::Adapter);
        work.extend([Work::Refresh, Work::Summary]);
        work.retain(|work| match work {
            Work::Matrix => self.wants_group(MATRIX),
            Work::Adapter => self.wants_group(ADAPTER),
            Work::Stage(Stage::OWNED_REPOSITORY) if self.wants(&stage_group(Stage::CANDIDATE_DEFAULT), CLOSURE) => true,
            Work::Stage(stage) => self.wants_group(&stage_group(*stage)),
            Work::Refresh => self.wants_group(REFRESH),
            Work::Summary => self.wants_group(SUMMARY),
        });
        work
    }

    /// Groups by name. Stage 6 takes the failure closure from the runs of stage 5.
    pub(super) fn arrange(&self, found: Vec<Vec<(String, NamedCheck)>>) -> BTreeMap<String, Group> {
        let mut groups: BTreeMap<String, Vec<NamedCheck>> = BTreeMap::new();
        for (group, check) in found.into_iter().flatten() {
            groups.entry(group).or_default().push(check);
        }
        let candidate = stage_group(Stage::CANDIDATE_DEFAULT);
        if self.wants(&candidate, CLOSURE)
            && let Some(owned) = groups.get(&stage_group(Stage::OWNED_REPOSITORY))
        {
            let check = close_failures(owned);
            groups.entry(candidate).or_default().push((CLOSURE.to_owned(), check));
        }
        for (group, checks) in &mut groups {
            checks.retain(|(check, _)| self.wants(group, check));
        }
        groups.retain(|_, checks| !checks.is_empty());
        groups.into_iter().map(|(group, checks)| (group, Group::of(checks))).collect()
    }
}

/// Every group with the named checks of it.
fn all_groups() -> Vec<(String, Vec<String>)> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut groups = vec![(MATRIX.to_owned(), Vec::new()), (ADAPTER.to_owned(), owned(&adapter::names()))];
    for stage in (1..=6).filter_map(|number| Stage::try_from(number).ok()) {
        let named = match stage {
            Stage::CANDIDATE_DEFAULT => owned(&[&CANDIDATE_CHECKS[..], &[CLOSURE]].concat()),
            _ => Vec::new(),
        };
        groups.push((stage_group(stage), named));
    }
    groups.push((REFRESH.to_owned(), Vec::new()));
    groups.push((SUMMARY.to_owned(), Vec::new()));
    groups
}

#[cfg(test)]
mod tests {
    use super::super::Check;
    use super::*;

    fn plan(only: &[&str]) -> HealthPlan {
        HealthPlan::read(&only.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn only_the_work_that_a_name_needs_is_done() {
        let stage = |number: u8| Work::Stage(Stage::try_from(number).unwrap());
        for (only, expected) in [
            (&["matrix"][..], vec![Work::Matrix]),
            (&["provider_timeout_fail_closed"], vec![Work::Adapter]),
            (&["case_stage2"], vec![stage(2)]),
            (&[CLOSURE], vec![stage(5), stage(6)]),
            (&["candidate_default_comparison"], vec![stage(6)]),
            (&[REFRESH], vec![Work::Refresh]),
            (&[SUMMARY], vec![Work::Summary]),
        ] {
            assert_eq!(plan(only).work(), expected, "{only:?}");
        }
        assert_eq!(plan(&[]).work().len(), 10);
        assert!(HealthPlan::read(&["nothing".to_owned()]).is_err());
    }

    #[test]
    fn stage_6_inherits_the_closure_of_stage_5() {
        let checks = |check: Check| vec![vec![("case_stage5".to_owned(), ("no-diff".to_owned(), check))]];
        let closed = plan(&[CLOSURE]).arrange(checks(Check::fact(None)));
        assert_eq!(closed.keys().map(String::as_str).collect::<Vec<_>>(), ["case_stage6"]);
        assert!(!closed["case_stage6"].passed, "eleven classes are asked for, and one is there");
    }
}
