//! Paths of a task for its engine: those of the contract, narrowed by the admission of the
//! target.

use crate::paths::{PathSet, is_plain};
use crate::record::TargetAdmission;
use crate::{Decision, TaskContract};

/// Paths that may change and paths that must not, as the prompt lists them. They never say less
/// than the rules that judge the result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskBounds {
    /// Globs of the contract, without plain paths that the admission leaves out.
    pub allowed: Vec<String>,
    /// Globs of the admission, where one of `allowed` is a glob: a path must match both lists.
    pub within: Vec<String>,
    /// Globs of contract and admission.
    pub forbidden: Vec<String>,
}

impl TaskBounds {
    /// Bounds of a run that was decided on.
    pub fn of_contract(contract: &TaskContract, decision: &Decision) -> Self {
        let target = decision.inputs.settings.target_admission.as_ref();
        Self::narrowed(contract, target.map(|facts| facts.admission.record()))
    }

    /// `record` is absent where no target is needed, and holds nothing where it cannot be used.
    fn narrowed(contract: &TaskContract, record: Option<Option<&TargetAdmission>>) -> Self {
        let (allowed, forbidden) = (contract.allowed_paths.clone(), contract.forbidden_paths.clone());
        let record = match record {
            None => return Self { allowed, within: Vec::new(), forbidden },
            Some(None) => return Self { forbidden, ..Self::default() },
            Some(Some(record)) => record,
        };
        let admitted = PathSet::rooted(&record.allowed_paths).ok();
        let is_admitted = |path: &String| admitted.as_ref().is_some_and(|set| set.is_match(path.as_bytes()));
        let allowed: Vec<String> = allowed.into_iter().filter(|glob| !is_plain(glob) || is_admitted(glob)).collect();
        let has_glob = allowed.iter().any(|glob| !is_plain(glob));
        let within = if has_glob { record.allowed_paths.clone() } else { Vec::new() };
        let mut all = forbidden;
        let more: Vec<String> = record.forbidden_paths.iter().filter(|glob| !all.contains(glob)).cloned().collect();
        all.extend(more);
        Self { allowed, within, forbidden: all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(contract: [&[&str]; 2], admission: [&[&str]; 2], expected: [&[&str]; 3]) {
        let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        let json = serde_json::json!({
            "schema_version": "1", "task_id": "t", "title": "t", "brief": "b", "risk_class": "low", "allowed_paths": contract[0],
            "forbidden_paths": contract[1], "forbidden_actions": ["push"], "mutation_mode": "none",
            "verification_commands": [{"argv": ["true"]}],
        });
        let read = |_: &str| Err("it names no file".to_owned());
        let contract = crate::case::load_contract("t", json.to_string().as_bytes(), &read).unwrap();
        let record: TargetAdmission = serde_json::from_value(serde_json::json!({
            "admission_status": "admitted", "allowed_paths": admission[0], "forbidden_paths": admission[1],
        }))
        .unwrap();
        let bounds = TaskBounds::narrowed(&contract, Some(Some(&record)));
        let [allowed, within, forbidden] = expected.map(list);
        assert_eq!(bounds, TaskBounds { allowed, within, forbidden });
        let alone = TaskBounds::narrowed(&contract, None);
        assert_eq!((&alone.allowed, alone.within.len()), (&contract.allowed_paths, 0), "control");
        assert_eq!(TaskBounds::narrowed(&contract, Some(None)).allowed.len(), 0);
    }

    #[test]
    fn an_engine_is_told_what_both_allow_and_what_either_forbids() {
        check([&["a.py", "b.py"], &["x/"]], [&["a.py", "c.py"], &["x/", "y/"]], [&["a.py"], &[], &["x/", "y/"]]);
        check([&["src/a.py"], &[]], [&["src/"], &[]], [&["src/a.py"], &[], &[]]);
        check([&["src/**", "b.py"], &[]], [&["src/a.py"], &[]], [&["src/**"], &["src/a.py"], &[]]);
        check([&["src/"], &[]], [&["src/", "doc/"], &[]], [&["src/"], &["src/", "doc/"], &[]]);
    }
}
