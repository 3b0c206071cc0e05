//! Runs side by side.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use contract::text::show_controls;
use serde::Deserialize;
use views::{Lane, LaneComparison};

use super::Frame;
use super::text::{millis_text, money_text};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::state::ConsoleState;

/// Runs that are compared at most.
const MOST_RUNS: usize = 12;

/// Query of the comparison.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CompareQuery {
    #[serde(default)]
    runs: String,
}

impl CompareQuery {
    /// Named runs, bounded in number.
    pub(crate) fn references(&self) -> Vec<String> {
        self.runs.split([' ', ',']).filter(|name| !name.is_empty()).take(MOST_RUNS).map(str::to_owned).collect()
    }
}

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage {
    frame: Frame,
    asked: String,
    problem: Option<String>,
    lanes: Vec<Lane>,
    rows: Vec<LaneRow>,
}

struct LaneRow {
    label: &'static str,
    is_status: bool,
    cells: Vec<String>,
}

/// Runs side by side.
pub(crate) async fn compare_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Query(query): Query<CompareQuery>,
) -> Response {
    let references = query.references();
    let (comparison, problem) = match references.len() {
        0 => (None, None),
        _ => match state.ask_source(move |source| source.compare_runs(&references)).await {
            Ok(comparison) => (Some(comparison), None),
            Err(error) => (None, Some(error.text)),
        },
    };
    let frame = Frame::new(&state, &viewer, "/compare", "Compare");
    let rows = comparison.as_ref().map(rows_of).unwrap_or_default();
    let lanes = comparison.map(|comparison| comparison.lanes).unwrap_or_default();
    html_page(StatusCode::OK, &ComparePage { frame, asked: query.runs, problem, lanes, rows })
}

fn rows_of(comparison: &LaneComparison) -> Vec<LaneRow> {
    let lanes = &comparison.lanes;
    let per_pass = |lane| comparison.cost_per_pass(lane).map_or_else(|| "–".to_owned(), money_text);
    let accepted =
        LaneRow { label: "Cost per accepted change", is_status: false, cells: lanes.iter().map(per_pass).collect() };
    let row = |label, get: fn(&Lane) -> String| LaneRow {
        label,
        is_status: label == "Status",
        cells: lanes.iter().map(get).collect(),
    };
    vec![
        row("Status", |lane| lane.status.to_string()),
        row("Why", |lane| Some(lane.why_text()).filter(|why| !why.is_empty()).unwrap_or_else(|| "–".to_owned())),
        row("Run", |lane| lane.run_id.as_ref().map_or_else(|| "–".to_owned(), |run| run.suffix().to_owned())),
        row("Task", |lane| lane.task_id.as_ref().map_or_else(|| "–".to_owned(), ToString::to_string)),
        row("Stage", |lane| lane.stage.map_or_else(|| "–".to_owned(), |stage| stage.to_string())),
        row("Took", |lane| lane.duration_ms.map_or_else(|| "–".to_owned(), millis_text)),
        row("Files changed", |lane| lane.changed_files.to_string()),
        row("Tests", |lane| {
            lane.tests.map_or_else(|| "–".to_owned(), |tests| format!("{}/{}", tests.passed, tests.executed))
        }),
        row("Requests", |lane| lane.used.map_or_else(|| "–".to_owned(), |used| used.requests.to_string())),
        row("Tokens", |lane| lane.used.map_or_else(|| "–".to_owned(), |used| used.tokens.to_string())),
        row("Cost", |lane| {
            lane.used.map_or_else(|| "–".to_owned(), |used| used.cost().map_or("unpriced".to_owned(), money_text))
        }),
        accepted,
        row("Claims contradicted", |lane| format!("{} of {}", lane.claims_contradicted, lane.claims)),
        row("Remedy", |lane| lane.remedy.as_deref().map_or_else(|| "–".to_owned(), show_controls)),
    ]
}
