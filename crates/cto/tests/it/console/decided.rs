//! Deciding in the browser: a denial is the operator's and stands in the ledger; approving is off unless it was switched on.

use std::os::unix::fs::DirBuilderExt as _;

use testkit::Tmux;

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

/// The link of this kind on a screen, the newest.
fn link_on(lines: &[String], kind: &str) -> Option<String> {
    let mut links = lines.iter().rev().filter_map(|line| line.strip_prefix(&format!("{kind} http://")));
    links.next().map(str::to_owned)
}

/// A server in a terminal never asks there for the passphrase of a key, so that no request of a browser waits for somebody at it. Enter
/// prints new links.
#[test]
fn a_server_asks_nothing_on_its_terminal_and_prints_links_on_enter() {
    let test = "a_server_asks_nothing_on_its_terminal_and_prints_links_on_enter";
    let world = world();
    world.make_home();
    let key = world.home().join("keys/operator");
    std::fs::DirBuilder::new().mode(0o700).create(key.parent().unwrap()).unwrap();
    let mut keygen = testkit::program("ssh-keygen", &world.here());
    let Ok(made) = keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).output() else {
        return testkit::skip(test, "there is no ssh-keygen");
    };
    assert!(made.status.success(), "{made:?}");
    let _ = world.cto(["trust", "key", "add", key.with_extension("pub").to_str().unwrap(), "--name", "me"]).expect(0);
    let asked = world.cto(["request", "r1-string-slugify", "--stage", "4", "--json"]);
    let request = asked.json()["request"].as_str().unwrap_or_else(|| panic!("{}", asked.told())).to_owned();
    let locked = testkit::program("ssh-keygen", &world.here())
        .args(["-q", "-p", "-P", "", "-N", "a passphrase", "-f"])
        .arg(&key)
        .output()
        .unwrap();
    assert!(locked.status.success(), "{locked:?}");
    let Some(control) = Tmux::start(test, &world, 100, ["deny", &request, "--reason", "x"]) else { return };
    control.wait_for("assphrase");
    control.press("C-c");
    control.wait_for("ended with");

    let Some(terminal) = Tmux::start(test, &world, 200, ["serve", "--listen", "127.0.0.1:0"]) else { return };
    let lines = terminal.wait_until("the links", |lines| link_on(lines, "login-read-only").is_some());
    let first = link_on(&lines, "login").unwrap();
    terminal.press("Enter");
    let lines = terminal.wait_until("new links", |lines| link_on(lines, "login").is_some_and(|link| link != first));
    let link = link_on(&lines, "login").unwrap();
    let (host, path) = link.split_once('/').unwrap();
    let post = |path: &str, cookie: &str, body: &str| {
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nConnection: close\r\n");
        let kind = "Content-Type: application/x-www-form-urlencoded";
        let text = format!("{head}Cookie: {cookie}\r\n{kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        Served::send_to(host, text.as_bytes()).unwrap()
    };
    let answer = post(&format!("/{path}"), "", "");
    assert_eq!(answer.status, 303, "a new link logs in: {}", answer.text());
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let place = format!("/approvals/{request}");
    let get = format!("GET {place} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n");
    let token = Served::send_to(host, get.as_bytes()).unwrap().token(&format!("{place}/deny"));
    let denied = post(&format!("{place}/deny"), &cookie, &format!("token={token}&reason=x"));
    assert_eq!(denied.status, 409, "{}", denied.text());
    assert!(denied.text().contains("passphrase"), "the page says why");
    assert!(!terminal.lines().iter().any(|line| line.contains("passphrase")), "{:#?}", terminal.lines());
    assert_eq!(state(&world, &request), "open");
    terminal.press("C-c");
    terminal.wait_for("ended with 0");
}
