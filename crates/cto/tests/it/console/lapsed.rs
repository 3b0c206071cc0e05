//! A login ends with its time, and no sooner.

use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::World;

use super::Served;
use super::opened::configure;
use crate::world;

/// Seconds of a short login.
const SHORT: u64 = 4;

/// Refused decisions on a request in the ledger: act and text.
fn refused(world: &World, request: &str) -> Vec<(String, String)> {
    let ledger = rusqlite::Connection::open(world.home().join("ledger.db")).unwrap();
    let mut rows = ledger.prepare("SELECT body FROM entries WHERE kind = 'operator.acted' ORDER BY seq").unwrap();
    let bodies = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let acts = bodies.map(|body| serde_json::from_str::<Value>(&body.unwrap()).unwrap());
    let of_request = acts.filter(|act| act["subject"] == request && act["allowed"] == false);
    let text = |act: &Value, key: &str| act[key].as_str().unwrap().to_owned();
    of_request.map(|act| (text(&act, "act"), text(&act, "text"))).collect()
}

/// The page of the request and the forms on it, sent by a session.
struct Forms<'a> {
    served: &'a Served,
    cookie: String,
    place: String,
    denial: String,
}

impl<'a> Forms<'a> {
    fn open(served: &'a Served, request: &str) -> Self {
        let answer = served.post(&served.login, "", "");
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let place = format!("/approvals/{request}");
        let page = served.get(&place, &cookie);
        let denial = format!("token={}&reason=too+wide", page.token(&format!("{place}/deny")));
        Self { served, cookie, place, denial }
    }

    fn status_of(&self, path: &str) -> u16 {
        self.served.get(path, &self.cookie).status
    }

    fn deny(&self) -> u16 {
        self.served.post(&format!("{}/deny", self.place), &self.cookie, &self.denial).status
    }
}

/// Forms of a login of four seconds are worth nothing afterwards, and the ledger says that they were sent. A workspace cannot make a login
/// longer. The same forms of a login that lasts are taken.
#[test]
fn a_login_ends_with_its_time() {
    let world = world();
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "operator"]).expect(0);
    let asked = world.cto(["request", "r1-string-slugify", "--stage", "4", "--json"]).expect(0).json();
    let request = asked["request"].as_str().unwrap();
    let lasting = Served::start(&world, &[]);
    configure(
        &world,
        &format!("hermes:\n  capture_approvals: true\n  session_seconds: {SHORT}\n"),
        "hermes:\n  session_seconds: 40000\n",
    );
    let short = Served::start(&world, &[]);

    let lasting = Forms::open(&lasting, request);
    let began = Instant::now();
    let forms = Forms::open(&short, request);
    assert_eq!(forms.status_of("/"), 200, "while the login lasts");
    let reader = short.log_in_as_reader();
    std::thread::sleep(Duration::from_millis(SHORT * 1000 + 300).saturating_sub(began.elapsed()));
    assert_eq!((forms.status_of("/"), forms.status_of("/api/cto/overview")), (302, 401), "an operator's");
    assert!(refused(&world, request).is_empty());
    assert_eq!(forms.deny(), 403);
    assert_eq!(short.post(&format!("{}/approve", forms.place), &forms.cookie, &forms.denial).status, 403);
    testkit::wait_for("a reader's end", || (short.get("/", &reader).status == 302).then_some(()));
    let told = refused(&world, request);
    let words: Vec<&str> = told.iter().map(|(act, _)| act.as_str()).collect();
    assert_eq!(words, ["deny", "approve"]);
    assert!(told.iter().all(|(_, text)| text.contains("operator's session")), "{told:?}");

    assert_eq!(lasting.status_of("/"), 200, "the control: a login of the usual length goes on");
    assert_eq!(lasting.deny(), 303);
    assert_eq!(refused(&world, request).len(), 2);
}

/// The cookie lives as long as the session. A workspace can make a login shorter, and nobody longer than half a day.
#[test]
fn the_length_of_a_login_has_bounds() {
    let world = world();
    world.make_home();
    let _ = world.cto(["init", "."]).expect(0);
    let line = |seconds: &str| format!("hermes:\n  session_seconds: {seconds}\n");
    for (own, theirs, expected) in [("", "", "43200"), ("900", "", "900"), ("900", "60", "60"), ("60", "900", "60")] {
        let text = |seconds: &str| if seconds.is_empty() { String::new() } else { line(seconds) };
        configure(&world, &text(own), &text(theirs));
        let served = Served::start(&world, &[]);
        let cookie = served.post(&served.login, "", "").header("set-cookie").unwrap().to_owned();
        assert!(
            cookie.contains(&format!("Max-Age={expected};")) || cookie.ends_with(&format!("Max-Age={expected}")),
            "{cookie}"
        );
    }
    for wrong in ["0", "43201", "-1", "long"] {
        configure(&world, &line(wrong), "");
        let told = world.cto(["serve", "--listen", "127.0.0.1:0", "--json"]).expect(2).told();
        assert!(told.contains("session_seconds"), "{wrong}: {told}");
    }
}
