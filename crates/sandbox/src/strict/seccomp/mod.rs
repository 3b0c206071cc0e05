//! The filter of system calls: the table of forbidden calls, the program made of it, and
//! the stage's side, which answers and records the calls that are passed on.

mod executed;
mod executions;
mod family;
mod filter;
mod likeness;
mod memory;
mod recorder;
mod table;

use std::io;
use std::os::fd::OwnedFd;

use sandbox_facts::Seccomp;

use crate::kernel::seccomp::{install_filter, install_with_listener};
use crate::strict::failure::{At, ConfineFailure, ConfineStep};

use filter::Audience;

pub(crate) use executions::Executions;
pub(crate) use recorder::CallLog;

/// A filter in force on this thread.
#[derive(Debug)]
pub(crate) struct Filtered {
    pub(crate) seccomp: Seccomp,
    /// Listener for refused calls, or the error for which there is none.
    pub(crate) listener: Result<OwnedFd, io::Error>,
}

/// Calls that carry the word are not reported.
pub(crate) fn apply_filter(word: u64) -> Result<Filtered, ConfineFailure> {
    let build = |audience| {
        filter::build_filter(audience).ok_or_else(|| {
            ConfineFailure::new(ConfineStep::Seccomp, "there is no list of system calls for this processor")
        })
    };
    let size = |program: &[libc::sock_filter]| u32::try_from(program.len()).unwrap_or(u32::MAX);
    let program = build(Audience::ListenerBut(word))?;
    let listener = install_with_listener(&program);
    if listener.is_ok() {
        return Ok(Filtered { seccomp: Seccomp { instructions: size(&program), recorded: true }, listener });
    }
    // Another listener above us, or a kernel that has none: refuse as much, and record nothing.
    let program = build(Audience::Nobody)?;
    install_filter(&program).at(ConfineStep::Seccomp, "installing the filter")?;
    Ok(Filtered { seccomp: Seccomp { instructions: size(&program), recorded: false }, listener })
}
