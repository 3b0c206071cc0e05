//! Use of a run's model so far, in a file of its work area, for the case that the run is
//! killed.
//!
//! One line for each change, written before a request is sent and after it has ended; the
//! last one counts. It outlives the process and not the machine, so it counts only within
//! the boot it was written in.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bridge::{AccountKeeper, Spent};
use serde::{Deserialize, Serialize};
use untrusted_fs::own_files;

/// Longer than the lines of all requests that a run may make.
const LONGEST: u64 = 16 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    requests: u64,
    tokens: u64,
    money_micros: u64,
}

fn place(work: &Path) -> PathBuf {
    work.join("model-account.jsonl")
}

/// Keeps the account from here on.
pub(super) fn keep_account(work: &Path) -> io::Result<AccountKeeper> {
    let file = File::create_new(place(work))?;
    write(&file, Spent::default())?;
    Ok(AccountKeeper(Arc::new(move |spent| write(&file, spent).is_ok())))
}

fn write(mut file: &File, Spent { requests, tokens, money_micros }: Spent) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Line { requests, tokens, money_micros })?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Use of a run when it died, open requests counted as estimated; none if it cannot be
/// determined.
pub(super) fn read_spent(work: &Path) -> Option<Spent> {
    let path = place(work);
    let size = own_files::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?.len();
    let text = (size <= LONGEST).then(|| own_files::read_to_string(&path).ok())??;
    // A line that is cut tells that the ones before it are not the last word.
    let last = text.strip_suffix('\n')?.rsplit('\n').next()?;
    let Line { requests, tokens, money_micros } = serde_json::from_str(last).ok()?;
    Some(Spent { requests, tokens, money_micros })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_and_a_damaged_one_tells_nothing() {
        let line = |requests| format!("{{\"requests\":{requests},\"tokens\":7,\"money_micros\":0}}\n");
        let rows = [
            (line(0), Some(0)),
            (line(1) + &line(2), Some(2)),
            (line(1) + line(2).trim_end(), None),
            (line(1) + "{}\n", None),
            (line(1) + "\n", None),
            (String::new(), None),
        ];
        for (text, requests) in rows {
            let work = tempfile::tempdir().unwrap();
            untrusted_fs::own_files::write_file(place(work.path()), &text).unwrap();
            assert_eq!(read_spent(work.path()).map(|spent| spent.requests), requests, "{text:?}");
        }
        assert_eq!(read_spent(tempfile::tempdir().unwrap().path()), None);
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let work = tempfile::tempdir().unwrap();
        let AccountKeeper(keep) = super::keep_account(work.path()).unwrap();
        assert_eq!(read_spent(work.path()), Some(Spent::default()));
        let spent = Spent { requests: 3, tokens: 1200, money_micros: 9 };
        assert!(keep(spent));
        assert_eq!(read_spent(work.path()), Some(spent));
    }
}
