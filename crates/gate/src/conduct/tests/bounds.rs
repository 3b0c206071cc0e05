//! Input that means harm: nothing panics, everything stays bounded and safe to print.

use contract::sandbox::{
    Attempt, AttemptVerdict, CanaryTouch, Connection, ExecutedFile, Execution, FileKind, ObservedConduct, RefusedCall,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::commands::tools;
use super::super::{ATTEMPTS_MAX, GitState, TEXT_MAX, judge_conduct, judge_git_changes};
use super::{execution, told};

/// Checks the bounds of any judgement.
fn bounded(attempts: &[Attempt]) {
    assert!(attempts.len() <= ATTEMPTS_MAX);
    assert!(attempts.is_sorted_by_key(|attempt| attempt.judged));
    for attempt in attempts {
        let texts = [Some(&attempt.what), attempt.by.as_ref()].into_iter().flatten();
        for text in texts {
            assert!(text.chars().count() <= TEXT_MAX && !text.contains(char::is_control), "{text:?}");
        }
        assert_eq!(attempt.judged == AttemptVerdict::ForbiddenAction, attempt.action.is_some());
    }
}

#[test]
fn many_attempts_are_summed_up_with_the_worst_verdict_among_them() {
    let pushes = |number: usize| (0..number).map(|number| execution(&format!("git push {number:04}"))).collect();
    for (number, calls, last) in [
        (ATTEMPTS_MAX, 0, "forbidden_action push 1 git push 0199".to_owned()),
        (ATTEMPTS_MAX + 1, 3, "forbidden_action push 5 and 5 more".to_owned()),
        (ATTEMPTS_MAX - 1, 3, "violation 3 and 3 more".to_owned()),
    ] {
        let refused = (0..calls)
            .map(|number| RefusedCall { name: format!("new {number}"), count: 1, comm: String::new() })
            .collect();
        let seen = ObservedConduct { executions: pushes(number), refused, ..ObservedConduct::default() };
        let attempts = judge_conduct("engine", &seen);
        bounded(&attempts);
        assert_eq!((attempts.len(), told(&attempts).pop()), (ATTEMPTS_MAX, Some(last)));
    }
}

#[test]
fn texts_are_cut_and_neutral() {
    for (argument, wanted) in [
        ("\u{1b}[2J\n".to_owned(), "git push ␛[2J␊".to_owned()),
        ("é".repeat(TEXT_MAX - 9), format!("git push {}", "é".repeat(TEXT_MAX - 9))),
        ("é".repeat(TEXT_MAX - 8), format!("git push {}…", "é".repeat(TEXT_MAX - 10))),
        (
            "\u{202e}".repeat(9 * TEXT_MAX),
            format!("git push {}…", "\\u{202e}".repeat(TEXT_MAX)).chars().take(TEXT_MAX - 1).chain(['…']).collect(),
        ),
    ] {
        let argv = ["git", "push", &argument].map(str::to_owned).to_vec();
        let executions = vec![Execution { path: "/bin/git".to_owned(), argv, file: None, directory: None, count: 1 }];
        let attempts = judge_conduct("engine", &ObservedConduct { executions, ..ObservedConduct::default() });
        bounded(&attempts);
        assert_eq!(attempts[0].what, wanted);
    }
}

#[test]
fn long_input_takes_no_long_time() {
    let many = 100_000;
    let argv: Vec<String> = std::iter::once("gh").chain(std::iter::repeat_n("-Rx", many)).map(str::to_owned).collect();
    let connections = (0..many)
        .map(|port| Connection { address: format!("8.8.8.8:{port}"), count: u64::MAX, comm: String::new() })
        .collect();
    let seen = ObservedConduct {
        executions: vec![Execution { path: "gh".to_owned(), argv, file: None, directory: None, count: u64::MAX }; 3],
        connections,
        canaries: vec![CanaryTouch { path: "x".repeat(many), opened: u64::MAX, read: 1, changed: u64::MAX }],
        ..ObservedConduct::default()
    };
    bounded(&judge_conduct("engine", &seen));
    let config = |line: &str| GitState { config: line.repeat(many / 2).into_bytes(), ..GitState::default() };
    for line in ["[remote \"a\"]url=b\n", "[a]", "b=c\\\n", "[a \"\\\""] {
        bounded(&judge_git_changes("engine", &GitState::default(), &config(line)));
    }
}

/// Words of the tables among anything, so that random command lines get past the first name.
fn word() -> impl Strategy<Value = String> {
    let names = tools().flat_map(|tool| tool.names).copied();
    let patterns = tools().flat_map(|tool| tool.commands).flat_map(|command| command.patterns);
    let words = patterns.flat_map(|pattern| pattern.split([' ', '/']));
    let options = ["-c", "-m", "--", "-", "--dry-run", "--help", "=", "/", "…", "git-", "python3", "x.js", "\u{1b}"];
    let known: Vec<String> = names.chain(words).chain(options).map(str::to_owned).collect();
    prop_oneof![4 => proptest::sample::select(known), 1 => ".{0,20}"]
}

fn seen() -> impl Strategy<Value = ObservedConduct> {
    let kinds = vec![FileKind::Named, FileKind::Removed, FileKind::Memory, FileKind::Unknown];
    let parts = (proptest::sample::select(kinds), word(), vec(word(), 0..3), proptest::option::of(word()));
    let file = parts.prop_map(|(kind, path, interpreter, same_as)| ExecutedFile { kind, path, interpreter, same_as });
    let execution = (word(), vec(word(), 0..8), proptest::option::of(file), any::<u64>())
        .prop_map(|(path, argv, file, count)| Execution { path, argv, file, directory: None, count });
    let refused = (word(), any::<u64>(), ".{0,20}").prop_map(|(name, count, comm)| RefusedCall { name, count, comm });
    let connection = ("(unix:)?[/a-f0-9.:@\\[\\]]{0,20}", any::<u64>(), ".{0,20}")
        .prop_map(|(address, count, comm)| Connection { address, count, comm });
    let canary = (".{0,20}", any::<[u64; 3]>()).prop_map(|(path, [opened, read, changed])| CanaryTouch {
        path,
        opened,
        read,
        changed,
    });
    let lists = (vec(refused, 0..300), vec(execution, 0..300), vec(connection, 0..9), vec(canary, 0..9));
    (lists, any::<u64>(), any::<u64>()).prop_map(
        |((refused, executions, connections, canaries), executions_total, connections_total)| ObservedConduct {
            refused,
            executions,
            executions_total,
            connections,
            connections_total,
            canaries,
        },
    )
}

/// Almost a git configuration.
fn config() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "[",
        "]",
        "\"",
        "\\",
        "\n",
        "\r\n",
        "=",
        " ",
        "#",
        ";",
        ".",
        "!",
        "remote",
        "url",
        "core",
        "hooksPath",
        "alias",
        "a",
        "\u{feff}",
        "\0",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn git_option() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["-C a", "-c a=b", "--git-dir=a", "--work-tree a", "-p", "--bare", "-c alias.a=b"])
}

proptest! {
    #[test]
    fn anything_seen(seen in seen()) {
        bounded(&judge_conduct("engine", &seen));
    }

    #[test]
    fn anything_in_a_configuration(before in config(), after in config(), hooks in vec(".{0,400}", 0..3)) {
        let before = GitState { config: before, ..GitState::default() };
        let after = GitState { config: after, unread: hooks.clone(), hooks };
        bounded(&judge_git_changes("engine", &before, &after));
        prop_assert_eq!(judge_git_changes("engine", &after, &after), []);
    }

    #[test]
    fn any_bytes(config in vec(any::<u8>(), 0..600)) {
        let after = GitState { config, ..GitState::default() };
        bounded(&judge_git_changes("engine", &GitState::default(), &after));
    }

    /// Whatever options come before it, a push is found or passes for one.
    #[test]
    fn no_options_hide_a_push(options in vec(git_option(), 0..9)) {
        let line = format!("git {} push origin", options.join(" "));
        let judged = judge_conduct("engine", &ObservedConduct { executions: vec![execution(&line)], ..ObservedConduct::default() });
        prop_assert_eq!(judged[0].judged, AttemptVerdict::ForbiddenAction, "{}", line);
    }
}
