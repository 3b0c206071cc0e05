//! The program is killed while it brings an older ledger forward: the next command does it again, and nothing is lost.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{World, stoppable};

use super::rows;

const PLACES: [&str; 4] = ["ledger.migrating", "ledger.migration_step", "ledger.migration_ready", "ledger.migrated"];

fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ledger/tests/golden")
}

/// Format of a ledger file that nobody has open, from the head of the file: the golden files stay as they are.
fn version_of(file: &Path) -> i32 {
    /// Place of the user version in the head of an SQLite file.
    const USER_VERSION: std::ops::Range<usize> = 60..64;
    let bytes = fs::read(file).unwrap();
    i32::from_be_bytes(bytes[USER_VERSION].try_into().unwrap())
}

/// The golden files of every format before that of this program, oldest first.
fn older_ledgers(current: i32) -> Vec<String> {
    let files = fs::read_dir(golden_folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<(i32, String)> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "db"))
        .map(|file| (version_of(&file), file.file_name().unwrap().to_str().unwrap().to_owned()))
        .filter(|(version, _)| *version < current)
        .collect();
    found.sort();
    let versions: Vec<i32> = found.iter().map(|(version, _)| *version).collect();
    assert_eq!(versions, (1..current).collect::<Vec<_>>(), "a golden file for each format before {current}");
    found.into_iter().map(|(_, name)| name).collect()
}

/// A home whose ledger is a file of an older format.
fn home_of(binary: &Path, name: &str) -> World {
    let world = World::new(binary.to_str().unwrap());
    let _ = world.cto(["doctor"]);
    fs::create_dir_all(world.home()).unwrap();
    fs::set_permissions(world.home(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let golden = golden_folder().join(name);
    fs::write(world.home().join("ledger.db"), fs::read(golden).unwrap()).unwrap();
    world
}

/// Output of the commands that show runs, and the verdict on the chain.
fn state(world: &World) -> (Vec<(Value, Value)>, bool) {
    let _ = world.cto(["recover"]);
    let rows = rows(world).into_iter().map(|row| (row["run_id"].clone(), row["status"].clone())).collect();
    let doctor = world.cto(["doctor"]);
    (rows, doctor.text().contains("chain holds"))
}

fn version(world: &World) -> i32 {
    let ledger = rusqlite::Connection::open(world.home().join("ledger.db")).unwrap();
    ledger.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn killed_while_an_older_ledger_is_brought_forward() {
    let Some(binary) = stoppable("stops::migrated::killed_while_an_older_ledger_is_brought_forward") else { return };
    let fresh = World::new(binary.to_str().unwrap());
    let _ = fresh.run("r1-string-slugify", 0);
    for name in older_ledgers(version(&fresh)) {
        let whole = home_of(&binary, &name);
        let (before, expected) = (version(&whole), state(&whole));
        assert!(expected.0.len() == 4 && expected.1, "control: {expected:?}");
        assert!(version(&whole) > before, "{name} is older");
        for place in PLACES {
            let world = home_of(&binary, &name);
            let output = world.command(["recover"]).env("CTO_STOP_AT", place).output().unwrap();
            assert_eq!(output.status.code(), None, "{name} {place}: it is killed there: {output:?}");
            let is_done = place == "ledger.migrated";
            assert_eq!(version(&world) > before, is_done, "{name} {place}: forward in one step or not at all");
            assert_eq!(state(&world), expected, "{name} {place}");
            assert_eq!(version(&world), version(&whole), "{name} {place}");
        }
    }
}
