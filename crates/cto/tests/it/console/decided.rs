//! Deciding in the browser: a denial is the operator's and stands in the ledger; approving is off unless it was switched on.

use super::Served;
use crate::world;

#[test]
fn a_denial_is_signed_once_and_recorded() {
    let world = world();
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "operator"]).expect(0);
    let asked = world.cto(["request", "r1-string-slugify", "--stage", "4", "--json"]);
    let request = asked.json()["request"].as_str().unwrap_or_else(|| panic!("{}", asked.told())).to_owned();
    let place = format!("/approvals/{request}");

    let reader = Served::start(&world, &["--read-only"]);
    let page = reader.get(&place, &reader.log_in()).text();
    assert!(!page.contains("<form class=\"packet-sec\""), "a reader has no such controls");
    assert!(page.contains("cto approve"), "and the command in their place");

    let served = Served::start(&world, &[]);
    let cookie = served.log_in();
    let page = served.get(&place, &cookie);
    assert!(!page.text().contains("/approve\""), "approving here is off");
    let packet = world.cto(["packet", &request, "--json"]).expect(0).json();
    let first = packet["packet"].as_str().unwrap().lines().next().unwrap().to_owned();
    assert!(page.text().contains(&first) && page.text().contains(packet["packet_digest"].as_str().unwrap()));
    let action = format!("{place}/deny");
    let body = format!("token={}&reason=too+wide", page.token(&action));

    let foreign = served.ask("POST", &action, &cookie, &[("Origin", "http://evil.example")], &body);
    assert_eq!(foreign.status, 403, "another origin");
    assert_eq!(served.post(&action, &cookie, "token=0000&reason=x").status, 409, "no form of this session");
    assert_eq!(state(&world, &request), "open");
    let done = served.post(&action, &cookie, &body);
    assert_eq!(done.status, 303, "{}", done.text());
    assert_eq!(state(&world, &request), "denied");
    assert_eq!(served.post(&action, &cookie, &body).status, 409, "the same form again");
    let shown = served.get(&place, &cookie).text();
    assert!(shown.contains("too wide") && shown.contains("denied"));
    let asked = format!("{place}/approve");
    assert_eq!(served.post(&asked, &cookie, "token=x&sentence=y&packet_digest=z").status, 409);
    let _ = world.cto(["ledger", "verify"]).expect(0);
}

fn state(world: &testkit::World, request: &str) -> String {
    world.cto(["packet", request, "--json"]).expect(0).json()["state"].as_str().unwrap().to_owned()
}
