//! What goes into a bench, and the table that comes out of it.

use std::path::PathBuf;
use std::time::Duration;

use super::rounds::Measured;

/// Program, rounds and place, which every bench is given.
pub(super) struct Bench {
    /// Our program, built as it is shipped.
    pub(super) cto: PathBuf,
    pub(super) rounds: Option<usize>,
    /// Where the worlds are made; the disk under it is part of what is measured.
    pub(super) place: PathBuf,
}

/// A Markdown table: each row's times, and how it compares with each of the others that serve as a measure.
pub(super) fn table(rows: &[Measured], measures: &[usize]) -> String {
    let mut text = String::from("| | p50 | min |");
    for measure in measures {
        text.push_str(&format!(" p50 / {} |", rows[*measure].short));
    }
    text.push_str(&format!("\n| --- | --- | --- |{}\n", " --- |".repeat(measures.len())));
    for row in rows {
        text.push_str(&format!("| {} | {} | {} |", row.name, millis(row.p50()), millis(row.min())));
        for measure in measures {
            text.push_str(&format!(" {:.2} |", row.p50().as_secs_f64() / rows[*measure].p50().as_secs_f64()));
        }
        text.push('\n');
    }
    text
}

pub(super) fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
