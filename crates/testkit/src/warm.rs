//! Knowledge of a home about the binary and the machine, passed from one home of the suite to the next.
//!
//! The first run in a home digests the binary, a hundred megabytes without optimisation, and tries the sandbox. The binary takes
//! what it remembers only where the file, the kernel and the user are the same, so a home that is given it is like one in which
//! something ran before.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use contract::Digest;
use serde_json::Value;

/// Files below `cache` that are about the binary and the machine, not about the home.
const REMEMBERED: [&str; 2] = ["executables.json", "sandbox.json"];

/// Folder below `cache` with the digests of mounts, each named after the stats of all files that it is about. Mounts are tools of the
/// machine, of hundreds of megabytes, that most homes would read once more.
const MOUNTS: &str = "mounts";

/// Bytes of a mount that is worth sharing.
const LARGE_MOUNT: u64 = 10 << 20;

/// Commands that make a home where there is none and run something in it.
const RUNNING: [&str; 4] = ["run", "matrix", "race", "repeat"];

/// Commands that digest the binary or try the sandbox in a home that is there.
const LATER: [&str; 5] = ["request", "refresh", "sandbox", "setup", "worker"];

/// The folder that the suite keeps for it; there is none where a test program is started by hand.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where to keep things")]
fn kept_for(binary: &Path) -> Option<PathBuf> {
    let name = Digest::of_bytes(binary.as_os_str().as_bytes()).to_string().replace(':', "-");
    Some(PathBuf::from(std::env::var_os("CTO_TEST_WARM")?).join(name))
}

/// Before a command: keeps what the home has found out, or gives a home that remembers nothing what an earlier one has.
pub(crate) fn share_memory(binary: &Path, home: &Path, command: Option<&[u8]>) {
    let Some(kept) = kept_for(binary) else { return };
    let cache = home.join("cache");
    if REMEMBERED.iter().any(|name| cache.join(name).exists()) {
        keep_memory(&cache, &kept);
        return;
    }
    let is_one_of = |words: &[&str]| command.is_some_and(|command| words.iter().any(|word| word.as_bytes() == command));
    let is_home_there = fs::symlink_metadata(home).is_ok();
    if kept.is_dir() && (is_one_of(&RUNNING) || is_home_there && is_one_of(&LATER)) {
        warm_home(&cache, &kept);
    }
}

fn warm_home(cache: &Path, kept: &Path) {
    // What a test made in the place of its home is the test's: then the binary finds everything out itself.
    if fs::DirBuilder::new().mode(0o700).recursive(true).create(cache).is_err() {
        return;
    }
    for name in REMEMBERED {
        // The sandbox is only tried by a run that asks for one.
        let _ = fs::copy(kept.join(name), cache.join(name));
    }
    share_digests(&kept.join(MOUNTS), &cache.join(MOUNTS));
}

/// Links the digests of large mounts that a folder lacks. Small ones are of one test alone.
fn share_digests(from: &Path, into: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let shared = into.join(entry.file_name());
        if shared.exists() || !is_of_large_mount(&entry.path()) {
            continue;
        }
        if fs::DirBuilder::new().mode(0o700).recursive(true).create(into).is_ok() {
            // The binary never writes into such a file: it puts another one in its place.
            let _ = fs::hard_link(entry.path(), shared);
        }
    }
}

fn is_of_large_mount(file: &Path) -> bool {
    let kept: Option<Value> = fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    kept.is_some_and(|kept| kept["digest"]["bytes"].as_u64() >= Some(LARGE_MOUNT))
}

/// The home's own is the newer: the binary writes it again when the file that it is about has changed.
fn keep_memory(cache: &Path, kept: &Path) {
    for name in REMEMBERED {
        let Ok(found) = fs::read(cache.join(name)) else { continue };
        if fs::read(kept.join(name)).is_ok_and(|known| known == found) {
            continue;
        }
        let aside = kept.join(format!("{name}-{}", std::process::id()));
        if fs::create_dir_all(kept).is_ok() && fs::write(&aside, found).is_ok() {
            let _ = fs::rename(aside, kept.join(name));
        }
    }
    share_digests(&cache.join(MOUNTS), &kept.join(MOUNTS));
}
