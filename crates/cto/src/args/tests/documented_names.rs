//! Commands, flags and reasons that pages name in running text are those of this program.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use contract::Reason;

use super::{Cli, find_pages};

/// Texts between backticks outside of code blocks, with the name of their page.
fn find_inline_code() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, text) in find_pages() {
        let mut in_code = false;
        for line in text.lines() {
            let is_fence = line.trim_start().starts_with("```");
            in_code ^= is_fence;
            if !in_code && !is_fence {
                found.extend(line.split('`').skip(1).step_by(2).map(|code| (name.clone(), code.to_owned())));
            }
        }
    }
    found
}

/// Flags of a command with those that every command has.
fn find_flags(command: &Command, flags: &mut BTreeSet<String>) {
    for argument in command.get_arguments() {
        flags.extend(
            argument.get_long_and_visible_aliases().unwrap_or_default().into_iter().map(|it| format!("--{it}")),
        );
        flags.extend(
            argument.get_short_and_visible_aliases().unwrap_or_default().into_iter().map(|it| format!("-{it}")),
        );
    }
}

/// Why a text such as `cto run TASK --stage N` names something that the program does not have. Words in capitals stand for values.
pub(super) fn command_problem(root: &Command, text: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip(1).peekable();
    let mut command = root;
    let mut flags = BTreeSet::from(["--help".to_owned(), "-h".to_owned(), "--version".to_owned()]);
    find_flags(root, &mut flags);
    while let Some(below) = words.peek().and_then(|word| command.find_subcommand(word)) {
        command = below;
        find_flags(command, &mut flags);
        words.next();
    }
    let takes_words = command.get_positionals().next().is_some();
    if let Some(word) = words.peek().filter(|word| is_name(word) && !takes_words) {
        return Some(format!("`{text}`: {} has no command {word}", command.get_name()));
    }
    let mut named = words.take_while(|word| !["--", "|", ">"].contains(word)).filter(|word| word.starts_with('-'));
    let unknown = named.find(|word| !flags.contains(clean_flag(word)))?;
    Some(format!("`{text}`: {} has no {unknown}", command.get_name()))
}

/// True for a word that could be the name of a command.
fn is_name(word: &str) -> bool {
    word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-')
}

/// A flag without the value or the bracket around it.
fn clean_flag(word: &str) -> &str {
    word.split(['=', ']', ',', ')', '.']).next().unwrap_or(word)
}

#[test]
fn every_command_and_flag_in_running_text_is_one() {
    let root = Cli::command();
    let commands: Vec<_> = find_inline_code().into_iter().filter(|(_, code)| code.starts_with("cto ")).collect();
    assert!(commands.len() > 300, "{}", commands.len());
    let wrong = commands.iter().filter_map(|(page, code)| Some(format!("{page}: {}", command_problem(&root, code)?)));
    let wrong: BTreeSet<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    for text in ["cto no-such-command", "cto run --no-such-flag", "cto trust key no-such-verb"] {
        assert!(command_problem(&root, text).is_some(), "control: {text}");
    }
}

/// Flags of other programs that pages name: of test runners, managers of packages, containers, agents, git and `cargo xtask`.
const FOREIGN_FLAGS: &[&str] = &[
    "--cache",
    "--config-env",
    "--dangerously-bypass-approvals-and-sandbox",
    "--delete-secret-keys",
    "--dryrun",
    "--durations",
    "--find-links",
    "--format",
    "--git-dir",
    "--help",
    "--ignore-scripts",
    "--import",
    "--in-diff",
    "--list-hosts",
    "--list-tasks",
    "--log-junit",
    "--no-extensions",
    "--no-index",
    "--no-sandbox",
    "--offline",
    "--privileged",
    "--prod",
    "--repo-path",
    "--reporter",
    "--rounds",
    "--security-opt",
    "--setting-sources",
    "--signer",
    "--spawn_strategy",
    "--strict-mcp-config",
    "--syntax-check",
    "--testdox",
    "--unshare-all",
    "--version",
];

#[test]
fn every_flag_that_stands_alone_is_one() {
    let mut flags = BTreeSet::new();
    let mut waiting = vec![Cli::command()];
    while let Some(command) = waiting.pop() {
        find_flags(&command, &mut flags);
        waiting.extend(command.get_subcommands().cloned());
    }
    let named = find_inline_code().into_iter().filter(|(_, code)| code.starts_with("--") && !code.starts_with("---"));
    let first = |code: &str| clean_flag(code.split_whitespace().next().unwrap_or_default()).to_owned();
    let named: Vec<(String, String)> = named.map(|(page, code)| (page, first(&code))).collect();
    assert!(named.len() > 100, "{}", named.len());
    let wrong = named.iter().filter(|(_, flag)| !flags.contains(flag) && !FOREIGN_FLAGS.contains(&flag.as_str()));
    let wrong: BTreeSet<String> = wrong.map(|(page, flag)| format!("{page}: {flag}")).collect();
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    assert!(!flags.contains("--no-such-flag"), "control");
}

/// Rows of the page of reasons, by code: event, sentence and remedy.
fn reason_row(reason: Reason) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let event = serde_json::to_value(reason.event()).unwrap();
    let event = event.as_str().unwrap();
    format!("| `{event}` | {} | {} |", cell(reason.sentence()), cell(reason.remedy()))
}

#[test]
fn the_page_of_reasons_is_in_step() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reasons.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for reason in Reason::ALL {
        let row = rows.iter().find(|row| row.starts_with(&format!("| `{}` |", reason.code())));
        let row = row.unwrap_or_else(|| panic!("docs/reasons.md lacks {}", reason.code()));
        assert!(row.ends_with(&reason_row(*reason)), "docs/reasons.md: {row}\nshould end with {}", reason_row(*reason));
    }
    assert_eq!(rows.len(), Reason::ALL.len(), "reasons that the program does not have");
    // A reader takes the worst reason from the order of the page.
    let listed: Vec<&str> = rows.iter().filter_map(|row| row.split('`').nth(1)).collect();
    let in_order: Vec<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(listed, in_order, "docs/reasons.md lists the reasons in the order of their severity");
}

#[test]
fn the_page_of_troubleshooting_has_every_reason() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let has = |code: &str| {
        rows.iter().any(|row| row.split(" | ").next().is_some_and(|cell| cell.contains(&format!("`{code}`"))))
    };
    let missing: Vec<&str> = Reason::ALL.iter().map(|reason| reason.code()).filter(|code| !has(code)).collect();
    assert!(missing.is_empty(), "docs/troubleshooting.md lacks {missing:?}");
    assert!(!has("no_such_reason"), "control");
}
