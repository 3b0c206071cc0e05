//! The walk through the ledger's runs in an order that its indexes serve: each group of runs is a range of one index, so that a page
//! costs the same however many runs there are.

use std::vec::IntoIter;

use ledger::{Ledger, ReadLedgerError, RunFilter, RunRow, RunStatus};

use crate::cursor::{PageEnd, ParseCursorError};
use crate::last_run::place_of;
use crate::runs::{ListRunsError, RunOrder, RunQuery};

/// Reads of rows that are looked through for facts which no index has.
const MOST_LOOKS: usize = 40;

/// Runs that follow one another in a list, newest first or oldest first.
struct RunGroup {
    /// Status or engine that all of them have.
    name: Option<String>,
    filter: RunFilter,
}

/// Reads rows one after the other.
pub(crate) struct RunWalk<'a> {
    ledger: &'a Ledger,
    groups: IntoIter<RunGroup>,
    /// The group that has more rows.
    group: Option<RunGroup>,
    /// Rows that were read, and the name of their group.
    rows: IntoIter<RunRow>,
    name: Option<String>,
    /// Rows of a read.
    chunk: usize,
    /// Reads that are left; none where each row is wanted.
    looks: Option<usize>,
    /// The last row that was given.
    last: Option<PageEnd>,
}

impl<'a> RunWalk<'a> {
    /// Walk of a question behind its cursor.
    pub(crate) fn new(ledger: &'a Ledger, query: &RunQuery) -> Result<Self, ListRunsError> {
        let mut groups = list_groups(ledger, query)?;
        if let Some(cursor) = &query.cursor {
            let PageEnd { group, place } = crate::cursor::parse_cursor(cursor)?;
            let found = groups.iter().position(|known| known.name == group);
            groups.drain(..found.ok_or_else(|| ParseCursorError(cursor.clone()))?);
            groups[0].filter.after = Some(place);
        }
        Ok(Self {
            ledger,
            groups: groups.into_iter(),
            group: None,
            rows: Vec::new().into_iter(),
            name: None,
            // One more than a page holds tells whether there is a next page.
            chunk: query.limit.saturating_add(1),
            looks: query.is_looked_through().then_some(MOST_LOOKS),
            last: None,
        })
    }

    /// The next row; none at the end, and where enough was looked through.
    pub(crate) fn next_row(&mut self) -> Result<Option<RunRow>, ReadLedgerError> {
        loop {
            if let Some(row) = self.rows.next() {
                self.last = Some(PageEnd { group: self.name.clone(), place: place_of(&row) });
                return Ok(Some(row));
            }
            let Some(group) = self.group.take().or_else(|| self.groups.next()) else { return Ok(None) };
            if self.looks == Some(0) {
                self.group = Some(group);
                return Ok(None);
            }
            self.read_chunk(group)?;
        }
    }

    /// Reads more rows of a group, and leaves it if there are none behind them.
    fn read_chunk(&mut self, mut group: RunGroup) -> Result<(), ReadLedgerError> {
        self.looks = self.looks.map(|left| left - 1);
        let rows = self.ledger.runs_recent(&group.filter, self.chunk)?;
        self.name.clone_from(&group.name);
        if let Some(last) = rows.last().filter(|_| rows.len() == self.chunk) {
            group.filter.after = Some(place_of(last));
            self.group = Some(group);
        }
        self.rows = rows.into_iter();
        Ok(())
    }

    /// The last row that was given.
    pub(crate) fn last_place(&self) -> Option<PageEnd> {
        self.last.clone()
    }

    /// True if rows are left that nobody looked at.
    pub(crate) fn is_cut(&self) -> bool {
        self.group.is_some()
    }
}

fn list_groups(ledger: &Ledger, query: &RunQuery) -> Result<Vec<RunGroup>, ReadLedgerError> {
    let RunQuery { status, engine, task_id, since, order, .. } = query.clone();
    let is_oldest_first = order == RunOrder::Oldest;
    let all = RunFilter { status, engine, task_id, since, after: None, is_oldest_first };
    Ok(match order {
        RunOrder::Newest | RunOrder::Oldest => vec![RunGroup { name: None, filter: all }],
        RunOrder::Status => {
            let wanted = RunStatus::ALL.into_iter().filter(|known| status.is_none_or(|status| status == *known));
            let group = |status: RunStatus| RunGroup {
                name: Some(status.as_str().to_owned()),
                filter: RunFilter { status: Some(status), ..all.clone() },
            };
            wanted.map(group).collect()
        }
        RunOrder::Engine => {
            let mut names = ledger.engine_names()?;
            names.retain(|name| all.engine.as_ref().is_none_or(|engine| engine == name));
            let group = |name: String| RunGroup {
                filter: RunFilter { engine: Some(name.clone()), ..all.clone() },
                name: Some(name),
            };
            names.into_iter().map(group).collect()
        }
    })
}
