//! Identity of the run: the one user inside, and the kernel's uid and gid behind it.
//!
//! Root maps the inner user to a high uid that nobody else has. An ordinary user can map
//! only itself. In neither case is the program the kernel's uid 0, with which sysctls stay
//! writable even without any capability.

use std::io;

use rustix::process::{Pid, getegid, geteuid, getgroups};
use rustix::thread::{
    CapabilitySet, Gid, Uid, capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use sandbox_facts::{Ownership, SandboxIds};
use untrusted_fs::own_files;

use super::failure::{At, ConfineFailure, ConfineStep};

/// The uid and gid of the one user inside.
pub(crate) const INNER: u32 = 1000;
/// First of the uids up to 0x7fff_ffff, which no system assigns by convention.
const HIGH: u32 = 0x7000_0000;
const HIGH_MASK: u32 = 0x0fff_ffff;

/// User and group of the run, as the kernel knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The harness can translate and change ids, and the run has a uid of its own.
    pub(crate) root: bool,
    /// Uid outside of the namespace.
    pub(crate) uid: u32,
    /// Gid outside of the namespace.
    pub(crate) gid: u32,
    /// True if supplementary groups could not be dropped.
    pub(crate) groups_kept: bool,
}

impl Identity {
    /// Chooses the ids. An ordinary user keeps its own; root needs the capabilities to
    /// change ids, and fails without them.
    pub(crate) fn choose_ids(asked: Option<u32>) -> Result<Self, ConfineFailure> {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        if uid != 0 {
            let groups_kept = getgroups().map_or(true, |groups| groups.iter().any(|group| group.as_raw() != gid));
            return Ok(Self { root: false, uid, gid, groups_kept });
        }
        let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::SETUID | CapabilitySet::SETGID;
        let held = capabilities(None).at(ConfineStep::Identity, "reading the own capabilities")?.effective;
        if !held.contains(needed) {
            return Err(ConfineFailure::new(
                ConfineStep::Identity,
                "uid 0 without CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID can take no other uid for the program",
            ));
        }
        let high = own_uid(asked)?;
        Ok(Self { root: true, uid: high, gid: high, groups_kept: false })
    }

    /// Ids as `sandbox.json` records them.
    pub(crate) fn ids(&self, ownership: Ownership) -> SandboxIds {
        SandboxIds {
            inner_uid: INNER,
            outer_uid: self.uid,
            inner_gid: INNER,
            outer_gid: self.gid,
            groups_kept: self.groups_kept,
            ownership,
        }
    }

    /// Writes the maps of a process that has just entered its user namespace.
    pub(crate) fn write_maps(&self, process: Pid) -> io::Result<()> {
        let at = |name: &str| format!("/proc/{}/{name}", process.as_raw_pid());
        if !self.root {
            // Without this an ordinary user may not write the map of groups.
            own_files::write_file(at("setgroups"), "deny")?;
        }
        own_files::write_file(at("uid_map"), format!("{INNER} {} 1", self.uid))?;
        own_files::write_file(at("gid_map"), format!("{INNER} {} 1", self.gid))
    }

    /// Becomes the inner user; capabilities in the user namespace stay, because no uid 0 is
    /// left behind.
    pub(crate) fn assume(&self) -> Result<(), ConfineFailure> {
        if self.root {
            let (uid, gid) = (Uid::from_raw(INNER), Gid::from_raw(INNER));
            set_thread_groups(&[]).at(ConfineStep::Identity, "giving up groups")?;
            set_thread_res_gid(gid, gid, gid).at(ConfineStep::Identity, "taking the run's gid")?;
            set_thread_res_uid(uid, uid, uid).at(ConfineStep::Identity, "taking the run's uid")?;
        }
        Ok(())
    }
}

fn own_uid(asked: Option<u32>) -> Result<u32, ConfineFailure> {
    let map = own_files::read_to_string("/proc/self/uid_map").at(ConfineStep::Identity, "reading the own uid map")?;
    let extents = extents(&map);
    let mut random = [0; 4];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .at(ConfineStep::Identity, "choosing a uid")?;
    let wanted = asked.unwrap_or(HIGH | (u32::from_ne_bytes(random) & HIGH_MASK));
    match pick(&extents, wanted) {
        Some(uid) if asked.is_none_or(|asked| asked == uid) => Ok(uid),
        _ => Err(ConfineFailure::new(ConfineStep::Identity, "no unused uid can be mapped in this user namespace")),
    }
}

/// First id and count of each range that is mapped here.
fn extents(map: &str) -> Vec<(u32, u32)> {
    let extent = |line: &str| {
        let mut fields = line.split_whitespace();
        Some((fields.next()?.parse().ok()?, fields.nth(1)?.parse().ok()?))
    };
    map.lines().filter_map(extent).collect()
}

/// Wanted uid if it is mapped, else the last of the largest range, unless that is a real
/// user.
fn pick(extents: &[(u32, u32)], wanted: u32) -> Option<u32> {
    if extents.iter().any(|(first, count)| wanted >= *first && wanted - first < *count) {
        return Some(wanted);
    }
    let (first, count) = extents.iter().max_by_key(|(_, count)| *count)?;
    first.checked_add(count.checked_sub(1)?).filter(|last| *last > INNER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_that_is_mapped_is_picked() {
        let cases = [
            ("         0          0 4294967295\n", HIGH, Some(HIGH)),
            ("0 1000 1\n1 100000 65536\n", HIGH, Some(65536)),
            ("0 1000 1\n1 100000 65536\n", 5000, Some(5000)),
            ("0 1000 1\n", HIGH, None),
            ("", HIGH, None),
            ("x y z\n", HIGH, None),
        ];
        for (map, wanted, expected) in cases {
            assert_eq!(pick(&extents(map), wanted), expected, "{map}");
        }
    }
}
