//! Users that a test runs the binary as: root and an ordinary user, as far as the test can choose.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::{World, program, skip};

/// Given to nobody by any system, and not the number that stands for unknown owners.
const ORDINARY: u32 = 12_345;

/// User that a test runs the binary as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Root,
    Ordinary,
}

impl Who {
    /// Everybody that a test can be; what cannot be tried is printed.
    pub fn all(test: &str) -> Vec<Self> {
        if is_root() {
            return vec![Self::Root, Self::Ordinary];
        }
        skip(test, "the half as root, which this test is not");
        vec![Self::Ordinary]
    }

    /// True if this is another user than the test's own.
    pub fn is_another(self) -> bool {
        self.other_uid().is_some()
    }

    /// The uid to change to, where that is not our own.
    pub(crate) fn other_uid(self) -> Option<u32> {
        (self == Self::Ordinary && is_root()).then_some(ORDINARY)
    }
}

/// True if the test itself runs as root.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").expect("/proc").uid() == 0
}

/// Lets a command run as a user, and without the groups of ours.
pub(crate) fn run_as(command: &mut Command, uid: Option<u32>) {
    if let Some(uid) = uid {
        command.uid(uid).gid(uid);
    }
}

/// Runs a test of the calling test program again as an ordinary user, where the test itself is root: root may read everything, so that
/// there is nothing to see. True where that was done.
pub fn tested_as_ordinary_user(test: &str) -> bool {
    if !is_root() {
        return false;
    }
    let place = tempfile::tempdir().expect("a temporary directory");
    let copied = place.path().join("test");
    copy(&std::env::current_exe().expect("this program"), &copied);
    give(place.path(), ORDINARY);
    let mut again = program(&copied.display().to_string(), place.path());
    again.args(["--exact", test, "--nocapture"]).env("TMPDIR", place.path());
    run_as(&mut again, Some(ORDINARY));
    let output = again.output().expect("the test starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// Makes a path and everything below it the user's. Links are changed, never followed.
pub(crate) fn give(path: &Path, uid: u32) {
    lchown(path, Some(uid), Some(uid)).expect("another owner");
    if path.symlink_metadata().expect("a path").is_dir() {
        fs::read_dir(path).expect("a directory").flatten().for_each(|entry| give(&entry.path(), uid));
    }
}

/// The binary, or a copy that is this user's own, for as long as the test's process lives.
pub(crate) fn binary_for(binary: &Path, uid: Option<u32>) -> PathBuf {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    let Some(uid) = uid else { return binary.to_owned() };
    let make = || {
        let place = World::shared(&binary.display().to_string()).keep();
        copy(binary, &place.join("cto"));
        give(&place, uid);
        place.join("cto")
    };
    COPY.get_or_init(make).clone()
}

/// Copies a file of the sources so that the copy can be changed: the sources may be such as nobody may write.
pub fn copy_to_change(from: &Path, to: &Path) {
    fs::copy(from, to).expect("a copy");
    let mode = fs::metadata(to).expect("the copy").permissions().mode();
    fs::set_permissions(to, fs::Permissions::from_mode(mode | 0o200)).expect("a mode");
}

/// Copies a program, by another process: a descriptor of ours for writing could be inherited, and then nobody can execute it.
pub(crate) fn copy(from: &Path, to: &Path) {
    let copied = program("cp", Path::new("/")).arg("--").args([from, to]).status().expect("cp starts");
    assert!(copied.success(), "cp: {copied}");
}
