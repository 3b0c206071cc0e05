//! The walk through the ledger's runs in an order that its indexes serve: each group of runs is a range of one index, so that a page
//! costs the same however many runs there are.

use std::vec::IntoIter;

use contract::Stage;
use ledger::{Ledger, ListOrder, LongPlace, ReadLedgerError, RunFilter, RunRow, RunStatus};

use crate::cursor::{PageEnd, ParseCursorError};
use crate::last_run::place_of;
use crate::runs::{ListRunsError, RunOrder, RunQuery};

/// Reads of rows that are looked through for facts which no index has.
const MOST_LOOKS: usize = 40;

/// Group of the runs that are sealed, in the order by the time that they took.
const SEALED: &str = "sealed";

/// Runs that follow one another in a list, in the order of an index.
struct RunGroup {
    /// Status, engine or stage that all of them have.
    name: Option<String>,
    filter: RunFilter,
}

impl RunGroup {
    /// Goes on behind the end of a page; false if that is no place in this group.
    fn resume(&mut self, end: &PageEnd) -> bool {
        match self.filter.order {
            ListOrder::Longest => {
                self.filter.after_longer = Some(LongPlace { duration_ms: end.key, seq: end.seq });
                true
            }
            ListOrder::Newest | ListOrder::Oldest => {
                self.filter.after = end.run_place();
                self.filter.after.is_some()
            }
        }
    }

    /// The place of a row in this group.
    fn end_at(&self, row: &RunRow) -> PageEnd {
        match self.filter.order {
            ListOrder::Longest => {
                PageEnd { group: self.name.clone(), key: row.duration_ms.unwrap_or_default(), seq: row.seq }
            }
            ListOrder::Newest | ListOrder::Oldest => PageEnd::of_place(self.name.clone(), place_of(row)),
        }
    }
}

/// Reads rows one after the other.
pub(crate) struct RunWalk<'a> {
    ledger: &'a Ledger,
    groups: IntoIter<RunGroup>,
    /// The group that has more rows.
    group: Option<RunGroup>,
    /// Rows that were read, each with its place.
    rows: IntoIter<(RunRow, PageEnd)>,
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
            let end = crate::cursor::parse_cursor(cursor)?;
            let refuse = || ParseCursorError(cursor.clone());
            let found = groups.iter().position(|known| known.name == end.group).ok_or_else(refuse)?;
            groups.drain(..found);
            if !groups[0].resume(&end) {
                return Err(refuse().into());
            }
        }
        Ok(Self {
            ledger,
            groups: groups.into_iter(),
            group: None,
            rows: Vec::new().into_iter(),
            // One more than a page holds tells whether there is a next page.
            chunk: query.limit.saturating_add(1),
            looks: query.is_looked_through().then_some(MOST_LOOKS),
            last: None,
        })
    }

    /// The next row; none at the end, and where enough was looked through.
    pub(crate) fn next_row(&mut self) -> Result<Option<RunRow>, ReadLedgerError> {
        loop {
            if let Some((row, place)) = self.rows.next() {
                self.last = Some(place);
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
        let is_full = rows.len() == self.chunk;
        let rows: Vec<(RunRow, PageEnd)> =
            rows.into_iter().map(|row| (group.end_at(&row), row)).map(|(end, row)| (row, end)).collect();
        if let Some((_, last)) = rows.last().filter(|_| is_full) {
            group.resume(last);
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
    let RunQuery { status, engine, task_id, stage, since, .. } = query.clone();
    let all = RunFilter { status, engine, task_id, stage, since, ..RunFilter::default() };
    Ok(match query.order {
        RunOrder::Newest => vec![RunGroup { name: None, filter: all }],
        RunOrder::Oldest => vec![RunGroup { name: None, filter: RunFilter { order: ListOrder::Oldest, ..all } }],
        RunOrder::Took => {
            let running = Some(RunStatus::Running);
            let open = RunFilter { status: running, ..all };
            // No index has another fact beside the time, so that rows are looked through for it.
            let sealed = RunFilter { order: ListOrder::Longest, ..RunFilter::default() };
            let groups = [
                (status.is_none() || status == running, running.map(RunStatus::as_str), open),
                (status != running, Some(SEALED), sealed),
            ];
            let wanted = groups.into_iter().filter(|(is_wanted, ..)| *is_wanted);
            wanted.map(|(_, name, filter)| RunGroup { name: name.map(str::to_owned), filter }).collect()
        }
        RunOrder::Stage => {
            let wanted = (1..=6)
                .filter_map(|number| Stage::try_from(number).ok())
                .filter(|known| stage.is_none_or(|stage| stage == *known));
            let group = |stage: Stage| RunGroup {
                name: Some(stage.to_string()),
                filter: RunFilter { stage: Some(stage), ..all.clone() },
            };
            wanted.map(group).collect()
        }
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
