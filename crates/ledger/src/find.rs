//! Finding the run a person means: a full id, a unique beginning of one, its last part or the beginning of that, `@` for
//! the newest governed run and `@-N` for the one N before it.

use contract::RunId;
use rusqlite::ToSql;

use crate::Ledger;
use crate::runs::{ReadLedgerError, RunRow};

/// Enough to tell a person what else they may have meant.
const MANY: usize = 20;

/// What a reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    One(Box<RunRow>),
    None,
    /// Ids of runs it could mean, newest first; not necessarily all of them.
    Many(Vec<RunId>),
}

impl Ledger {
    /// Looks a run up by what a person typed. A whole id or last part wins over the beginning of a longer one.
    pub fn run_find(&self, reference: &str) -> Result<Found, ReadLedgerError> {
        if let Some(back) = reference.strip_prefix('@') {
            return match steps_back(back) {
                Some(steps) => self.run_back(steps),
                None => Ok(Found::None),
            };
        }
        if reference.is_empty() {
            return Ok(Found::None);
        }
        let exact = self.matching("run_id = ?1", &[&reference])?;
        if !exact.is_empty() {
            return Ok(found(exact));
        }
        let whole = self.matching("suffix = ?1", &[&reference])?;
        if !whole.is_empty() {
            return Ok(found(whole));
        }
        let end = format!("{reference}\u{10FFFF}");
        let mut runs = self.matching("run_id >= ?1 AND run_id < ?2", &[&reference, &end])?;
        runs.extend(self.matching("suffix >= ?1 AND suffix < ?2", &[&reference, &end])?);
        Ok(found(runs))
    }

    /// Counts back over governed runs: a run that another is compared with and a summary of runs are not what a person means.
    /// Falls back on all runs where none is governed.
    fn run_back(&self, steps: u32) -> Result<Found, ReadLedgerError> {
        let back = |of: &str| {
            let sql =
                format!("SELECT {} FROM runs{of} ORDER BY started_at DESC, seq DESC LIMIT 1 OFFSET ?1", self.columns());
            self.rows(&sql, &[&steps])
        };
        let governed = back(" WHERE purpose = 'governed'")?;
        let none = || self.matching("purpose = 'governed'", &[]);
        match governed.is_empty() && none()?.is_empty() {
            true => Ok(found(back("")?)),
            false => Ok(found(governed)),
        }
    }

    fn matching(&self, condition: &str, values: &[&dyn ToSql]) -> Result<Vec<RunRow>, ReadLedgerError> {
        // No order asked for: sorting would read every match, and there may be as many as there are runs.
        let sql = format!("SELECT {} FROM runs WHERE {condition} LIMIT {MANY}", self.columns());
        self.rows(&sql, values)
    }
}

fn steps_back(text: &str) -> Option<u32> {
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.strip_prefix('-')?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

fn found(mut runs: Vec<RunRow>) -> Found {
    runs.sort_by_key(|run| std::cmp::Reverse(run.seq));
    runs.dedup_by(|a, b| a.seq == b.seq);
    match runs.len() {
        0 => Found::None,
        1 => Found::One(Box::new(runs.remove(0))),
        _ => Found::Many(runs.into_iter().map(|run| run.run_id).collect()),
    }
}
