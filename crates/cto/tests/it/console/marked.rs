//! A run that was approved past the policy, on every page that shows it or its request.

use testkit::World;

use super::Served;
use crate::world;

const MARK: &str = "<span>past the policy</span>";

/// Requests, approves and runs the same task; gives the request's name.
fn govern(world: &World, more: &[&str]) -> String {
    let asked = world.cto(["request", "r1-string-slugify", "--stage", "4", "--json"]).expect(0).json();
    let request = asked["request"].as_str().unwrap().to_owned();
    let packet = world.cto(["packet", &request, "--json"]).expect(0).json();
    let sentence = packet["approval_command_text"].as_str().unwrap();
    let _ = world.cto([&["approve", &request, "--sentence", sentence][..], more].concat()).expect(0);
    let _ = world.cto(["run", "r1-string-slugify", "--stage", "4", "--json"]).expect(0);
    request
}

/// Marks on each page: approvals, the request, runs, the run.
fn count_marks(world: &World, request: &str) -> [usize; 4] {
    let served = Served::start(world, &[]);
    let cookie = served.log_in();
    let run = world.cto(["show", "@", "--json"]).expect(0).json()["run_id"].as_str().unwrap().to_owned();
    let pages = ["/approvals".to_owned(), format!("/approvals/{request}"), "/runs".to_owned(), format!("/runs/{run}")];
    pages.map(|page| served.get(&page, &cookie).text().matches(MARK).count())
}

#[test]
fn a_run_past_the_policy_is_marked_on_every_page() {
    let world = world();
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "operator"]).expect(0);
    let plain = govern(&world, &[]);
    assert_eq!(count_marks(&world, &plain), [0; 4], "the control");
    world.write_own("trust/approval-policy.yaml", "approvals_required: 2\nbreak_glass: true\n");
    let request = govern(&world, &["--break-glass", "--reason", "the site is down"]);
    assert_eq!(count_marks(&world, &request), [1; 4]);
    let served = Served::start(&world, &[]);
    let history = served.get(&format!("/approvals/{request}"), &served.log_in()).text();
    assert!(history.contains("st-glass") && history.contains("approved past the policy"), "{history}");
}
