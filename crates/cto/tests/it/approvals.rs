//! Requests, packets, approvals and their single use, through the binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod at_a_terminal;
mod broken_glass;
mod documents;
mod every_field;
mod failover;
mod forged;
mod keys;
mod refused;
mod remedies;
mod replayed;
mod used;
mod witness;

use std::fs;
use std::path::{Path, PathBuf};

use contract::Stage;
use serde_json::Value;
use testkit::{Ran, World, program, stoppable};

use crate::{targets, world};

/// A world with a case that a run may change, and an operator's key that may approve.
struct Scene {
    world: World,
    key: PathBuf,
    stage: Stage,
}

impl Scene {
    /// None without ssh-keygen, which is printed.
    fn new(test: &str) -> Option<Self> {
        if program("ssh-keygen", Path::new("/")).arg("-?").output().is_err() {
            testkit::skip(test, "there is no ssh-keygen");
            return None;
        }
        let world = world();
        world.case("made", &[("mutation_mode", "candidate-default")]);
        let _ = world.cto(["key", "init"]).expect(0);
        let scene = Self { key: world.home().join("keys/operator"), world, stage: Stage::DISPOSABLE_REPOSITORY };
        scene.allow(&[("me", &scene.key)]);
        Some(scene)
    }

    /// The same with an admitted target, and a folder that the engine is shown.
    fn with_target(test: &str) -> Option<Self> {
        let world = world();
        let mounted = world.path().join("mounted");
        fs::create_dir(&mounted).unwrap();
        fs::write(mounted.join("data"), "1\n").unwrap();
        let environment = format!("{{mounts: [{{source: {}, target: /opt/data}}]}}", mounted.display());
        let changes = [("environment", environment.as_str())];
        let world = targets::Scene::with(test, world, Path::to_owned, &changes)?.into_world();
        let scene = Self { key: world.home().join("keys/operator"), world, stage: Stage::OWNED_REPOSITORY };
        scene.allow(&[("me", &scene.key)]);
        Some(scene)
    }

    /// Makes a key that lies outside of the home.
    fn make_key(&self, name: &str) -> PathBuf {
        let path = self.world.user().join(name);
        let made = program("ssh-keygen", &self.world.here())
            .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
            .arg(&path)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        path
    }

    /// Lets these keys approve, and no others.
    fn allow(&self, people: &[(&str, &Path)]) {
        let line = |(name, key): &(&str, &Path)| {
            let public = fs::read_to_string(key.with_extension("pub")).unwrap();
            format!("{name} namespaces=\"cto-*\" {public}")
        };
        let lines: String = people.iter().map(line).collect();
        self.world.write_own("trust/allowed_signers", lines);
    }

    fn cto(&self, words: &[&str]) -> Ran {
        self.world.cto(words.iter().copied())
    }

    /// Runs a command about the case at the scene's stage.
    fn govern(&self, command: &str) -> Ran {
        let target: &[&str] = if self.stage == Stage::OWNED_REPOSITORY { &["--target", "target.yaml"] } else { &[] };
        self.cto(&[&[command, "./made", "--stage", &self.stage.to_string(), "--json"], target].concat())
    }

    /// Requests the case and gives the document.
    fn request(&self) -> Value {
        self.govern("request").expect(0).json()
    }

    fn packet(&self, request: &str) -> Value {
        self.cto(&["packet", request, "--json"]).expect(0).json()
    }

    fn sentence(&self, request: &str) -> String {
        text(&self.packet(request)["approval_command_text"])
    }

    /// Approves with more words.
    fn approve(&self, request: &str, more: &[&str]) -> Ran {
        let sentence = self.sentence(request);
        self.cto(&[&["approve", request, "--json", "--sentence", &sentence], more].concat())
    }

    fn run(&self, code: i32) -> Value {
        self.govern("run").expect(code).json()
    }

    /// The reason of the only blocker of a run.
    fn refusal(&self) -> String {
        let report = self.run(3);
        let reasons = report["blocker_reasons"].as_array().unwrap();
        assert_eq!(report["engine"]["process_started"], false, "{report:#}");
        reasons.iter().map(text).collect::<Vec<_>>().join(",")
    }

    fn document(&self, request: &str, name: &str) -> PathBuf {
        self.world.home().join("requests").join(request).join(name)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn a_request_is_read_approved_and_used_once() {
    let Some(scene) = Scene::new("a_request_is_read_approved_and_used_once") else { return };
    assert_eq!(scene.refusal(), "approval_missing");
    let requested = scene.request();
    let name = text(&requested["request"]);
    assert_eq!(requested["approval_granted"], false);
    assert_eq!(scene.request()["request"], requested["request"], "the same plan is the same request");
    assert_eq!(scene.refusal(), "approval_missing", "a request allows nothing");

    let packet = scene.packet(&name);
    assert_eq!((&packet["state"], &packet["packet_status"]), (&"open".into(), &"proof_ready".into()));
    let shown = scene.cto(&["packet", &name]).expect(0).text();
    assert!(shown.starts_with(packet["packet"].as_str().unwrap()), "the packet comes first, as it is digested");
    let digest = contract::Digest::of_bytes(packet["packet"].as_str().unwrap().as_bytes()).to_string();
    assert_eq!(packet["packet_digest"], digest.as_str());

    let granted = scene.approve(&name, &[]).expect(0).json();
    assert_eq!(granted["packet_digest"], packet["packet_digest"]);
    assert_eq!(scene.request()["request"], requested["request"], "an approved plan is requested already");
    let report = scene.run(0);
    assert_eq!((&report["status"], &report["approval_status"]), (&"pass".into(), &"granted".into()));
    let coverage = report["coverage"].as_array().unwrap();
    for code in ["solo_operator", "approval_key_unprotected"] {
        assert!(coverage.contains(&code.into()), "{coverage:?}");
    }
    let bundle = scene.world.bundles().join(text(&report["run_id"]));
    let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
    let place = |kind: &str| events.find(&format!("\"type\":\"{kind}\"")).unwrap_or_else(|| panic!("no {kind}"));
    assert!(place("plan.updated") < place("approval.requested"), "{events}");
    assert!(place("approval.requested") < place("approval.granted"), "{events}");
    assert!(place("approval.granted") < place("engine.started"), "{events}");
    let _ = scene.cto(&["verify", "@"]).expect(0);

    assert_eq!(scene.refusal(), "approval_consumed");
    let _ = scene.cto(&["verify", "@"]).expect(0);
    let packet = scene.packet(&name);
    assert_eq!(packet["packet_status"], "consumed_by_pass_evidence");
    assert_eq!((&packet["execution_allowed"], &packet["approval_consumed"]), (&false.into(), &true.into()));
    let again = scene.request();
    assert_ne!(again["request"], requested["request"], "a used plan is requested anew");
    let listed = scene.cto(&["approvals", "--json"]).expect(0).json();
    let states: Vec<String> = listed["requests"].as_array().unwrap().iter().map(|row| text(&row["state"])).collect();
    assert_eq!(states, ["open", "used"]);
    let first = scene.cto(&["approvals", "--limit", "1", "--json"]).expect(0).json();
    let rest = scene.cto(&["approvals", "--before", first["next"].as_str().unwrap(), "--json"]).expect(0).json();
    assert_eq!((&rest["requests"][0]["request"], &rest["next"]), (&requested["request"], &Value::Null));
}

/// A contract that may change more asks anew, and its packet says what is new since the last approval and what nobody can take back.
#[test]
fn a_packet_says_what_is_new_and_what_stays_done() {
    let Some(scene) = Scene::new("a_packet_says_what_is_new_and_what_stays_done") else { return };
    let case = |allowed: &str| {
        let good = [("mutation_mode", "candidate-default"), ("allowed_paths", allowed)];
        scene.world.case("made", &good)
    };
    case("[a.txt]");
    let first = text(&scene.request()["request"]);
    let _ = scene.approve(&first, &[]).expect(0);
    let shown = scene.cto(&["packet", &first]).expect(0).text();
    assert_eq!(scene.packet(&first)["new_since"], Value::Null, "the control: there is no approval before it");
    assert!(!shown.contains("new_since") && !shown.contains("irreversible"), "{shown}");

    let folder = case("[a.txt, \"migrations/**\"]");
    fs::create_dir_all(folder.join("files/migrations")).unwrap();
    fs::write(folder.join("files/migrations/0001_init.sql"), "CREATE TABLE a (b);\n").unwrap();
    assert_eq!(scene.refusal(), "approval_mismatch", "the approval does not stretch");
    let second = text(&scene.request()["request"]);
    assert_ne!(first, second);
    let packet = scene.packet(&second);
    assert_eq!(packet["new_since"]["request"], first.as_str());
    let fields: Vec<String> = packet["new_since"]["fields"].as_array().unwrap().iter().map(text).collect();
    assert!(
        fields.iter().any(|field| field.contains("/contract/allowed_paths") && field.contains("migrations/")),
        "{fields:?}"
    );
    assert!(fields.iter().any(|field| field.contains("/marks")), "{fields:?}");
    let told = text(&packet["packet"]);
    let mark = told.lines().find(|line| line.contains("irreversible")).unwrap_or_else(|| panic!("no mark: {told}"));
    assert!(mark.contains("database migrations") && mark.ends_with("migrations/0001_init.sql (1 there)"), "{mark}");
    let shown = scene.cto(&["packet", &second]).expect(0).text();
    assert!(shown.contains(&format!("new_since {first}, whose approval does not carry over")), "{shown}");
    assert!(fields.iter().all(|field| shown.contains(&format!("+ {field}"))), "{shown}");
}

/// The age of a request is the time since it was made, by the reader's clock.
#[test]
fn a_list_of_approvals_tells_their_age() {
    let test = "approvals::a_list_of_approvals_tells_their_age";
    let Some(binary) = stoppable(test) else { return };
    let Some(scene) = Scene::new(test) else { return };
    let name = text(&scene.request()["request"]);
    for (later, age, state) in [(0, "age=", "open"), (7200, "age=72", "open"), (36_000, "age=360", "expired")] {
        let look = |words: &[&str]| {
            let mut command = scene.world.program(binary.to_str().unwrap());
            Ran::of(command.args(words).env("CTO_CLOCK_OFFSET", later.to_string()).output().unwrap()).expect(0)
        };
        let row = look(&["approvals", "--json"]).json()["requests"][0].clone();
        let seconds = row["age_seconds"].as_u64().unwrap();
        assert!((later..later + 100).contains(&seconds), "{later}: {row}");
        assert_eq!((&row["state"], &row["request"]), (&state.into(), &name.as_str().into()), "{later}");
        let line = look(&["approvals"]).text();
        assert!(line.starts_with(&format!("{name} {state} {age}")), "{line}");
    }
}
