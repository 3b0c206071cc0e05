//! `cto demo --serve`: a history of real runs with something of everything, in a home that is gone with the server.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Served;
use crate::world;

#[test]
fn the_console_of_a_demo_stays_on_this_machine_and_halts_with_everything_else() {
    let world = world();
    let told = world.cto(["demo", "--serve", "--listen", "0.0.0.0:0"]).expect(2).told();
    assert!(told.contains("loopback alone") && told.contains("127.0.0.1"), "{told}");
    let _ = world.cto(["demo", "--open"]).expect(2);
    let _ = world.cto(["halt", "--reason", "a check"]).expect(0);
    let _ = world.cto(["demo", "--serve", "--listen", "127.0.0.1:0"]).expect(3);
}

/// Bytes that the server reads for an answer.
fn read_for(served: &Served, path: &str, cookie: &str) -> u64 {
    let count = || -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/io", served.pid())).unwrap();
        text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().trim().parse().unwrap()
    };
    let before = count();
    assert_eq!(served.get(path, cookie).status, 200, "{path}");
    count() - before
}

#[test]
fn the_history_of_a_demo_has_something_of_everything_and_is_gone_with_it() {
    let world = world();
    let folder = world.path().join("thrown-away");
    std::fs::create_dir(&folder).unwrap();
    let mut command = world.command(["demo", "--serve", "--listen", "127.0.0.1:0", "--json"]);
    command.env("TMPDIR", &folder);
    let served = Served::spawn(command);
    let cookie = served.log_in_as_reader();
    // A program polls figures, which rest on the bundles of the ladder: those are verified once, and not for each poll.
    let first = read_for(&served, "/metrics", &cookie);
    // The run that goes on reads too, in the same process, so that the least of several looks counts.
    let second = (0..8).map(|_| read_for(&served, "/metrics", &cookie)).min().unwrap();
    assert!(second + (40 << 10) < first, "{second} bytes are read again, after {first}");
    let get = |path: &str| served.get(path, &cookie).json();
    let words = |rows: &Value, key: &str| -> BTreeSet<String> {
        rows.as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
    };
    let set = |all: &[&str]| -> BTreeSet<String> { all.iter().map(|one| (*one).to_owned()).collect() };
    let overview = get("/api/cto/overview");
    let statuses = words(&get("/api/cto/runs")["runs"], "status");
    assert!(statuses.is_superset(&set(&["pass", "fail", "blocked"])), "{statuses:?}");
    let live = testkit::wait_for("a run that goes on and runs commands", || {
        let run = get("/api/cto/overview")["running"][0]["run_id"].as_str()?.to_owned();
        let page = served.get(&format!("/runs/{run}"), &cookie).text();
        (page.contains("No verdict yet.") && page.contains("cat strings.py")).then_some(run)
    });
    let states = words(&get("/api/cto/approvals")["requests"], "state");
    assert_eq!(states, set(&["open", "approved", "used", "denied", "held", "revoked", "expired"]));
    assert!(!get("/api/cto/spend")["rows"].as_array().unwrap().is_empty(), "model use");
    let rungs = overview["ladders"].as_array().unwrap().iter().flat_map(|ladder| ladder["rungs"].as_array().unwrap());
    let validated = rungs.filter(|rung| rung["status"] == "validated").count();
    assert!(validated >= 2, "{validated} rungs: {overview}");
    assert!(served.get("/", &cookie).text().contains("Spend by day and engine"));
    assert!(std::fs::read_dir(&folder).unwrap().count() > 0, "the control: the home is here");
    assert_eq!(served.get(&format!("/api/cto/runs/{live}"), &cookie).json()["state"], "running");
    assert_eq!(served.end(), Some(0));
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!world.home().exists(), "the operator's own home is none of its affair");
}
