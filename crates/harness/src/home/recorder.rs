//! Rules for the recorder of executions: their weights, from the same tables that judge the
//! run, and the programs that it recognises by content.

use contract::sandbox::{AttemptVerdict, Execution};
use gate::conduct::{judge_execution, known_programs};
use sandbox::{ExecutionRules, Weight};

/// Rules for the stage, which records executions without knowing their meaning.
pub fn execution_rules() -> ExecutionRules {
    ExecutionRules { weigh, programs: known_programs }
}

fn weigh(execution: &Execution) -> Weight {
    match judge_execution(execution) {
        None => Weight::Nothing,
        Some(AttemptVerdict::Note) => Weight::Note,
        Some(AttemptVerdict::ForbiddenAction | AttemptVerdict::Violation) => Weight::Grave,
    }
}

#[cfg(test)]
mod tests {
    use contract::sandbox::WORKSPACE;

    use super::*;

    #[test]
    fn the_workspace_is_where_it_is_judged_to_be() {
        assert_eq!(crate::home::placement::TREE, WORKSPACE);
    }

    #[test]
    fn an_execution_weighs_what_it_will_be_judged_to_be() {
        for (line, directory, weight) in [
            ("git push", None, Weight::Grave),
            ("git push", Some(WORKSPACE), Weight::Grave),
            ("git push", Some("/tmp/clone"), Weight::Note),
            ("git push --dry-run", None, Weight::Note),
            ("git log", None, Weight::Nothing),
        ] {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let directory = directory.map(str::to_owned);
            let execution = Execution { path: "/usr/bin/git".to_owned(), argv, file: None, directory, count: 1 };
            assert_eq!(weigh(&execution), weight, "{line}");
        }
        assert!((execution_rules().programs)().contains(&"git"));
    }
}
