//! Resource limits: the requested values, the mechanism that sets each, and the values in
//! force.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sandbox_facts::{HeldLimit, LimitBy, LimitKind};
use serde::{Deserialize, Serialize};

/// The stage lives under the same limits as the program it starts; below these it could not
/// finish its own work.
const MEMORY_FLOOR: u64 = 32 << 20;
const OPEN_FILES_FLOOR: u64 = 16;

/// Limits for each process of the run; `None` leaves what the harness itself has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessLimits {
    /// Address space, in bytes.
    pub memory_bytes: Option<u64>,
    /// Size of one file, in bytes.
    pub file_bytes: Option<u64>,
    /// Open descriptors.
    pub open_files: Option<u64>,
}

impl ProcessLimits {
    /// The rules that will be set. [`crate::Ended::limits`] has those that were in force,
    /// which an inherited lower limit can make smaller.
    pub fn rules(&self) -> Vec<HeldLimit> {
        let asked = [
            (LimitKind::Memory, self.memory_bytes.map(|n| n.max(MEMORY_FLOOR))),
            (LimitKind::FileSize, self.file_bytes),
            (LimitKind::OpenFiles, self.open_files.map(|n| n.max(OPEN_FILES_FLOOR))),
            // A core file would be written into the workspace, with whatever secret the
            // process held.
            (LimitKind::CoreSize, Some(0)),
        ];
        let rule = |(kind, value): (_, Option<u64>)| value.map(|value| HeldLimit { kind, by: LimitBy::Rlimit, value });
        asked.into_iter().filter_map(rule).collect()
    }
}

/// Sets the rules on this process, for it and all it starts, and returns what is in force.
pub(crate) fn apply_rules(rules: &[HeldLimit]) -> io::Result<Vec<HeldLimit>> {
    rules.iter().map(|rule| apply_one(*rule)).collect()
}

fn apply_one(rule: HeldLimit) -> io::Result<HeldLimit> {
    let resource = resource(rule.kind).ok_or(io::ErrorKind::Unsupported)?;
    // Soft and hard alike, so that the program cannot raise it again; never above what was
    // inherited.
    let value = getrlimit(resource).maximum.map_or(rule.value, |hard| hard.min(rule.value));
    setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?;
    Ok(HeldLimit { value, ..rule })
}

/// `None` for what no rlimit can hold.
fn resource(kind: LimitKind) -> Option<Resource> {
    match kind {
        LimitKind::Memory => Some(Resource::Data),
        LimitKind::FileSize => Some(Resource::Fsize),
        LimitKind::OpenFiles => Some(Resource::Nofile),
        LimitKind::CoreSize => Some(Resource::Core),
        LimitKind::Processes => Some(Resource::Nproc),
        LimitKind::Disk | LimitKind::Inodes => None,
    }
}
