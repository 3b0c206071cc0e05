//! Every command line that help pages, documentation and remedies show is one that this program takes.

mod documented_names;
mod help;
mod hints;

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _, Parser as _};
use contract::Reason;
use contract::remedy::Remedy;

use super::Cli;

/// Words with which a shell goes on after a command.
const SHELL: [&str; 8] = ["|", ">", ">>", "<", ";", "&&", "||", "#"];

/// The words of one `cto` command in a line of shell; `None` if it is not one.
fn words_of(line: &str) -> Option<Vec<String>> {
    let line = line.split(" | ").find(|part| part.trim_start().starts_with("cto "))?;
    // What stands after spaces is a comment of the page.
    let line = line.trim().split("     ").next()?.split(" # ").next()?;
    let words = shell_words::split(line).ok()?;
    let end = words.iter().position(|word| SHELL.contains(&word.as_str())).unwrap_or(words.len());
    Some(words[..end].to_vec())
}

/// Why the program does not take these words. A page that shows help shows a good line.
fn problem(words: &[String]) -> Option<String> {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    match Cli::try_parse_from(words) {
        Err(error)
            if matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand) =>
        {
            None
        }
        Err(error) => Some(format!("{}: {error}", words.join(" "))),
        Ok(_) => None,
    }
}

fn check(what: &str, lines: Vec<(String, String)>, least: usize) {
    let read: Vec<(String, Vec<String>)> =
        lines.into_iter().filter_map(|(place, line)| Some((place, words_of(&line)?))).collect();
    assert!(read.len() >= least, "{what}: only {} lines were found", read.len());
    let wrong = read.iter().filter_map(|(place, words)| Some(format!("{place}: {}", problem(words)?)));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

fn help_lines(command: &Command, path: &str, lines: &mut Vec<(String, String)>) {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // A backslash at the end of a line continues the example.
    let text = text.split("\\\n").map(str::trim_start).collect::<Vec<_>>().join(" ");
    let examples = text.split("Examples:").nth(1).unwrap_or_default().lines().filter(|line| line.starts_with("  "));
    lines.extend(examples.map(|line| (path.to_owned(), line.to_owned())));
    for below in command.get_subcommands() {
        help_lines(below, &format!("{path} {}", below.get_name()), lines);
    }
}

#[test]
fn every_example_of_a_help_page_is_a_command() {
    let mut lines = Vec::new();
    help_lines(&Cli::command(), "cto", &mut lines);
    check("examples of --help", lines, 80);
    let wrong = words_of("cto runs --no-such-flag").unwrap();
    assert!(problem(&wrong).is_some(), "control");
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|it| it == "md") {
            found.push(path);
        }
    }
}

/// Lines of `console` blocks behind their prompt, and of `sh` blocks; a line that ends with a backslash goes on.
fn block_lines(text: &str) -> Vec<String> {
    let (mut block, mut lines) = (None::<&str>, Vec::<String>::new());
    let mut open = String::new();
    for line in text.lines() {
        let bare = line.trim_start();
        if let Some(name) = bare.strip_prefix("```") {
            block = if block.is_some() { None } else { Some(name.trim()) };
            continue;
        }
        let said = match block {
            Some("console") => bare.strip_prefix("$ ").or(Some(bare).filter(|_| !open.is_empty())),
            Some("sh") => Some(bare),
            _ => None,
        };
        let Some(said) = said else { continue };
        open.push_str(said.trim_end_matches('\\'));
        if !said.ends_with('\\') {
            lines.push(std::mem::take(&mut open));
        }
    }
    lines
}

/// Pages of the documentation by name, with their texts.
fn find_pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("ARCHITECTURE.md")];
    pages(&root.join("docs"), &mut found);
    let read = |page: PathBuf| {
        let name = page.strip_prefix(&root).unwrap().display().to_string();
        (name, std::fs::read_to_string(&page).unwrap())
    };
    found.into_iter().map(read).collect()
}

#[test]
fn every_command_of_the_documentation_is_one() {
    let mut lines = Vec::new();
    for (place, text) in find_pages() {
        lines.extend(block_lines(&text).into_iter().map(|line| (place.clone(), line)));
    }
    check("console blocks", lines, 150);
}

#[test]
fn every_remedy_with_a_command_is_one() {
    let remedies = Reason::ALL.iter().map(|reason| (reason.code().to_owned(), reason.remedy()));
    let lines: Vec<(String, String)> =
        remedies.filter_map(|(code, text)| Some((code, Remedy::parse_text(text).command?.to_owned()))).collect();
    check("remedies", lines, 20);
}
