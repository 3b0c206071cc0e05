//! A workspace with an admitted model, a scripted server behind it, and a fake engine that asks it.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use fixtures::scripted::{Reply, Script, ScriptedServer};
use serde_json::{Value, json};
use testkit::{Ran, World};

use crate::world;

pub(super) const PAIR: &str = "prov/m";
pub(super) const KEY: &str = "upstream-key-0123456789abcdef";

/// Asks the model as `sys.argv` says, a secret put in here so that only the traffic has it, prints the statuses, and shows its token to a
/// reader that reads it backwards.
const CLIENT: &str = r#"
import json, os, sys, urllib.error, urllib.request
base, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
print("backwards", key[::-1], flush=True)
for body in sys.argv[1:]:
    body = body.replace("SECRET", "sk_" + "live_yeu5IfpoPTKgRHlpbGyrqg8F")
    path = "/responses" if "input" in json.loads(body) else "/chat/completions"
    request = urllib.request.Request(base + path, body.encode(), {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            print("status", answer.status, json.load(answer)["choices"][0]["message"]["content"], flush=True)
    except urllib.error.HTTPError as error:
        print("status", error.code, error.read().decode(), flush=True)
"#;

pub(super) struct Scene {
    pub(super) world: World,
    server: Option<ScriptedServer>,
    pub(super) admission: Value,
    pub(super) decision: Option<Value>,
    pub(super) config: Value,
    pub(super) environment: Vec<(String, String)>,
    pub(super) pair: Option<&'static str>,
}

/// Something that looks like a secret and is none; in two parts, so that it is not one in this file either.
pub(super) fn secret() -> String {
    ["sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"].concat()
}

/// A plain question to a model.
pub(super) fn ask(model: &str, words: &str) -> String {
    json!({"model": model, "messages": [{"role": "user", "content": words}]}).to_string()
}

/// The steps of an engine that asks these and then does the work.
pub(super) fn asking(bodies: &[String]) -> Vec<Value> {
    let mut argv = vec!["/usr/bin/python3".to_owned(), "-c".to_owned(), CLIENT.to_owned()];
    argv.extend_from_slice(bodies);
    vec![json!({"run": {"argv": argv}}), json!({"write": {"path": "a.txt", "text": "two\n"}})]
}

impl Scene {
    pub(super) fn new() -> Self {
        Self::with(Script { steps: Vec::new(), otherwise: Reply::text("ready") })
    }

    pub(super) fn with(script: Script) -> Self {
        let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap();
        let admission = json!({
            "admission_timestamp": "2026-01-01T00:00:00Z", "allowed_network_class": "loopback", "approval_source": "tests",
            "credential_source_class": "key", "model": "m", "provider": "prov", "review_trigger": "never",
            "status": "admitted",
        });
        let config = json!({
            "credential_sources": {"key": {"env": "UPSTREAM_KEY"}},
            "network_classes": {"loopback": {"hosts": ["127.0.0.1"], "scripted": true}},
            "models": {PAIR: {"endpoint": format!("http://{}/v1", server.address())}},
        });
        let world = world();
        let _ = world.cto(["init", "."]).expect(0);
        Self {
            world,
            server: Some(server),
            admission,
            decision: None,
            config,
            environment: vec![("UPSTREAM_KEY".to_owned(), KEY.to_owned())],
            pair: Some(PAIR),
        }
    }

    /// Number of requests that the server got so far.
    pub(super) fn asked(&self) -> usize {
        self.server.as_ref().map_or(0, |server| server.asked().len())
    }

    /// The headers the server saw.
    pub(super) fn header(&self, name: &str) -> Vec<Option<String>> {
        let asked = self.server.as_ref().unwrap().asked();
        asked.iter().map(|asked| asked.header(name).map(str::to_owned)).collect()
    }

    /// Ends the server and gives a listener in its place, which nobody serves.
    pub(super) fn trap(&mut self) -> TcpListener {
        let address = self.server.take().unwrap().address();
        let trap = testkit::wait_for("the address is free", || TcpListener::bind(address).ok());
        trap.set_nonblocking(true).unwrap();
        trap
    }

    pub(super) fn case(&self, changes: &[(&str, &str)], steps: &[Value]) -> PathBuf {
        let fake = json!({"wire": "chat_completions", "steps": steps}).to_string();
        let mut all = vec![("fake", fake.as_str())];
        all.extend_from_slice(changes);
        self.world.case("case", &all)
    }

    /// Writes records and configuration as they stand now.
    pub(super) fn settle(&self) {
        self.world.write("admissions/model/prov.json", self.admission.to_string());
        if let Some(decision) = &self.decision {
            self.world.write("decisions/provider.yaml", decision.to_string());
        }
        let folder = self.world.user().join(".config/cto");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.yaml"), self.config.to_string()).unwrap();
    }

    pub(super) fn cto(&self, arguments: &[&str]) -> Ran {
        let mut command = self.world.command(arguments.iter().copied());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ran::of(command.output().unwrap())
    }

    /// A governed run of the case as it stands; gives the report and the bundle, which must verify.
    pub(super) fn run(&self, case: &std::path::Path, more: &[&str], code: i32) -> (Value, PathBuf) {
        let mut arguments = vec!["run", case.to_str().unwrap(), "--json"];
        arguments.extend(self.pair.iter().flat_map(|pair| ["--model", pair]));
        arguments.extend_from_slice(more);
        let report = self.cto(&arguments).expect(code).json();
        let bundle = self.world.bundles().join(report["run_id"].as_str().unwrap());
        let verified = self.world.cto(["verify", bundle.to_str().unwrap()]);
        assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.stderr);
        (report, bundle)
    }
}

/// The events of a bundle.
pub(super) fn events(bundle: &std::path::Path) -> Vec<Value> {
    lines(&bundle.join("events.normalized.jsonl"))
}

pub(super) fn lines(file: &std::path::Path) -> Vec<Value> {
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
