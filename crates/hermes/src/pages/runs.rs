//! Runs, newest first, a page at a time.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use contract::text::show_controls;
use serde::Deserialize;
use views::{RunPage, RunSummary};

use super::text::millis_text;
use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::source::{RunsAsked, SourceErrorKind};
use crate::state::ConsoleState;

/// Rows of a page.
const ROWS: usize = 50;
/// Longest query that is read.
const LONGEST_QUERY: usize = 400;
/// Ready-made queries.
const FILTERS: &[(&str, &str)] = &[
    ("all", ""),
    ("running", "status:running"),
    ("pass", "status:pass"),
    ("fail", "status:fail"),
    ("blocked", "status:blocked"),
];

/// The question in the address.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RunsQuery {
    #[serde(default)]
    q: String,
    cursor: Option<String>,
}

impl RunsQuery {
    /// Bounded question for the source.
    pub(crate) fn asked(&self) -> RunsAsked {
        let query = self.q.chars().take(LONGEST_QUERY).collect();
        RunsAsked { query, cursor: self.cursor.clone(), limit: ROWS }
    }
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: Frame,
    query: String,
    problem: Option<String>,
    is_later: bool,
    filters: Vec<FilterLink>,
    rows: Vec<RunRowText>,
    page: RunPage,
}

struct FilterLink {
    text: &'static str,
    query: &'static str,
    is_here: bool,
}

struct RunRowText {
    status: &'static str,
    run_id: String,
    suffix: String,
    task: String,
    kind: String,
    answer: String,
    is_past_policy: bool,
    engine: String,
    stage: String,
    why: String,
    tests: String,
    took: String,
    started: String,
    when: String,
}

/// Page of runs.
pub(crate) async fn runs_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Query(query): Query<RunsQuery>,
) -> Response {
    let asked = query.asked();
    let words = asked.query.clone();
    let found = state.ask_source(move |source| source.list_runs(&asked)).await;
    let (page, problem, status) = match found {
        Ok(page) => (page, None, StatusCode::OK),
        Err(error) if error.kind == SourceErrorKind::Invalid => {
            (RunPage { runs: Vec::new(), next: None, total: 0 }, Some(error.text), StatusCode::BAD_REQUEST)
        }
        Err(error) => return error_response(&state, &viewer, error),
    };
    let filters =
        FILTERS.iter().map(|(text, query)| FilterLink { text, query, is_here: *query == words.trim() }).collect();
    let rows = page.runs.iter().map(RunRowText::of).collect();
    let frame = Frame::new(&state, &viewer, "/runs", "Runs");
    let is_later = query.cursor.is_some();
    html_page(status, &RunsPage { frame, query: words, problem, is_later, filters, rows, page })
}

impl RunRowText {
    fn of(run: &RunSummary) -> Self {
        let row = &run.row;
        let started = row.started_at.to_string();
        Self {
            status: if run.interrupted { "interrupted" } else { row.status.as_str() },
            run_id: row.run_id.to_string(),
            suffix: row.run_id.suffix().to_owned(),
            task: row.task_id.to_string(),
            kind: run.kind.map_or_else(String::new, |kind| kind.to_string()),
            answer: run.answer.as_ref().map_or_else(String::new, views::RunAnswer::word),
            is_past_policy: run.break_glass,
            engine: show_controls(&row.engine),
            stage: row.stage.to_string(),
            why: why_text(run),
            tests: match (row.tests_passed, row.tests_executed) {
                (Some(passed), Some(executed)) => format!("{passed}/{executed}"),
                _ => "–".to_owned(),
            },
            took: row.duration_ms.map_or_else(|| "–".to_owned(), millis_text),
            when: started.get(5..16).unwrap_or(&started).replace('T', " "),
            started,
        }
    }
}

fn why_text(run: &RunSummary) -> String {
    match run.row.reasons.as_slice() {
        _ if run.interrupted => "not sealed yet: cto recover".to_owned(),
        _ if run.collected.is_some() => "collected".to_owned(),
        [] => String::new(),
        [one] => one.to_string(),
        [first, more @ ..] => format!("{first} +{}", more.len()),
    }
}
