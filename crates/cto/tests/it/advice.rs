//! Advice that is printed works when it is pasted, in the state that printed it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

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

/// Every built-in case that does not pass, run for real; each remedy that names a command is pasted right after.
#[test]
fn every_remedy_of_a_failing_case_can_be_pasted() {
    let world = world();
    let cases = world.cto(["case", "list", "--json"]).expect(0).json();
    let (mut pasted, mut wrong) = (0, Vec::new());
    for case in cases.as_array().unwrap().iter().filter(|case| case["expect"]["status"] != "pass") {
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
