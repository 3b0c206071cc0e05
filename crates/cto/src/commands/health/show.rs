//! Health for people and for a pipe: a line for each group; each check that does not hold
//! has room below.

use std::fmt::Write as _;

use contract::Status;
use contract::text::show_controls;

use super::group::Group;
use super::{Health, StageCheck};
use crate::output::{Output, wrap};

/// Text for a terminal or a pipe.
pub(super) fn health_text(output: Output, health: &Health, took: &str) -> String {
    if output.terminal { people(output, health, took) } else { lines(output, health, took) }
}

fn held(group: &Group) -> (usize, usize) {
    (group.checks.values().filter(|check| check.passed).count(), group.checks.len())
}

/// Checks that do not hold, and with `-v` all.
fn told(output: Output, group: &Group) -> impl Iterator<Item = (&String, &StageCheck)> {
    group.checks.iter().filter(move |(_, check)| output.verbose || !check.passed)
}

fn lines(output: Output, health: &Health, took: &str) -> String {
    let mut out = format!("{} health {took}\n", health.status);
    for (name, group) in &health.groups {
        let (good, all) = held(group);
        let _ = writeln!(out, "{} {name} {good} of {all} checks hold", group.status);
        for (name, check) in told(output, group) {
            let _ = writeln!(out, "  {name}: {}", show_controls(check.problem().unwrap_or("it holds")));
        }
    }
    out
}

fn people(output: Output, health: &Health, took: &str) -> String {
    let paint = output.paint;
    let (good, all) = health.groups.values().map(held).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let tail = format!("{good} of {all} checks hold");
    let left = format!("{}  {tail}", paint.paint_status(health.status));
    let mut out = output.headline(&left, health.status.as_str().len() + 2 + tail.len(), took);
    out.push_str("\n\n");
    let width = health.groups.keys().map(String::len).max().unwrap_or_default();
    for (name, group) in &health.groups {
        let (good, all) = held(group);
        let word = paint.like(group.status, &format!("{:<7}", group.status.as_str()));
        let _ = writeln!(out, "  {word} {name:<width$}  {good} of {all}");
        for (name, check) in told(output, group) {
            if check.passed {
                let _ = writeln!(out, "          {} {name}", paint.tick());
                continue;
            }
            let _ = writeln!(out, "          {}", paint.like(check.verdict(), name));
            for line in
                wrap(&show_controls(check.problem().unwrap_or("it does not hold")), output.width.saturating_sub(12))
            {
                let _ = writeln!(out, "            {line}");
            }
        }
    }
    if health.status == Status::Blocked {
        let _ = writeln!(out, "\n{}  a check that could not run is not a pass", paint.dim("note"));
    }
    out
}
