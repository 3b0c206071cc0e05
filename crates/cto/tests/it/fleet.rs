//! The real binary on a ledger that lies on a real server: the same commands, from any number of homes.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::time::{Duration, Instant};

use ledger::{LedgerPlace, ServerPlace};
use serde_json::Value;
use testkit::{
    BUCKET_KEY, ObjectDouble, ObjectServer, ObjectServerKind, PostgresServer, Relay, SUPERUSER, StoreManner, World,
};

use crate::queue::{self, QueueHomes};
use crate::shared_ledger::{Pair, check_killed_run, check_lapsed_run, check_live_run};
use crate::world;

mod workers;

/// Rounds of the chaos between two crashes of its server.
const ROUNDS_BETWEEN_CRASHES: usize = 5;

/// A server's database and the homes that use it.
struct Fleet {
    url: String,
}

impl Fleet {
    fn new() -> Self {
        Self::on(PostgresServer::shared("fleet").expect("tests of the fleet need the Debian package postgresql"))
    }

    /// On a server of its own.
    fn on(server: &PostgresServer) -> Self {
        Self { url: server.url(SUPERUSER, &server.make_database()) }
    }

    /// Homes with one queue.
    fn yard(homes: usize) -> QueueHomes {
        Self::new().into_yard(homes)
    }

    fn into_yard(self, homes: usize) -> QueueHomes {
        let server = ServerPlace { address: self.url.parse().unwrap(), password: None, authorities: None };
        QueueHomes::on(LedgerPlace::Server(Box::new(server)), &self.url, homes)
    }

    /// Makes a home use the ledger of the fleet.
    fn join(&self, world: &World) {
        use_store(world, &format!("url: {}", self.url));
    }
}

fn use_store(world: &World, store: &str) {
    let folder = world.path().join("user/.config/cto");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), format!("store:\n  {store}\n")).unwrap();
}

/// Everything that the ledger is asked for, as bytes.
fn answers(world: &World) -> Vec<String> {
    let asked: [&[&str]; 4] =
        [&["runs", "--json"], &["runs", "--status", "pass", "--json"], &["ladder", "--json"], &["approvals", "--json"]];
    asked.iter().map(|words| text_of(world, words)).collect()
}

fn text_of(world: &World, words: &[&str]) -> String {
    String::from_utf8(world.cto(words).expect(0).stdout.clone()).unwrap()
}

fn verified(world: &World) -> Value {
    let mut verified = world.cto(["ledger", "verify", "--json"]).expect(0).json();
    assert_eq!(verified["ok"], true, "{verified}");
    // Bundles lie in each home.
    verified.as_object_mut().unwrap().remove("bundles");
    verified
}

#[test]
fn a_live_run_is_left_alone_however_long_it_works() {
    check_live_run(&Pair::on(&Fleet::new().url));
}

/// Stopped for longer than its lease and woken again: another has sealed it, and its own evidence counts for nothing.
#[test]
fn a_run_whose_lease_lapsed_is_sealed_by_another_and_comes_too_late() {
    check_lapsed_run(&Pair::on(&Fleet::new().url));
}

#[test]
fn a_killed_run_is_recovered_once() {
    check_killed_run(&Pair::on(&Fleet::new().url));
}

#[test]
fn two_homes_run_and_ask_on_one_server() {
    let (fleet, ours, theirs) = (Fleet::new(), world(), world());
    fleet.join(&ours);
    fleet.join(&theirs);
    let (ran, _) = ours.run("r1-string-slugify", 0);
    assert!(!ours.home().join("ledger.db").exists(), "nothing is kept beside");
    let _ = theirs.cto(["recover"]).expect(0);
    let listed = text_of(&theirs, &["runs", "--json"]);
    assert!(listed.contains(ran["run_id"].as_str().unwrap()), "{listed}");
    theirs.run("r1-string-slugify", 0);
    assert_eq!(verified(&ours), verified(&theirs));
    assert_eq!(verified(&ours)["head"]["seq"], 6);
    assert_eq!(text_of(&ours, &["runs", "--json"]).lines().count(), 2);
    let _ = ours.cto(["verify", "@-1"]).expect(0);
    let _ = ours.cto(["ledger", "rebuild"]).expect(0);
}

/// There and back: the same chain, the same bytes of every list.
#[test]
fn a_ledger_is_moved_to_a_server_and_back() {
    let (fleet, world) = (Fleet::new(), world());
    for (case, code) in [("r1-string-slugify", 0), ("fail-no-diff", 1)] {
        world.run(case, code);
    }
    let (before, chain) = (answers(&world), verified(&world));

    let moved = world.cto(["ledger", "migrate", "--to", &fleet.url, "--json"]).expect(0).json();
    assert_eq!((&moved["head"], &moved["ledger_id"]), (&chain["head"], &chain["ledger_id"]));
    let again = world.cto(["ledger", "migrate", "--to", &fleet.url]).expect(3);
    assert!(again.stderr.contains("entries"), "{}", again.stderr);
    fleet.join(&world);
    assert_eq!((answers(&world), verified(&world)), (before.clone(), chain.clone()));

    let file = world.path().join("back.db");
    let url = format!("sqlite://{}", file.display());
    let _ = world.cto(["ledger", "migrate", "--to", &url]).expect(0);
    use_store(&world, &format!("url: {url}"));
    assert_eq!((answers(&world), verified(&world)), (before, chain));
    world.run("r1-string-slugify", 0);
}

#[test]
fn a_server_that_is_not_there_is_named_and_nothing_runs() {
    let (fleet, world) = (Fleet::new(), world());
    use_store(&world, "url: postgres://cto@127.0.0.1:1/none");
    let ran = world.cto(["run", "r1-string-slugify"]).expect(3);
    assert!(ran.stderr.contains("127.0.0.1:1") && ran.stderr.contains("store.url"), "{}", ran.stderr);
    use_store(&world, "url: postgres://cto@192.0.2.1/none");
    let ran = world.cto(["run", "r1-string-slugify"]).expect(3);
    assert!(ran.stderr.contains("store.ca"), "{}", ran.stderr);
    fleet.join(&world);
    world.run("r1-string-slugify", 0);
}

/// A password goes to the server and nowhere else: no output, no bundle, no entry has it.
#[test]
fn a_password_stays_with_the_server() {
    const PASSWORD: &str = "a-password-of-the-fleet-7077";
    let settings = ["password_encryption=scram-sha-256".to_owned()];
    let server = PostgresServer::start_with("fleet", &settings, |_| {}).expect("a server");
    let database = server.make_database();
    server.run_sql("postgres", &format!("CREATE ROLE keyed LOGIN SUPERUSER PASSWORD '{PASSWORD}'")).unwrap();
    server.demand_passwords("keyed");
    let world = world();
    let store = format!("url: {}\n  password_env: FLEET_PASSWORD", server.url("keyed", &database));
    use_store(&world, &store);
    let run = |value: &str| {
        let mut command = world.command(["run", "r1-string-slugify", "--json"]);
        let ran = command.env("FLEET_PASSWORD", value).output().unwrap();
        (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr))
    };
    let (code, said) = run("wrong");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("password authentication failed"), "{said}");
    let (code, said) = run(PASSWORD);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains(PASSWORD));
    let entries = server.run_sql(&database, "SELECT string_agg(body, '') FROM cto.entries").unwrap();
    assert!(entries.contains("r1-string-slugify") && !entries.contains(PASSWORD));
    let found = |text: &str| {
        let found = testkit::program("grep", &world.home()).args(["-r", "-l", "-F", text, "."]).output().unwrap();
        String::from_utf8_lossy(&found.stdout).lines().count()
    };
    assert_eq!(found(PASSWORD), 0);
    assert!(found("r1-string-slugify") > 0, "control: the home was searched");
}

/// PostgreSQL for the ledger, SeaweedFS for the bundles: a run of one home is verified in another, and a credential stays with its server.
#[test]
fn a_bundle_goes_through_real_servers_to_another_home() {
    let test = "a_bundle_goes_through_real_servers_to_another_home";
    let Some(objects) = ObjectServer::start(test, ObjectServerKind::SeaweedFs) else { return };
    let (fleet, ours, theirs) = (Fleet::new(), world(), world());
    let evidence = format!(
        "evidence:\n  url: s3://cto/fleet\n  endpoint: {}\n  access_key_env: FLEET_KEY\n  secret_key_env: FLEET_SECRET\n",
        objects.endpoint()
    );
    for world in [&ours, &theirs] {
        use_store(world, &format!("url: {}\n{evidence}", fleet.url));
    }
    let call = |world: &World, words: &[&str], code: i32| {
        let mut command = world.command(words.iter().copied());
        let ran = command.env("FLEET_KEY", BUCKET_KEY.0).env("FLEET_SECRET", BUCKET_KEY.1).output().unwrap();
        let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert_eq!(ran.status.code(), Some(code), "{words:?}: {said}");
        assert!(!said.contains(BUCKET_KEY.1), "{said}");
        said
    };
    let ran: Value = serde_json::from_str(&call(&ours, &["run", "r1-string-slugify", "--json"], 0)).unwrap();
    let run = ran["run_id"].as_str().unwrap();
    call(&theirs, &["key", "init"], 0);
    call(&theirs, &["verify", run], 1);
    let key = ours.home().join("keys/harness.pub");
    call(&theirs, &["trust", "key", "add", key.to_str().unwrap(), "--bundles", "--name", "ours"], 0);
    for words in [&["verify", run][..], &["show", run], &["diff", run], &["logs", run]] {
        call(&theirs, words, 0);
    }
    let doctor = call(&theirs, &["doctor", "--fleet"], 0);
    for expected in ["timeline 00000001", "probed: creates each object once", "warn witness stage 4 and up is refused"]
    {
        assert!(doctor.contains(expected), "{expected}: {doctor}");
    }
}

#[test]
fn runs_go_by_priority_and_after_each_other() {
    queue::check_order(&Fleet::yard(1));
}

/// A machine with a worker's role runs what an operator's machine has submitted, and can submit and vouch for nothing.
#[test]
fn a_worker_needs_no_more_than_its_role() {
    let (fleet, operator, machine) = (Fleet::new(), world(), world());
    fleet.join(&operator);
    let run = operator.cto(["submit", "r1-string-slugify", "--json"]).expect(0).json();
    let queue = |expected: &str| {
        let said = operator.cto(["doctor", "--fleet"]).text();
        assert!(said.contains(expected), "{said}");
    };
    queue("waiting 1, claimed 0, started 0; homes with workers on them 0");
    let server = PostgresServer::shared("fleet").unwrap();
    let database = fleet.url.rsplit('/').next().unwrap();
    let role = format!("machine_of_{database}");
    server.run_sql(database, &format!("CREATE ROLE {role} LOGIN IN ROLE cto_worker")).unwrap();
    use_store(&machine, &format!("url: {}", server.url(&role, database)));
    let told = machine.cto(["worker", "--until-empty", "--json"]).expect(0).json();
    assert_eq!((&told["run_id"], &told["status"]), (&run["run_id"], &"pass".into()), "{told}");
    queue("waiting 0, claimed 0, started 0");
    machine.run("fail-no-diff", 1);
    for words in [&["submit", "r1-string-slugify"][..], &["ledger", "continue", "--reason", "mine"]] {
        let refused = machine.cto(words.iter().copied());
        assert!(refused.code == 3 && refused.stderr.contains("are not a worker's"), "{words:?}: {}", refused.told());
        let _ = operator.cto(words.iter().copied()).expect(0);
    }
    let refused = machine.cto(["ledger", "verify"]);
    assert!(refused.stderr.contains("check the chain as an operator"), "{}", refused.told());
    assert_eq!(verified(&operator)["ok"], true);
}

/// The server is away while an engine works, for less than a lease: the run goes on and is sealed once it is back.
#[test]
fn a_run_goes_on_while_the_server_is_away() {
    let server = PostgresServer::start_with("fleet", &["fsync=on".to_owned()], |_| {}).expect("a server");
    let yard = Fleet::on(&server).into_yard(1);
    queue::check_away(&yard, &server);
}

#[test]
fn two_workers_never_run_one_twice() {
    queue::check_two_workers(&Fleet::yard(2));
}

#[test]
fn a_claim_that_lapsed_is_queued_again_and_its_epoch_starts_nothing() {
    queue::check_lapsed_claim(&Fleet::yard(1));
}

#[test]
fn a_killed_worker_loses_nothing() {
    queue::check_killed_worker(&Fleet::yard(1));
}

#[test]
fn a_stalled_worker_that_wakes_changes_nothing() {
    queue::check_stalled_worker(&Fleet::yard(2));
}

#[test]
fn what_is_cancelled_is_not_run_and_what_runs_is_stopped() {
    queue::check_cancel(&Fleet::yard(2));
}

#[test]
fn an_order_with_another_contract_than_its_task_is_not_run() {
    queue::check_forged_order(&Fleet::yard(1));
}

#[test]
fn a_run_that_cannot_be_begun_now_is_given_back() {
    queue::check_given_back(&Fleet::yard(1));
}

#[test]
fn a_worker_drains_and_then_interrupts() {
    queue::check_drain(&Fleet::yard(1));
}

#[test]
fn an_interrupted_run_is_repeated_as_its_contract_says() {
    queue::check_repeated(&Fleet::yard(1));
}

#[test]
fn limits_hold_over_all_workers() {
    queue::check_limits(&Fleet::yard(1));
}

#[test]
fn no_queued_run_is_lost_or_started_twice() {
    // A crash loses nothing that was said only where the server writes it down.
    let server = PostgresServer::start_with("fleet", &["fsync=on".to_owned()], |_| {}).expect("a server");
    let fleet = Fleet::on(&server);
    let objects = ObjectDouble::start(StoreManner::Guarded);
    let network = Relay::start(server.port());
    let evidence =
        format!("evidence:\n  url: s3://cto/fleet\n  endpoint: {}\n  timeout_seconds: 2\n", objects.endpoint());
    let at = |port: u16| format!(":{port}/");
    let (url, relayed) = (fleet.url.clone(), fleet.url.replace(&at(server.port()), &at(network.port())));
    let yard = fleet.into_yard(2);
    yard.lead_home(0, &url, &evidence);
    yard.lead_home(1, &relayed, &evidence);
    let mut cut_until = None;
    queue::chaos::check_chaos(&yard, &mut |round| {
        if cut_until.is_some_and(|until| round.is_none() || until <= Instant::now()) {
            network.heal();
            cut_until = None;
        }
        match round.map(|round| round % ROUNDS_BETWEEN_CRASHES) {
            Some(0) => objects.behave(StoreManner::Storm(40)),
            Some(1) => objects.behave(StoreManner::CreatesAndDrops),
            Some(2) => server.crash_and_restart(),
            Some(4) if cut_until.is_none() => {
                network.cut();
                // For longer than a lease.
                cut_until = Some(Instant::now() + Duration::from_secs(u64::from(queue::LEASE) + 2));
            }
            _ => objects.behave(StoreManner::Guarded),
        }
    });
}
