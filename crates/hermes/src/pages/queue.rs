//! The queue, its workers with their leases, and steps that came too late.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use contract::text::show_controls;

use super::text::{number_text, time_text};
use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::source::{LateStepFacts, QueueFacts, QueuedFacts, WorkerFacts};
use crate::state::ConsoleState;

/// Characters of a home's digest that tell homes apart for people.
const SHORT_HOME: usize = 12;

#[derive(Template)]
#[template(path = "queue.html")]
struct QueuePage {
    frame: Frame,
    counts: [(&'static str, String); 4],
    workers: Vec<[String; 3]>,
    runs: Vec<QueuedText>,
    late: Vec<[String; 4]>,
}

/// Row of the queue, ready to be shown.
struct QueuedText {
    /// Address of the page of a run that has started.
    href: Option<String>,
    suffix: String,
    task: String,
    engine: String,
    state: String,
    more: String,
    priority: String,
    epoch: String,
    home: String,
}

/// The queue.
pub(crate) async fn queue_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
) -> Response {
    match state.ask_source(|source| source.view_queue()).await {
        Ok(facts) => {
            let frame = Frame::new(&state, &viewer, "/queue", "Queue");
            html_page(StatusCode::OK, &QueuePage::of_facts(frame, &facts))
        }
        Err(error) => error_response(&state, &viewer, error),
    }
}

impl QueuePage {
    fn of_facts(frame: Frame, facts: &QueueFacts) -> Self {
        let counts = [
            ("Waiting", number_text(facts.waiting)),
            ("Claimed", number_text(facts.claimed)),
            ("Started", number_text(facts.started)),
            ("Lapsed leases", number_text(facts.lapsed)),
        ];
        Self {
            frame,
            counts,
            workers: facts.workers.iter().map(describe_worker).collect(),
            runs: facts.runs.iter().map(QueuedText::of_run).collect(),
            late: facts.late.iter().map(describe_late).collect(),
        }
    }
}

impl QueuedText {
    fn of_run(run: &QueuedFacts) -> Self {
        let has_page = matches!(run.state.as_str(), "started" | "sealed");
        let suffix = run.run_id.rsplit('-').next().unwrap_or_default();
        Self {
            href: has_page.then(|| format!("/runs/{}", show_controls(&run.run_id))),
            suffix: show_controls(suffix),
            task: show_controls(&run.task_id),
            engine: show_controls(&run.engine),
            state: show_controls(run.status.map_or(run.state.as_str(), |status| status.as_str())),
            more: describe_wait(run),
            priority: run.priority.to_string(),
            epoch: number_text(run.epoch),
            home: run.home.as_deref().map_or_else(String::new, short_home),
        }
    }
}

/// Describes the reason that a run waits, or the state of its lease.
fn describe_wait(run: &QueuedFacts) -> String {
    let mut parts = Vec::new();
    if run.is_stopping && run.state == "started" {
        parts.push("asked to stop".to_owned());
    }
    if run.has_lapsed {
        parts.push("its lease has lapsed".to_owned());
    } else if let Some(until) = run.lease_until {
        parts.push(format!("lease until {}", time_text(until)));
    }
    if run.state == "queued" {
        parts.extend(run.after.as_ref().map(|after| format!("after {}", show_controls(after))));
        parts.extend(run.not_before.as_ref().map(|time| format!("not before {}", time_text(time))));
        if !run.labels.is_empty() {
            parts.push(format!("labels {}", show_controls(&run.labels.join(", "))));
        }
    }
    parts.join(", ")
}

fn describe_worker(worker: &WorkerFacts) -> [String; 3] {
    let until = worker.lease_until.as_ref().map_or_else(String::new, time_text);
    [short_home(&worker.home), number_text(worker.runs), until]
}

fn describe_late(late: &LateStepFacts) -> [String; 4] {
    [show_controls(&late.time), show_controls(&late.run_id), show_controls(&late.step), number_text(late.epoch)]
}

fn short_home(home: &str) -> String {
    show_controls(&home.chars().take(SHORT_HOME).collect::<String>())
}
