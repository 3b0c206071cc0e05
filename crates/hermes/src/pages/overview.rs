//! The first page: what waits, what runs, how far each engine is proven.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use contract::Stamp;
use contract::text::show_controls;
use views::SpendRow;

use super::spend::SpendText;
use super::text::age_text;
use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::source::{DayCount, OverviewFacts, PassRate, RunningFacts, WaitingFacts};
use crate::state::ConsoleState;

/// Rows of model use; the rest is on its own page.
const MOST_SPEND: usize = 12;
/// Height of the bars' area, and where it begins, in pixels.
const CHART_HEIGHT: u64 = 146;
const CHART_BASE: u64 = 160;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    lede: String,
    waiting: Vec<WaitingRow>,
    running: Vec<RunningRow>,
    rungs: Vec<RungRow>,
    runs_in_days: u64,
    chart_label: String,
    grid: Vec<ChartLabel>,
    bars: Vec<ChartBar>,
    day_labels: Vec<ChartDay>,
    rates: Vec<RateRow>,
    spend: Vec<SpendText>,
    facts: OverviewFacts,
}

struct WaitingRow {
    icon: &'static str,
    href: String,
    text: String,
    since: String,
    remedy: String,
}

struct RunningRow {
    run_id: String,
    task_id: String,
    engine: String,
    stage: u8,
    phase: String,
    age: String,
}

struct RungRow {
    stage: u8,
    name: &'static str,
    scope: &'static str,
    statuses: Vec<&'static str>,
}

struct ChartLabel {
    y: u64,
    text: u64,
}

struct ChartBar {
    class: &'static str,
    x: u64,
    width: u64,
    y: u64,
    height: u64,
}

struct ChartDay {
    x: u64,
    text: String,
}

struct RateRow {
    engine: String,
    passed: u64,
    ran: u64,
    at: u64,
    low: u64,
    high: u64,
    label: String,
}

/// First page.
pub(crate) async fn overview_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
) -> Response {
    match state.ask_source(|source| source.view_overview()).await {
        Ok(facts) => html_page(StatusCode::OK, &OverviewPage::of(Frame::new(&state, &viewer, "/", "Overview"), facts)),
        Err(error) => error_response(&state, &viewer, error),
    }
}

impl OverviewPage {
    fn of(frame: Frame, facts: OverviewFacts) -> Self {
        let tallest = facts.days.iter().map(DayCount::total).max().unwrap_or(0).max(4);
        Self {
            frame,
            lede: lede_of(&facts),
            waiting: facts.waiting.iter().map(|one| WaitingRow::of(one, facts.now)).collect(),
            running: facts.running.iter().map(|one| RunningRow::of(one, facts.now)).collect(),
            rungs: rung_rows(&facts),
            runs_in_days: facts.days.iter().map(DayCount::total).sum(),
            chart_label: chart_label(&facts.days),
            grid: [tallest / 2, tallest]
                .map(|text| ChartLabel { y: CHART_BASE - CHART_HEIGHT * text / tallest, text })
                .into(),
            bars: draw_bars(&facts.days, tallest),
            day_labels: label_days(&facts.days),
            rates: facts.rates.iter().map(RateRow::of).collect(),
            spend: sum_models(&facts.spend).iter().rev().take(MOST_SPEND).map(SpendText::of_row).collect(),
            facts,
        }
    }
}

fn lede_of(facts: &OverviewFacts) -> String {
    let waits = match facts.waiting.len() {
        0 => "Nothing waits for you.".to_owned(),
        1 => "One thing waits for you.".to_owned(),
        more => format!("{more} things wait for you."),
    };
    format!("{} runs are in the ledger. {waits}", facts.total_runs)
}

impl WaitingRow {
    fn of(one: &WaitingFacts, now: Stamp) -> Self {
        let (icon, href) = match one.waits_for.as_str() {
            "decision" => ("pen", format!("/approvals/{}", one.subject)),
            "outcome" => ("flag", format!("/runs/{}", one.subject)),
            "recovery" => ("stale", format!("/runs/{}", one.subject)),
            _ => ("shield", String::new()),
        };
        let since = one.since.map_or_else(String::new, |since| format!("{} ago", age_text(&age_of(since, now))));
        Self { icon, href, text: show_controls(&one.text), since, remedy: show_controls(&one.remedy) }
    }
}

impl RunningRow {
    fn of(one: &RunningFacts, now: Stamp) -> Self {
        Self {
            run_id: one.run_id.clone(),
            task_id: show_controls(&one.task_id),
            engine: show_controls(&one.engine),
            stage: one.stage,
            phase: format!("{:?}", one.phase).to_lowercase(),
            age: age_text(&age_of(one.started_at, now)),
        }
    }
}

fn age_of(since: Stamp, now: Stamp) -> u64 {
    u64::try_from(now.unix_seconds() - since.unix_seconds()).unwrap_or(0)
}

/// Use by day and engine, whatever the models.
fn sum_models(rows: &[SpendRow]) -> Vec<SpendRow> {
    let mut sums: Vec<SpendRow> = Vec::new();
    for row in rows {
        match sums.iter_mut().find(|sum| sum.day == row.day && sum.engine == row.engine) {
            Some(sum) => {
                sum.runs += row.runs;
                sum.open_runs += row.open_runs;
                sum.requests = sum.requests.saturating_add(row.requests);
                sum.tokens = sum.tokens.saturating_add(row.tokens);
                sum.money_micros = sum.money_micros.saturating_add(row.money_micros);
            }
            None => sums.push(row.clone()),
        }
    }
    sums
}

/// The highest rung on top, one cell a ladder.
fn rung_rows(facts: &OverviewFacts) -> Vec<RungRow> {
    let Some(first) = facts.ladders.first() else { return Vec::new() };
    let row = |index: usize| {
        let rung = &first.rungs[index];
        let statuses = facts.ladders.iter().filter_map(|ladder| ladder.rungs.get(index));
        let statuses = statuses.map(|rung| rung.status.as_str()).collect();
        RungRow { stage: rung.stage, name: rung.name, scope: rung.scope, statuses }
    };
    (0..first.rungs.len()).rev().map(row).collect()
}

impl DayCount {
    fn total(&self) -> u64 {
        self.pass + self.fail + self.blocked
    }
}

fn chart_label(days: &[DayCount]) -> String {
    let sum = |get: fn(&DayCount) -> u64| days.iter().map(get).sum::<u64>();
    let (pass, fail, blocked) = (sum(|day| day.pass), sum(|day| day.fail), sum(|day| day.blocked));
    format!("Runs of {} days: {pass} pass, {fail} fail, {blocked} blocked", days.len())
}

/// Bars from the base up: pass, fail, blocked.
fn draw_bars(days: &[DayCount], tallest: u64) -> Vec<ChartBar> {
    let step = 94 / days.len().max(1) as u64;
    let mut bars = Vec::new();
    for (index, day) in days.iter().enumerate() {
        let mut y = CHART_BASE;
        for (class, number) in [("pass", day.pass), ("fail", day.fail), ("blocked", day.blocked)] {
            let height = (CHART_HEIGHT * number).div_ceil(tallest).min(CHART_HEIGHT);
            y = y.saturating_sub(height);
            if height > 0 {
                bars.push(ChartBar { class, x: 7 + step * index as u64, width: (step * 2 / 3).max(1), y, height });
            }
        }
    }
    bars
}

/// The month and day below every third bar.
fn label_days(days: &[DayCount]) -> Vec<ChartDay> {
    let step = 94 / days.len().max(1) as u64;
    let labelled = days.iter().enumerate().filter(|(index, _)| index % 3 == 1);
    labelled
        .map(|(index, day)| ChartDay {
            x: 7 + step * index as u64 + step / 3,
            text: day.day.get(5..).unwrap_or(&day.day).to_owned(),
        })
        .collect()
}

impl RateRow {
    fn of(rate: &PassRate) -> Self {
        let at = (rate.passed * 100).checked_div(rate.ran).unwrap_or(0);
        let (low, high) = (rate.low / 10, rate.high.div_ceil(10));
        let label = format!("{} passed {} of {}, between {low} and {high} percent", rate.engine, rate.passed, rate.ran);
        Self {
            engine: show_controls(&rate.engine),
            passed: rate.passed,
            ran: rate.ran,
            at,
            low,
            high,
            label: show_controls(&label),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stay_inside_the_chart() {
        let day = |pass, fail, blocked| DayCount { day: "2026-11-18".to_owned(), pass, fail, blocked };
        let bars = draw_bars(&[day(3, 1, 0), day(0, 0, 9)], 9);
        assert_eq!(bars.len(), 3);
        assert!(bars.iter().all(|bar| bar.y + bar.height <= CHART_BASE && bar.x + bar.width <= 100));
        assert_eq!(bars[2].height, CHART_HEIGHT, "the tallest fills it");
    }
}
