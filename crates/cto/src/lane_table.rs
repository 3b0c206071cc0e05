//! Lanes for people, and one fact a line for pipes.

use std::fmt::Write as _;

use contract::text::{money_text, show_controls};
use contract::{Status, TaskId};
use views::{Lane, LaneUse};

use crate::output::{Output, duration_text};
use crate::run_view::remedy_lines;

/// Nothing to say.
const NONE: &str = "-";

struct Row {
    cells: [String; 9],
    status: Status,
    why: String,
    remedy: Option<String>,
}

const HEAD: [&str; 9] = ["lane", "run", "verdict", "tests", "files", "claims", "time", "tokens", "cost"];
const VERDICT: usize = 2;

fn row(lane: &Lane, name: String) -> Row {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let cells = [
        name,
        or_none(lane.run_id.as_ref().map(|run| run.suffix().to_owned())),
        lane.status.to_string(),
        or_none(lane.tests.map(|tests| format!("{}/{}", tests.passed, tests.executed))),
        or_none(lane.engine_started.then(|| lane.changed_files.to_string())),
        claims(lane),
        or_none(lane.duration_ms.map(duration_text)),
        or_none(lane.used.map(tokens)),
        or_none(lane.used.map(cost_text)),
    ];
    Row { cells, status: lane.status, why: lane.why_text(), remedy: lane.remedy.clone() }
}

fn claims(lane: &Lane) -> String {
    match (lane.claims, lane.claims_contradicted) {
        (0, _) => NONE.to_owned(),
        (_, 0) => "0 false".to_owned(),
        (_, wrong) => format!("{wrong} false"),
    }
}

/// `61k in 6`; a plus where some requests did not tell.
fn tokens(used: LaneUse) -> String {
    let more = if used.tokens_unknown_requests > 0 { "+" } else { "" };
    let number = if used.tokens < 10_000 { used.tokens.to_string() } else { format!("{}k", used.tokens / 1000) };
    format!("{number}{more} in {}", used.requests)
}

/// Money, with a plus where some requests did not tell; or that there is no price.
pub(crate) fn cost_text(used: LaneUse) -> String {
    used.cost().map_or_else(|| "unpriced".to_owned(), |micros| at_least(micros, used))
}

/// A share of what was used: it is at least that where some requests did not tell.
pub(crate) fn at_least(micros: u64, used: LaneUse) -> String {
    let more = if used.cost_unknown_requests > 0 { "+" } else { "" };
    format!("{}{more}", money_text(micros))
}

/// A lane by its engine, and by its model and task where these differ.
fn name(lane: &Lane, of: Option<&TaskId>) -> String {
    let model = lane.model.as_deref().and_then(|pair| pair.split_once('/')).map(|(_, model)| format!(" {model}"));
    let task = lane.task_id.as_ref().filter(|task| Some(*task) != of).map(|task| format!(" {task}"));
    show_controls(&format!("{}{}{}", lane.engine, model.unwrap_or_default(), task.unwrap_or_default()))
}

/// Columns that are left out first where the terminal is narrow.
const DISPENSABLE: [usize; 5] = [5, 4, 7, 3, 1];

/// The columns that fit, in their order.
fn shown_columns(widths: &[usize], room: usize) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..widths.len()).collect();
    for column in DISPENSABLE {
        if 2 + shown.iter().map(|at| widths[*at] + 2).sum::<usize>() <= room + 2 {
            break;
        }
        shown.retain(|at| *at != column);
    }
    shown
}

/// The table; `of` is the task that all lanes share. Writing to a String cannot fail.
pub(crate) fn lane_table(output: Output, lanes: &[Lane], of: Option<&TaskId>) -> String {
    let rows: Vec<Row> = lanes.iter().map(|lane| row(lane, name(lane, of))).collect();
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row.cells[at].chars().count());
        cells.chain([HEAD[at].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let columns = shown_columns(&widths, output.width);
    let taken: usize = 2 + columns.iter().map(|at| widths[*at] + 2).sum::<usize>();
    let paint = output.paint;
    let mut out = String::new();
    let head: String = columns.iter().map(|at| format!("{:<width$}  ", HEAD[*at], width = widths[*at])).collect();
    let head = if taken + "why".len() <= output.width { format!("{head}why") } else { head.trim_end().to_owned() };
    let _ = writeln!(out, "  {}", paint.dim(&head));
    for row in &rows {
        let mut line = String::from("  ");
        for at in &columns {
            let cell = &row.cells[*at];
            let pad = " ".repeat(widths[*at].saturating_sub(cell.chars().count()) + 2);
            let cell = if *at == VERDICT { paint.paint_status(row.status) } else { cell.clone() };
            let _ = write!(line, "{cell}{pad}");
        }
        let fits = taken + row.why.chars().count() <= output.width;
        let why = if fits { row.why.as_str() } else { "" };
        let _ = writeln!(out, "{}", format!("{line}{why}").trim_end());
        if !fits {
            let _ = writeln!(out, "      {}", output.hang(6, &row.why));
        }
        if let Some(remedy) = row.remedy.as_ref().filter(|_| row.status == Status::Blocked) {
            out.push_str(&remedy_lines(output, 6, &contract::text::show_controls(remedy)));
        }
    }
    out
}

/// One lane a line: engine, verdict, run, tests, time, requests, tokens, cost, contradicted claims, reasons.
pub(crate) fn lane_lines(lanes: &[Lane]) -> String {
    let mut out = String::new();
    for lane in lanes {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
        let reasons: Vec<&str> = lane.reasons.iter().map(|reason| reason.code()).collect();
        let why = match (reasons.is_empty(), &lane.why) {
            (false, _) => reasons.join(","),
            (true, Some(why)) => show_controls(why),
            (true, None) => NONE.to_owned(),
        };
        let _ = writeln!(
            out,
            "lane {} {} {} tests={} took={} requests={} tokens={} cost={} false-claims={} {why}",
            show_controls(&lane.engine),
            lane.status,
            or_none(lane.run_id.as_ref().map(ToString::to_string)),
            or_none(lane.tests.map(|tests| format!("{}/{}", tests.passed, tests.executed))),
            or_none(lane.duration_ms.map(|ms| format!("{ms}ms"))),
            or_none(lane.used.map(|used| used.requests.to_string())),
            or_none(lane.used.map(|used| used.tokens.to_string())),
            or_none(lane.used.map(cost_text)),
            lane.claims_contradicted,
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_table_keeps_what_matters() {
        let widths = [10, 4, 7, 5, 5, 7, 6, 8, 8];
        assert_eq!(shown_columns(&widths, 100), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(shown_columns(&widths, 70), [0, 1, 2, 3, 4, 6, 7, 8]);
        assert_eq!(shown_columns(&widths, 40), [0, 2, 6, 8], "lane, verdict, time and cost");
    }

    #[test]
    fn money_and_tokens_say_what_is_not_known() {
        let used = |micros, unpriced, unknown| LaneUse {
            requests: 6,
            tokens: 61_204,
            tokens_unknown_requests: unknown,
            cost_micros: micros,
            unpriced_requests: unpriced,
            cost_unknown_requests: unknown,
        };
        for (used, expected) in [
            (used(51_400, 0, 0), ("$0.051", "61k in 6")),
            (used(2_000_000, 0, 0), ("$2.000", "61k in 6")),
            (used(7, 0, 0), ("$0.000007", "61k in 6")),
            (used(0, 0, 0), ("$0.000", "61k in 6")),
            (used(51_400, 1, 0), ("unpriced", "61k in 6")),
            (used(51_400, 0, 1), ("$0.051+", "61k+ in 6")),
            (used(51_400, 1, 1), ("unpriced", "61k+ in 6")),
        ] {
            assert_eq!((cost_text(used).as_str(), tokens(used).as_str()), expected);
        }
    }
}
