//! Lines in which a runner says that it cannot load a test, or what a test needs.

use std::collections::BTreeSet;

/// More lines than these are not told apart.
const MOST_LINES: usize = 1000;
/// Longer ones are cut.
const LONGEST_LINE: usize = 200;

/// Parts of a line that say so, whatever the rest of it says.
const PARTS: [&str; 20] = [
    // Python: unittest, pytest.
    "ModuleNotFoundError:",
    "ImportError:",
    "ERROR collecting ",
    // Node: node --test, Mocha, Jest, AVA, Vitest.
    "Cannot find module ",
    "Cannot find package ",
    "ERR_MODULE_NOT_FOUND",
    "Test suite failed to run",
    "Failed to resolve import ",
    // Ruby.
    "cannot load such file -- ",
    "occurred outside of examples",
    // Go.
    "[setup failed]",
    "[build failed]",
    // Compilers and linkers.
    "error: could not compile ",
    "error[E0432]",
    "error[E0463]",
    "COMPILATION ERROR",
    "fatal error: ",
    "error while loading shared libraries",
    "cannot open shared object file",
    // PHP.
    "Failed opening required ",
];

/// Ends of a line by which a shell says that there is no such program.
const ENDS: [&str; 2] = [": not found", ": command not found"];

/// Lines of a log that say that a test, or what it needs, cannot be loaded. Each is named
/// once, in the order of the log.
pub fn list_unloaded(log: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(log);
    let says = |line: &&str| {
        PARTS.iter().any(|part| line.contains(part)) || ENDS.iter().any(|end| line.trim_end().ends_with(end))
    };
    let mut seen = BTreeSet::new();
    let short = |line: &str| line.trim().chars().take(LONGEST_LINE).collect::<String>();
    text.lines().filter(says).map(short).filter(|line| seen.insert(line.clone())).take(MOST_LINES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_loaded_is_told_once() {
        let rows = [
            ("ImportError: Failed to import test module: test_b\n", 1),
            ("  ModuleNotFoundError: No module named 'numpy'\nModuleNotFoundError: No module named 'numpy'\n", 1),
            ("___ ERROR collecting tests/test_b.py ___\nE   ModuleNotFoundError: No module named 'x'\n", 2),
            ("Error: Cannot find module 'chalk'\n", 1),
            ("sh: 1: vitest: not found\nbash: line 1: ava: command not found\n", 2),
            ("FAIL\texample.com/a [setup failed]\n", 1),
            ("a.c:1:10: fatal error: Python.h: No such file or directory\n", 1),
            ("  cannot load such file -- nokogiri\n", 1),
            ("error: could not compile `a` (lib test)\n", 1),
            // Red tests whose code was loaded.
            ("AssertionError: 1 != 2\nFAILED (failures=1)\n", 0),
            ("the module was found; import error rate 0\n", 0),
            ("", 0),
        ];
        for (log, count) in rows {
            assert_eq!(list_unloaded(log.as_bytes()).len(), count, "{log}");
        }
    }

    #[test]
    fn a_line_is_cut_and_an_endless_log_bounded() {
        let log: String = (0..5000).map(|at| format!("ImportError: {at} {}\n", "x".repeat(500))).collect();
        let lines = list_unloaded(log.as_bytes());
        assert_eq!((lines.len(), lines[0].chars().count()), (MOST_LINES, LONGEST_LINE));
    }
}
