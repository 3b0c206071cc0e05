//! Opening a ledger: the files that it makes, and its errors.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::fixtures::TIME;
use crate::world::World;
use ledger::{EntryKind, Ledger, OpenLedgerError};
use serde_json::json;

#[test]
fn a_new_ledger_is_private_and_stays_the_same_one() {
    let world = World::new();
    let first = world.open();
    first.append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let mode = std::fs::metadata(world.folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let id = first.ledger_id().to_owned();
    drop(first);
    let again = world.open();
    assert_eq!((again.ledger_id(), again.head().unwrap().seq), (id.as_str(), 1));
    assert_ne!(World::new().open().ledger_id(), id);
}

#[test]
fn a_file_left_empty_by_an_interrupted_creation_becomes_a_ledger() {
    let world = World::new();
    std::fs::write(world.path(), "").unwrap();
    assert!(world.open().verify().unwrap().is_intact());
}

fn error_of(opened: Result<Ledger, OpenLedgerError>) -> OpenLedgerError {
    let error = opened.expect_err("this must not open");
    assert!(error.remedy().ends_with('.'), "{error}");
    error
}

#[test]
fn looking_makes_nothing() {
    let world = World::new();
    let error = error_of(Ledger::open_existing_read_only(&world.path()));
    assert!(matches!(error, OpenLedgerError::Missing { .. }), "{error:?}");
    assert_eq!(std::fs::read_dir(world.folder.path()).unwrap().count(), 0);
}

#[test]
fn looking_sees_what_others_append() {
    let world = World::new();
    let writer = world.open();
    let reader = Ledger::open_existing_read_only(&world.path()).unwrap();
    writer.append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
    assert_eq!(reader.head().unwrap().seq, 1);
}

#[test]
fn a_directory_is_named_as_one() {
    let world = World::new();
    std::fs::create_dir(world.path()).unwrap();
    for error in [error_of(Ledger::open_file(&world.path())), error_of(Ledger::open_existing_read_only(&world.path()))]
    {
        assert!(matches!(error, OpenLedgerError::Directory { .. }), "{error:?}");
    }
}

#[test]
fn a_file_that_is_something_else_is_left_alone() {
    let world = World::new();
    let text = "# notes\n".repeat(1000);
    std::fs::write(world.path(), &text).unwrap();
    let error = error_of(Ledger::open_file(&world.path()));
    assert!(matches!(error, OpenLedgerError::NotALedger { .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(world.path()).unwrap(), text);

    std::fs::remove_file(world.path()).unwrap();
    world.raw().execute_batch("CREATE TABLE somebody_elses (a)").unwrap();
    let error = error_of(Ledger::open_file(&world.path()));
    assert!(matches!(error, OpenLedgerError::NotALedger { .. }), "{error:?}");
}

#[test]
fn a_newer_version_is_refused() {
    let world = World::new();
    drop(world.open());
    world.raw().pragma_update(None, "user_version", 9).unwrap();
    for error in [error_of(Ledger::open_file(&world.path())), error_of(Ledger::open_existing_read_only(&world.path()))]
    {
        assert!(matches!(error, OpenLedgerError::NewerVersion { found: 9, known: 8, .. }), "{error:?}");
    }
}

/// Folds the log into the file, so that damaging the file damages the ledger.
fn fold(world: &World) {
    let raw = world.raw();
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    raw.close().unwrap();
}

#[test]
fn damage_is_told_from_other_files() {
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(2000),
        |bytes| bytes.truncate(4096),
        |bytes| bytes[4096..].fill(0xaa),
        |bytes| bytes[16..100].fill(0xaa),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let world = World::new();
        let ledger = world.open();
        ledger.append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
        drop(ledger);
        fold(&world);
        let mut bytes = std::fs::read(world.path()).unwrap();
        damage(&mut bytes);
        std::fs::write(world.path(), bytes).unwrap();
        let error = error_of(Ledger::open_file(&world.path()));
        assert!(matches!(error, OpenLedgerError::Damaged { .. }), "damage {number}: {error:?}");
    }
}

#[test]
fn a_table_that_is_gone_is_damage() {
    let world = World::new();
    drop(world.open());
    world.raw().execute_batch("DROP TABLE meta").unwrap();
    let error = error_of(Ledger::open_file(&world.path()));
    assert!(matches!(error, OpenLedgerError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_place_nobody_may_write_is_named_as_one() {
    // Not even root may make files here, so this holds for every user who runs the test.
    let error = error_of(Ledger::open_file(Path::new("/sys/kernel/ledger.db")));
    assert!(matches!(error, OpenLedgerError::ReadOnly { .. }), "{error:?}");
    let error = error_of(Ledger::open_file(Path::new("/nowhere/at/all/ledger.db")));
    assert!(matches!(error, OpenLedgerError::Missing { .. }), "{error:?}");
}

/// A file that was made and not laid out holds no ledger yet.
#[test]
fn a_file_that_is_not_laid_out_yet_is_no_ledger() {
    let world = World::new();
    std::fs::write(world.path(), "").unwrap();
    let look = || Ledger::open_existing_read_only(&world.path());
    assert!(matches!(look().unwrap_err(), OpenLedgerError::Missing { .. }));
    world.raw().pragma_update(None, "journal_mode", "WAL").unwrap();
    assert!(matches!(look().unwrap_err(), OpenLedgerError::Missing { .. }));
    drop(world.open());
    assert_eq!(look().unwrap().head().unwrap().seq, 0, "control");
}
