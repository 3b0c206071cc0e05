//! `cto approvals`: requests, newest first, with state and age.

use std::fmt::Write as _;

use contract::TaskId;
use contract::text::show_controls;
use harness::{People, Policies};
use views::{RequestQuery, RequestRules, RequestState, RequestSummary};

use crate::approvals_view::{PAST_POLICY, age_text};
use crate::args::ApprovalsArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

/// Lists requests with their states.
pub(crate) fn approvals(context: &Context, arguments: &ApprovalsArgs) -> Result<u8, CommandError> {
    let task_id = arguments.task.clone().map(TaskId::try_from).transpose().map_err(CommandError::usage)?;
    let (views, now) = context.look()?;
    let people = People::read_lists(&context.config.records)?;
    let policies = Policies::read_files(&context.config.records)?;
    let rules = RequestRules {
        standing: &|key, namespace, at| people.judge_key(key, namespace, at),
        terms: &|stage, target| policies.terms(stage, target),
    };
    let query = RequestQuery {
        task_id,
        open_only: arguments.open,
        cursor: arguments.before.clone(),
        limit: usize::try_from(arguments.limit).unwrap_or(usize::MAX),
    };
    let page = views.list_requests(&query, &rules, now)?;
    let output = context.output;
    if output.json {
        output.print_json(&page)?;
        return Ok(0);
    }
    let mut text = String::new();
    if page.requests.is_empty() && output.terminal {
        text.push_str("nothing was requested\n");
    }
    for request in &page.requests {
        text.push_str(&if output.terminal { row(output, request) } else { line(request) });
    }
    if let Some(next) = &page.next {
        let _ = writeln!(text, "next cto approvals --before {next}");
    }
    output.print(&text);
    Ok(0)
}

fn state(request: &RequestSummary) -> String {
    match &request.consumed_by {
        Some(by) => {
            let status = by.status.map_or("running", contract::Status::as_str);
            format!("used by {} {status}", by.run_id.suffix())
        }
        None => request.state.as_str().to_owned(),
    }
}

fn row(output: Output, request: &RequestSummary) -> String {
    let paint = output.paint;
    let state = format!("{:<20}", state(request));
    let state = match request.state {
        RequestState::Approved => paint.like(contract::Status::Pass, &state),
        RequestState::Denied | RequestState::Revoked => paint.like(contract::Status::Fail, &state),
        RequestState::Held | RequestState::Expired => paint.like(contract::Status::Blocked, &state),
        RequestState::Open | RequestState::Used => state,
    };
    let target = request.target.as_deref().map_or_else(|| "?".to_owned(), show_controls);
    let glass = if request.break_glass { format!("  {}", paint.break_glass(PAST_POLICY)) } else { String::new() };
    format!(
        "{:<9} {state} {:>7}  {}/{}  stage {}  {}  {}{glass}\n",
        request.request,
        age_text(request.age_seconds),
        request.approvals,
        request.approvals_required,
        request.stage,
        request.task_id,
        paint.dim(&target)
    )
}

fn line(request: &RequestSummary) -> String {
    let by = request.consumed_by.as_ref().map_or_else(String::new, |by| {
        format!(" used_by={} result={}", by.run_id, by.status.map_or("running", contract::Status::as_str))
    });
    let glass = if request.break_glass { " break_glass=true" } else { "" };
    format!(
        "{} {} age={} task={} stage={} approvals={}/{} expires_at={} digest={}{by}{glass}\n",
        request.request,
        request.state.as_str(),
        request.age_seconds,
        request.task_id,
        request.stage,
        request.approvals,
        request.approvals_required,
        request.expires_at,
        request.request_digest,
    )
}
