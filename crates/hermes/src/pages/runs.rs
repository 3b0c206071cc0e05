//! Runs in an order that indexes serve, a page at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use contract::text::{money_text, show_controls};
use serde::Deserialize;
use views::{RunPage, RunSummary};

use super::text::millis_text;
use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::source::{RunListFacts, RunsAsked, SealedSize, SourceErrorKind};
use crate::state::ConsoleState;

/// Rows of a page.
const ROWS: usize = 50;
/// Longest query that is read.
const LONGEST_QUERY: usize = 400;
/// Longest choice beside the query that is read.
const LONGEST_CHOICE: usize = 100;
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
    #[serde(default)]
    engine: String,
    #[serde(default)]
    stage: String,
    #[serde(default)]
    sort: String,
    cursor: Option<String>,
}

impl RunsQuery {
    /// Bounded question for the source. A choice beside the words is a word too, which counts more than one that was typed.
    pub(crate) fn asked(&self) -> RunsAsked {
        let mut query: String = self.q.chars().take(LONGEST_QUERY).collect();
        for (key, value) in [("engine", &self.engine), ("stage", &self.stage), ("sort", &self.sort)] {
            let word: String = value.chars().take(LONGEST_CHOICE).filter(|c| !c.is_whitespace()).collect();
            if !word.is_empty() {
                query.push_str(&format!(" {key}:{word}"));
            }
        }
        RunsAsked { query, cursor: self.cursor.clone(), limit: ROWS }
    }

    /// The address of the same question with another query or order, on its first page.
    fn address(&self, query: &str, sort: &str) -> String {
        let pairs = [("q", query), ("engine", &self.engine), ("stage", &self.stage), ("sort", sort)];
        let given = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let words: Vec<String> = given.map(|(key, value)| format!("{key}={}", encode_word(value))).collect();
        if words.is_empty() { "/runs".to_owned() } else { format!("/runs?{}", words.join("&")) }
    }

    /// Headings that order the list, each with its address and the order that it shows.
    fn orders(&self) -> OrderLinks {
        let is = |sort: &str| self.sort == sort;
        let link = |sort: &str| self.address(&self.q, sort);
        let grouped = |sort| OrderLink { href: link(sort), now: if is(sort) { "ascending" } else { "" } };
        let started = match self.sort.as_str() {
            "" | "newest" => OrderLink { href: link("oldest"), now: "descending" },
            "oldest" => OrderLink { href: link(""), now: "ascending" },
            _ => OrderLink { href: link(""), now: "" },
        };
        let took = OrderLink { href: link("took"), now: if is("took") { "descending" } else { "" } };
        let (status, engine, stage) = (grouped("status"), grouped("engine"), grouped("stage"));
        OrderLinks { status, engine, stage, took, started }
    }
}

/// A value of a query, as an address has it.
fn encode_word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// A heading that orders the list.
struct OrderLink {
    href: String,
    /// Value of `aria-sort`; empty if the list is not in this order.
    now: &'static str,
}

struct OrderLinks {
    status: OrderLink,
    engine: OrderLink,
    stage: OrderLink,
    took: OrderLink,
    started: OrderLink,
}

/// A choice of the form.
struct ChoiceOption {
    value: String,
    is_chosen: bool,
}

fn options_of(values: impl IntoIterator<Item = String>, chosen: &str) -> Vec<ChoiceOption> {
    let mut options: Vec<ChoiceOption> = values
        .into_iter()
        .map(|value| ChoiceOption { is_chosen: value == chosen, value: show_controls(&value) })
        .collect();
    if !chosen.is_empty() && options.iter().all(|option| !option.is_chosen) {
        options.push(ChoiceOption { value: show_controls(chosen), is_chosen: true });
    }
    options
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: Frame,
    query: String,
    problem: Option<String>,
    is_later: bool,
    is_filtered: bool,
    filters: Vec<FilterLink>,
    orders: OrderLinks,
    engines: Vec<ChoiceOption>,
    stages: Vec<ChoiceOption>,
    sort: String,
    /// Address of the first page.
    first: String,
    /// Address of the next page.
    next: Option<String>,
    rows: Vec<RunRowText>,
    total: u64,
}

struct FilterLink {
    text: &'static str,
    href: String,
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
    /// Empty without one.
    model: String,
    stage: String,
    /// Lines added and removed.
    diff: Option<(u64, u64)>,
    cost: String,
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
    let found = state.ask_source(move |source| source.list_runs(&asked)).await;
    let (facts, problem, status) = match found {
        Ok(facts) => (facts, None, StatusCode::OK),
        Err(error) if error.kind == SourceErrorKind::Invalid => {
            let page = RunPage { runs: Vec::new(), next: None, total: 0 };
            let facts = RunListFacts { page, engines: Vec::new(), sealed: BTreeMap::new() };
            (facts, Some(error.text), StatusCode::BAD_REQUEST)
        }
        Err(error) => return error_response(&state, &viewer, error),
    };
    let frame = Frame::new(&state, &viewer, "/runs", "Runs");
    html_page(status, &RunsPage::of(frame, &query, facts, problem))
}

impl RunsPage {
    fn of(frame: Frame, query: &RunsQuery, facts: RunListFacts, problem: Option<String>) -> Self {
        let words: String = query.q.chars().take(LONGEST_QUERY).collect();
        let RunListFacts { page, engines, sealed } = facts;
        let filter = |(text, filter): &(&'static str, &'static str)| FilterLink {
            text,
            href: query.address(filter, &query.sort),
            is_here: *filter == words.trim(),
        };
        let first = query.address(&query.q, &query.sort);
        let joined = if first.contains('?') { '&' } else { '?' };
        Self {
            frame,
            problem,
            is_later: query.cursor.is_some(),
            is_filtered: [&query.q, &query.engine, &query.stage].into_iter().any(|part| !part.trim().is_empty()),
            filters: FILTERS.iter().map(filter).collect(),
            orders: query.orders(),
            engines: options_of(engines, &query.engine),
            stages: options_of((1..=6).map(|stage| stage.to_string()), &query.stage),
            sort: query.sort.clone(),
            next: page.next.as_ref().map(|next| format!("{first}{joined}cursor={}", encode_word(next))),
            first,
            rows: page.runs.iter().map(|run| RunRowText::of(run, sealed.get(run.row.run_id.as_str()))).collect(),
            total: page.total,
            query: words,
        }
    }
}

impl RunRowText {
    fn of(run: &RunSummary, size: Option<&SealedSize>) -> Self {
        let row = &run.row;
        let model = row.identity.as_ref().and_then(|identity| identity.model.as_ref());
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
            model: model.map_or_else(String::new, |model| show_controls(&model.to_string())),
            diff: size.filter(|size| size.added + size.removed > 0).map(|size| (size.added, size.removed)),
            cost: size.and_then(|size| size.cost_micros).map_or_else(|| "–".to_owned(), money_text),
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
