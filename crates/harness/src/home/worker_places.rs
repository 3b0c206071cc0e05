//! Workers of a home: the file of each worker process, requests to drain, and the places that a limit of the machine leaves.
//!
//! A worker keeps its file locked as long as it lives, and a run keeps its place locked. The kernel lets go of a lock with its process, so a
//! worker that was killed neither counts nor keeps anybody waiting.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use untrusted_fs::own_files::{self, OwnPath as _};

use crate::home::layout::Home;
use crate::home::token::random_token;

/// Ending of the file that asks a worker to drain.
const DRAIN: &str = "drain";
/// Ending of the file that a worker keeps locked.
const LIVES: &str = "worker";

/// Registration of a worker process in its home, until the value is dropped.
#[derive(Debug)]
pub struct WorkerPlace {
    path: PathBuf,
    _held: File,
}

/// Worker process that was asked to drain.
#[derive(Debug)]
pub struct DrainingWorker {
    path: PathBuf,
}

/// One of the runs that the machine's limit allows, until the value is dropped.
#[derive(Debug)]
pub struct MachinePlace {
    _held: File,
}

impl Home {
    /// Registers this process as a worker of the home.
    pub fn register_worker(&self) -> io::Result<WorkerPlace> {
        let path = self.worker_folder()?.join(format!("{}.{LIVES}", random_token()?));
        let held = own_files::create_file(&path)?;
        held.lock()?;
        match own_files::is_at(&held, &path) {
            true => Ok(WorkerPlace { path, _held: held }),
            // Between the two steps another process took the file for that of a dead worker.
            false => self.register_worker(),
        }
    }

    /// Asks every worker process of the home to drain. Files of dead workers are removed.
    pub fn drain_workers(&self) -> io::Result<Vec<DrainingWorker>> {
        let mut asked = Vec::new();
        for entry in own_files::read_dir(self.worker_folder()?)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == LIVES) {
                let worker = DrainingWorker { path };
                if !worker.has_ended()? {
                    own_files::write_file(worker.path.with_extension(DRAIN), b"")?;
                    asked.push(worker);
                }
            }
        }
        Ok(asked)
    }

    /// Takes one of the places for runs of this home; none while all of them are taken.
    pub fn take_machine_place(&self, most: u32) -> io::Result<Option<MachinePlace>> {
        let folder = self.worker_folder()?;
        for number in 0..most {
            let held = own_files::create_file(folder.join(format!("place-{number}")))?;
            match held.try_lock() {
                Ok(()) => return Ok(Some(MachinePlace { _held: held })),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    fn worker_folder(&self) -> io::Result<PathBuf> {
        let folder = self.root().join("workers");
        if !folder.own_is_dir() {
            DirBuilder::new().mode(0o700).recursive(true).create(&folder)?;
        }
        Ok(folder)
    }
}

impl WorkerPlace {
    /// True once somebody has asked this worker to drain.
    pub fn must_drain(&self) -> bool {
        self.path.with_extension(DRAIN).own_exists()
    }
}

impl Drop for WorkerPlace {
    fn drop(&mut self) {
        remove_files(&self.path);
    }
}

impl DrainingWorker {
    /// True of a worker process that is gone, whose files are removed.
    pub fn has_ended(&self) -> io::Result<bool> {
        let held = match own_files::open_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            opened => opened?,
        };
        match held.try_lock() {
            Ok(()) => remove_files(&self.path),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        Ok(true)
    }
}

/// Removes both files of a worker. If that fails, the next look finds the file of a dead worker and removes it.
fn remove_files(path: &Path) {
    let _ = std::fs::remove_file(path.with_extension(DRAIN));
    let _ = std::fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::layout::HomePlace;

    fn home(folder: &Path) -> Home {
        let root = folder.join("home");
        DirBuilder::new().mode(0o700).create(&root).unwrap();
        Home::existing(&HomePlace::from(root)).unwrap()
    }

    #[test]
    fn a_worker_is_asked_to_drain_for_as_long_as_it_lives() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        assert!(home.drain_workers().unwrap().is_empty());
        let (first, second) = (home.register_worker().unwrap(), home.register_worker().unwrap());
        assert!(!first.must_drain());
        let asked = home.drain_workers().unwrap();
        assert!(first.must_drain() && second.must_drain());
        let ended = || asked.iter().filter(|worker| worker.has_ended().unwrap()).count();
        assert_eq!((asked.len(), ended()), (2, 0));
        drop(first);
        assert_eq!(ended(), 1);
        let third = home.register_worker().unwrap();
        assert!(!third.must_drain(), "a request is for the workers of its moment");
        drop(second);
        assert_eq!(ended(), 2);
    }

    #[test]
    fn the_file_of_a_dead_worker_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        let left = home.worker_folder().unwrap().join(format!("dead.{LIVES}"));
        own_files::write_file(&left, b"").unwrap();
        assert!(home.drain_workers().unwrap().is_empty() && !left.own_exists());
    }

    #[test]
    fn a_place_is_taken_once_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        let first = home.take_machine_place(2).unwrap();
        let second = home.take_machine_place(2).unwrap();
        assert!(first.is_some() && second.is_some() && home.take_machine_place(2).unwrap().is_none());
        drop(first);
        assert!(home.take_machine_place(2).unwrap().is_some());
        assert!(home.take_machine_place(0).unwrap().is_none());
    }
}
