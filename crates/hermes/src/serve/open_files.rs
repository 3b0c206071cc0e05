//! Open files of this process: as many as the system permits, and some kept for reading.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a server wants to be able to open.
const WANTED: u64 = 8192;
/// Files that are kept for ledgers, bundles and everything else that is no connection.
const RESERVE: u64 = 256;
/// Listeners of a process: the console and its sidecar.
const LISTENERS: u64 = 2;
/// Connections that a listener takes under the smallest limit.
const LEAST: usize = 8;

/// Raises the limit of open files, and gives the number of connections that one listener may
/// hold. However many strangers connect, files can still be opened.
pub(super) fn connection_limit(most: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(WANTED).min(WANTED);
    let now = limit.current.unwrap_or(WANTED);
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    let open = if now < wanted && setrlimit(Resource::Nofile, raised).is_ok() { wanted } else { now };
    connections_of(open, most)
}

fn connections_of(open: u64, most: usize) -> usize {
    let share = open.saturating_sub(RESERVE) / LISTENERS;
    usize::try_from(share).unwrap_or(most).clamp(LEAST, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_files() {
        for (open, connections) in [(64, 8), (600, 172), (1024, 384), (8192, 2048), (u64::MAX, 2048)] {
            assert_eq!(connections_of(open, 2048), connections, "{open}");
        }
    }
}
