//! Lines of a file of a bundle: windows and search on the server, with a permanent address
//! for each line.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::ansi::{ColouredText, colour_line};
use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::source::{LogAsked, LogWindow};
use crate::state::ConsoleState;

/// Longest text that is searched for.
const LONGEST_SEARCH: usize = 200;

/// Query of a log: file, line and search text.
#[derive(Debug, Deserialize)]
pub(crate) struct LogQuery {
    pub(crate) name: String,
    #[serde(default)]
    line: u64,
    #[serde(default)]
    q: String,
}

impl LogQuery {
    /// Bounded question for the source.
    pub(crate) fn asked(&self) -> LogAsked {
        LogAsked { line: self.line, search: self.q.chars().take(LONGEST_SEARCH).collect() }
    }
}

#[derive(Template)]
#[template(path = "log.html")]
struct LogPage {
    frame: Frame,
    reference: String,
    search: String,
    lines: Vec<(u64, Vec<ColouredText>)>,
    window: LogWindow,
}

/// Window of a file of a bundle.
pub(crate) async fn log_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
    Query(query): Query<LogQuery>,
) -> Response {
    let (asked, name, run) = (query.asked(), query.name, reference.clone());
    let search = asked.search.clone();
    match state.ask_source(move |source| source.read_log(&run, &name, &asked)).await {
        Ok(window) => {
            let lines = window.lines.iter().map(|(number, line)| (*number, colour_line(line))).collect();
            let frame = Frame::new(&state, &viewer, "/runs", window.name.clone());
            html_page(StatusCode::OK, &LogPage { frame, reference, search, lines, window })
        }
        Err(error) => error_response(&state, &viewer, error),
    }
}
