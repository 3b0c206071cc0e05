//! Keys that take their time: a signature has a bound, holds up nobody else, and is worth nothing once the session has ended.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::World;

use super::{Answer, Served};
use crate::world;

/// `ssh-agent` behind a gate: questions reach it once the gate is open. It ends with its value.
struct GatedAgent {
    agent: std::process::Child,
    gate: Arc<AtomicBool>,
}

impl Drop for GatedAgent {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

/// Passes on what one side says to the other, from the moment that the gate is open.
fn pass_on(from: &UnixStream, to: &UnixStream) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}

impl GatedAgent {
    /// An agent with one key, whose public half lies in the file that is given; none without OpenSSH.
    fn start(folder: &Path, socket: &Path) -> Option<(Self, PathBuf)> {
        let (key, inner) = (folder.join("held"), folder.join("inner"));
        let made =
            testkit::program("ssh-keygen", folder).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).output();
        assert!(made.ok()?.status.success());
        let agent = testkit::program("ssh-agent", folder).args(["-D", "-a"]).arg(&inner).spawn().ok()?;
        let this = Self { agent, gate: Arc::default() };
        testkit::wait_for("the agent", || UnixStream::connect(&inner).ok());
        let added = testkit::program("ssh-add", folder).env("SSH_AUTH_SOCK", &inner).arg(&key).output().unwrap();
        assert!(added.status.success(), "{added:?}");
        std::fs::remove_file(&key).unwrap();
        let (listener, gate) = (UnixListener::bind(socket).unwrap(), Arc::clone(&this.gate));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (gate, inner) = (Arc::clone(&gate), inner.clone());
                std::thread::spawn(move || {
                    while !gate.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    let agent = UnixStream::connect(inner).unwrap();
                    pass_on(&client, &agent);
                    pass_on(&agent, &client);
                });
            }
        });
        Some((this, key.with_extension("pub")))
    }

    fn open(&self) {
        self.gate.store(true, Ordering::Relaxed);
    }
}

/// A server whose operator's key is behind a gate, and two requests that wait.
struct Desk {
    world: World,
    agent: GatedAgent,
    served: Served,
    cookie: String,
    requests: [String; 2],
}

impl Desk {
    fn new(test: &str) -> Option<Self> {
        let world = world();
        world.make_home();
        let socket = world.user().join("gate");
        let Some((agent, key)) = GatedAgent::start(&world.user(), &socket) else {
            testkit::skip(test, "there is no OpenSSH");
            return None;
        };
        let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "me"]).expect(0);
        let requests = ["r1-string-slugify", "r1-slugify-punctuation"].map(|case| {
            let asked = world.cto(["request", case, "--stage", "4", "--json"]);
            asked.json()["request"].as_str().unwrap_or_else(|| panic!("{}", asked.told())).to_owned()
        });
        let mut command = world.command(["serve", "--listen", "127.0.0.1:0", "--json"]);
        command.env("SSH_AUTH_SOCK", &socket).env("CTO_SIGNING_KEY", &key);
        let served = Served::spawn(command);
        let cookie = served.log_in();
        Some(Self { world, agent, served, cookie, requests })
    }

    /// The form of a denial, as the page of the request has it.
    fn form(&self, request: &str) -> (String, String) {
        let place = format!("/approvals/{request}");
        let action = format!("{place}/deny");
        let token = self.served.get(&place, &self.cookie).token(&action);
        (action, format!("token={token}&reason=too+wide"))
    }

    fn deny(&self, (action, body): &(String, String)) -> Answer {
        let head =
            format!("POST {action} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n", host = self.served.host);
        let kind = "Content-Type: application/x-www-form-urlencoded";
        let rest = format!("Cookie: {}\r\n{kind}\r\nContent-Length: {}\r\n", self.cookie, body.len());
        let text = format!("{head}{rest}Connection: close\r\n\r\n{body}");
        Served::send_within(&self.served.host, text.as_bytes(), Duration::from_secs(90)).unwrap()
    }

    fn state(&self, request: &str) -> String {
        self.world.cto(["packet", request, "--json"]).expect(0).json()["state"].as_str().unwrap().to_owned()
    }

    /// Texts of the acts on a request in the ledger, with `no` before those that were refused.
    fn acts(&self, request: &str) -> Vec<String> {
        let ledger = rusqlite::Connection::open(self.world.home().join("ledger.db")).unwrap();
        let mut rows = ledger.prepare("SELECT body FROM entries WHERE kind = 'operator.acted' ORDER BY seq").unwrap();
        let bodies = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let acts = bodies.map(|body| serde_json::from_str::<Value>(&body.unwrap()).unwrap());
        let told = |act: Value| {
            let word = if act["allowed"] == true { "" } else { "no: " };
            format!("{word}{}", act["text"].as_str().unwrap())
        };
        acts.filter(|act| act["subject"] == request).map(told).collect()
    }

    fn wait_until_begun(&self, request: &str) {
        testkit::wait_for("an act that has begun", || self.acts(request).contains(&"begun".to_owned()).then_some(()));
    }
}

/// An agent that never answers: the signature is given up after a while, and meanwhile everybody else gets pages, however often the operator
/// tries.
#[test]
fn a_key_that_never_answers_holds_up_nobody() {
    let Some(desk) = Desk::new("a_key_that_never_answers_holds_up_nobody") else { return };
    let [first, second] = &desk.requests;
    let form = desk.form(first);
    let again: Vec<_> = (0..20).map(|_| desk.form(second)).collect();
    std::thread::scope(|scope| {
        let began = Instant::now();
        let waiting = scope.spawn(|| desk.deny(&form));
        desk.wait_until_begun(first);
        for form in &again {
            let answer = desk.deny(form);
            let said = answer.text();
            assert!(answer.status == 409 && said.contains("another decision waits"), "{}: {said}", answer.status);
        }
        assert_eq!(desk.served.get("/runs", &desk.cookie).status, 200, "pages are shown all the while");
        assert!(began.elapsed() < Duration::from_secs(30), "and at once: {:?}", began.elapsed());
        let answer = waiting.join().unwrap();
        assert_eq!(answer.status, 409, "{}", answer.text());
        assert!(answer.text().contains("did not sign within 40 seconds"), "{}", answer.text());
    });
    assert_eq!((desk.state(first), desk.state(second)), ("open".to_owned(), "open".to_owned()));
    assert!(desk.acts(first).last().unwrap().starts_with("no: the key did not sign"), "{:?}", desk.acts(first));
    desk.agent.open();
    let answer = desk.deny(&desk.form(first));
    assert_eq!((answer.status, desk.state(first).as_str()), (303, "denied"), "the control: {}", answer.text());
}

/// A signature that is made after the operator has logged out is not recorded, and that is told to the ledger.
#[test]
fn a_signature_that_comes_after_the_session_is_not_recorded() {
    let Some(desk) = Desk::new("a_signature_that_comes_after_the_session_is_not_recorded") else { return };
    let first = &desk.requests[0];
    let form = desk.form(first);
    let page = desk.served.get("/", &desk.cookie);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| desk.deny(&form));
        desk.wait_until_begun(first);
        let gone = desk.served.post("/logout", &desk.cookie, &format!("token={}", page.token("/logout")));
        assert_eq!(gone.status, 303);
        desk.agent.open();
        assert_eq!(waiting.join().unwrap().status, 409);
    });
    assert_eq!(desk.state(first), "open");
    assert!(desk.acts(first).last().unwrap().starts_with("no: the session ended"), "{:?}", desk.acts(first));
    let _ = desk.world.cto(["ledger", "verify"]).expect(0);

    // The control: the same key and the same way, by a session that lasts.
    let other = Desk::new("a_signature_that_comes_after_the_session_is_not_recorded").unwrap();
    let second = &other.requests[1];
    let form = other.form(second);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| other.deny(&form));
        other.wait_until_begun(second);
        other.agent.open();
        assert_eq!(waiting.join().unwrap().status, 303);
    });
    assert_eq!(other.state(second), "denied");
}
