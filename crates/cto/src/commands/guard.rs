//! `cto guard`: the Core workspace looked at, read only, before anybody may ask for a route.

use std::fs;
use std::path::{Path, PathBuf};

use contract::core_route::{CoreProcess, CoreWorktree, GuardReport, GuardStatus, SequenceRoute, WorktreeState};
use contract::text::shown;
use gate::core_route::{CoreFacts, judge_guard};
use tree::{Git, Source};

use super::promotion::compose;
use crate::config::CoreFile;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

/// Words by which a process is taken for a validation.
const VALIDATION_WORDS: [&str; 8] =
    ["validat", "pytest", "cargo test", "npm test", "go test", "make check", "cto health", "nextest"];
/// Dirty paths that a report names of each work tree.
const NAMED_PATHS: usize = 20;
/// Far more bytes than a route needs.
const LARGEST_ROUTE: u64 = 1 << 20;

/// Checks the Core workspace without changing it.
pub(crate) fn guard(context: &Context, core: Option<&Path>) -> Result<u8, CommandError> {
    let mut settings = context.config.core.clone();
    if let Some(core) = core {
        settings.path = Some(std::path::absolute(core)?);
    }
    let Some(path) = settings.path.clone() else {
        let hint = "cto guard --core DIR, or core: {path: DIR} in harness.yaml";
        return Err(CommandError::usage("no Core workspace is named").hint(hint));
    };
    let is_ready = match &context.config.workspace {
        Some(_) => compose(context)?.ready_for_core_review,
        None => false,
    };
    let report = judge_guard(gather(context, &path, &settings)?, is_ready);
    let output = context.output;
    if output.json {
        output.print_json(&report)?;
    } else {
        output.print(&lines(output, &report));
    }
    Ok(if report.guard_status == GuardStatus::Passed { 0 } else { 3 })
}

fn gather(context: &Context, path: &Path, settings: &CoreFile) -> Result<CoreFacts, CommandError> {
    let git = Git::find(&context.config.tools.operator_path)
        .map_err(|error| CommandError::blocked(error).hint("cto doctor"))?;
    let source = Source::open(path).ok();
    let main = source.as_ref().map(|source| describe_tree(&git, source, false));
    let other_owner = source.as_ref().is_some_and(|source| !matches!(source.other_owner(), Ok(None)));
    let mut worktrees = Vec::new();
    let mut roots = vec![path.to_owned()];
    let listed = source.as_ref().map(Source::list_worktrees);
    let is_unlisted = matches!(listed, Some(Err(_)));
    for tree in listed.and_then(Result::ok).unwrap_or_default() {
        match tree.path {
            Some(place) => {
                worktrees.push(describe_place(&git, &place, tree.is_locked));
                roots.push(place);
            }
            None => worktrees.push(unreadable(&tree.name, tree.is_locked)),
        }
    }
    for place in &settings.worktrees {
        worktrees.push(describe_place(&git, place, false));
        roots.push(place.clone());
    }
    let conflicts = find_conflicts(&settings.conflicts, main.as_ref(), &worktrees);
    Ok(CoreFacts {
        core_path: path.display().to_string(),
        main,
        other_owner: other_owner || is_unlisted,
        worktrees,
        sequence_route: read_route(settings.sequence_route.as_deref()),
        validation_processes: find_processes(&roots),
        conflicts,
    })
}

fn unreadable(path: &str, locked: bool) -> CoreWorktree {
    CoreWorktree {
        path: path.to_owned(),
        branch: None,
        head: None,
        state: WorktreeState::Unreadable,
        locked,
        dirty_paths: Vec::new(),
        unfinished: Vec::new(),
    }
}

fn describe_place(git: &Git, place: &Path, locked: bool) -> CoreWorktree {
    let shown_path = place.display().to_string();
    if fs::symlink_metadata(place).is_err() {
        return CoreWorktree { state: WorktreeState::Gone, ..unreadable(&shown_path, locked) };
    }
    match Source::open(place) {
        Ok(source) => describe_tree(git, &source, locked),
        Err(_) => unreadable(&shown_path, locked),
    }
}

/// The state of a work tree; the index is copied, so that nothing is written there.
fn describe_tree(git: &Git, source: &Source, locked: bool) -> CoreWorktree {
    let path = source.root().display().to_string();
    let looked = tempfile::tempdir().ok().and_then(|scratch| source.status(git, scratch.path()).ok());
    let Some(status) = looked else { return unreadable(&path, locked) };
    let state = match (status.unfinished.is_empty(), status.dirty.is_empty()) {
        (false, _) => WorktreeState::Unfinished,
        (true, false) => WorktreeState::Dirty,
        (true, true) => WorktreeState::Clean,
    };
    let dirty = status.dirty.iter().take(NAMED_PATHS).map(|path| String::from_utf8_lossy(path).into_owned());
    CoreWorktree {
        path,
        branch: source.checked_out().ok().flatten(),
        head: Some(source.head_commit().to_string()),
        state,
        locked,
        dirty_paths: dirty.collect(),
        unfinished: status.unfinished,
    }
}

/// Named conflicts that are there: a branch that is checked out, a path that exists, or a
/// word in a changed path.
fn find_conflicts(named: &[String], main: Option<&CoreWorktree>, worktrees: &[CoreWorktree]) -> Vec<String> {
    let is_there = |name: &&String| {
        let trees = main.into_iter().chain(worktrees);
        let in_tree = trees.into_iter().any(|tree| {
            let is_branch = tree.branch.as_deref() == Some(name.as_str());
            is_branch
                || tree.path.ends_with(name.as_str())
                || tree.dirty_paths.iter().any(|path| path.contains(name.as_str()))
        });
        in_tree || (name.starts_with('/') && Path::new(name).exists())
    };
    named.iter().filter(is_there).cloned().collect()
}

/// The route's file says `status: idle`, or `route: none`, or names the route that is
/// worked on.
fn read_route(path: Option<&Path>) -> SequenceRoute {
    let Some(path) = path else { return SequenceRoute::NotConfigured };
    let read = fs::metadata(path).and_then(|stat| match stat.len() > LARGEST_ROUTE || !stat.is_file() {
        true => Err(std::io::Error::other("it is no small file")),
        false => fs::read_to_string(path),
    });
    let text = match read {
        Ok(text) => text,
        Err(error) => return SequenceRoute::Unreadable(error.to_string()),
    };
    let value = text.lines().find_map(|line| {
        let bare = line.trim().trim_start_matches(['-', '*', '#', ' ']);
        let (label, value) = bare.split_once(':')?;
        let label = label.trim().trim_matches('`').to_lowercase().replace([' ', '-'], "_");
        let is_route =
            ["status", "route", "current_route", "current_sequence_route", "sequence_route"].contains(&label.as_str());
        is_route.then(|| value.trim().trim_matches(['`', '.', '"']).to_lowercase())
    });
    match value.as_deref() {
        Some("idle" | "none" | "-") => SequenceRoute::Idle,
        Some(route) => SequenceRoute::Active(route.to_owned()),
        None => SequenceRoute::Unreadable("it has no line `status:` or `route:`".to_owned()),
    }
}

/// Processes with a word of a validation in their command that work in, or name, one of the
/// trees.
fn find_processes(roots: &[PathBuf]) -> Vec<CoreProcess> {
    let mut found = Vec::new();
    let own = std::process::id();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(bytes) = fs::read(entry.path().join("cmdline")) else { continue };
        let command = String::from_utf8_lossy(&bytes).trim_end_matches('\0').replace('\0', " ");
        let is_validation = VALIDATION_WORDS.iter().any(|word| command.contains(word));
        let works_there = || {
            let folder = fs::read_link(entry.path().join("cwd")).ok();
            folder.is_some_and(|folder| roots.iter().any(|root| folder.starts_with(root)))
        };
        let names_it = || roots.iter().any(|root| command.contains(&root.display().to_string()));
        if pid != own && is_validation && (works_there() || names_it()) {
            found.push(CoreProcess { pid, command: command.chars().take(200).collect() });
        }
    }
    found.sort_by_key(|process| process.pid);
    found
}

fn word_of(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn lines(output: Output, report: &GuardReport) -> String {
    let mut out = format!("{} {}\n", word_of(report.guard_status), word_of(report.core_route_admission_status));
    for reason in &report.blocked_reasons {
        out.push_str(&format!("reason {} {}\n", word_of(reason), reason.sentence()));
    }
    for tree in report.main.iter().chain(&report.worktrees) {
        let branch = shown(tree.branch.as_deref().unwrap_or("-"));
        out.push_str(&format!("worktree {} {branch} {}\n", word_of(tree.state), shown(&tree.path)));
    }
    for process in &report.validation_processes {
        out.push_str(&format!("process {} {}\n", process.pid, shown(&process.command)));
    }
    report.conflicts.iter().for_each(|name| out.push_str(&format!("conflict {}\n", shown(name))));
    out.push_str(&format!("{} {}\n", output.paint.dim("next"), word_of(report.next_allowed_action)));
    out
}
