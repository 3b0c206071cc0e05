//! `cto take`: a verified patch on a new branch of one's own repository.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use contract::Status;
use contract::remedy::fill_places;
use contract::text::{shell_word, show_controls};
use harness::{TakeAsk, TakeError, TookPatch};
use serde_json::json;

use crate::args::TakeArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::operator::git_configuration;
use crate::output::{Output, count_text, duration};

/// Puts a verified patch on a new branch.
pub(crate) fn take_patch(context: &Context, arguments: &TakeArgs) -> Result<u8, CommandError> {
    let began = Instant::now();
    let (found, bundle) = context.bind_run(&arguments.run)?;
    if found.signer.is_some() && arguments.repo.is_none() {
        let message = format!("{} was made in another home: its path may name another repository here", found.id);
        return Err(CommandError::blocked_with(message).hint(format!("cto take {} --repo DIR", found.id)));
    }
    let harness = context.harness_at(&context.config.place())?;
    let git_configuration = git_configuration();
    let ask = TakeAsk {
        bundle: &bundle,
        repository: arguments.repo.as_deref(),
        branch: arguments.branch.clone(),
        author: arguments.author.clone(),
        git_configuration: &git_configuration,
    };
    let took = harness::take_run(&harness, ask).map_err(|error| refused(&error, &arguments.run))?;
    if context.output.json {
        context.output.print_json(&document(&took))?;
    } else {
        context.output.print(&view(context.output, &took, began.elapsed()));
    }
    Ok(0)
}

fn refused(error: &TakeError, run: &str) -> CommandError {
    CommandError::blocked_with(error).hint(show_controls(&fill_places(error.remedy(), run, "TASK")))
}

fn document(took: &TookPatch) -> serde_json::Value {
    let mut document = json!(took.taken);
    document["status"] = json!(Status::Pass);
    document["was_there"] = json!(took.was_there);
    document["statement"] = json!(took.statement.as_ref().map(|path| path.display().to_string()));
    document
}

// Writing to a String cannot fail, so the results of `write!` below are dropped.

fn view(output: Output, took: &TookPatch, took_time: Duration) -> String {
    if !output.terminal {
        return lines(took);
    }
    let (paint, taken) = (output.paint, &took.taken);
    let run = taken.run_id.suffix();
    let sentence = match took.was_there {
        true => format!("{run}  is on branch {} already", show_controls(&taken.branch)),
        false => format!("{run}  is on branch {}", show_controls(&taken.branch)),
    };
    let width = 6 + sentence.chars().count();
    let left = format!("{}  {sentence}", paint.paint_status(Status::Pass));
    let mut out = output.headline(&left, width, &duration(took_time));
    out.push('\n');
    if output.quiet {
        return out;
    }
    out.push('\n');
    let mut fact = |label: &str, text: &str| {
        let _ = writeln!(out, "  {} {}", paint.dim(&format!("{label:<10}")), show_controls(text));
    };
    fact("commit", &format!("{} by {}", taken.commit, taken.author));
    fact("on top of", &taken.baseline_commit);
    fact("tree", &format!("{}, as verified; {}", taken.result_tree, count_text(took.files, "file", "files")));
    fact("in", &format!("{}: nothing else there was touched", taken.repository));
    if let Some(statement) = &took.statement {
        fact("recorded", &statement.display().to_string());
    }
    let branch = shell_word(&taken.branch);
    let _ = writeln!(out, "\n{}  {}", paint.dim("next"), paint.command(&format!("git switch {branch}")));
    let _ = writeln!(out, "      {}", paint.command(&format!("git log -1 {branch}")));
    let _ = writeln!(out, "{}  {}", paint.dim("undo"), paint.command(&format!("git branch -D {branch}")));
    out
}

/// The piped form: the first line `<status> <run_id>`.
fn lines(took: &TookPatch) -> String {
    let taken = &took.taken;
    let mut out = format!("pass {}\n", taken.run_id);
    let _ = writeln!(
        out,
        "branch {} {}",
        show_controls(&taken.branch),
        if took.was_there { "there-already" } else { "made" }
    );
    let _ = writeln!(out, "commit {}", taken.commit);
    let _ = writeln!(out, "parent {}", taken.baseline_commit);
    let _ = writeln!(out, "tree {}", taken.result_tree);
    let _ = writeln!(out, "repository {}", show_controls(&taken.repository));
    if let Some(statement) = &took.statement {
        let _ = writeln!(out, "statement {}", show_controls(&statement.display().to_string()));
    }
    let _ = writeln!(out, "next git switch {}", shell_word(&taken.branch));
    let _ = writeln!(out, "undo git branch -D {}", shell_word(&taken.branch));
    out
}
