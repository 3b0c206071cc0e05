//! `cto guard`: the Core workspace looked at, read only, before anybody may ask for a route.

mod processes;
mod trees;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use contract::core_route::{CoreWorktree, GuardReport, GuardStatus, SequenceRoute, WorktreeState};
use contract::text::show_controls;
use gate::core_route::{CoreFacts, judge_guard};
use tree::{Git, SourceRepository};

use self::processes::find_processes;
use self::trees::{describe_tree, unreadable};
use super::promotion::compose_from_workspace;
use crate::config::CoreFile;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

/// Far more bytes than a route needs.
const LARGEST_ROUTE: u64 = 1 << 20;

/// Checks the Core workspace without changing it.
pub(crate) fn check_core(context: &Context, core: Option<&Path>) -> Result<u8, CommandError> {
    let mut settings = context.config.core.clone();
    if let Some(core) = core {
        settings.path = Some(std::path::absolute(core)?);
    }
    let Some(path) = settings.path.clone() else {
        let hint = "cto guard --core DIR, or core: {path: DIR} in harness.yaml";
        return Err(CommandError::usage("no Core workspace is named").hint(hint));
    };
    let is_ready = match &context.config.workspace {
        Some(_) => compose_from_workspace(context)?.ready_for_core_review,
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
    let git = Git::find_git(&context.config.tools.operator_path)
        .map_err(|error| CommandError::blocked_with(error).hint("cto doctor"))?;
    // The kernel gives folders of processes without links and `..`, so roots have none either.
    let root = canonical(path);
    let source = SourceRepository::open_repository(&root).ok();
    let main = source.as_ref().map(|source| describe_tree(&git, source, false));
    let mut uncertainties = source.as_ref().map(list_owner_problems).unwrap_or_default();
    let mut worktrees = Vec::new();
    let mut roots = vec![root];
    let mut look_at = |place: &Path, is_locked: bool| {
        let place = canonical(place);
        let tree = describe_place(&git, &place, is_locked, &mut uncertainties);
        roots.push(place);
        worktrees.push(tree);
    };
    let mut unlisted = Vec::new();
    match source.as_ref().map(SourceRepository::list_worktrees) {
        Some(Ok(listed)) => listed.iter().for_each(|tree| match &tree.path {
            Some(place) => look_at(place, tree.is_locked),
            None => unlisted.push(unreadable(&tree.name, tree.is_locked)),
        }),
        Some(Err(error)) => unlisted.push(unreadable(&format!("worktrees: {error}"), false)),
        None => {}
    }
    settings.worktrees.iter().for_each(|place| look_at(place, false));
    worktrees.extend(unlisted);
    let conflicts = find_conflicts(&settings.conflicts, main.as_ref(), &worktrees);
    let processes = find_processes(&roots);
    uncertainties.extend(processes.uncertain);
    Ok(CoreFacts {
        core_path: path.display().to_string(),
        main,
        uncertainties,
        worktrees,
        sequence_route: read_route(settings.sequence_route.as_deref()),
        validation_processes: processes.validations,
        conflicts,
    })
}

/// The path without links and `..`; as it was given where it cannot be looked at.
fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Names the owner of a tree that belongs to another user.
fn list_owner_problems(source: &SourceRepository) -> Vec<String> {
    let place = source.root().display();
    match source.other_owners() {
        Ok(owners) => owners.iter().map(|uid| format!("{place} belongs to the user {uid}")).collect(),
        Err(error) => vec![format!("the owner of {place} is unknown: {error}")],
    }
}

/// A work tree that is not there is gone only if the folders above it say so.
fn describe_place(git: &Git, place: &Path, locked: bool, uncertainties: &mut Vec<String>) -> CoreWorktree {
    let shown_path = place.display().to_string();
    match fs::symlink_metadata(place) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return CoreWorktree { state: WorktreeState::Gone, ..unreadable(&shown_path, locked) };
        }
        Err(_) => return unreadable(&shown_path, locked),
    }
    match SourceRepository::open_repository(place) {
        Ok(source) => {
            uncertainties.extend(list_owner_problems(&source));
            describe_tree(git, &source, locked)
        }
        Err(_) => unreadable(&shown_path, locked),
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
        // A path that cannot be looked at may be there.
        in_tree || (name.starts_with('/') && Path::new(name).try_exists().unwrap_or(true))
    };
    named.iter().filter(is_there).cloned().collect()
}

/// The route's file says `status: idle`, or `route: none`, or names the route that is
/// worked on. A file that says both is uncertain.
fn read_route(path: Option<&Path>) -> SequenceRoute {
    let Some(path) = path else { return SequenceRoute::NotConfigured };
    let read = fs::metadata(path).and_then(|stat| match stat.len() > LARGEST_ROUTE || !stat.is_file() {
        true => Err(std::io::Error::other("it is no small file")),
        false => fs::read_to_string(path),
    });
    match read {
        Ok(text) => judge_route(&text),
        Err(error) => SequenceRoute::Unreadable(error.to_string()),
    }
}

fn judge_route(text: &str) -> SequenceRoute {
    let said: Vec<String> = text.lines().filter_map(read_route_line).collect();
    let is_idle = |value: &String| ["idle", "none", "-"].contains(&value.as_str());
    match (said.iter().find(|value| !is_idle(value)), said.iter().any(is_idle)) {
        (Some(route), true) => SequenceRoute::Unreadable(format!("it says idle, and it says {route}")),
        (Some(route), false) => SequenceRoute::Active(route.clone()),
        (None, true) => SequenceRoute::Idle,
        (None, false) => SequenceRoute::Unreadable("it has no line `status:` or `route:`".to_owned()),
    }
}

/// Value of a line that says which route is worked on.
fn read_route_line(line: &str) -> Option<String> {
    let bare = line.trim().trim_start_matches(['-', '*', '#', ' ']);
    let (label, value) = bare.split_once(':')?;
    let label = label.trim().trim_matches(['`', '*']).to_lowercase().replace([' ', '-'], "_");
    let is_route =
        ["status", "route", "current_route", "current_sequence_route", "sequence_route"].contains(&label.as_str());
    is_route.then(|| value.trim().trim_matches(['`', '.', '"', '*', ' ']).to_lowercase())
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
        let branch = show_controls(tree.branch.as_deref().unwrap_or("-"));
        out.push_str(&format!("worktree {} {branch} {}\n", word_of(tree.state), show_controls(&tree.path)));
    }
    report.uncertainties.iter().for_each(|text| out.push_str(&format!("uncertain {}\n", show_controls(text))));
    for process in &report.validation_processes {
        out.push_str(&format!("process {} {}\n", process.pid, show_controls(&process.command)));
    }
    report.conflicts.iter().for_each(|name| out.push_str(&format!("conflict {}\n", show_controls(name))));
    out.push_str(&format!("{} {}\n", output.paint.dim("next"), word_of(report.next_allowed_action)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_idle_only_where_every_line_says_so() {
        let uncertain = |text: &str| SequenceRoute::Unreadable(text.to_owned());
        for (text, expected) in [
            ("status: idle\n", SequenceRoute::Idle),
            ("# Route\n- **Current sequence route**: `none`.\nstatus: idle\n", SequenceRoute::Idle),
            ("status: core-prd-7\n", SequenceRoute::Active("core-prd-7".to_owned())),
            ("status: none\ncurrent_sequence_route: CORE-PRD-7\n", uncertain("it says idle, and it says core-prd-7")),
            ("route: CORE-PRD-7\nstatus: idle\n", uncertain("it says idle, and it says core-prd-7")),
            ("nothing\n", uncertain("it has no line `status:` or `route:`")),
        ] {
            assert_eq!(judge_route(text), expected, "{text}");
        }
    }
}
