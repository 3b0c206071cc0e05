//! Figures for Prometheus, and liveness.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use contract::Status;
use views::{ControlSummary, RungStatus};

use crate::respond::{json_document, with_body};
use crate::source::QueueFacts;
use crate::state::ConsoleState;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers that the server lives, and reveals nothing else.
pub(crate) async fn liveness() -> Response {
    with_body(StatusCode::OK, "text/plain; charset=utf-8", "no-store", b"ok\n".to_vec())
}

/// Figures in the text format of Prometheus.
pub(crate) async fn figures(State(state): State<Arc<ConsoleState>>) -> Response {
    let viewers = state.live.count_viewers();
    match state.ask_source(|source| Ok((source.compose_summary()?, source.view_queue()?))).await {
        Ok((summary, queue)) => {
            let text = write_figures(&summary, viewers) + &write_queue(&queue);
            with_body(StatusCode::OK, TEXT, "no-store", text.into_bytes())
        }
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

/// Figures of the queue and of its workers.
fn write_queue(queue: &QueueFacts) -> String {
    let mut text = String::new();
    let _ =
        writeln!(text, "# HELP cto_queue_runs Waiting and active entries of the queue.\n# TYPE cto_queue_runs gauge");
    for (state, runs) in [("queued", queue.waiting), ("claimed", queue.claimed), ("started", queue.started)] {
        let _ = writeln!(text, "cto_queue_runs{{state=\"{state}\"}} {runs}");
    }
    let about = [
        ("cto_queue_leases_lapsed", "Leases that have lapsed.", queue.lapsed),
        ("cto_queue_late_steps", "Late steps of the last week, at most 20.", queue.late.len() as u64),
    ];
    for (name, about, value) in about {
        let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} gauge\n{name} {value}");
    }
    let _ = writeln!(
        text,
        "# HELP cto_worker_runs Claimed and started entries of the queue by home.\n# TYPE cto_worker_runs gauge"
    );
    for worker in &queue.workers {
        let _ = writeln!(text, "cto_worker_runs{{home=\"{}\"}} {}", label(&worker.home), worker.runs);
    }
    text
}

/// Value escaped for quotation marks.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
