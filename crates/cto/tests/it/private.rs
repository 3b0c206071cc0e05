//! A home, a key or a ledger in which others have a hand is used for nothing; the kill switch works all the same.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use testkit::{Who, World, content_digest, skip};

use crate::world;

struct Row {
    what: &'static str,
    expose: fn(&Path),
    says: &'static str,
    /// Stands in the hint; as a command it mends the matter.
    fix: &'static str,
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

const ROWS: &[Row] = &[
    Row {
        what: "key read by group",
        expose: |h| chmod(&h.join("keys/harness.pem"), 0o640),
        says: "can be read by others",
        fix: "chmod 600 '",
    },
    Row {
        what: "key read by all",
        expose: |h| chmod(&h.join("keys/harness.pem"), 0o604),
        says: "can be read by others",
        fix: "chmod 600 '",
    },
    Row {
        what: "key written by all",
        expose: |h| chmod(&h.join("keys/harness.pem"), 0o602),
        says: "can be read by others",
        fix: "chmod 600 '",
    },
    Row {
        what: "key is a link",
        expose: |h| {
            let (key, away) = (h.join("keys/harness.pem"), h.with_file_name("away.pem"));
            fs::rename(&key, &away).unwrap();
            symlink(away, key).unwrap();
        },
        says: "is a symbolic link",
        fix: "readlink -f",
    },
    Row {
        what: "key is a folder",
        expose: |h| {
            fs::remove_file(h.join("keys/harness.pem")).unwrap();
            fs::create_dir(h.join("keys/harness.pem")).unwrap();
        },
        says: "is not a regular file",
        fix: "mv '",
    },
    Row {
        what: "home open to all",
        expose: |h| chmod(h, 0o777),
        says: "can be written by others",
        fix: "chmod go-w '",
    },
    Row {
        what: "home open to a group",
        expose: |h| chmod(h, 0o770),
        says: "can be written by others",
        fix: "chmod go-w '",
    },
    Row {
        what: "keys open to all",
        expose: |h| chmod(&h.join("keys"), 0o1777),
        says: "can be written by others",
        fix: "chmod go-w '",
    },
    Row {
        what: "keys elsewhere",
        expose: |h| {
            fs::rename(h.join("keys"), h.with_file_name("keys-away")).unwrap();
            symlink(h.with_file_name("keys-away"), h.join("keys")).unwrap();
        },
        says: "is a symbolic link",
        fix: "readlink -f",
    },
    Row {
        what: "ledger open to all",
        expose: |h| chmod(&h.join("ledger.db"), 0o666),
        says: "can be written by others",
        fix: "chmod go-w '",
    },
    Row {
        what: "trust open to all",
        expose: |h| chmod(&h.join("trust"), 0o777),
        says: "can be written by others",
        fix: "chmod go-w '",
    },
];

/// Commands that sign, verify, record, or look at what was.
const COMMANDS: &[&[&str]] = &[
    &["run", "./made"],
    &["verify", "@"],
    &["runs"],
    &["take", "@"],
    &["gc"],
    &["recover"],
    &["key", "init"],
    &["resume"],
];

/// A home with a run in it.
fn used() -> World {
    let world = world();
    world.case("made", &[]);
    let _ = world.cto(["run", "./made"]).expect(0);
    world
}

fn check(world: &World, row: &Row) {
    let copy = world.path().join("as-it-was");
    let copied = testkit::program("cp", Path::new("/")).arg("-a").args([world.home(), copy.clone()]).status().unwrap();
    assert!(copied.success());
    (row.expose)(&world.home());
    let before = content_digest(&world.home(), &[]);
    for command in COMMANDS {
        let ran = world.cto(*command);
        assert_eq!(ran.code, 2, "{}: {command:?}: {}{}", row.what, ran.text(), ran.stderr);
        for words in [row.says, row.fix] {
            assert!(ran.stderr.contains(words), "{}: {command:?}: {words:?} is not in {}", row.what, ran.stderr);
        }
    }
    assert_eq!(content_digest(&world.home(), &[]), before, "{}: nothing was written", row.what);
    let doctor = world.cto(["doctor"]).expect(3).text();
    assert!(doctor.contains(row.says) && doctor.contains(row.fix), "{}: {doctor}", row.what);
    fs::remove_dir_all(world.home()).unwrap();
    fs::rename(copy, world.home()).unwrap();
}

#[test]
fn exposed_homes_are_refused() {
    let world = used();
    ROWS.iter().for_each(|row| check(&world, row));
    let _ = world.cto(["verify", "@"]).expect(0);
    chmod(&world.home(), 0o777);
    let _ = world.cto(["halt"]).expect(0);
    assert!(world.home().join("halt.json").is_file(), "the kill switch works");
}

/// The remedy is a command that helps.
#[test]
fn a_mended_home_works() {
    let world = used();
    let mut mended = 0;
    for row in ROWS.iter().filter(|row| row.fix.starts_with("chmod")) {
        (row.expose)(&world.home());
        let told = world.cto(["runs"]).expect(2).stderr;
        let command = told.lines().find_map(|line| Some(line[line.find("chmod ")?..].to_owned())).unwrap();
        assert!(testkit::program("sh", Path::new("/")).args(["-c", &command]).status().unwrap().success(), "{command}");
        let _ = world.cto(["runs"]).expect(0);
        mended += 1;
    }
    assert!(mended > 5);
}

#[test]
fn anothers_home_is_refused() {
    const TEST: &str = "private::anothers_home_is_refused";
    let Some(who) = Who::all(TEST).into_iter().find(|who| who.is_another()) else {
        return skip(TEST, "this test is no other user");
    };
    let world = World::of(env!("CARGO_BIN_EXE_cto"), who);
    let _ = world.cto(["run", "fail-critical-risk"]).expect(3);
    let _ = world.cto(["key", "show"]).expect(0);
    let mut ours = testkit::program(world.binary().to_str().unwrap(), Path::new("/"));
    let output = ours.args(["key", "show", "--home"]).arg(world.home()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("belongs to user 12345") && said.contains("chown 0 "), "{said}");
}

#[test]
fn new_homes_are_private() {
    let world = world();
    let output =
        world.program("sh").args(["-c", "umask 0; exec \"$0\" key init"]).arg(world.binary()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    for (name, mode) in [("", 0o700), ("keys", 0o700), ("trust", 0o700), ("keys/harness.pem", 0o600)] {
        let found = fs::metadata(world.home().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{name}: {found:o}");
    }
}
