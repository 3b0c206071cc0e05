//! Approving in the browser: the bytes on the page are the bytes that are signed, once, by an agent's key; everything else is refused
//! and stands in the ledger.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::Digest;
use hermes::{OperatorActKind, SessionPolicy};
use serde_json::{Value, json};
use testkit::World;

use crate::agent::HeldKey;
use crate::hostile_source::{HostileSource, serve_source};
use crate::{Browser, Look, Page, Served, world};

/// A world with a request that this key may approve.
struct Desk {
    world: World,
    request: String,
    socket: PathBuf,
    key: PathBuf,
    _agent: HeldKey,
}

impl Desk {
    fn new(is_token: bool) -> Self {
        let world = world();
        world.case("made", &[("mutation_mode", "candidate-default")]);
        world.make_home();
        let socket = world.user().join("agent");
        let make = if is_token { HeldKey::of_token } else { HeldKey::of_software };
        let (agent, key) = make(&world.user(), &socket);
        let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "me"]).expect(0);
        let asked = world.cto(["request", "./made", "--stage", "4", "--json"]);
        let request = asked.json()["request"].as_str().unwrap_or_else(|| panic!("{}", asked.told())).to_owned();
        Self { world, request, socket, key, _agent: agent }
    }

    /// Writes the operator's own configuration.
    fn configure(&self, hermes: &str) {
        let folder = self.world.user().join(".config/cto");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.yaml"), format!("hermes:\n{hermes}")).unwrap();
    }

    fn serve(&self, more: &[&str]) -> Served {
        let words = ["serve", "--listen", "127.0.0.1:0", "--json"].iter().chain(more);
        let mut command = self.world.command(words);
        command.env("SSH_AUTH_SOCK", &self.socket).env("CTO_SIGNING_KEY", &self.key);
        Served::spawn(command)
    }

    fn place(&self) -> String {
        format!("/approvals/{}", self.request)
    }

    fn packet(&self) -> Value {
        self.world.cto(["packet", &self.request, "--json"]).expect(0).json()
    }

    fn state(&self) -> String {
        self.packet()["state"].as_str().unwrap().to_owned()
    }

    /// Acts in the ledger: kind, whether it was allowed, and its text.
    fn acts(&self) -> Vec<(String, bool, String)> {
        let ledger = rusqlite::Connection::open(self.world.home().join("ledger.db")).unwrap();
        let mut rows = ledger.prepare("SELECT body FROM entries WHERE kind = 'operator.acted' ORDER BY seq").unwrap();
        let bodies = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let act = |body: String| {
            let body: Value = serde_json::from_str(&body).unwrap();
            let text = |key: &str| body[key].as_str().unwrap().to_owned();
            (text("act"), body["allowed"].as_bool().unwrap(), text("text"))
        };
        bodies.map(|body| act(body.unwrap())).filter(|(act, ..)| act != "login").collect()
    }

    /// The last act was a refused approval with these words.
    #[track_caller]
    fn expect_refusal(&self, words: &str) {
        let acts = self.acts();
        let (act, allowed, text) = acts.last().unwrap();
        assert!(act == "approve" && !allowed && text.contains(words), "{words}: {acts:?}");
        assert_eq!(self.state(), "open", "{words}");
    }
}

fn submit(page: &Page<'_>, sentence: &str) {
    page.fill("#sentence-in", sentence);
    page.click("#sentence-form button[type=submit]");
}

#[test]
fn the_packet_on_the_page_is_signed_once_and_by_the_operator_alone() {
    let Some(browser) = Browser::start("the_packet_on_the_page_is_signed_once_and_by_the_operator_alone") else {
        return;
    };
    let desk = Desk::new(true);
    desk.configure("  capture_approvals: true\n");
    let served = desk.serve(&[]);
    let (origin, cookie) = (format!("http://{}", served.host), served.log_in());
    let place = desk.place();
    let page = browser.open(Look::at(&origin, &cookie));
    page.visit(&place);
    let (sentence, packet) = (page.text("#sentence"), page.text("#packet"));
    let digest = Digest::of_bytes(packet.as_bytes()).to_string();
    assert_eq!(json!(digest), desk.packet()["packet_digest"], "the text on the page is the packet");
    assert!(page.text("main").contains(&format!("cto approve {}", desk.request)), "the command stands beside it");

    submit(&page, &sentence.replace("approve", "approved"));
    assert!(page.text(".banner").contains("not the sentence"), "{}", page.text("main"));
    desk.expect_refusal("not the sentence");

    let action = format!("{place}/approve");
    let asked = |text: &str| text.replace(' ', "+").replace("'", "%27");
    let token = served.get(&place, &cookie).token(&action);
    let body = format!("token={token}&sentence={}&packet_digest={digest}", asked(&sentence));
    let foreign = served.ask("POST", &action, &cookie, &[("Origin", "http://elsewhere.invalid")], &body);
    assert_eq!(foreign.status, 403);
    desk.expect_refusal("another origin");
    let bare = format!("sentence={}&packet_digest={digest}", asked(&sentence));
    assert_eq!(served.post(&action, &cookie, &bare).status, 409, "without a form's token");
    desk.expect_refusal("not of this session");
    let other = format!("token={token}&sentence={}&packet_digest={}", asked(&sentence), "0".repeat(64));
    assert_eq!(served.post(&action, &cookie, &other).status, 409, "another packet");
    desk.expect_refusal("another one than the page showed");
    let reader = desk.serve(&["--read-only"]);
    let reading_cookie = reader.log_in();
    let reading = browser.open(Look::at(&format!("http://{}", reader.host), &reading_cookie));
    reading.visit(&place);
    assert!(!reading.has("#sentence-form") && !reading.has("form[action$=deny]"), "a reader has no such controls");
    assert_eq!(reader.post(&action, &reading_cookie, &body).status, 403);
    desk.expect_refusal("operator's session");
    refuse_ended_session(&desk, &digest, &asked(&sentence));

    page.visit(&place);
    let second = page.another();
    second.visit(&place);
    let token = served.get(&place, &cookie).token(&action);
    submit(&page, &sentence);
    assert_eq!((page.path(), desk.state()), (place.clone(), "approved".to_owned()), "{}", page.text("main"));
    assert!(page.text("main").contains("approved") && !page.has("#sentence-form"));
    assert!(desk.acts().last().unwrap().1);
    submit(&second, &sentence);
    assert!(!desk.acts().last().unwrap().1, "a second tab: {:?}", desk.acts());
    let body = format!("token={token}&sentence={}&packet_digest={digest}", asked(&sentence));
    assert_eq!(served.post(&action, &cookie, &body).status, 409, "a second approval by the same key");
    assert_eq!(served.post(&action, &cookie, &body).status, 409, "the same form again");
    assert!(desk.acts().last().unwrap().2.contains("sent before"));

    let signed = signed_documents(&desk);
    assert_eq!(signed.len(), 1, "{signed:?}");
    assert_eq!((&signed[0]["packet_digest"], &signed[0]["sentence"]), (&json!(digest), &json!(sentence)));
    assert_eq!(signed[0]["signed_via"], "hardware");
    let key = fs::read_to_string(&desk.key).unwrap();
    assert!(key.starts_with("sk-ssh-ed25519@openssh.com "), "the key of a token: {key}");
    assert_eq!(desk.world.cto(["runs", "--json"]).expect(0).text(), "", "approving executes nothing");
    let run = desk.world.cto(["run", "./made", "--stage", "4", "--json"]).expect(0).json();
    assert_eq!(run["approval_status"], "granted");
    let _ = desk.world.cto(["ledger", "verify"]).expect(0);
}

/// A form that was good when its page was made, sent with the same cookie after the session has ended.
fn refuse_ended_session(desk: &Desk, digest: &str, sentence: &str) {
    let (place, served) = (desk.place(), desk.serve(&[]));
    let (action, cookie) = (format!("{place}/approve"), served.log_in());
    let page = served.get(&place, &cookie);
    let body = format!("token={}&sentence={sentence}&packet_digest={digest}", page.token(&action));
    let gone = served.post("/logout", &cookie, &format!("token={}", page.token("/logout")));
    assert_eq!(gone.status, 303);
    assert_eq!(served.post(&action, &cookie, &body).status, 403, "a session that has ended");
    desk.expect_refusal("operator's session");
}

/// Approvals of the request as they were signed.
fn signed_documents(desk: &Desk) -> Vec<Value> {
    let folder = desk.world.home().join("requests").join(&desk.request);
    let files = (1..9).map(|number| folder.join(format!("approval-{number}.json")));
    files.filter_map(|file| serde_json::from_slice(&fs::read(file).ok()?).ok()).collect()
}

/// A software agent signs whatever it is asked: only with its own setting.
#[test]
fn a_software_key_signs_only_with_its_setting() {
    let Some(browser) = Browser::start("a_software_key_signs_only_with_its_setting") else { return };
    let desk = Desk::new(false);
    for (settings, words) in [
        ("  capture_approvals: false\n", "switched on"),
        ("  capture_approvals: true\n", "a security key is needed"),
        ("  capture_approvals: true\n  capture_with_software_key: true\n", ""),
    ] {
        desk.configure(settings);
        let served = desk.serve(&[]);
        let (origin, cookie) = (format!("http://{}", served.host), served.log_in());
        let page = browser.open(Look { script: false, ..Look::at(&origin, &cookie) });
        page.visit(&desk.place());
        assert_eq!(page.has("#sentence-form"), settings.contains("approvals: true"), "{settings}");
        if !page.has("#sentence-form") {
            assert_eq!(served.post(&format!("{}/approve", desk.place()), &cookie, "token=x").status, 409, "{words}");
            continue;
        }
        submit(&page, &page.text("#sentence"));
        match words {
            "" => assert_eq!(desk.state(), "approved", "{}", page.text("main")),
            words => desk.expect_refusal(words),
        }
    }
    assert_eq!(signed_documents(&desk)[0]["signed_via"], "console", "the document says where it was signed");
}

/// A session of two seconds: the form on the page is worth nothing after it, and that is told to the ledger.
#[test]
fn a_login_that_has_lapsed_approves_nothing() {
    let Some(browser) = Browser::start("a_login_that_has_lapsed_approves_nothing") else { return };
    let source = Arc::new(HostileSource::default());
    source.say("plain");
    let sessions = SessionPolicy { session: Duration::from_secs(2), ..SessionPolicy::default() };
    serve_source(&source, sessions, |origin, login| {
        let page = browser.open(Look::at(origin, ""));
        page.visit(login);
        page.click("main button[type=submit]");
        page.visit("/approvals/req-1");
        assert!(page.has("#sentence-form"), "the control: while the session lasts there is a form");
        std::thread::sleep(Duration::from_millis(2200));
        submit(&page, "plain");
        let acts: Vec<_> = source.acts().into_iter().filter(|act| act.act == OperatorActKind::Approve).collect();
        assert!(matches!(acts.as_slice(), [act] if !act.allowed), "{acts:?}");
    });
}
