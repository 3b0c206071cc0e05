//! The parts of health that are wanted, the work for them, and the groups that they make.

use std::collections::BTreeMap;

use contract::Stage;
use contract::text::show_controls;

use super::group::Group;
use super::{CommandError, NamedCheck, StageCheck, adapter, close_failures};
use crate::commands::stage_checks::{CANDIDATE_CHECKS, HOME_CHECK, TRIAL_CHECK};
use crate::nearest::did_you_mean;

/// Group of the matrix.
pub(super) const MATRIX: &str = "matrix";
/// Group of the conditions for a start of Case.
pub(super) const ADAPTER: &str = "case_provider_adapter";
/// Group of the newest refresh.
pub(super) const REFRESH: &str = "case_stage6_real_governed_refresh";
/// Group of the control summary.
pub(super) const SUMMARY: &str = "webui_summary";
/// The check that stage 6 takes from stage 5.
pub(super) const CLOSURE: &str = "stage5_failure_closure_inherited";
/// Checks that stand for those that an error kept from being held.
const ENDED_WORK: [&str; 2] = [TRIAL_CHECK, HOME_CHECK];

/// One part, done by one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HealthPart {
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
    pub(super) fn read_plan(only: &[String]) -> Result<Self, CommandError> {
        let known = || all_groups().into_iter().flat_map(|(group, checks)| std::iter::once(group).chain(checks));
        match only.iter().find(|name| !known().any(|known| known == **name)) {
            None => Ok(Self { only: only.to_vec() }),
            Some(name) => {
                let names: Vec<String> = known().collect();
                let meant = did_you_mean(name, names.iter().map(String::as_str));
                Err(CommandError::usage(format!("there is no group or named check `{}`{meant}", show_controls(name)))
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
    pub(super) fn work(&self) -> Vec<HealthPart> {
        let stages = [5, 3, 4, 2, 1, 6].into_iter().filter_map(|number| Stage::try_from(number).ok());
        let mut work: Vec<HealthPart> = stages.map(HealthPart::Stage).collect();
        work.insert(1, HealthPart::Matrix);
        work.insert(1, HealthPart::Adapter);
        work.extend([HealthPart::Refresh, HealthPart::Summary]);
        work.retain(|work| match work {
            HealthPart::Matrix => self.wants_group(MATRIX),
            HealthPart::Adapter => self.wants_group(ADAPTER),
            HealthPart::Stage(Stage::OWNED_REPOSITORY)
                if self.wants(&stage_group(Stage::CANDIDATE_DEFAULT), CLOSURE) =>
            {
                true
            }
            HealthPart::Stage(stage) => self.wants_group(&stage_group(*stage)),
            HealthPart::Refresh => self.wants_group(REFRESH),
            HealthPart::Summary => self.wants_group(SUMMARY),
        });
        work
    }

    /// Groups by name. Stage 6 takes the failure closure from the runs of stage 5. A wanted check that was not held stands in its group
    /// as blocked, so that nothing which is wanted is left out.
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
        let wanted = all_groups().into_iter().filter(|(group, _)| self.wants_group(group));
        wanted
            .map(|(group, names)| {
                let checks = self.complete_group(&group, &names, groups.remove(&group).unwrap_or_default());
                (group, Group::of_checks(checks))
            })
            .collect()
    }

    /// The wanted checks of a group. Where one of them was not held, what ended the work of the group is kept beside it.
    fn complete_group(&self, group: &str, names: &[String], found: Vec<NamedCheck>) -> Vec<NamedCheck> {
        let is_lost = |name: &&String| self.wants(group, name) && !found.iter().any(|(held, _)| held == *name);
        let lost: Vec<&String> = names.iter().filter(is_lost).collect();
        let ended = found.iter().find(|(name, _)| ENDED_WORK.contains(&name.as_str()));
        let why = ended.and_then(|(_, check)| check.problem()).unwrap_or("its work gave no result").to_owned();
        let blocked = |name: &&String| ((*name).clone(), StageCheck::blocked_by(format!("it was not held: {why}")));
        let filled: Vec<NamedCheck> = lost.iter().map(blocked).collect();
        let is_kept = |name: &str| self.wants(group, name) || (!filled.is_empty() && ENDED_WORK.contains(&name));
        found.into_iter().filter(|(name, _)| is_kept(name)).chain(filled.iter().cloned()).collect()
    }
}

/// Every group with the named checks of it.
fn all_groups() -> Vec<(String, Vec<String>)> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut groups = vec![(MATRIX.to_owned(), Vec::new()), (ADAPTER.to_owned(), owned(&adapter::check_names()))];
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
    use std::collections::BTreeSet;

    use super::*;

    fn plan(only: &[&str]) -> HealthPlan {
        HealthPlan::read_plan(&only.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn only_the_work_that_a_name_needs_is_done() {
        let stage = |number: u8| HealthPart::Stage(Stage::try_from(number).unwrap());
        for (only, expected) in [
            (&["matrix"][..], vec![HealthPart::Matrix]),
            (&["provider_timeout_fail_closed"], vec![HealthPart::Adapter]),
            (&["case_stage2"], vec![stage(2)]),
            (&[CLOSURE], vec![stage(5), stage(6)]),
            (&["candidate_default_comparison"], vec![stage(6)]),
            (&[REFRESH], vec![HealthPart::Refresh]),
            (&[SUMMARY], vec![HealthPart::Summary]),
        ] {
            assert_eq!(plan(only).work(), expected, "{only:?}");
        }
        assert_eq!(plan(&[]).work().len(), 10);
        assert!(HealthPlan::read_plan(&["nothing".to_owned()]).is_err());
    }

    #[test]
    fn stage_6_inherits_the_closure_of_stage_5() {
        let checks = |check: StageCheck| vec![vec![("case_stage5".to_owned(), ("no-diff".to_owned(), check))]];
        let closed = plan(&[CLOSURE]).arrange(checks(StageCheck::fact(None)));
        assert_eq!(closed.keys().map(String::as_str).collect::<Vec<_>>(), ["case_stage6"]);
        assert!(!closed["case_stage6"].passed, "eleven classes are asked for, and one is there");
    }

    /// Every named check with its group.
    fn named_checks() -> Vec<(String, String)> {
        let groups = all_groups().into_iter();
        groups.flat_map(|(group, names)| names.into_iter().map(move |name| (group.clone(), name))).collect()
    }

    #[test]
    fn a_named_check_that_was_lost_is_blocked_with_the_reason() {
        let named = named_checks();
        assert_eq!(named.len(), 10, "{named:?}");
        for (group, name) in named {
            let ended =
                |check: &str| (group.clone(), (check.to_owned(), StageCheck::blocked_by("no place".to_owned())));
            for found in [vec![], vec![vec![ended(TRIAL_CHECK)]], vec![vec![ended(HOME_CHECK)]]] {
                let is_told = !found.is_empty();
                let groups = plan(&[&name]).arrange(found);
                let lost = &groups[&group];
                assert_eq!((lost.status, lost.passed), (contract::Status::Blocked, false), "{name}");
                let missing = lost.checks[&name].missing.as_deref().unwrap();
                assert_eq!(missing.contains("no place"), is_told, "{name}: {missing}");
            }
        }
    }

    #[test]
    fn a_check_that_was_held_hides_no_other_that_was_lost() {
        let [held, lost] = CANDIDATE_CHECKS;
        let group = || stage_group(Stage::CANDIDATE_DEFAULT);
        let found = |names: &[&str]| {
            let checks = names.iter().map(|name| (group(), ((*name).to_owned(), StageCheck::fact(None))));
            let ended = (group(), (TRIAL_CHECK.to_owned(), StageCheck::fact(Some("the trial is wrong".to_owned()))));
            vec![checks.chain([ended]).collect()]
        };
        let both = plan(&[held, lost]).arrange(found(&[held]));
        assert_eq!(both[&group()].checks.keys().map(String::as_str).collect::<Vec<_>>(), [lost, held, TRIAL_CHECK]);
        assert_eq!(both[&group()].status, contract::Status::Fail, "the fault that ended the work keeps its weight");
        let control = plan(&[held, lost]).arrange(found(&[held, lost]));
        assert!(control[&group()].passed, "a trial that nobody asked for decides nothing");
    }

    const PAGE: &str = include_str!("../../../../../docs/health.md");

    /// Names in the first column of a table of the page.
    fn first_column(head: &str) -> BTreeSet<String> {
        let table = PAGE.split(head).nth(1).unwrap().lines().skip(2).take_while(|line| line.starts_with('|'));
        let cells = table.map(|line| line.split('|').nth(1).unwrap());
        let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        cells
            .flat_map(|cell| match (names(cell).as_slice(), cell.contains(" to ")) {
                ([first, last], true) => {
                    let number = |name: &str| name.trim_start_matches("case_stage").parse::<u8>().unwrap();
                    (number(first)..=number(last)).map(|stage| format!("case_stage{stage}")).collect()
                }
                (names, _) => names.to_vec(),
            })
            .collect()
    }

    #[test]
    fn the_page_lists_every_group_and_every_named_check() {
        let groups: BTreeSet<String> = all_groups().into_iter().map(|(group, _)| group).collect();
        assert_eq!(first_column("| group | shows | evidence |"), groups);
        let mut checks: BTreeSet<String> = named_checks().into_iter().map(|(_, name)| name).collect();
        checks.insert(REFRESH.to_owned());
        assert_eq!(first_column("| named check | passes if |"), checks);
    }

    #[test]
    fn a_wanted_group_without_a_check_is_blocked() {
        for name in [MATRIX, "case_stage2", REFRESH] {
            let groups = plan(&[name]).arrange(Vec::new());
            assert_eq!(groups[name].status, contract::Status::Blocked, "{name}");
        }
    }
}
