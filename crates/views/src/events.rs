//! The event file of a run, read as it grows: below `active/` while the run lives, in its
//! bundle afterwards.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use contract::{RunId, Stamp};
use evidence::names;
use ledger::{FoundRuns, ReadLedgerError, RunStatus};

use crate::Views;

/// Bytes that one look reads at most.
const LARGEST_LOOK: u64 = 4 << 20;

/// Lines behind a byte of the file.
#[derive(Debug)]
pub struct EventsRead {
    pub run_id: RunId,
    /// Whole lines without their newline, unchanged.
    pub lines: Vec<Vec<u8>>,
    /// Byte behind the last of them.
    pub next: u64,
    /// The run is sealed, and no line follows.
    pub is_over: bool,
    /// The run's process is gone and nothing has sealed it.
    pub is_interrupted: bool,
}

/// Failure to read events.
#[derive(Debug, thiserror::Error)]
pub enum ReadEventsError {
    #[error("no run is called `{}`", contract::text::show_controls(.0))]
    Unknown(String),
    #[error("the events of {0} lie in another home, or were collected")]
    Elsewhere(RunId),
    #[error("cannot read the events of {0}: {1}")]
    Io(RunId, #[source] io::Error),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
}

impl Views {
    /// Whole lines of a run's events behind a byte. `now` tells lapsed leases.
    pub fn read_events(&self, run_id: &str, from: u64, now: Stamp) -> Result<EventsRead, ReadEventsError> {
        let unknown = || ReadEventsError::Unknown(run_id.to_owned());
        let ledger = self.ledger().ok_or_else(unknown)?;
        let FoundRuns::One(row) = ledger.run_find(run_id)? else { return Err(unknown()) };
        // Asked before the file is read: a run that is sealed meanwhile is over at the next
        // look.
        let is_sealed = row.status != RunStatus::Running;
        let is_interrupted = !is_sealed && self.is_interrupted(&row.run_id, now)?;
        let places = [self.home.active.join(row.run_id.as_str()), self.home.bundles.bundle_dir(&row.run_id)];
        let found = places.iter().map(|place| read_lines(place, from)).find(|read| !is_missing(read));
        let (lines, next) = match found {
            Some(read) => read.map_err(|error| ReadEventsError::Io(row.run_id.clone(), error))?,
            // Between two places, or not begun.
            None if !is_sealed => (Vec::new(), from),
            None => return Err(ReadEventsError::Elsewhere(row.run_id)),
        };
        let is_over = is_sealed && lines.is_empty();
        Ok(EventsRead { run_id: row.run_id, lines, next, is_over, is_interrupted })
    }
}

fn is_missing<T>(read: &io::Result<T>) -> bool {
    read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Whole lines behind a byte, and the byte behind them.
fn read_lines(folder: &Path, from: u64) -> io::Result<(Vec<Vec<u8>>, u64)> {
    let folder = untrusted_fs::open_root(folder)?;
    let (file, _) = untrusted_fs::open_regular(&folder, names::EVENTS.as_bytes())?;
    split_lines(file, from)
}

fn split_lines(mut file: File, from: u64) -> io::Result<(Vec<Vec<u8>>, u64)> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_LOOK).read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = bytes[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec);
    Ok((lines.collect(), from + end as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn only_whole_lines_are_given() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"{\"seq\":0}\n{\"seq\":1}\n{\"se").unwrap();
        let (lines, next) = split_lines(file.try_clone().unwrap(), 0).unwrap();
        assert_eq!((lines.len(), next), (2, 20));
        let (lines, next) = split_lines(file.try_clone().unwrap(), next).unwrap();
        assert_eq!((lines.len(), next), (0, 20), "a line that is being written is none");
        file.write_all(b"q\":2}\n").unwrap();
        let (lines, next) = split_lines(file, next).unwrap();
        assert_eq!((lines, next), (vec![b"{\"seq\":2}".to_vec()], 30));
    }
}
