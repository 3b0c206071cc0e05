//! Figures for Prometheus, and liveness.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use contract::Status;
use views::{ControlSummary, RungStatus};

use crate::respond::{json_document, with_body};
use crate::state::ConsoleState;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers that the server lives, and reveals nothing else.
pub(crate) async fn liveness() -> Response {
    with_body(StatusCode::OK, "text/plain; charset=utf-8", "no-store", b"ok\n".to_vec())
}

/// Figures in the text format of Prometheus.
pub(crate) async fn figures(State(state): State<Arc<ConsoleState>>) -> Response {
    let viewers = state.live.count_viewers();
    match state.ask_source(|source| source.compose_summary()).await {
        Ok(summary) => with_body(StatusCode::OK, TEXT, "no-store", write_figures(&summary, viewers).into_bytes()),
        Err(error) => json_document::<()>(&Err(error)),
    }
}

/// The figures of a summary. Writing to a String cannot fail.
fn write_figures(summary: &ControlSummary, viewers: usize) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, about: &str, value: u64| {
        let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} gauge\n{name} {value}");
    };
    gauge("cto_runs", "Runs in the ledger.", summary.health.total_runs);
    gauge("cto_runs_running", "Runs that go on.", summary.health.running_runs);
    gauge(
        "cto_runs_interrupted",
        "Runs whose process is gone and that are not sealed.",
        summary.health.interrupted_runs,
    );
    gauge("cto_halted", "1 while the kill switch is set.", u64::from(summary.health.halted));
    gauge(
        "cto_healthy",
        "1 if the newest matrix passed and no problem is open.",
        u64::from(summary.health.status == Status::Pass),
    );
    gauge(
        "cto_approval_granted",
        "1 while the newest request is approved or used.",
        u64::from(summary.approval_granted),
    );
    gauge("cto_runtime_default_activation", "Always 0.", u64::from(summary.runtime_default_activation));
    gauge("hermes_live_viewers", "Pages that follow a run.", viewers as u64);
    let _ = writeln!(text, "# HELP cto_rung_validated 1 for a validated rung.\n# TYPE cto_rung_validated gauge");
    for ladder in &summary.ladder {
        let (engine, model) = (label(&ladder.engine), label(ladder.model.as_deref().unwrap_or("")));
        for rung in &ladder.rungs {
            let value = u8::from(rung.status == RungStatus::Validated);
            let stage = rung.stage;
            let _ =
                writeln!(text, "cto_rung_validated{{engine=\"{engine}\",model=\"{model}\",stage=\"{stage}\"}} {value}");
        }
    }
    text
}

/// Value escaped for quotation marks.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
