//! `cto diff`: the patch of a run.

use contract::paths::PathVerdict;
use contract::text::shown_lines;
use contract::{Decision, TaskContract};
use evidence::names;
use evidence::patch::changed_paths;
use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

/// Prints the patch of a verified bundle, or its protected or outside part.
pub(crate) fn diff(context: &Context, run: &str, protected: bool, outside: bool) -> Result<u8, CommandError> {
    let (found, bound) = context.bind_named(run)?;
    let read = |name: &str| {
        let hint = format!("cto verify {}", found.id);
        bound
            .read_file(name)
            .map_err(|error| CommandError::fail(format!("{name} of {} cannot be read: {error}", found.id)).hint(hint))
    };
    let patch = read(names::PATCH)?;
    let contract: TaskContract = serde_json::from_slice(&read(names::CONTRACT)?)?;
    let decision: Decision = serde_json::from_slice(&read(names::DECISION)?)?;
    let rules = decision.path_rules(&contract).map_err(CommandError::fail)?;
    let wanted = |path: &[u8]| {
        let verdict = rules.judge_path(path);
        let all = !protected && !outside;
        all || (protected && rules.is_protected(path))
            || (outside && matches!(verdict, PathVerdict::Outside | PathVerdict::Forbidden))
    };
    let kept: Vec<&[u8]> = sections(&patch)
        .into_iter()
        .filter(|section| {
            let is_wanted = changed_paths(section).is_ok_and(|paths| paths.iter().all(|path| wanted(path)));
            is_wanted || (outside && is_leaving_link(section))
        })
        .collect();
    let output = context.output;
    if output.json {
        let files: Vec<String> = changed_paths(&patch)
            .map_err(CommandError::fail)?
            .iter()
            .map(|path| contract::text::path_text(path))
            .collect();
        output.print_json(
            &json!({"changed_files": files, "patch": String::from_utf8_lossy(&kept.concat()), "run_id": found.id}),
        )?;
    } else if kept.is_empty() && !patch.is_empty() {
        output.print_note(&format!("no file of the patch is of that kind; see all of it: cto diff {}\n", found.id));
    } else if output.terminal {
        output.print(&painted(output, &kept.concat()));
    } else {
        output.print_bytes(&kept.concat());
    }
    Ok(0)
}

/// True for a link whose target is outside of the repository, wherever the link itself is.
fn is_leaving_link(section: &[u8]) -> bool {
    let text = String::from_utf8_lossy(section);
    let (head, body) = text.split_once("\n@@").unwrap_or((&text, ""));
    let is_link = head.lines().any(|line| line.contains("mode 120000") || line.ends_with(" 120000"));
    let target = body.lines().find_map(|line| line.strip_prefix('+')).filter(|_| is_link);
    let depth =
        changed_paths(section).ok().and_then(|paths| Some(paths.last()?.iter().filter(|it| **it == b'/').count()));
    let (Some(target), Some(depth)) = (target, depth) else { return false };
    let mut left = i64::try_from(depth).unwrap_or(i64::MAX);
    let leaves = target.split('/').any(|part| {
        left += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        left < 0
    });
    target.starts_with('/') || leaves
}

/// The patch cut before each header.
pub(super) fn sections(patch: &[u8]) -> Vec<&[u8]> {
    let header = b"diff --git ";
    let mut starts: Vec<usize> = (0..patch.len())
        .filter(|at| patch[*at..].starts_with(header) && (*at == 0 || patch[*at - 1] == b'\n'))
        .collect();
    starts.push(patch.len());
    starts.windows(2).map(|pair| &patch[pair[0]..pair[1]]).collect()
}

fn painted(output: Output, patch: &[u8]) -> String {
    let text = shown_lines(&String::from_utf8_lossy(patch));
    if text.is_empty() {
        return "nothing changed\n".to_owned();
    }
    let paint = |line: &str| match line.as_bytes().first() {
        Some(b'+') => output.paint.like(contract::Status::Pass, line),
        Some(b'-') => output.paint.like(contract::Status::Fail, line),
        Some(b'@') => output.paint.command(line),
        _ => line.to_owned(),
    };
    text.lines().map(|line| paint(line) + "\n").collect()
}
