//! Marks of used approvals outside of the ledger: a file of the home, made exclusively,
//! whose name is the digest of the request. A ledger that was put back to an earlier state
//! does not bring an approval back to life.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use contract::{Digest, RunId};
use untrusted_fs::own_files;

use crate::run::harness::Harness;

/// File that says that a request was used.
pub(crate) fn used_file(harness: &Harness, request: Digest) -> PathBuf {
    harness.home.root().join("used").join(request.to_string())
}

/// Moment from which a mark must outlive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkDurability {
    /// Durable from the start: at stage 4 the mark alone shows what a restored ledger does not.
    Synced,
    /// Once the kernel has written it out: the synced memory of the last entry tells a
    /// ledger that was restored before that.
    Written,
}

/// Makes the mark; false if it exists already.
#[expect(
    clippy::disallowed_methods,
    reason = "a file of our own folder that must not exist: a link there is refused too"
)]
pub(crate) fn mark_used(
    harness: &Harness,
    request: Digest,
    run_id: &RunId,
    durability: MarkDurability,
) -> io::Result<bool> {
    let file = used_file(harness, request);
    let folder = harness.home.root().join("used");
    DirBuilder::new().mode(0o700).recursive(true).create(&folder)?;
    let mut open = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
        Ok(open) => open,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(error),
    };
    writeln!(open, "{run_id}")?;
    if durability == MarkDurability::Synced {
        open.sync_all()?;
        own_files::open_folder(&folder)?.sync_all()?;
    }
    Ok(true)
}

/// Takes back a mark that this process made for a use that did not happen.
pub(crate) fn unmark_used(harness: &Harness, request: Digest) -> io::Result<()> {
    std::fs::remove_file(used_file(harness, request))
}

/// The request whose mark names this run.
pub(crate) fn find_mark_of(harness: &Harness, run_id: &RunId) -> Option<Digest> {
    let marks = own_files::read_dir(harness.home.root().join("used")).into_iter().flatten().flatten();
    let names_run = |path: PathBuf| {
        own_files::read_file(path).is_ok_and(|bytes| bytes.trim_ascii_end() == run_id.to_string().as_bytes())
    };
    let mut named = marks.filter(|entry| names_run(entry.path()));
    named.find_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::Trial;

    #[test]
    fn a_mark_is_made_once() {
        let trial = Trial::new();
        let request = Digest::of_bytes(b"request");
        let mark = || mark_used(&trial.harness, request, &trial.run_id, MarkDurability::Synced).unwrap();
        assert_eq!(find_mark_of(&trial.harness, &trial.run_id), None);
        assert_eq!((mark(), mark()), (true, false));
        assert_eq!(find_mark_of(&trial.harness, &trial.run_id), Some(request));
        unmark_used(&trial.harness, request).unwrap();
        assert!(mark(), "a use that did not happen leaves none");
    }
}
