//! Task and change for a person: the brief, the files with their added and removed lines, and what the patch does not carry.

use std::fmt::Write as _;

use contract::report::{CHANGED_FILES, Report};
use serde::Deserialize;

use super::foreign::{code, code_block, code_items, fold, items};
use super::{count, names};
use crate::patch::{PatchStat, patch_stats};

/// Files that are listed in the open.
const UNFOLDED: usize = 20;

/// The part of a contract that a reader of its report needs.
#[derive(Deserialize)]
struct AskedTask {
    brief: String,
}

// Writing to a String cannot fail, so the results of `write!` below are dropped.

/// Writes the task's title and brief from the contract.
pub(super) fn write_task(out: &mut String, report: &Report, contract: &[u8]) {
    let Ok(AskedTask { brief }) = serde_json::from_slice(contract) else { return };
    let _ = writeln!(out, "\n### What was asked\n\n{}", code_block(&brief));
    if !report.success_criteria.is_empty() {
        let _ = writeln!(out, "\nIt succeeds when:\n");
        code_items(out, &report.success_criteria);
    }
}

/// Writes the diffstat: each changed file with added and removed lines.
pub(super) fn write_change(out: &mut String, report: &Report, patch: &[u8]) {
    let _ = writeln!(out, "\n### What changed\n");
    match report.not_applicable.get(CHANGED_FILES) {
        Some(why) => drop(writeln!(out, "Not known: {}.", code(why))),
        None if report.changed_files.is_empty() => drop(writeln!(out, "Nothing. `{}` is empty.", names::PATCH)),
        None => write_files(out, report, patch),
    }
    for (title, paths) in [
        ("Left behind: the patch cannot carry it", &report.dirty_paths),
        ("Left behind: ignored by the baseline's own rules", &report.litter),
    ] {
        if !paths.is_empty() {
            fold(out, title, |out| code_items(out, paths));
        }
    }
}

fn write_files(out: &mut String, report: &Report, patch: &[u8]) {
    let stats = patch_stats(patch);
    let (added, removed) = stats.iter().fold((0, 0), |sum, it| (sum.0 + it.added, sum.1 + it.removed));
    let files = report.changed_files.len();
    let _ = writeln!(out, "{}, +{added} \u{2212}{removed}", count(files, "file", "files"));
    let of = |path: &String| match stats.iter().find(|stat| stat.path == *path) {
        Some(stat) => format!("{} {}{}", code(path), lines_of(stat), mark_of(stat)),
        None => code(path),
    };
    let lines: Vec<String> = report.changed_files.iter().take(super::foreign::LISTED).map(of).collect();
    let more = files - lines.len();
    let list = |out: &mut String| {
        items(out, &lines);
        if more > 0 {
            let _ = writeln!(out, "- and {more} more");
        }
    };
    if files > UNFOLDED {
        fold(out, "Files", list);
    } else {
        out.push('\n');
        list(out);
    }
    let inside = if report.allowed_writes_passed {
        "All inside the allowed paths."
    } else {
        "Not all inside the allowed paths."
    };
    let _ = writeln!(out, "\n{inside}");
}

fn lines_of(stat: &PatchStat) -> String {
    match stat.is_binary {
        true => "binary".to_owned(),
        false => format!("+{} \u{2212}{}", stat.added, stat.removed),
    }
}

/// Deletions and permissions, which counts of lines do not show.
fn mark_of(stat: &PatchStat) -> String {
    stat.mark.map_or_else(String::new, |mark| format!(", **{}**", mark.words()))
}
