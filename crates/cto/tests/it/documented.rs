//! Documentation that works when it is typed: every console block of docs/ and every example of `--help`, run in one home.
//!
//! A command must end as its comment says (`exit 3`), or else in any way but a usage error, a panic or a missing program. A block that
//! cannot run in a test has `<!-- not run: REASON -->` on the line before it; examples of `--help` that cannot are named here.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod home;
mod options;
mod output;
mod pages;

use std::process::Output;

use self::home::DocumentedHome;
use self::output::find_unprinted;
use self::pages::{Block, PageCommand, find_blocks, find_pages, is_page_marked};

/// Blocks that may say that they are not run. The number may only fall.
const MOST_MARKED_BLOCKS: usize = 31;

/// Pages whose blocks without prompts are one script, and the test that runs it word for word.
const SCRIPTS: &[(&str, &str)] = &[
    ("docs/quickstart.md", "agents::quickstart"),
    ("docs/change-a-repository.md", "climb::page"),
    ("docs/approve.md", "climb::page"),
];

/// Commands that were typed and ended otherwise than they may.
#[derive(Debug, Default)]
struct Typed {
    number: usize,
    wrong: Vec<String>,
}

impl Typed {
    fn judge(&mut self, place: &str, command: &str, expected: Option<i32>, output: &Output) {
        self.number += 1;
        let code = output.status.code().unwrap_or(-1);
        let is_good = match expected {
            Some(expected) => code == expected,
            None if command.starts_with("cto ") => matches!(code, 0 | 1 | 3),
            None => code == 0,
        };
        if !is_good {
            let said = [&output.stdout[..], &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            let said: String = said.concat().chars().take(600).collect();
            self.wrong.push(format!("{place}: `{command}` ended with {code}\n{said}"));
        }
    }
}

impl Typed {
    /// Looks for the lines that the page shows: in what was printed to a pipe, else in what a terminal gets.
    fn compare(&mut self, home: &DocumentedHome, place: &str, command: &PageCommand, output: &Output) {
        let printed = [&output.stdout[..], &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let own = home.own_names();
        let missing = find_unprinted(&command.output, &printed.concat(), &own);
        if missing.is_empty() {
            return;
        }
        let shown = home.type_on_terminal(&command.text);
        let missing = find_unprinted(&command.output, &shown, &own);
        if !missing.is_empty() {
            let (missing, printed) = (missing.join("\n"), printed.concat());
            self.wrong.push(format!(
                "{place}: `{}` does not print\n{missing}\nbut to a pipe\n{printed}\nand to a terminal\n{shown}",
                command.text
            ));
        }
    }
}

#[test]
fn every_console_block_of_the_docs_can_be_typed() {
    let home = DocumentedHome::new();
    let (mut typed, mut marked) = (Typed::default(), 0);
    for page in find_pages() {
        if is_page_marked(&page.text) {
            marked += 1;
            continue;
        }
        let mut blocks = find_blocks(&page.text);
        if SCRIPTS.iter().any(|(name, _)| *name == page.name) {
            blocks.retain(|block| !block.is_script);
        }
        marked += blocks.iter().filter(|block| block.not_run.is_some()).count();
        if blocks.iter().all(|block| block.not_run.is_some()) {
            continue;
        }
        home.lay_out(&page.text);
        for Block { commands, other_state, .. } in blocks.iter().filter(|block| block.not_run.is_none()) {
            for command in commands.iter().filter(|command| !is_run_elsewhere(&command.text)) {
                let output = home.type_line(&command.text);
                typed.judge(&page.name, &command.text, command.exit, &output);
                if !other_state {
                    typed.compare(&home, &page.name, command, &output);
                }
            }
        }
    }
    assert!(typed.wrong.is_empty(), "{} of {}:\n{}", typed.wrong.len(), typed.number, typed.wrong.join("\n"));
    assert!(typed.number >= 80, "only {} commands were found", typed.number);
    assert!(marked <= MOST_MARKED_BLOCKS, "{marked} blocks say that they are not run");
}

/// Commands that cannot run here or take minutes, by how they begin, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cto setup ", "asks on a terminal; first_hour::setup and first_hour::connected run it"),
    ("cto approve ", "asks for a sentence on a terminal; approvals runs it"),
    ("cto serve", "serves until it is ended; console runs it"),
    ("cto bridge", "serves until it is ended; model runs it"),
    ("cto trust worker add", "needs a ledger that homes share; fleet runs it"),
    ("cto trust worker remove", "needs a ledger that homes share; fleet runs it"),
    ("cto worker", "takes runs until it is ended; queue runs it"),
    ("cto watch", "follows runs that a worker takes; queue runs it"),
    ("cto top", "draws on a terminal; top runs it"),
    ("cto stop ", "needs a run that is going on; browser runs it"),
    ("cto hermes smoke", "asks a server; console runs it"),
    ("cto demo", "smoke runs it"),
    ("cto matrix", "matrix runs it"),
    ("cto health", "a matrix of its own; validated runs it"),
    ("cto request task.yaml", "needs the contract of a target; targets runs it"),
    ("cto guard --json", "needs a Core in harness.yaml; audit runs it"),
    ("cto work status DEMO-WORK-007", "speaks of an item of a board; workspace_records runs it"),
    ("cto validate stage", "holds every failure class of a stage; validated runs it"),
    ("cto race task.yaml", "two real engines; agents::race runs it"),
];

fn is_run_elsewhere(command: &str) -> bool {
    NOT_RUN.iter().any(|(begin, _)| command.starts_with(begin))
}

#[test]
fn every_example_of_help_can_be_typed() {
    let home = DocumentedHome::new();
    let mut typed = Typed::default();
    for (command, example) in home.examples() {
        if is_run_elsewhere(&example) {
            continue;
        }
        home.lay_out(&example);
        let output = home.type_line(&example);
        typed.judge(&format!("cto {command} --help"), &example, None, &output);
    }
    assert!(typed.wrong.is_empty(), "{} of {}:\n{}", typed.wrong.len(), typed.number, typed.wrong.join("\n"));
    assert!(typed.number >= 80, "only {} examples were found", typed.number);
}

/// A block without a marker that fails is found, so that the tests above can fail.
#[test]
fn a_block_that_does_not_work_is_found() {
    let home = DocumentedHome::new();
    home.lay_out("");
    for (line, exit, is_good) in [
        ("cto show @", None, true),
        ("cto show nothing-of-this-name", None, false),
        ("cto no-such-command", None, false),
        ("cto run fail-missing-test-command", Some(3), true),
        ("cto run fail-missing-test-command", Some(0), false),
        ("no-such-program-anywhere", None, false),
    ] {
        let mut typed = Typed::default();
        typed.judge("here", line, exit, &home.type_line(line));
        assert_eq!(typed.wrong.is_empty(), is_good, "{line}: {:?}", typed.wrong);
    }
    let blocks = find_blocks("<!-- not run: no network -->\n```console\n$ curl x\n```\n");
    assert_eq!(blocks[0].not_run.as_deref(), Some("no network"));
}
