//! End of a supervised run.

use std::time::Duration;

use sandbox_facts::{HeldLimit, LimitKind};
use serde::{Deserialize, Serialize};

use crate::{Applied, KeptOutput};

/// Way in which the program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Exited {
        code: i32,
    },
    /// Ended by a signal: its own, or the supervisor's kill if one of the flags in
    /// [`Ended`] says so.
    Signaled {
        signal: i32,
    },
    /// Never started.
    SpawnFailed(SpawnFailure),
    /// The supervising stage died or fell silent; what carried the marker was swept.
    SupervisorLost,
}

/// Cause of a program that never started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnFailure {
    pub kind: SpawnFailureKind,
    /// Error number of the kernel, if it gave one.
    pub errno: Option<i32>,
    /// Action that failed, and the error in words.
    pub text: String,
}

/// Kind of a failed start, for messages that a person can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnFailureKind {
    /// No such program, or the interpreter its first line names is missing.
    NotFound,
    /// The file exists and may not be executed.
    Permission,
    /// The working directory cannot be entered.
    Directory,
    /// Any other error of the kernel.
    Other,
}

/// Processes other than the program that were still running when it had ended or was stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftovers {
    /// Number of processes that had to be killed.
    pub killed: u32,
    /// Kernel names of the first of them, bounded.
    pub names: Vec<String>,
    /// Still there when the supervisor stopped waiting.
    pub remaining: u32,
}

/// CPU time of all processes of the run that were waited for, in steps of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    pub user: Duration,
    pub system: Duration,
}

/// Complete account of a finished run. When the caller gets it, no process of the program
/// is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Way in which the program itself ended.
    pub how: How,
    /// True if the time limit ended it.
    pub timed_out: bool,
    /// True if the operator ended everything.
    pub cancelled: bool,
    /// True if the harness ended this program.
    pub stopped: bool,
    /// True if too much output ended it.
    pub output_exceeded: bool,
    /// Watched directories grew beyond their limit; `limit_hits` says in which way.
    pub disk_exceeded: bool,
    /// Something outside the supervised tree still held the output open; reading was given up.
    pub output_open: bool,
    /// Other processes of the program at its end.
    pub leftovers: Leftovers,
    /// Processes found by the marker and killed, after the stage was lost.
    pub swept: usize,
    /// Wall time from the start of the program to its end.
    pub elapsed: Duration,
    /// Processor time; `None` if it could not be read.
    pub cpu: Option<Cpu>,
    /// Limits that were in force; if the stage was lost, only those that the harness itself
    /// holds.
    pub limits: Vec<HeldLimit>,
    /// Limits that are known to have been hit. Some limits give no sign.
    pub limit_hits: Vec<LimitKind>,
    /// Result of profile `strict`; `None` under profile `none`, or if the stage was lost.
    pub applied: Option<Applied>,
    /// Descriptors above 2 that the harness itself was started with and that reached the
    /// program too.
    pub inherited_fds: Vec<u32>,
    /// Standard output, kept in part and digested whole.
    pub stdout: KeptOutput,
    /// Standard error, kept in part and digested whole.
    pub stderr: KeptOutput,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
        serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
    }

    #[test]
    fn an_end_is_read_as_it_was_written() {
        let failure = SpawnFailure { kind: SpawnFailureKind::Directory, errno: Some(2), text: "\"\n\u{1}".to_owned() };
        let ways =
            [How::Exited { code: -1 }, How::Signaled { signal: 9 }, How::SpawnFailed(failure), How::SupervisorLost];
        let kept =
            |bytes: &[u8]| KeptOutput { head: bytes.to_vec(), tail: vec![0xff], total: u64::MAX, sha256: [0xab; 32] };
        let mut ended = Ended {
            how: How::SupervisorLost,
            timed_out: true,
            cancelled: false,
            stopped: true,
            output_exceeded: false,
            disk_exceeded: true,
            output_open: false,
            leftovers: Leftovers { killed: 1, names: vec!["\u{fffd} x".to_owned()], remaining: u32::MAX },
            swept: usize::MAX,
            elapsed: Duration::new(u64::MAX, 999_999_999),
            cpu: Some(Cpu { user: Duration::from_millis(10), system: Duration::ZERO }),
            limits: Vec::new(),
            limit_hits: Vec::new(),
            applied: None,
            inherited_fds: vec![3, u32::MAX],
            stdout: kept(b"\x00\xff\n"),
            stderr: kept(b""),
        };
        for how in ways {
            ended.how = how;
            assert_eq!(again(&ended), ended);
        }
    }
}
