//! Probes of the process itself: its identity, its rights, and the processes that it can
//! see.

use rustix::process::{getegid, geteuid, getpid};
use rustix::thread::{CapabilitySet, Uid, capabilities, no_new_privs, set_thread_res_uid};
use sandbox_facts::Probe;
use untrusted_fs::own_files;

use super::{failing, nothing};
use crate::procs;
use crate::strict::identity::INNER;

/// Tries to gain rights, and lists rights and descriptors that must not be there.
pub(super) fn probe_self() -> Vec<Probe> {
    vec![
        failing("become uid 0".to_owned(), become_root()),
        nothing("another user", &another_user()),
        nothing("capabilities", &held_capabilities()),
        nothing("new privileges", &new_privileges()),
        nothing("inherited descriptors", &procs::inheritable_fds().iter().map(u32::to_string).collect::<Vec<_>>()),
        nothing("processes of the host", &other_processes()),
    ]
}

fn become_root() -> std::io::Result<()> {
    Ok(set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT)?)
}

fn another_user() -> Vec<String> {
    let ids = [geteuid().as_raw(), getegid().as_raw()];
    ids.into_iter().filter(|id| *id != INNER).map(|id| id.to_string()).collect()
}

fn held_capabilities() -> Vec<String> {
    match capabilities(None) {
        Ok(held) => {
            let all = held.effective | held.permitted | held.inheritable;
            if all == CapabilitySet::empty() { Vec::new() } else { vec![format!("{:#x}", all.bits())] }
        }
        Err(errno) => vec![errno.to_string()],
    }
}

fn new_privileges() -> Vec<String> {
    if no_new_privs().unwrap_or(false) { Vec::new() } else { vec!["no_new_privs is not set".to_owned()] }
}

/// Visible processes other than process 1 and this one.
fn other_processes() -> Vec<String> {
    let me = getpid().as_raw_pid().to_string();
    let names = own_files::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.parse::<u32>().is_ok() && *name != "1" && *name != me).collect()
}
