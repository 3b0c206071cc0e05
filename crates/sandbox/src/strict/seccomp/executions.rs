//! The list of executions: each different one once, with space of its own for each weight,
//! so that none that counts gives way to those that count for nothing.

use std::path::PathBuf;

use sandbox_facts::{ENTRIES_KEPT, Execution, FileKind};

use super::executed::{Caller, PathStart};
use super::likeness::KnownPrograms;
use super::memory::cut_text;
use crate::execution_rules::{ExecutionRules, Weight};

/// Recorded executions, each different one once.
#[derive(Debug)]
pub(crate) struct Executions {
    rules: ExecutionRules,
    known: KnownPrograms,
    /// In the order in which they were seen first.
    rows: Vec<(Weight, Execution)>,
}

impl Executions {
    /// `path` is the search path of the program.
    pub(crate) fn new(rules: ExecutionRules, path: Vec<PathBuf>) -> Self {
        Self { rules, known: KnownPrograms::new(rules.programs, path), rows: Vec::new() }
    }

    /// Describes an execution before it happens, with the file behind it if that says more
    /// than the path.
    pub(super) fn describe_execution(
        &mut self,
        caller: Caller,
        from: PathStart,
        path: &str,
        argv: Vec<String>,
    ) -> (Weight, Execution) {
        let file = caller.executed_file(from, path, &argv, &mut self.known);
        let plain = Execution { path: cut_text(path), argv, file: None, directory: None, count: 1 };
        let weight = (self.rules.weigh)(&plain);
        let Some(file) = file else { return self.look_where(caller, weight, plain) };
        let says_more = file.kind != FileKind::Named || plain.path.len() < path.len();
        let whole = Execution { file: Some(file), ..plain.clone() };
        let by_file = (self.rules.weigh)(&whole);
        let (weight, execution) = if says_more || by_file != weight { (by_file, whole) } else { (weight, plain) };
        self.look_where(caller, weight, execution)
    }

    /// Adds where it is executed, if it is grave: elsewhere it may be nothing.
    fn look_where(&self, caller: Caller, weight: Weight, execution: Execution) -> (Weight, Execution) {
        if weight != Weight::Grave {
            return (weight, execution);
        }
        let whole = Execution { directory: caller.directory(), ..execution };
        ((self.rules.weigh)(&whole), whole)
    }

    /// Counts an execution, or adds it while its weight has space left.
    pub(super) fn add_execution(&mut self, weight: Weight, execution: Execution) {
        let same = |known: &Execution| {
            let Execution { path, argv, file, directory, count: _ } = known;
            (path, argv, file, directory) == (&execution.path, &execution.argv, &execution.file, &execution.directory)
        };
        if let Some((_, known)) = self.rows.iter_mut().find(|(_, known)| same(known)) {
            known.count += 1;
        } else if self.rows.iter().filter(|(other, _)| *other == weight).count() < ENTRIES_KEPT {
            self.rows.push((weight, execution));
        }
    }

    /// Returns the list and starts a new one.
    pub(super) fn take_list(&mut self) -> Vec<Execution> {
        std::mem::take(&mut self.rows).into_iter().map(|(_, execution)| execution).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_that_counts_gives_way_to_those_that_do_not() {
        let mut executions = Executions::new(ExecutionRules::NONE, Vec::new());
        let execution =
            |name: String| Execution { path: name, argv: Vec::new(), file: None, directory: None, count: 1 };
        for weight in [Weight::Nothing, Weight::Note, Weight::Grave] {
            for number in 0..2 * ENTRIES_KEPT {
                executions.add_execution(weight, execution(format!("{weight:?} {number}")));
            }
            executions.add_execution(weight, execution(format!("{weight:?} 0")));
        }
        let rows = executions.take_list();
        assert_eq!(rows.len(), 3 * ENTRIES_KEPT);
        for weight in ["Nothing", "Note", "Grave"] {
            let of: Vec<&Execution> = rows.iter().filter(|row| row.path.starts_with(weight)).collect();
            assert_eq!((of.len(), of[0].count), (ENTRIES_KEPT, 2), "{weight}");
        }
    }
}
