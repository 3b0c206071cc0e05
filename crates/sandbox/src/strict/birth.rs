//! The first process of a confinement, as the stage makes it: forked into its namespaces
//! and its control group, and mapped.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;

use sandbox_facts::{Namespace, ObservedConduct, Ownership, Posture, Profile, Seccomp};

use super::cgroup::{Cgroup, GroupEntry};
use super::channel::{Channel, InnerMessage};
use super::confined_process::ConfinedProcess;
use super::failure::{At, ConfineFailure, ConfineStep};
use super::identity::Identity;
use crate::applied::Applied;
use crate::kernel::process::{Forked, exit_at_once, fork_into, fork_into_group};

/// Namespaces of the fork. The cgroup namespace is entered later, once the run's own group
/// exists.
const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

/// Makes it and lets it go on. `live` is what it does, and never comes back.
pub(super) fn create_process(
    identity: &Identity,
    cgroup: Option<Cgroup>,
    live: impl FnOnce(&Channel),
) -> Result<ConfinedProcess, ConfineFailure> {
    let (channel, theirs) = Channel::pair().at(ConfineStep::Namespaces, "channel")?;
    let door = cgroup.as_ref().map(Cgroup::door).transpose().at(ConfineStep::Cgroup, "opening the control group")?;
    let (forked, is_in) = fork(door.as_ref()).at(ConfineStep::Namespaces, "making namespaces")?;
    let init = match forked {
        Forked::Child => {
            drop(channel);
            if let Err(failure) = enter(door) {
                let _ = theirs.send_message(&InnerMessage::Failed(failure), &[]);
                exit_at_once(0);
            }
            live(&theirs);
            exit_at_once(0)
        }
        Forked::Parent(pid) => pid,
    };
    // From here on a failure takes the new process with it, because dropping the confined process
    // kills it.
    let cell = ConfinedProcess::new(init, channel, cgroup, unbuilt(identity));
    identity.write_maps(init).at(ConfineStep::IdMap, "mapping the user")?;
    if let (Some(cgroup), false) = (&cell.cgroup, is_in) {
        cgroup.add_process(init).at(ConfineStep::Cgroup, "moving the run into its control group")?;
    }
    cell.channel.release().at(ConfineStep::Lost, "letting the first process go on")?;
    Ok(cell)
}

/// Forks; true if the child is in its control group already, or needs none.
fn fork(door: Option<&GroupEntry>) -> io::Result<(Forked, bool)> {
    match door {
        Some(GroupEntry::Birth(group)) => match fork_into_group(NAMESPACES, group.as_fd()) {
            Ok(forked) => Ok((forked, true)),
            // Older kernels; what else is wrong shows when it is tried without.
            Err(_) => Ok((fork_into(NAMESPACES)?, false)),
        },
        Some(GroupEntry::Open(_)) | None => Ok((fork_into(NAMESPACES)?, true)),
    }
}

fn enter(door: Option<GroupEntry>) -> Result<(), ConfineFailure> {
    match door {
        Some(GroupEntry::Open(mut tasks)) => {
            tasks.write_all(b"0").at(ConfineStep::Cgroup, "entering the control group")
        }
        Some(GroupEntry::Birth(_)) | None => Ok(()),
    }
}

fn unbuilt(identity: &Identity) -> Applied {
    Applied {
        posture: Posture {
            profile: Profile::Strict,
            namespaces: Namespace::ALL.to_vec(),
            landlock_abi: None,
            seccomp: Seccomp { instructions: 0, recorded: false },
            mounts: Vec::new(),
            limits: Vec::new(),
            recorders: Vec::new(),
            probes: Vec::new(),
        },
        ids: identity.ids(Ownership::Same),
        seen: ObservedConduct::default(),
    }
}
