//! Model use with the limits of a day.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use contract::text::show_controls;
use views::SpendRow;

use super::text::{money_text, number_text};
use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::source::SpendFacts;
use crate::state::ConsoleState;

#[derive(Template)]
#[template(path = "spend.html")]
struct SpendPage {
    frame: Frame,
    limits: Vec<(&'static str, String, String)>,
    rows: Vec<SpendText>,
    facts: SpendFacts,
}

/// Row of model use, ready to be shown.
pub(super) struct SpendText {
    pub(super) day: String,
    pub(super) engine: String,
    pair: String,
    pub(super) runs: String,
    pub(super) requests: String,
    pub(super) tokens: String,
    pub(super) money: String,
}

/// Model use by day.
pub(crate) async fn spend_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
) -> Response {
    match state.ask_source(|source| source.view_spend()).await {
        Ok(facts) => {
            let frame = Frame::new(&state, &viewer, "/spend", "Spend");
            let rows = facts.rows.iter().rev().map(SpendText::of_row).collect();
            html_page(StatusCode::OK, &SpendPage { frame, limits: limits_of(&facts), rows, facts })
        }
        Err(error) => error_response(&state, &viewer, error),
    }
}

impl SpendText {
    /// Texts of one row of model use.
    pub(super) fn of_row(row: &SpendRow) -> Self {
        let open = if row.open_runs > 0 { format!(", {} not settled", row.open_runs) } else { String::new() };
        Self {
            day: row.day.clone(),
            engine: row.engine.as_deref().map_or_else(|| "unknown".to_owned(), show_controls),
            pair: show_controls(&row.pair),
            runs: format!("{}{open}", row.runs),
            requests: number_text(row.requests),
            tokens: number_text(row.tokens),
            money: money_text(row.money_micros),
        }
    }
}

/// Each limit with what is used and left today.
fn limits_of(facts: &SpendFacts) -> Vec<(&'static str, String, String)> {
    let today = |get: fn(&SpendRow) -> u64| {
        facts.rows.iter().filter(|row| row.day == facts.today).map(get).fold(0_u64, u64::saturating_add)
    };
    let line = |label, limit: Option<u64>, used: u64, text: fn(u64) -> String| match limit {
        Some(limit) => {
            (label, format!("{} of {}", text(used), text(limit)), format!("{} left", text(limit.saturating_sub(used))))
        }
        None => (label, text(used), "not limited".to_owned()),
    };
    vec![
        line("Requests", facts.limit_requests, today(|row| row.requests), number_text),
        line("Tokens", facts.limit_tokens, today(|row| row.tokens), number_text),
        line("Money", facts.limit_money_micros, today(|row| row.money_micros), money_text),
    ]
}
