//! Directories nested far deeper than a stack or a table of descriptors reaches. Alone in its process, whose limits it lowers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::convert::Infallible;
use std::fs;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use untrusted_fs::{Bounds, Next, open_root, remove_tree, walk};

const DEPTH: usize = 19_000;
const DESCRIPTORS: u64 = 32;
const STACK: usize = 64 << 10;

fn dig(root: &Path, depth: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(CWD, root, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(at.as_fd(), "d", Mode::RWXU).unwrap();
        at = openat(at.as_fd(), "d", flags, Mode::empty()).unwrap();
    }
}

#[test]
fn a_deep_tree_is_walked_and_removed_with_a_small_stack_and_few_descriptors() {
    // In memory where there is such a place: a disk takes a minute for it when others use it too.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let [deep, shallow] = ["deep", "shallow"].map(|name| dir.path().join(name));
    fs::create_dir(&deep).unwrap();
    fs::create_dir(&shallow).unwrap();
    dig(&deep, DEPTH);
    dig(&shallow, 100);
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), maximum }).unwrap();
    let act = || {
        let mut met = 0;
        let bounds = Bounds::within(Duration::from_secs(120));
        let walked = walk::<Infallible>(open_root(&deep).unwrap(), &bounds, |_| {
            met += 1;
            Ok(Next::Enter)
        });
        assert_eq!(walked, Ok(None));
        assert_eq!(met, 2 * DEPTH + 1);
        remove_tree(&deep).unwrap();
        assert!(!deep.exists());
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, act).unwrap().join().unwrap();
    });
    assert!(fs::remove_dir_all(&shallow).is_err(), "control: a removal that holds every level open");
    remove_tree(&shallow).unwrap();
}
