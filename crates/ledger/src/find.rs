//! Finding the run a person means: a full id, a unique beginning of one, its last part or
//! the beginning of that, `@` for the newest governed run and `@-N` for the one N before
//! it.

use contract::{Purpose, RunId};

use crate::read::ReadLedgerError;
use crate::runs::{RunMatch, RunRow};
use crate::store::Ledger;

/// Enough to tell a person what else they may have meant.
const MANY: usize = 20;

/// Runs that a reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundRuns {
    One(Box<RunRow>),
    None,
    /// Ids of runs it could mean, newest first; not necessarily all of them.
    Many(Vec<RunId>),
}

impl Ledger {
    /// Looks a run up by what a person typed. A whole id or last part wins over the
    /// beginning of a longer one.
    pub fn run_find(&self, reference: &str) -> Result<FoundRuns, ReadLedgerError> {
        if let Some(back) = reference.strip_prefix('@') {
            return match steps_back(back) {
                Some(steps) => self.run_back(steps),
                None => Ok(FoundRuns::None),
            };
        }
        if reference.is_empty() {
            return Ok(FoundRuns::None);
        }
        let matching = |wanted: RunMatch<'_>| self.store.matching_runs(&wanted, MANY);
        let exact = matching(RunMatch::Id(reference))?;
        if !exact.is_empty() {
            return Ok(found(exact));
        }
        let whole = matching(RunMatch::Suffix(reference))?;
        if !whole.is_empty() {
            return Ok(found(whole));
        }
        let mut runs = matching(RunMatch::IdStart(reference))?;
        runs.extend(matching(RunMatch::SuffixStart(reference))?);
        Ok(found(runs))
    }

    /// Counts back over governed runs: a run that another is compared with and a summary of
    /// runs are not what a person means. Falls back on all runs where none is governed.
    fn run_back(&self, steps: u32) -> Result<FoundRuns, ReadLedgerError> {
        let governed = self.store.run_back(Some(Purpose::Governed), steps)?;
        let none = || self.store.matching_runs(&RunMatch::Purpose(Purpose::Governed), 1);
        let run = match governed.is_none() && none()?.is_empty() {
            true => self.store.run_back(None, steps)?,
            false => governed,
        };
        Ok(run.map_or(FoundRuns::None, |run| FoundRuns::One(Box::new(run))))
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

fn found(mut runs: Vec<RunRow>) -> FoundRuns {
    runs.sort_by_key(|run| std::cmp::Reverse(run.seq));
    runs.dedup_by(|a, b| a.seq == b.seq);
    match runs.len() {
        0 => FoundRuns::None,
        1 => FoundRuns::One(Box::new(runs.remove(0))),
        _ => FoundRuns::Many(runs.into_iter().map(|run| run.run_id).collect()),
    }
}
