//! Advice that is printed works when it is pasted, in the state that printed it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod hints;
mod paste;
mod reasons;

use std::collections::BTreeSet;

use contract::remedy::Remedy;
use testkit::{Ran, World};

use crate::world;

pub(crate) use self::paste::{PrintedRemedy, Shell, printed_remedies};

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
        let ran = world.cto(refusal.words).expect(3);
        assert!(!printed_remedies(&ran).is_empty(), "{}", ran.told());
        let repository = ["dirty", "source"].map(|name| world.path().join(name)).into_iter().find(|path| path.is_dir());
        let repository = repository.unwrap_or_else(|| world.here());
        let shell = Shell { cto: &|words| world.cto(words), repository: &repository };
        pasted += shell.paste_all(&ran, &|| world.cto(refusal.words));
    });
    assert!(pasted >= 6, "only {pasted} remedies named a command");
}

/// The remedy is typed in the repository, and what it prints is put into the contract.
#[test]
fn a_program_that_the_sandbox_does_not_show_is_shown_by_the_remedy() {
    let test = "advice::a_program_that_the_sandbox_does_not_show_is_shown_by_the_remedy";
    let Some(go) = testkit::go(test) else { return };
    let world = world();
    let repository = world.repository(
        "source",
        &[("a.txt", "one\n"), ("go.mod", "module example.org/a\n\ngo 1.21\n"), ("a.go", "package a\n")],
    );
    let path = format!("{}:/usr/bin:/bin", go.parent().unwrap().display());
    let types = |folder: &std::path::Path, words: &[&str]| {
        Ran::of(world.command(words).env("PATH", &path).current_dir(folder).output().unwrap())
    };
    let case = [("verification_commands", "[[go, version]]"), ("mutation_mode", "copied-fixture")];
    world.case("case", &case);
    let run = || types(&world.here(), &["run", "./case", "--repo", "../source"]);
    let ran = run().expect(3);
    let printed = printed_remedies(&ran);
    assert_eq!(printed.iter().map(|it| it.reason.as_str()).collect::<Vec<_>>(), ["tool_missing"], "{}", ran.told());
    let typed = std::cell::RefCell::new(String::new());
    let shell = Shell {
        cto: &|words| {
            let ran = types(&repository, words);
            typed.borrow_mut().push_str(&ran.text());
            ran
        },
        repository: &repository,
    };
    assert_eq!(shell.paste(&printed[0]), Some(false));
    let draft = typed.into_inner();
    let environment = draft.split_once("environment:").unwrap_or_else(|| panic!("{draft}")).1;
    let indented: String = environment
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with(' ') || line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    world.case("case", &[&case[..], &[("environment", &format!("\n{indented}"))]].concat());
    let _ = run().expect(0);
}

/// The first command that is printed as a way on.
fn first_command(ran: &Ran) -> Option<String> {
    let of_remedy = |remedy: &str| Remedy::parse_text(remedy).command.map(str::to_owned);
    let remedies = printed_remedies(ran);
    let said = remedies.iter().find_map(|printed| of_remedy(&printed.remedy)).or_else(|| {
        let hint = ran.stderr.lines().find_map(|line| line.strip_prefix("next  "))?;
        Some(hint.split("     ").next()?.to_owned())
    });
    said.filter(|command| command.starts_with("cto "))
}

/// Most remedies that one after the other are followed.
const MOST_STEPS: usize = 12;

/// Commands that change nothing: what they show is for a person to act on.
const LOOKS: [&str; 4] = ["cto records", "cto show", "cto doctor", "cto decide"];

/// Does what is printed, and then again what was refused, until it works or a person has to act. Gives the commands that lead back
/// to one that was followed before and changed nothing.
fn find_loop(run: impl Fn(&[String]) -> Ran, words: &[&str]) -> Option<Vec<String>> {
    let mut refused = vec![shell_words::join(["cto"].iter().chain(words))];
    let (mut way, mut advised) = (Vec::new(), BTreeSet::new());
    for _ in 0..MOST_STEPS {
        let typed = refused.last()?.clone();
        let ran = run(&shell_words::split(&typed).unwrap()[1..]);
        way.push(typed.clone());
        if ran.code == 0 {
            let _ = refused.pop();
            continue;
        }
        let command = first_command(&ran).filter(|command| !LOOKS.iter().any(|look| command.starts_with(look)))?;
        if !advised.insert((typed, command.clone())) {
            way.push(command);
            return Some(way);
        }
        refused.push(command);
    }
    None
}

#[test]
fn remedies_lead_to_no_loop() {
    testkit::each_row(REFUSALS.iter().map(|refusal| (refusal.name, refusal)), |refusal| {
        let world = world();
        let _ = world.cto(["init", "."]).expect(0);
        (refusal.lay)(&world);
        assert_eq!(find_loop(|words| world.cto(words), refusal.words), None);
    });
}

/// The control: two remedies that name each other, one that says it helped, and one that did help.
#[test]
fn a_loop_of_remedies_is_found() {
    let ran = |code: i32, advice: &str| Ran { code, stdout: Vec::new(), stderr: format!("next  {advice}\n") };
    let of_two = |words: &[String]| ran(3, if words == ["a"] { "cto b" } else { "cto a" });
    assert_eq!(find_loop(of_two, &["a"]).unwrap().last().unwrap(), "cto b");
    let idle = |words: &[String]| if words == ["a"] { ran(3, "cto b") } else { ran(0, "") };
    assert_eq!(find_loop(idle, &["a"]).unwrap(), ["cto a", "cto b", "cto a", "cto b"]);
    let asked = std::cell::Cell::new(0);
    let helped = |words: &[String]| {
        asked.set(asked.get() + 1);
        if words == ["a"] && asked.get() == 1 { ran(3, "cto b") } else { ran(0, "cto c") }
    };
    assert_eq!(find_loop(helped, &["a"]), None);
}

/// The id of a contract file is no name on a command line: what is printed names the file, and the sealed contract later.
#[test]
fn a_remedy_names_the_task_as_it_was_typed() {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    world.repository("source", &[("a.txt", "one\n")]);
    world.case("TASK-folder", &[("mutation_mode", "sandbox-repo")]);
    let mut asked = String::new();
    for words in [&["decide"][..], &["run"]] {
        let typed = [words, &["./TASK-folder", "--repo", "../source", "--stage", "4"]].concat();
        let ran = world.cto(&typed).expect(3);
        let request = ran.text().lines().find_map(|line| {
            line.rsplit_once(" fix: ").filter(|(_, fix)| fix.starts_with("cto request")).map(|(_, fix)| fix.to_owned())
        });
        let request = request.unwrap_or_else(|| panic!("{}", ran.told()));
        assert!(request.starts_with("cto request ./TASK-folder"), "{request}");
        asked = request;
    }
    let shell = Shell { cto: &|words| world.cto(words), repository: &world.here() };
    let request = PrintedRemedy { reason: "approval_missing".to_owned(), remedy: asked };
    assert_eq!(shell.paste(&request), Some(true));
    let unknown = std::panic::catch_unwind(|| {
        let shell = Shell { cto: &|words| world.cto(words), repository: &world.here() };
        shell.paste(&PrintedRemedy { reason: "control".to_owned(), remedy: "cto decide task-by-no-name".to_owned() })
    });
    assert!(unknown.is_err(), "control: an unknown name is refused");
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
