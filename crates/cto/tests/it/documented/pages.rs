//! Console blocks of the pages in docs/ and of the README.

use std::fs;
use std::path::{Path, PathBuf};

/// A page with its text.
pub(super) struct Page {
    pub(super) name: String,
    pub(super) text: String,
}

/// A block of commands.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) commands: Vec<PageCommand>,
    /// The reason why it is not run.
    pub(super) not_run: Option<String>,
    /// True if its lines have no prompt and are typed as a whole.
    pub(super) is_script: bool,
    /// True if its output is about a state that no test makes.
    pub(super) other_state: bool,
}

/// A command as a reader types it.
#[derive(Debug)]
pub(super) struct PageCommand {
    pub(super) text: String,
    /// The exit code that its comment names.
    pub(super) exit: Option<i32>,
    /// Lines that the page shows below it.
    pub(super) output: Vec<String>,
}

pub(super) fn find_pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    add_pages(&root.join("docs"), &mut files);
    files.sort();
    let named = |file: PathBuf| {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        Page { text: fs::read_to_string(&file).unwrap(), name }
    };
    files.into_iter().map(named).collect()
}

fn add_pages(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            add_pages(&entry, files);
        } else if entry.extension().is_some_and(|ending| ending == "md") {
            files.push(entry);
        }
    }
}

const FENCE: &str = "```console";
/// Opens a block that is typed as a whole: its lines have no prompt.
const SCRIPT_FENCE: &str = "```sh";
const MARKER: &str = "<!-- not run: ";
/// Marks a block whose commands run and whose output is that of another state.
const STATE_MARKER: &str = "<!-- output of another state: ";
/// Marks a page whose blocks are all of one kind that cannot be run.
const PAGE_MARKER: &str = "<!-- page not run: ";

/// True for a page that says as a whole that it is not run.
pub(super) fn is_page_marked(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(PAGE_MARKER) && line.ends_with(" -->"))
}

pub(super) fn find_blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut before) = (Vec::new(), "");
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == FENCE || line == SCRIPT_FENCE {
            let marked = before.strip_prefix(MARKER).and_then(|rest| rest.strip_suffix(" -->"));
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let commands = if line == FENCE { find_commands(&body) } else { vec![script(&body)] };
            let other_state = before.starts_with(STATE_MARKER) && before.ends_with(" -->");
            blocks.push(Block { commands, not_run: marked.map(str::to_owned), is_script: line != FENCE, other_state });
        }
        before = line;
    }
    blocks
}

/// A block without prompts: one command, or several of which each must end with 0.
fn script(body: &[&str]) -> PageCommand {
    match body {
        [line] => PageCommand { text: (*line).to_owned(), exit: None, output: Vec::new() },
        lines => PageCommand { text: format!("set -e\n{}", lines.join("\n")), exit: Some(0), output: Vec::new() },
    }
}

/// Lines behind `$ `, with those that belong to them: after a backslash, and up to the end of a here document.
fn find_commands(body: &[&str]) -> Vec<PageCommand> {
    let mut commands: Vec<PageCommand> = Vec::new();
    let mut lines = body.iter();
    while let Some(line) = lines.next() {
        let Some(begin) = line.strip_prefix("$ ") else {
            if let Some(PageCommand { output, .. }) = commands.last_mut() {
                output.push((*line).to_owned());
            }
            continue;
        };
        let (mut text, exit) = without_comment(begin);
        while text.ends_with('\\') {
            text.push('\n');
            text.push_str(lines.next().unwrap_or(&""));
        }
        if text.contains("<<'E'") {
            for line in lines.by_ref() {
                text.push('\n');
                text.push_str(line);
                if *line == "E" {
                    break;
                }
            }
        }
        commands.push(PageCommand { text, exit, output: Vec::new() });
    }
    commands
}

/// A command and the exit code that the comment behind it promises: `cto run x     # exit 3: nothing starts`.
fn without_comment(line: &str) -> (String, Option<i32>) {
    let Some((command, comment)) = line.split_once(" # ") else { return (line.to_owned(), None) };
    let promised = comment.trim_start().strip_prefix("exit ").and_then(|rest| rest.split_once(':'));
    (command.trim_end().to_owned(), promised.and_then(|(code, _)| code.parse().ok()))
}
