//! Opening a ledger on a server: the schema that it makes, and its errors.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::fixtures::{TIME, digest, run, started};
use crate::world::{World, open_at};
use contract::Stage;
use ledger::{
    AppendEntryError, ApprovalUse, EntryKind, Ledger, LedgerPlace, OpenLedgerError, RequestIntent, RequestStep,
    ServerPlace, UnusableRequest,
};
use serde_json::json;

fn error_of(opened: Result<Ledger, OpenLedgerError>) -> OpenLedgerError {
    let error = opened.expect_err("this must not open");
    assert!(error.remedy().ends_with('.'), "{error}");
    error
}

#[test]
fn a_new_ledger_stays_the_same_one() {
    let world = World::new();
    let first = world.open();
    first.append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
    let again = world.open();
    assert_eq!((again.ledger_id(), again.head().unwrap().seq), (first.ledger_id(), 1));
    assert_ne!(World::new().open().ledger_id(), first.ledger_id());
}

#[test]
fn looking_makes_nothing() {
    let world = World::new();
    let error = error_of(Ledger::open_place_read_only(&world.place()));
    assert!(matches!(error, OpenLedgerError::Missing { .. }), "{error:?}");
    let made = world.server.run_sql(&world.database, "SELECT count(*) FROM pg_namespace WHERE nspname = 'cto'");
    assert_eq!(made.unwrap(), "0");
}

/// A program may use a newer ledger that accepts it, and no other.
#[test]
fn a_newer_version_is_refused_unless_it_accepts_this_program() {
    let world = World::new();
    drop(world.open());
    world.edit("UPDATE meta SET value = '8' WHERE key = 'schema_version'");
    assert_eq!(world.open().head().unwrap().seq, 0, "control: it accepts this program");
    world.edit("UPDATE meta SET value = '8' WHERE key = 'accepts'");
    for error in
        [error_of(Ledger::open_place(&world.place(), &|_| {})), error_of(Ledger::open_place_read_only(&world.place()))]
    {
        assert!(matches!(error, OpenLedgerError::NewerVersion { found: 8, .. }), "{error:?}");
    }
}

#[test]
fn a_server_that_is_not_there_and_a_role_that_is_not_known_are_named() {
    let world = World::new();
    let place = |text: &str| {
        let (address, password, authorities) = (text.parse().unwrap(), None, None);
        LedgerPlace::Server(Box::new(ServerPlace { address, password, authorities }))
    };
    for (place, why) in
        [(place("postgres://postgres@127.0.0.1:1/none"), "refused"), (world.place_of("nobody"), "nobody")]
    {
        let error = error_of(Ledger::open_place(&place, &|_| {}));
        assert!(matches!(error, OpenLedgerError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// A server of another machine is not even asked where nothing can vouch for it.
#[test]
fn a_server_of_another_machine_needs_authorities() {
    let address = "postgres://postgres@192.0.2.1/ledger".parse().unwrap();
    let place = LedgerPlace::Server(Box::new(ServerPlace { address, password: None, authorities: None }));
    let error = error_of(Ledger::open_place(&place, &|_| {}));
    assert!(matches!(error, OpenLedgerError::Unprotected { .. }), "{error:?}");
}

/// A connection that was lost is made again; what was committed is there.
#[test]
fn a_connection_that_was_cut_is_made_again() {
    let world = World::new();
    let ledger = world.open();
    let position = ledger.append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
    let kill = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'", world.database);
    world.server.run_sql("postgres", &kill).unwrap();
    assert_eq!(ledger.head().unwrap(), position);
    world.server.run_sql("postgres", &kill).unwrap();
    assert_eq!(ledger.append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap().seq, 2);
    assert_eq!(open_at(&world.place()).verify().unwrap().problems, vec![]);
}

/// A server whose certificate an authority of ours vouches for, by its name; every other one is refused.
#[test]
fn a_server_is_spoken_to_by_tls_that_is_verified() {
    let vouched = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let authorities = tempfile::tempdir().unwrap();
    let keep = |name: &str, pem: String| {
        std::fs::write(authorities.path().join(name), pem).unwrap();
        authorities.path().join(name)
    };
    let (right, wrong) = (keep("right.pem", vouched.cert.pem()), keep("wrong.pem", other.cert.pem()));
    let settings = ["ssl=on", "ssl_cert_file=../own.pem", "ssl_key_file=../own.key"].map(str::to_owned);
    let server = testkit::PostgresServer::start_with("fleet", &settings, |folder| {
        std::fs::write(folder.join("own.pem"), vouched.cert.pem()).unwrap();
        std::fs::write(folder.join("own.key"), vouched.signing_key.serialize_pem()).unwrap();
        std::fs::set_permissions(folder.join("own.key"), PermissionsExt::from_mode(0o600)).unwrap();
    });
    let server = server.expect("a server");
    let database = server.make_database();
    let open = |port: u16, host: &str, authorities: &Path| {
        let address = format!("postgres://postgres@{host}:{port}/{database}").parse().unwrap();
        let place = ServerPlace { address, password: None, authorities: Some(authorities.to_owned()) };
        Ledger::open_place(&LedgerPlace::Server(Box::new(place)), &|_| {})
    };
    let held = open(server.port(), "localhost", &right).expect("control: it is vouched for");
    let encrypted =
        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'cto'";
    assert_eq!(server.run_sql(&database, encrypted).unwrap(), "t", "{held:?}");

    let plain = World::new().server;
    for (port, host, authorities, why) in [
        (server.port(), "localhost", &wrong, "certificate"),
        (server.port(), "127.0.0.1", &right, "certificate"),
        (plain.port(), "localhost", &right, "TLS"),
    ] {
        let error = error_of(open(port, host, authorities));
        assert!(matches!(error, OpenLedgerError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains(why), "{host}: {error}");
    }
}

/// A crash of the whole server loses nothing that was said, and a promotion shows in the ledger's identity.
#[test]
fn a_crash_loses_nothing_and_a_promotion_is_seen() {
    let server = testkit::PostgresServer::start_with("fleet", &[], |_| {}).expect("a server");
    let address = server.url(testkit::SUPERUSER, &server.make_database()).parse().unwrap();
    let place = LedgerPlace::Server(Box::new(ServerPlace { address, password: None, authorities: None }));
    let ledger = open_at(&place);
    let (identity, position) = (ledger.identity().unwrap(), ledger.append(EntryKind::HaltSet, None, *TIME, &json!({})));
    assert_eq!(identity, format!("{}@00000001", ledger.ledger_id()));
    server.crash_and_restart();
    assert_eq!(
        (ledger.head().unwrap(), ledger.identity().unwrap()),
        (position.unwrap(), identity),
        "the same connection"
    );
    server.promote();
    assert_eq!(ledger.identity().unwrap(), format!("{}@00000002", ledger.ledger_id()));
    assert_eq!(ledger.append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap().seq, 2);
}

/// A client that holds the one lock for changes and falls silent, since it was stopped or cut off, is disconnected: the others go on,
/// and it finds out and begins anew.
#[test]
fn a_silent_client_does_not_keep_the_lock() {
    for (silence, begins) in [(Duration::from_secs(12), 2), (Duration::from_secs(1), 1)] {
        let world = World::new();
        let (silent, other) = (world.open(), world.open());
        let (holding, begun) = (Barrier::new(2), AtomicU32::new(0));
        std::thread::scope(|scope| {
            let (holding, begun) = (&holding, &begun);
            let stopped = scope.spawn(move || {
                silent.model_reserved(*TIME, *TIME, |_| {
                    if begun.fetch_add(1, Ordering::Relaxed) == 0 {
                        holding.wait();
                        std::thread::sleep(silence);
                    }
                    json!({"run_id": "r"})
                })
            });
            holding.wait();
            let asked = Instant::now();
            other.append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
            assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
            stopped.join().unwrap().unwrap();
        });
        assert_eq!(begun.load(Ordering::Relaxed), begins, "it was begun anew only where it was disconnected");
        assert_eq!(other.head().unwrap().seq, 2);
        assert_eq!(other.verify().unwrap().problems, vec![]);
    }
}

/// The server is promoted after continuity was judged: nothing is used before it was judged again.
#[test]
fn a_promotion_before_the_use_uses_nothing() {
    let server = testkit::PostgresServer::start_with("fleet", &[], |_| {}).expect("a server");
    let address = server.url(testkit::SUPERUSER, &server.make_database()).parse().unwrap();
    let ledger = open_at(&LedgerPlace::Server(Box::new(ServerPlace { address, password: None, authorities: None })));
    let request = digest("aa");
    let (task_id, stage) = ("r1".to_owned().try_into().unwrap(), Stage::DISPOSABLE_REPOSITORY);
    ledger.request_recorded(*TIME, &RequestIntent { request, task_id, stage, detail: json!(null) }).unwrap();
    ledger.request_stepped(request, RequestStep::Granted, *TIME, &json!({})).unwrap();
    ledger.run_started(&started(&run("aaaa"), 0)).unwrap();
    let using = ApprovalUse { request, not_before: *TIME, expires_at: TIME.after(Duration::from_secs(3600)) };
    let start = || ledger.engine_starting(&run("aaaa"), None, *TIME, &json!({}), Some(&using));
    let before = (ledger.identity().unwrap(), ledger.head().unwrap());
    server.promote();
    let refused = start();
    let is_refused = matches!(&refused, Err(AppendEntryError::RequestUnusable { why, .. }) if *why == UnusableRequest::OtherTimeline);
    assert!(is_refused, "{refused:?}");
    assert_eq!(ledger.head().unwrap(), before.1);
    assert_ne!(ledger.identity().unwrap(), before.0);
    start().expect("control: the caller has seen the timeline");
}
