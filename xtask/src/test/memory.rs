//! Folder for files of tests: in memory if there is plenty, otherwise the machine's
//! temporary folder.
//!
//! Tests make and remove some hundred thousand small files. On a disk half of their time is
//! waiting for it, and a fifth of the processors' goes into finding free inodes.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use sha2::{Digest as _, Sha256};

use crate::ChoreResult;
use crate::process::repository_root;

use super::remove_folder;

/// A file system in memory that Linux has.
const MEMORY: &str = "/dev/shm";

/// Bytes that must be free in it, and of the machine's memory: several times what a run of
/// all tests takes.
const ROOM: u64 = 8 << 30;

/// The folder, which goes with the value.
pub(super) struct MemoryFolder(PathBuf);

impl MemoryFolder {
    /// An empty one, where the machine has the memory. One checkout has one, so nothing
    /// stays behind twice.
    pub(super) fn make_folder() -> ChoreResult<Option<Self>> {
        if !has_free_memory() {
            return Ok(None);
        }
        let checkout = Sha256::digest(repository_root().as_os_str().as_encoded_bytes());
        let name = format!("cto-tests-{:02x}{:02x}{:02x}{:02x}", checkout[0], checkout[1], checkout[2], checkout[3]);
        let folder = Path::new(MEMORY).join(name);
        remove_folder(&folder)?;
        fs::create_dir(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Some(Self(folder)))
    }

    /// Path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for MemoryFolder {
    fn drop(&mut self) {
        // What a test that was ended has left in use stays until the next run.
        let _ = remove_folder(&self.0);
    }
}

fn has_free_memory() -> bool {
    let Ok(stat) = rustix::fs::statvfs(MEMORY) else { return false };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let unusable = StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY;
    let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_memory(&text));
    !stat.f_flag.intersects(unusable) && free >= ROOM && memory.is_some_and(|bytes| bytes >= ROOM)
}

/// Reads `MemAvailable` of /proc/meminfo, in bytes.
fn available_memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read() {
        assert_eq!(available_memory("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        for text in ["", "MemAvailable: many kB", "MemAvailable: 5"] {
            assert_eq!(available_memory(text), None, "{text}");
        }
    }
}
