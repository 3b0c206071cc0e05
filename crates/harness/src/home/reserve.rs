//! Disk that a run sets aside before it starts, so that it can be sealed when there is none
//! left.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;

use contract::RunId;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::home::layout::Home;

/// Enough for the report, the last events and the attestation.
const BYTES: u64 = 4 << 20;

/// Space on the disk of the home; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reserve {
    path: PathBuf,
}

impl Reserve {
    /// Reserves the space. Fails if the disk is too full to seal a run.
    pub(crate) fn take_space(home: &Home, run_id: &RunId) -> io::Result<Self> {
        let reserve = Self { path: home.reserve_path(run_id) };
        let mut file = File::create_new(&reserve.path)?;
        match fallocate(&file, FallocateFlags::empty(), 0, BYTES) {
            // A file system that cannot set space aside takes it when it is written.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                file.write_all(&vec![0; usize::try_from(BYTES).unwrap_or_default()])?
            }
            result => result?,
        }
        Ok(reserve)
    }

    /// Gives back what a dead run had set aside.
    pub(crate) fn release(home: &Home, run_id: &RunId) {
        drop(Self { path: home.reserve_path(run_id) });
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
