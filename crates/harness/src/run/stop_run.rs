//! Stopping one run: a file with its name below `stops/`, for which the run looks as it
//! does for the kill switch. The run is sealed as interrupted, as after Ctrl-C.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use contract::RunId;
use untrusted_fs::own_files::OwnOptions as _;

use crate::home::layout::Home;

/// Asks a run of this home to end; false if that was asked before.
pub fn ask_run_to_stop(home: &Home, run_id: &RunId) -> io::Result<bool> {
    let path = home.stop_path(run_id);
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(&path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// The question to one run to end, forgotten when the run has ended. One that stays behind
/// names a run that never comes back.
#[derive(Debug)]
pub(crate) struct StopQuestion(pub(crate) PathBuf);

impl Drop for StopQuestion {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
