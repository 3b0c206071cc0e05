//! The table of commands: its examples, its plain forms, and the names a program goes by.

use super::super::Counts;
use super::super::commands::{CommandRow, ToolRow, tools};
use super::super::execution::{ARGUMENTS_KEPT, counts};
use super::{counts_in_words, execution};
use contract::sandbox::Execution;
use contract::task::ForbiddenAction;

fn rows() -> impl Iterator<Item = (&'static ToolRow, &'static CommandRow)> {
    tools().flat_map(|tool| tool.commands.iter().map(move |command| (tool, command)))
}

#[test]
fn every_entry_keeps_its_examples() {
    let mut broken = Vec::new();
    for (tool, command) in rows() {
        assert!(!command.takes.is_empty() && !command.passes_over.is_empty(), "{:?} needs examples", tool.names);
        for (examples, taken) in [(command.takes, true), (command.passes_over, false)] {
            for line in examples {
                let judged = counts(&execution(line));
                if (judged == Some(command.counts)) != taken {
                    broken.push(format!("{line}: {}", counts_in_words(judged)));
                }
            }
        }
    }
    assert_eq!(broken, [""; 0]);
}

/// Command lines that a pattern names: each of its alternatives once.
fn plain_forms(pattern: &str) -> Vec<String> {
    let tokens: Vec<Vec<&str>> = pattern.split(' ').map(|token| token.split('/').collect()).collect();
    let longest = tokens.iter().map(Vec::len).max().unwrap_or(0);
    let form = |at: usize| {
        let words = tokens.iter().map(|alternatives| alternatives[at.min(alternatives.len() - 1)]);
        words.filter(|word| *word != "..").map(|word| word.replace('*', "x")).collect::<Vec<_>>().join(" ")
    };
    (0..longest).map(form).collect()
}

#[test]
fn every_pattern_is_reached_under_every_name() {
    let mut missed = Vec::new();
    for (tool, command) in rows() {
        // The others are not made of words; they have their examples.
        for pattern in command.patterns.iter().filter(|pattern| !pattern.contains(['…', '='])) {
            let forms = plain_forms(pattern);
            for line in forms.iter().flat_map(|form| tool.names.iter().map(move |name| format!("{name} {form}"))) {
                let judged = counts(&execution(&line));
                if judged != Some(command.counts) {
                    missed.push(format!("{line}: {}", counts_in_words(judged)));
                }
            }
        }
    }
    assert_eq!(missed, [""; 0]);
}

#[test]
fn a_name_is_in_the_table_once() {
    let mut names: Vec<&str> = tools().flat_map(|tool| tool.names).copied().collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn the_actions_that_executions_show_are_all_there() {
    let shown = |action| rows().any(|(_, command)| command.counts == Counts::Action(action));
    let missing: Vec<_> = ForbiddenAction::ALL.iter().filter(|action| !shown(**action)).collect();
    // Both are changes of files, which a command line does not tell.
    assert_eq!(missing, [&ForbiddenAction::VendorSourceMutation, &ForbiddenAction::CortexCoreMutation]);
}

#[test]
fn the_file_and_the_given_name_both_count() {
    for (path, argv, wanted) in [
        ("/usr/bin/git", &["git", "push"][..], "`push`"),
        ("/usr/bin/git", &["x", "push"], "`push`"),
        ("/bin/busybox", &["git", "push"], "`push`"),
        ("", &["git", "push"], "`push`"),
        ("/proc/self/fd/3", &["/opt/git", "push"], "`push`"),
        ("/usr/bin/git", &["gh", "--version"], "note"),
        ("/usr/bin/gh", &["git", "push"], "`push`"),
        ("./g", &["g", "push"], "nothing"),
        ("/usr/bin/GIT", &["GIT", "push"], "nothing"),
        ("/usr/bin/git/", &[], "nothing"),
        ("/usr/bin/git", &[], "nothing"),
        ("", &[], "nothing"),
        ("/usr/bin/node", &["node", "--trace-warnings", "/a/npm-cli.js", "publish"], "`public_publication`"),
        ("/usr/bin/node", &["npm publish", "/usr/bin/npm", "publish"], "`public_publication`"),
        ("/bin/bash", &["bash", "--norc", "./gradlew", "publish"], "`public_publication`"),
        ("/bin/bash", &["bash", "-lc", "gradlew publish"], "nothing"),
        ("/bin/sh", &["sh", "-ec", "gradlew", "publish"], "nothing"),
        ("/usr/bin/python3", &["python3", "-m"], "nothing"),
        ("/usr/bin/python3", &["python3"], "nothing"),
    ] {
        let argv = argv.iter().copied().map(str::to_owned).collect();
        let judged = counts(&Execution { path: path.to_owned(), argv, file: None, directory: None, count: 1 });
        assert_eq!(counts_in_words(judged), wanted, "{path}");
    }
}

/// The number of kept arguments decides whether a command can hide behind options, so both sides must know the same number.
#[test]
fn as_many_arguments_are_kept_as_the_recorder_keeps() {
    let memory = include_str!("../../../../sandbox/src/strict/seccomp/memory.rs");
    assert!(memory.contains(&format!("const ARGS_MAX: usize = {ARGUMENTS_KEPT};")));
}
