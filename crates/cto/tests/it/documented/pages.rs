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
}

/// A command as a reader types it.
#[derive(Debug)]
pub(super) struct PageCommand {
    pub(super) text: String,
    /// The exit code that its comment names.
    pub(super) exit: Option<i32>,
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
const MARKER: &str = "<!-- not run: ";
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
        if line == FENCE {
            let marked = before.strip_prefix(MARKER).and_then(|rest| rest.strip_suffix(" -->"));
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push(Block { commands: find_commands(&body), not_run: marked.map(str::to_owned) });
        }
        before = line;
    }
    blocks
}

/// Lines behind `$ `, with those that belong to them: after a backslash, and up to the end of a here document.
fn find_commands(body: &[&str]) -> Vec<PageCommand> {
    let mut commands = Vec::new();
    let mut lines = body.iter();
    while let Some(line) = lines.next() {
        let Some(begin) = line.strip_prefix("$ ") else { continue };
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
        commands.push(PageCommand { text, exit });
    }
    commands
}

/// A command and the exit code that the comment behind it promises: `cto run x     # exit 3: nothing starts`.
fn without_comment(line: &str) -> (String, Option<i32>) {
    let Some((command, comment)) = line.split_once(" # ") else { return (line.to_owned(), None) };
    let promised = comment.trim_start().strip_prefix("exit ").and_then(|rest| rest.split_once(':'));
    (command.trim_end().to_owned(), promised.and_then(|(code, _)| code.parse().ok()))
}
