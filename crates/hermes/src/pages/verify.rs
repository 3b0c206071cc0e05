//! Verification of a bundle, made when it is asked for.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use contract::text::show_controls;
use views::VerifyResult;

use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::state::ConsoleState;

#[derive(Template)]
#[template(path = "verify.html")]
struct VerifyPage {
    frame: Frame,
    reference: String,
    word: &'static str,
    errors: Vec<(String, String)>,
    command: String,
    result: Arc<VerifyResult>,
}

/// Verifies the bundle now and shows the checks that do not hold.
pub(crate) async fn verify_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
) -> Response {
    let asked = reference.clone();
    let result = match state.ask_source(move |source| source.verify_run(&asked)).await {
        Ok(result) => result,
        Err(error) => return error_response(&state, &viewer, error),
    };
    let reference = show_controls(&reference);
    let errors = result.errors.iter().map(|error| {
        let line = error.line.map_or_else(String::new, |line| format!(", line {line}"));
        let text = format!("{}{line}: expected {}, found {}", error.file, error.expected, error.found);
        (show_controls(&error.check), show_controls(&text))
    });
    let page = VerifyPage {
        frame: Frame::new(&state, &viewer, "/runs", "Verify"),
        word: if result.ok { "pass" } else { "fail" },
        command: format!("cto verify {reference}"),
        errors: errors.collect(),
        reference,
        result,
    };
    html_page(StatusCode::OK, &page)
}
