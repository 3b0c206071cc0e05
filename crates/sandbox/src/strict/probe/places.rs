//! Places that must not be writable, readable or there at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use sandbox_facts::{Access, Probe};
use untrusted_fs::own_files::{self, OwnOptions as _};

use super::{failing, nothing};
use crate::confinement::Confinement;
use crate::kernel::attempt;

/// Opened for writing, without writing.
const WRITE: [&str; 9] = [
    "/etc/passwd",
    "/etc/ld.so.cache",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/overcommit_memory",
    "/proc/1/mem",
    "/proc/1/oom_score_adj",
    "/proc/self/exe",
    "/dev/kmsg",
];
/// A new file is tried in each.
const CREATE: [&str; 4] = ["/", "/etc", "/usr", "/usr/bin"];
const READ: [&str; 12] = [
    "/proc/1/environ",
    "/proc/1/mem",
    "/proc/1/maps",
    "/proc/1/root/etc",
    "/proc/1/fd",
    "/etc/shadow",
    "/dev/mem",
    "/dev/tty",
    "/sys/kernel",
    "/sys/fs/cgroup",
    "/run/docker.sock",
    "/var/run/docker.sock",
];
/// Masked: they can be opened, and are empty.
const EMPTY: [&str; 4] = ["/proc/kcore", "/proc/keys", "/proc/kmsg", "/proc/timer_list"];
const ROOT: [&str; 14] =
    ["bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "tmp", "usr", "var"];
const DEV: [&str; 14] = [
    "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom",
    "zero",
];
const PROBE_FILE: &str = ".probe";

/// Tries to write, create and read where that must fail, including the caller's read-only
/// mounts.
pub(super) fn probe_places(confinement: &Confinement, word: u64) -> Vec<Probe> {
    let read_only = confinement.mounts.iter().filter(|mount| mount.access == Access::ReadOnly);
    let given = read_only.map(|mount| mount.target.as_path());
    let mut probes: Vec<Probe> =
        WRITE.iter().map(|path| failing(format!("write {path}"), open_to_write(path))).collect();
    probes.extend(CREATE.into_iter().map(Path::new).chain(given).map(create));
    probes.extend(READ.iter().map(|path| failing(format!("read {path}"), look(path))));
    probes.extend(EMPTY.iter().map(|path| failing(format!("read {path}"), first_byte(path))));
    probes.push(failing("set-uid file".to_owned(), set_uid_file(word)));
    probes.push(failing("device node".to_owned(), device_node()));
    probes.push(nothing("other places of the host", &surplus("/", &ROOT, confinement)));
    probes.push(nothing("other devices", &surplus("/dev", &DEV, confinement)));
    probes.push(nothing("other mounts", &other_mounts(confinement)));
    probes
}

fn open_to_write(path: &str) -> io::Result<File> {
    OpenOptions::new().write(true).own_open(path)
}

fn create(directory: &Path) -> Probe {
    let path = directory.join(PROBE_FILE);
    let made = OpenOptions::new().write(true).create_new(true).own_open(&path);
    if made.is_ok() {
        let _ = fs::remove_file(&path);
    }
    failing(format!("create in {}", directory.display()), made)
}

fn look(path: &str) -> io::Result<()> {
    if own_files::metadata(path)?.is_dir() { own_files::read_dir(path).map(drop) } else { first_byte(path) }
}

/// Reads the first byte; an empty file is an error.
fn first_byte(path: &str) -> io::Result<()> {
    io::Read::read_exact(&mut own_files::open_file(path)?, &mut [0])
}

fn set_uid_file(word: u64) -> io::Result<()> {
    let made = attempt::create_file(c"/tmp/.probe", 0o4755, word).map(drop);
    if made.is_ok() {
        let _ = fs::remove_file(Path::new("/tmp").join(PROBE_FILE));
    }
    made
}

/// The machine's memory, as a node of our own.
fn device_node() -> io::Result<()> {
    let path = Path::new("/tmp").join(PROBE_FILE);
    let made = mknodat(CWD, &path, FileType::CharacterDevice, Mode::RUSR, makedev(1, 1));
    if made.is_ok() {
        let _ = fs::remove_file(&path);
    }
    Ok(made?)
}

/// Entries of a directory that neither belong there nor lead to what the caller named.
fn surplus(directory: &str, expected: &[&str], confinement: &Confinement) -> Vec<String> {
    let leads: BTreeSet<PathBuf> = targets(confinement).iter().filter_map(|path| step(directory, path)).collect();
    let entries = own_files::read_dir(directory).into_iter().flatten().flatten();
    let names =
        entries.filter(|entry| !leads.contains(&entry.path())).filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !expected.contains(&name.as_str())).collect()
}

/// The entry of `directory` through which a path goes.
fn step(directory: &str, path: &Path) -> Option<PathBuf> {
    let Component::Normal(first) = path.strip_prefix(directory).ok()?.components().next()? else { return None };
    Some(Path::new(directory).join(first))
}

fn targets(confinement: &Confinement) -> Vec<PathBuf> {
    let given = confinement.mounts.iter().map(|mount| mount.target.clone());
    given.chain([confinement.workspace.target.clone(), confinement.home.clone()]).collect()
}

/// Mounts below nothing that belongs here: the old root, above all.
fn other_mounts(confinement: &Confinement) -> Vec<String> {
    let known = ["/bin", "/dev", "/etc", "/lib", "/proc", "/sbin", "/tmp", "/usr", "/var/tmp"].map(PathBuf::from);
    let known: Vec<PathBuf> = known.into_iter().chain(targets(confinement)).collect();
    let text = own_files::read_to_string("/proc/self/mountinfo").unwrap_or_else(|error| format!("0 0 0 0 {error}"));
    let places = text.lines().filter_map(|line| line.split(' ').nth(4)).map(unescaped);
    let belongs = |place: &String| {
        let path = Path::new(place);
        place == "/" || place.starts_with("/lib") || known.iter().any(|known| path.starts_with(known))
    };
    places.filter(|place| !belongs(place)).collect()
}

/// A path of `mountinfo`, where the kernel writes what would end a field as a backslash and
/// three octal digits.
fn unescaped(field: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\")];
    escapes.iter().fold(field.to_owned(), |text, (escape, character)| text.replace(escape, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mounts_are_read_as_they_are() {
        for (field, path) in [
            ("/tmp/a", "/tmp/a"),
            ("/my\\040tools/\u{fc}", "/my tools/\u{fc}"),
            ("/a\\011b\\012c", "/a\tb\nc"),
            ("/a\\134040", "/a\\040"),
        ] {
            assert_eq!(unescaped(field), path);
        }
    }
}
