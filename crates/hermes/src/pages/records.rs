//! The workspace: its records with their signers, the findings about them, and the board, a
//! part at a time.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::source::{BoardFacts, RecordFacts, SourceError};
use crate::state::ConsoleState;

/// Query of the workspace page.
#[derive(Debug, Deserialize)]
pub(crate) struct RecordsQuery {
    /// Items of the board before those that are shown.
    #[serde(default)]
    from: usize,
}

#[derive(Template)]
#[template(path = "records.html")]
struct RecordsPage {
    frame: Frame,
    records: Vec<RecordFacts>,
    board: BoardFacts,
    /// Start of the previous part.
    before: Option<usize>,
    behind: Option<usize>,
}

/// Records, findings and board of the workspace.
pub(crate) async fn records_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Query(RecordsQuery { from }): Query<RecordsQuery>,
) -> Response {
    let asked =
        state.ask_source(move |source| Ok::<_, SourceError>((source.list_records()?, source.view_board(from)?))).await;
    match asked {
        Ok((records, board)) => {
            let frame = Frame::new(&state, &viewer, "/records", "Records");
            let behind = Some(from.saturating_add(board.items.len())).filter(|next| *next < board.total);
            let before = (from > 0).then(|| from.saturating_sub(BoardFacts::MOST_ITEMS));
            html_page(StatusCode::OK, &RecordsPage { frame, records, board, before, behind })
        }
        Err(error) => error_response(&state, &viewer, error),
    }
}
