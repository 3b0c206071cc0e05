//! Keys of workers: two machines stand for a pass that counts, and one that was removed can do nothing more.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{ObjectFolder, PostgresServer, Ran, World, wait_for};

use super::{Fleet, text_of, use_store};
use crate::world;

/// An operator's machine and two workers, on one server and one folder of objects. Nobody is admitted yet.
struct Machines {
    fleet: Fleet,
    desk: World,
    first: World,
    second: World,
    _objects: ObjectFolder,
}

impl Machines {
    fn new() -> Self {
        let (fleet, objects) = (Fleet::new(), ObjectFolder::new());
        let machines = Self { fleet, desk: world(), first: world(), second: world(), _objects: objects };
        let store = format!("url: {}\nevidence:\n  url: {}", machines.fleet.url, machines._objects.url());
        for world in [&machines.desk, &machines.first, &machines.second] {
            use_store(world, &store);
            let _ = world.cto(["key", "init"]).expect(0);
        }
        let operator = machines.desk.home().join("keys/operator.pub");
        for world in [&machines.desk, &machines.first, &machines.second] {
            let _ = world.cto(["trust", "key", "add", operator.to_str().unwrap(), "--name", "desk"]).expect(0);
        }
        machines
    }

    fn admit(&self, world: &World, name: &str, more: &[&str]) -> Ran {
        let key = harness_key(world);
        let words = ["trust", "worker", "add", key.to_str().unwrap(), "--name", name];
        self.desk.cto(words.iter().chain(more).copied())
    }

    /// Submits the case, and has a machine run it.
    fn run_on(&self, world: &World) -> String {
        let submitted = self.desk.cto(["submit", "r1-string-slugify", "--json"]).expect(0).json();
        let told = world.cto(["worker", "--until-empty", "--json"]).expect(0).json();
        assert_eq!((&told["run_id"], &told["status"]), (&submitted["run_id"], &json!("pass")), "{told}");
        submitted["run_id"].as_str().unwrap().to_owned()
    }
}

fn harness_key(world: &World) -> PathBuf {
    world.home().join("keys/harness.pub")
}

/// The rung of stage 2, as a machine computes it.
fn rung(world: &World) -> Value {
    let explained = world.cto(["ladder", "explain", "2", "--engine", "fake", "--json"]).expect(0).json();
    explained["rungs"][0].clone()
}

fn standing(world: &World) -> (String, String) {
    let rung = rung(world);
    let text = |name: &str| rung[name].as_str().unwrap_or_default().to_owned();
    (text("status"), text("gap"))
}

fn why_of(rung: &Value, run: &str) -> String {
    let runs = rung["runs"].as_array().unwrap();
    let row = runs.iter().find(|row| row["run_id"] == run).expect("the run is listed");
    format!("{}: {}", row["counts"].as_str().unwrap(), row["why"].as_str().unwrap_or_default())
}

#[test]
fn a_pass_counts_once_another_worker_has_verified_it_again() {
    let machines = Machines::new();
    let Machines { desk, first, second, .. } = &machines;
    let run = machines.run_on(first);
    assert_eq!(standing(desk).0, "not_started", "nobody is admitted, so that nobody's evidence counts");
    assert_eq!(standing(first).0, "not_started", "nor that of the worker itself: {}", rung(first));
    assert!(why_of(&rung(first), &run).contains("not that of an admitted worker"));
    let _ = machines.admit(first, "first", &[]).expect(0);
    let waiting = ("blocked".to_owned(), "single_worker_evidence".to_owned());
    for world in [desk, first, second] {
        assert_eq!(standing(world), waiting, "{}", rung(world));
    }
    let short = run.rsplit('-').next().unwrap();
    assert_eq!(rung(desk)["remedy"], json!(format!("cto reverify {short}")));
    let bundle = first.bundles().join(&run);
    let report: Value = serde_json::from_slice(&std::fs::read(bundle.join("report.json")).unwrap()).unwrap();
    assert!(report["coverage"].as_array().unwrap().contains(&json!("single_worker_evidence")), "{report}");

    let _ = first.cto(["reverify", &run]).expect(0);
    assert_eq!(standing(desk), waiting, "a machine does not countersign for itself");
    let _ = second.cto(["reverify", &run]).expect(0);
    assert_eq!(standing(desk), waiting, "nor does one that nobody has admitted");
    let _ = machines.admit(second, "second", &[]).expect(0);
    for world in [desk, first, second] {
        assert_eq!(standing(world).0, "validated", "{}", rung(world));
    }
    let listed = desk.cto(["trust", "worker", "list", "--json"]).expect(0).json();
    assert_eq!(listed["workers"].as_array().unwrap().len(), 2, "{listed}");

    // What a machine said before it was removed still holds, and what it says after that does not.
    let _ = desk.cto(["trust", "worker", "remove", "second"]).expect(0);
    assert_eq!(standing(desk).0, "validated");
    let later = machines.run_on(first);
    let _ = second.cto(["reverify", &later]).expect(0);
    let why = why_of(&rung(desk), &later);
    assert!(why.starts_with("not_counted: ") && why.contains("single_worker_evidence"), "{why}");
    let _ = machines.admit(second, "second", &[]).expect(0);
    let _ = second.cto(["reverify", &later]).expect(0);
    assert!(why_of(&rung(desk), &later).starts_with("for"), "the control: admitted again");
    assert_eq!(super::verified(desk)["ok"], true);
}

/// A person's signature admits a machine, and not the word of a client that may append.
#[test]
fn a_worker_is_admitted_by_a_signature_that_counts_here() {
    let machines = Machines::new();
    let Machines { desk, first, second, .. } = &machines;
    let own = second.home().join("keys/operator.pub");
    let _ = second.cto(["trust", "key", "add", own.to_str().unwrap(), "--name", "second"]).expect(0);
    let key = harness_key(first);
    let refused = second.cto(["trust", "worker", "add", key.to_str().unwrap(), "--name", "first"]);
    assert_eq!(refused.code, 0, "its own operator may sign there: {}", refused.told());
    let listed = desk.cto(["trust", "worker", "list", "--json"]).expect(0).json();
    assert_eq!(listed["workers"], json!([]), "and counts nowhere else");
    assert_eq!(listed["uncounted_entries"].as_array().unwrap().len(), 1, "{listed}");
    let _ = machines.admit(first, "first", &[]).expect(0);
    let listed = desk.cto(["trust", "worker", "list", "--json"]).expect(0).json();
    assert_eq!(listed["workers"][0]["name"], "first", "the control: {listed}");

    let alone = world();
    let _ = alone.cto(["key", "init"]).expect(0);
    let key = harness_key(&alone);
    let refused = alone.cto(["trust", "worker", "add", key.to_str().unwrap(), "--name", "x"]).expect(3);
    assert!(refused.stderr.contains("this ledger is of one home"), "{}", refused.stderr);
}

/// The server refuses the role, and the program its own key: also one that has waited for work since before.
#[test]
fn a_removed_worker_is_refused_at_once() {
    let machines = Machines::new();
    let Machines { fleet, desk, first, second, .. } = &machines;
    let server = PostgresServer::shared("fleet").unwrap();
    let database = fleet.url.rsplit('/').next().unwrap();
    let role = format!("removed_of_{database}");
    server.run_sql(database, &format!("CREATE ROLE {role} LOGIN IN ROLE cto_worker")).unwrap();
    let store = format!("url: {}\nevidence:\n  url: {}", server.url(&role, database), machines._objects.url());
    use_store(first, &store);
    let _ = machines.admit(first, "first", &["--role", &role]).expect(0);
    let _ = machines.admit(second, "second", &[]).expect(0);
    machines.run_on(first);
    let claim = |role: &str| {
        let asked = json!({"labels": [], "lease_seconds": 4, "owner": "ab".repeat(32)});
        server.run_sql_as(role, database, &format!("SELECT state FROM cto.queue_claim('{asked}')"))
    };
    assert_eq!(claim(&role).unwrap(), "", "the control: it may ask");

    let waiting = [first, second].map(|world| world.start(["worker", "--json"]));
    let idle = "SELECT count(*) >= 2 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%queue_due%' \
         AND pid <> pg_backend_pid()";
    wait_for("two idle workers", || (server.run_sql(database, idle).unwrap() == "t").then_some(()));
    for name in ["first", "second"] {
        let _ = desk.cto(["trust", "worker", "remove", name]).expect(0);
    }
    let run = desk.cto(["submit", "r1-string-slugify", "--json"]).expect(0).json();
    for child in waiting {
        let ended = World::finish(child);
        assert!(ended.code == 3 && ended.stderr.contains("was removed from the fleet"), "{}", ended.told());
    }
    for world in [first, second] {
        let again = world.cto(["worker", "--until-empty"]).expect(3);
        assert!(again.stderr.contains("was removed from the fleet"), "{}", again.stderr);
    }
    let own = first.cto(["run", "r1-string-slugify"]);
    assert!(own.code == 3 && own.stderr.contains("was removed from the fleet"), "{}", own.told());
    assert!(claim(&role).unwrap_err().contains("was removed from the fleet"));
    let order = "SELECT count(*) FROM cto.find_entries('{\"after_seq\": 0, \"limit\": 1000}') WHERE kind = 'run.started' AND body <> '{}'";
    assert_eq!(server.run_sql_as(&role, database, order).unwrap(), "0", "it reads no contract, its own neither");
    let queued = text_of(desk, &["queue", "--json"]);
    assert!(queued.contains(run["run_id"].as_str().unwrap()) && queued.contains("\"queued\""), "{queued}");
    let _ = machines.admit(second, "second", &[]).expect(0);
    let told = second.cto(["worker", "--until-empty", "--json"]).expect(0).json();
    assert_eq!(told["run_id"], run["run_id"], "the control: admitted again");
}
