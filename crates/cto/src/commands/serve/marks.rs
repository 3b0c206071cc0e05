//! Marks of sealed runs: whether anything that a run's page is made of can have changed, by
//! the stamps of files alone.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use contract::{Digest, RunId, Stamp};
use hermes::RunMark;

/// Files that changed within this time may change again without another stamp, so that no claim is
/// made about them.
const SETTLED_NANOS: i128 = 500_000_000;
/// Files of a bundle beyond which no mark is made.
const MOST_FILES: usize = 200;

/// Stamps of files, put together.
struct FileStamps {
    text: String,
    newest: i128,
    files: usize,
}

/// The mark of a run that has a bundle in the home; none where something changed just now.
/// A page is made of the ledger, the bundle and the keys that are trusted.
pub(super) fn mark_run(home: &Path, run: &str, now: Stamp) -> Option<RunMark> {
    let run_id = RunId::try_from(run.to_owned()).ok()?;
    let mut stamps = FileStamps { text: String::new(), newest: 0, files: 0 };
    for name in ["ledger.db", "config.yaml"] {
        stamps.add_file(&home.join(name));
    }
    stamps.add_log(&home.join("ledger.db-wal"));
    // Readers touch these two, so that only owner and mode are compared, which a look at the home would judge.
    for path in [home.to_owned(), home.join("ledger.db-shm")] {
        stamps.add_rights(&path);
    }
    for name in ["keys", "trust"] {
        stamps.add_folder(&home.join(name), 0)?;
    }
    stamps.add_folder(&ledger::Bundles::in_home(home).bundle_dir(&run_id), 1)?;
    let settled = now.timestamp().as_nanosecond() - SETTLED_NANOS;
    (stamps.newest < settled).then(|| RunMark(Digest::of_bytes(stamps.text.as_bytes())))
}

impl FileStamps {
    fn add_file(&mut self, path: &Path) {
        use std::fmt::Write as _;
        let Ok(found) = fs::symlink_metadata(path) else {
            let _ = write!(self.text, "none,");
            return;
        };
        // The time of the last change of the inode is the kernel's own and cannot be set.
        let changed = i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec());
        let _ = write!(self.text, "{}:{}:{}:{changed},", found.dev(), found.ino(), found.size());
        self.newest = self.newest.max(changed);
        self.files += 1;
    }

    /// SQLite gives its log to the owner of the database at each opening by root, which changes the inode and no byte: the time of
    /// the last write counts here.
    fn add_log(&mut self, path: &Path) {
        use std::fmt::Write as _;
        self.add_rights(path);
        let Ok(found) = fs::symlink_metadata(path) else { return };
        let written = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        let _ = write!(self.text, "{}:{}:{}:{written},", found.dev(), found.ino(), found.size());
        self.newest = self.newest.max(written);
    }

    fn add_rights(&mut self, path: &Path) {
        use std::fmt::Write as _;
        let rights = fs::symlink_metadata(path).map(|found| (found.uid(), found.gid(), found.mode()));
        let _ = write!(self.text, "{:?},", rights.ok());
    }

    fn add_folder(&mut self, folder: &Path, deeper: usize) -> Option<()> {
        self.add_file(folder);
        let mut entries: Vec<_> = fs::read_dir(folder).ok()?.collect::<Result<_, _>>().ok()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if self.files > MOST_FILES {
                return None;
            }
            match entry.file_type().ok()?.is_dir() {
                true if deeper > 0 => self.add_folder(&entry.path(), deeper - 1)?,
                // What lies deeper could change unseen.
                true => return None,
                false => self.add_file(&entry.path()),
            }
        }
        Some(())
    }
}
