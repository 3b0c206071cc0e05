//! A workspace in which one agent's gate is open, with an admitted model, and the script that its model follows.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use serde_json::{Value, json};
use testkit::{Agent, Ran, World};

use crate::world;

pub(super) const PAIR: &str = "prov/model-x";

pub(super) struct Scene {
    pub(super) world: World,
    pub(super) engine: &'static str,
    pub(super) server: ScriptedServer,
    config: Value,
    /// Of the workspace.
    pub(super) harness: Value,
}

/// The call of an agent's shell.
pub(super) fn shell(engine: &str, command: &str) -> Reply {
    match engine {
        "codex" => Reply::call("exec_command", json!({"cmd": command})),
        "pi" => Reply::call("bash", json!({"command": command})),
        _ => Reply::call("Bash", json!({"command": command, "description": "work"})),
    }
}

/// What the engine's requests hold and the preflight's own question does not.
pub(super) const MARK: &str = "Only these paths may change";

/// Replies in their order, the last one for all that comes after.
pub(super) fn script(replies: Vec<Reply>) -> Script {
    let when = || When { contains: Some(MARK.to_owned()), ..When::default() };
    let mut steps: Vec<Step> = replies.into_iter().map(|reply| Step { when: when(), times: Some(1), reply }).collect();
    if let Some(last) = steps.last_mut() {
        last.times = None;
    }
    Script { steps, otherwise: Reply::text("ready") }
}

/// Runs these commands one after the other, then says something.
pub(super) fn doing(engine: &str, commands: &[&str], last: &str) -> Script {
    let calls = commands.iter().map(|command| shell(engine, command));
    script(calls.chain([Reply::text(last)]).collect())
}

impl Scene {
    pub(super) fn new(test: &str, engine: &'static str, script: Script) -> Option<Self> {
        let Agent { executable, interpreter } = testkit::agent(test, engine)?;
        let mut entry = json!({"executable": executable});
        if let Some(interpreter) = interpreter {
            entry["interpreter"] = json!(interpreter);
        }
        Some(Self::with(engine, entry, script))
    }

    /// A workspace for an engine that the user's configuration has this to say of.
    pub(super) fn with(engine: &'static str, entry: Value, script: Script) -> Self {
        let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap();
        let config = json!({
            "credential_sources": {"key": {"env": "UPSTREAM_KEY"}},
            "network_classes": {"loopback": {"hosts": ["127.0.0.1"], "scripted": true}},
            "models": {PAIR: {"endpoint": format!("http://{}/v1", server.address())}},
            "engines": {engine: entry},
        });
        let world = world();
        let _ = world.cto(["init", "."]).expect(0);
        let scene = Self { world, engine, server, config, harness: json!({}) };
        scene.settle();
        scene
    }

    /// Writes records and configuration as they stand now.
    pub(super) fn settle(&self) {
        let (provider, model) = PAIR.split_once('/').unwrap();
        let admission = json!({
            "admission_timestamp": "2026-01-01T00:00:00Z", "allowed_network_class": "loopback", "approval_source": "tests",
            "credential_source_class": "key", "model": model, "provider": provider, "review_trigger": "never",
            "status": "admitted",
        });
        self.world.write("admissions/model/prov.json", admission.to_string());
        let folder = self.world.user().join(".config/cto");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.yaml"), self.config.to_string()).unwrap();
        self.world.write("harness.yaml", self.harness.to_string());
    }

    /// Opens the gate for one stage.
    pub(super) fn open(&mut self, stage: u8) {
        self.harness = json!({"engines": {self.engine: {"enabled": true, "stage": stage}}});
        self.settle();
    }

    pub(super) fn cto(&self, arguments: &[&str]) -> Ran {
        let mut command = self.world.command(arguments.iter().copied());
        command.env("UPSTREAM_KEY", "upstream-key-0123456789abcdef");
        let output = command.output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// A run at a stage that is opened for it; the report and the bundle, which must verify.
    pub(super) fn run(&mut self, task: &str, stage: u8, more: &[&str], code: i32) -> (Value, PathBuf) {
        self.open(stage);
        let number = stage.to_string();
        let mut arguments = vec!["run", task, "--engine", self.engine, "--stage", &number, "--model", PAIR, "--json"];
        arguments.extend_from_slice(more);
        let ran = self.cto(&arguments);
        assert_eq!(ran.code, code, "{}\n{}", told(&ran), self.asked());
        let report = ran.json();
        let bundle = self.world.bundles().join(report["run_id"].as_str().unwrap());
        let verified = self.world.cto(["verify", bundle.to_str().unwrap()]);
        assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.stderr);
        (report, bundle)
    }

    /// What the server was asked, for a person.
    fn asked(&self) -> String {
        let asked = self.server.asked();
        asked
            .iter()
            .map(|asked| format!("{}\n", String::from_utf8_lossy(&asked.body).chars().take(600).collect::<String>()))
            .collect()
    }
}

fn told(ran: &Ran) -> String {
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    let logs = report["artifacts_dir"].as_str().map(Path::new);
    let log = |name: &str| logs.map(|dir| fs::read_to_string(dir.join(name)).unwrap_or_default()).unwrap_or_default();
    let cut = |text: String| text.chars().take(4000).collect::<String>();
    format!(
        "{}\nattempts: {}\nstderr: {}\nstdout.log: {}\nstderr.log: {}\ntest.log: {}",
        serde_json::to_string_pretty(&report["blockers"]).unwrap(),
        attempts(&log("sandbox.json")),
        ran.stderr,
        cut(log("backend/stdout.log")),
        cut(log("backend/stderr.log")),
        cut(log("test.log")),
    )
}

/// What the recorders hold against the engine.
fn attempts(sandbox: &str) -> String {
    let sandbox: Value = serde_json::from_str(sandbox).unwrap_or_default();
    serde_json::to_string_pretty(&sandbox["attempts"]).unwrap()
}
