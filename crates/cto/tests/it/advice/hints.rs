//! Hints of errors, pasted right after the error that printed them.

use testkit::World;

use super::{PrintedRemedy, Shell};
use crate::world;

/// Words that are refused, the beginning of the hint, and what is done before.
struct Hinted {
    words: &'static [&'static str],
    hint: &'static str,
    lay: fn(&World),
}

const fn bare(words: &'static [&'static str], hint: &'static str) -> Hinted {
    Hinted { words, hint, lay: |_| {} }
}

const HINTED: &[Hinted] = &[
    bare(&["show", "nope"], "cto runs"),
    bare(&["verify", "nope"], "cto runs"),
    bare(&["diff", "nope"], "cto runs"),
    bare(&["logs", "nope"], "cto runs"),
    bare(&["run", "nope"], "cto case list"),
    bare(&["explain", "no_dif"], "cto explain no_diff"),
    bare(&["packet", "req-9"], "cto approvals"),
    bare(&["approve", "req-9"], "cto approvals"),
    bare(&["setup", "fake"], "cto demo"),
    bare(&["trust", "key", "retire", "nobody"], "cto trust key list"),
    bare(&["trust", "workspace", "remove", "nowhere"], "cto trust workspace list"),
    bare(&["cancel", "nope"], "cto queue --all"),
    bare(&["replay", "nope"], "cto runs"),
    bare(&["attach", "nope"], "cto runs"),
    bare(&["record", "check", "nope"], "cto records"),
    bare(&["outcome", "@", "accept", "--reason", "x"], "cto key init"),
    bare(&["runs", "since:never"], "cto runs engine:pi status:fail"),
    Hinted {
        words: &["work", "show", "CTO-WORK-999"],
        hint: "cto work list",
        lay: |world| drop(world.cto(["init", "."]).expect(0)),
    },
    Hinted {
        words: &["run", "r1-string-slugify"],
        hint: "cto resume",
        lay: |world| drop(world.cto(["halt", "--reason", "moving"]).expect(0)),
    },
];

/// The command of the hint that an error printed.
pub(super) fn hint_of(stderr: &str) -> Option<String> {
    let hint = stderr.lines().rev().find_map(|line| line.strip_prefix("next  "))?;
    Some(hint.to_owned())
}

/// The next command in an error message is a command too.
#[test]
fn hints_of_errors_can_be_pasted() {
    testkit::each_row(HINTED.iter().map(|row| (row.words.join(" "), row)), |row| {
        let world = world();
        let _ = world.run("shell-script-rotate-logs", 0);
        (row.lay)(&world);
        let ran = world.cto(row.words);
        assert!(matches!(ran.code, 2 | 3), "{}", ran.told());
        let hint =
            hint_of(&ran.stderr).or_else(|| super::first_command(&ran)).unwrap_or_else(|| panic!("{}", ran.told()));
        assert!(hint.starts_with(row.hint), "{hint}");
        let shell = Shell { cto: &|words| world.cto(words), repository: &world.here() };
        assert!(shell.paste(&PrintedRemedy { reason: "hint".to_owned(), remedy: hint }).is_some());
    });
}
