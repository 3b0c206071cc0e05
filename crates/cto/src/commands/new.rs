//! `cto new`: a short contract from a person's words and what lies in a repository.

use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use contract::task::title_of;
use contract::text::show_controls;
use harness::Task;
use serde_json::json;
use suggest::{ContractDraft, ContractWords, draft_contract, task_id_of};

use super::environment::{machine_tools, no_draft};
use crate::args::NewArgs;
use crate::context::Context;
use crate::error::CommandError;

/// A contract's brief has room for this much.
const LONGEST_BRIEF: u64 = 65_536;

/// Drafts a contract and writes it.
pub(crate) fn new(context: &Context, arguments: &NewArgs) -> Result<u8, CommandError> {
    let brief = brief(context, arguments)?;
    let repository = std::path::absolute(&arguments.repo)?;
    let repository = fs::canonicalize(&repository).map_err(|error| {
        let name = show_controls(&arguments.repo.display().to_string());
        CommandError::usage(format!("cannot look at {name}: {error}")).hint("name a repository: cto new --repo DIR")
    })?;
    let drafted = draft(context, &repository)?;
    let id = task_id_of(title_of(&brief).trim_start_matches(['#', ' ']));
    let shown_repository = repository.to_str();
    let words =
        ContractWords { task_id: &id, brief: &brief, allowed_paths: &arguments.allow, repository: shown_repository };
    let yaml = drafted.yaml(&words);
    // A draft that the program itself cannot read is refused with its places, before
    // anything is written.
    Task::from_text("the draft", &yaml, &repository)?;
    let file = place(context, arguments, &id)?;
    write_new(&file, &yaml)?;
    tell(context, &file, &repository, &yaml)
}

/// Reads a repository for a contract.
pub(crate) fn draft(context: &Context, repository: &Path) -> Result<ContractDraft, CommandError> {
    draft_contract(repository, &machine_tools(context)).map_err(|error| no_draft(repository, &error))
}

/// The words of the person: from a flag, a file, or their terminal.
fn brief(context: &Context, arguments: &NewArgs) -> Result<String, CommandError> {
    let asked = || {
        let missing = "say what is to be done";
        CommandError::usage(missing).hint("cto new --from \"fix the crash in parse()\", or --issue FILE")
    };
    let text = match (&arguments.from, &arguments.issue) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read_issue(file)?,
        (None, None) if context.output.terminal && io::stdin().is_terminal() => {
            context.output.print_note("What is to be done? ");
            let mut line = String::new();
            io::stdin().lock().take(LONGEST_BRIEF).read_line(&mut line)?;
            line
        }
        (None, None) => return Err(asked()),
    };
    if text.trim().is_empty() {
        return Err(asked());
    }
    Ok(text)
}

fn read_issue(file: &Path) -> Result<String, CommandError> {
    let name = show_controls(&file.display().to_string());
    let failed = |error: &dyn std::fmt::Display| {
        CommandError::usage(format!("cannot read {name}: {error}"))
            .hint("cto new --issue FILE, a text of at most 64 KiB")
    };
    let kind = fs::metadata(file).map_err(|error| failed(&error))?;
    if !kind.is_file() {
        return Err(failed(&"it is not a regular file"));
    }
    if kind.len() > LONGEST_BRIEF {
        return Err(failed(&"it is larger than 64 KiB"));
    }
    let bytes = fs::read(file).map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|_| failed(&"it is not UTF-8 text"))
}

/// File of the contract: the named one, else one in the workspace's contracts, else in the
/// home's. Never in the repository by itself, since an untracked file would make that
/// unclean.
fn place(context: &Context, arguments: &NewArgs, id: &str) -> Result<PathBuf, CommandError> {
    if let Some(file) = &arguments.out {
        return Ok(file.clone());
    }
    let folder = context.config.workspace.as_ref().unwrap_or(&context.config.home).join("contracts");
    let free = (1..100).map(|number| match number {
        1 => folder.join(format!("{id}.yaml")),
        number => folder.join(format!("{id}-{number}.yaml")),
    });
    let mut free = free.filter(|file| !file.exists());
    free.next().ok_or_else(|| {
        let folder = show_controls(&folder.display().to_string());
        CommandError::usage(format!("{folder} has a hundred contracts of this name")).hint("cto new --out FILE")
    })
}

fn write_new(file: &Path, yaml: &str) -> Result<(), CommandError> {
    let failed = |error: io::Error| {
        let name = show_controls(&file.display().to_string());
        CommandError::usage(format!("cannot write {name}: {error}"))
            .hint("cto new --out FILE, a file that is not there yet")
    };
    if let Some(parent) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut made = fs::OpenOptions::new().write(true).create_new(true).open(file).map_err(failed)?;
    made.write_all(yaml.as_bytes()).map_err(failed)
}

fn tell(context: &Context, file: &Path, repository: &Path, yaml: &str) -> Result<u8, CommandError> {
    let output = context.output;
    let path = file.display().to_string();
    let run = shell_words::join(["cto", "run", &path]);
    if output.json {
        output.print_json(&json!({"contract": yaml, "next": run, "path": path}))?;
        return Ok(0);
    }
    let inside = std::path::absolute(file)?.starts_with(repository);
    if inside {
        output.print_note(
            "the file lies in the repository: commit it or ignore it, else the run starts from an unclean tree\n",
        );
    }
    let next = output.paint.dim("next");
    let command = output.paint.command(&show_controls(&format!("{run} --engine ENGINE")));
    output.print(&format!(
        "made {}\n\n{}\n{next}  {command}\n",
        show_controls(&path),
        contract::text::shown_lines(yaml)
    ));
    Ok(0)
}
