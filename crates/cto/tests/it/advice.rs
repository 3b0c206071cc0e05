//! Advice that is printed works when it is pasted, in the state that printed it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::BTreeMap;

use serde_json::Value;
use testkit::World;

use crate::world;

/// The command of a remedy, as the terminal shows it after its arrow.
fn command_of(remedy: &str) -> Option<String> {
    let part = remedy.split("; ").find(|part| part.contains("cto "))?;
    let command = &part[part.find("cto ")?..];
    Some(command.split(" (").next()?.split("     ").next()?.trim().to_owned())
}

fn paste(world: &World, reason: &str, remedy: &str, run: &Value, task: &str) -> Option<String> {
    let suffix = run.as_str()?.rsplit('-').next()?;
    let command = command_of(&remedy.replace("RUN", suffix).replace("TASK", task))?;
    let words = shell_words::split(&command).unwrap();
    let ran = world.cto(&words[1..]);
    let is_good = ran.code != 2 && ran.code != 101;
    (!is_good).then(|| format!("{reason}: `{command}`: {}", ran.told()))
}

/// Runs that end for the same reasons print the same remedies.
const ENOUGH_OF_A_KIND: usize = 2;

/// Built-in cases that do not pass, two of each kind of end, run for real; each remedy that names a command is pasted right after.
#[test]
fn every_remedy_of_a_failing_case_can_be_pasted() {
    let world = world();
    let cases = world.cto(["case", "list", "--json"]).expect(0).json();
    let (mut pasted, mut wrong, mut kinds) = (0, Vec::new(), BTreeMap::<String, usize>::new());
    for case in cases.as_array().unwrap().iter().filter(|case| case["expect"]["status"] != "pass") {
        let of_its_kind = kinds.entry(case["expect"].to_string()).or_default();
        *of_its_kind += 1;
        if *of_its_kind > ENOUGH_OF_A_KIND {
            continue;
        }
        let id = case["case_id"].as_str().unwrap();
        let ran = world.cto(["run", id, "--json"]);
        let Ok(report) = serde_json::from_slice::<Value>(&ran.stdout) else { continue };
        for blocker in report["blockers"].as_array().into_iter().flatten() {
            let (reason, remedy) = (blocker["reason"].as_str().unwrap(), blocker["remedy"].as_str().unwrap());
            assert!(!remedy.is_empty(), "{id}: {reason} says nothing to do");
            pasted += usize::from(remedy.contains("cto "));
            wrong.extend(paste(&world, reason, remedy, &report["run_id"], id));
        }
    }
    assert!(pasted >= 10, "only {pasted} remedies named a command");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A state in which a run is refused, and the words that are refused in it.
struct Refusal {
    name: &'static str,
    lay: fn(&World),
    words: &'static [&'static str],
}

const REFUSALS: &[Refusal] = &[
    Refusal {
        name: "a gate that is shut",
        lay: |_| {},
        words: &["run", "r1-string-slugify", "--engine", "codex", "--stage", "1"],
    },
    Refusal {
        name: "Case, whose program is never looked for",
        lay: |_| {},
        words: &["run", "r1-string-slugify", "--engine", "case", "--stage", "1"],
    },
    Refusal {
        name: "an engine that is not installed, without a model",
        lay: |world| drop(world.cto(["engine", "enable", "opencode", "--stage", "1"]).expect(0)),
        words: &["run", "r1-string-slugify", "--engine", "opencode", "--stage", "1"],
    },
    Refusal {
        name: "a model that nobody admitted",
        lay: |world| drop(world.cto(["engine", "enable", "pi", "--stage", "1"]).expect(0)),
        words: &["run", "r1-string-slugify", "--engine", "pi", "--stage", "1", "--model", "nobody/nothing"],
    },
    Refusal { name: "no approval", lay: |_| {}, words: &["run", "r1-string-slugify", "--stage", "4"] },
    Refusal {
        name: "a tree that is not clean",
        lay: |world| {
            let repository = world.repository("dirty", &[("a.txt", "one\n")]);
            std::fs::write(repository.join("a.txt"), "half\n").unwrap();
            world.case("case", &[]);
        },
        words: &["run", "./case", "--repo", "../dirty"],
    },
    Refusal {
        name: "a commit that is not there",
        lay: |world| {
            world.repository("source", &[("a.txt", "one\n")]);
            world.case("case", &[]);
        },
        words: &["run", "./case", "--repo", "../source", "--at", "nowhere"],
    },
    Refusal {
        name: "runs that are halted",
        lay: |world| drop(world.cto(["halt", "--reason", "moving"]).expect(0)),
        words: &["run", "r1-string-slugify"],
    },
    Refusal {
        name: "a setup that fails",
        lay: |world| drop(world.case("case", &[("environment", "{setup: [[\"false\"]]}")])),
        words: &["run", "./case"],
    },
    Refusal {
        name: "tests that the baseline cannot start",
        lay: |world| drop(world.case("case", &[("verification_commands", "[[no-such-program-anywhere]]")])),
        words: &["run", "./case"],
    },
];

/// States that no built-in case has: each remedy that names a command is pasted in the state that printed it.
#[test]
fn every_remedy_of_a_refused_run_can_be_pasted() {
    let mut pasted = 0;
    testkit::each_row(REFUSALS.iter().map(|refusal| (refusal.name, refusal)), |refusal| {
        let world = world();
        let _ = world.cto(["init", "."]).expect(0);
        (refusal.lay)(&world);
        let report = world.cto(refusal.words.iter().chain(&["--json"])).expect(3).json();
        let blockers = report["blockers"].as_array().unwrap();
        assert!(!blockers.is_empty(), "{report}");
        for blocker in blockers {
            let (reason, remedy) = (blocker["reason"].as_str().unwrap(), blocker["remedy"].as_str().unwrap());
            assert!(!remedy.is_empty(), "{reason} says nothing to do");
            pasted += usize::from(remedy.contains("cto "));
            let wrong = paste(&world, reason, remedy, &report["run_id"], refusal.words[1]);
            assert_eq!(wrong, None);
        }
    });
    assert!(pasted >= 6, "only {pasted} remedies named a command");
}

/// What an error says to do next is a command too.
#[test]
fn hints_of_errors_can_be_pasted() {
    let world = world();
    let _ = world.run("shell-script-rotate-logs", 0);
    for words in [&["show", "nope"][..], &["explain", "no_dif"], &["run", "r1-string-slugfy"], &["schema", "contrat"]] {
        let ran = world.cto(words).expect(2);
        let said = &ran.stderr;
        assert!(said.contains("did you mean") || said.contains("next  cto "), "{words:?}: {said}");
        if let Some(hint) = said.lines().find_map(|line| line.strip_prefix("next  cto ")) {
            let hint = hint.split("     ").next().unwrap();
            assert_ne!(world.cto(shell_words::split(hint).unwrap()).code, 2, "{words:?}: {hint}");
        }
    }
}

#[test]
fn a_setup_that_fails_is_quoted_and_its_log_is_named() {
    let world = world();
    let setup = "{setup: [[sh, -c, 'echo fine; echo no such package: left-pad >&2; exit 3']]}";
    world.case("broken", &[("environment", setup)]);
    let ran = world.cto(["run", "./broken", "--json"]).expect(3).json();
    let text = ran["blockers"][0]["text"].as_str().unwrap();
    assert!(text.contains("ended with exit 3; its last line: “no such package: left-pad” (setup.log)"), "{text}");
    let log = world.cto(["logs", "@", "--setup"]).expect(0).text();
    assert!(log.contains("fine") && log.contains("left-pad"), "{log}");
}

#[test]
fn a_thousand_paths_are_twenty_lines() {
    let world = world();
    let steps: Vec<String> = (0..60).map(|at| format!("{{write: {{path: out-{at}.txt, text: x}}}}")).collect();
    world.case("wide", &[("fake", &format!("{{steps: [{}]}}", steps.join(", ")))]);
    let shown = world.on_terminal(["run", "./wide"]);
    assert_eq!(shown.code, 1);
    let screen = shown.screen().join("\n");
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words.matches("was added").count(), 20, "{screen}");
    assert!(words.contains("and 40 more"), "{screen}");
    let report = world.cto(["show", "@", "--json"]).expect(0).json();
    let text = report["blockers"][0]["text"].as_str().unwrap();
    assert_eq!(text.matches("was added").count(), 60, "control: the report has them all: {text}");
}
