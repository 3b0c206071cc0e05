//! A workspace in which one agent's gate is open, with an admitted model, and the script that its model follows. All scenes of an
//! agent share a home: its copy of the agent is hundreds of megabytes.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use contract::Digest;
use contract::model::Wire;
use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use serde_json::{Value, json};
use testkit::{Agent, CtoCommand, Ran, World, content_digest};

use crate::world;

pub(super) const PAIR: &str = "prov/model-x";
const AGENTS: [&str; 3] = ["codex", "pi", "claude"];

/// The home of each agent.
static HOMES: [OnceLock<World>; AGENTS.len()] = [const { OnceLock::new() }; AGENTS.len()];

pub(super) struct Scene {
    pub(super) world: World,
    pub(super) engine: &'static str,
    pub(super) server: ScriptedServer,
    /// The rungs that one pair has climbed are no other's.
    pub(super) pair: &'static str,
    /// For every call of the binary.
    pub(super) variables: Vec<(String, String)>,
    home: PathBuf,
    config: Value,
    /// Configuration file of the workspace.
    pub(super) harness: Value,
}

/// The place of an agent among the three, in tables that have a column for each.
pub(super) fn number(engine: &str) -> Option<usize> {
    AGENTS.iter().position(|known| *known == engine)
}

/// The call of an agent's shell.
pub(super) fn shell(engine: &str, command: &str) -> Reply {
    match engine {
        "codex" => Reply::call("exec_command", json!({"cmd": command})),
        "pi" => Reply::call("bash", json!({"command": command})),
        _ => Reply::call("Bash", json!({"command": command, "description": "work"})),
    }
}

/// Text that is in the engine's requests and not in the preflight's question.
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
            "engines": {engine: entry},
        });
        let world = world();
        let home = match number(engine) {
            Some(number) => HOMES[number].get_or_init(|| World::shared(env!("CARGO_BIN_EXE_cto"))).home(),
            None => world.home(),
        };
        let variables = vec![("UPSTREAM_KEY".to_owned(), "upstream-key-0123456789abcdef".to_owned())];
        let scene = Self { world, engine, server, pair: PAIR, variables, home, config, harness: json!({}) };
        let _ = scene.cto(&["init", "."]).expect(0);
        scene.settle();
        scene
    }

    /// Makes the model follow another script from here on.
    pub(super) fn follow(&mut self, script: Script) {
        self.follow_at(|_| script);
    }

    /// The same for a script that knows where its server is.
    pub(super) fn follow_at(&mut self, script: impl FnOnce(SocketAddr) -> Script) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let script = script(listener.local_addr().unwrap());
        self.server = ScriptedServer::start(listener, script).unwrap();
        self.settle();
    }

    /// Sets the time limit of the agent; without a number, the contract's limit holds.
    pub(super) fn give_time(&mut self, seconds: Option<u64>) {
        let name = format!("CTO_HARNESS_{}_TIMEOUT_SECONDS", self.engine.to_uppercase());
        self.variables.retain(|(known, _)| *known != name);
        self.variables.extend(seconds.map(|seconds| (name, seconds.to_string())));
    }

    /// Makes files outside of a run that must not change.
    pub(super) fn furnish(&self) {
        for (file, text) in [(self.victim().join("file"), "as it was\n"), (self.credentials(), "the operator's own\n")]
        {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }

    fn victim(&self) -> PathBuf {
        self.world.path().join("victim")
    }

    /// File in which a thief would look for credentials.
    fn credentials(&self) -> PathBuf {
        self.world.user().join(".aws/credentials")
    }

    /// Everything outside, as one digest each: the operator's folders, and the home but for what a run adds to it.
    pub(super) fn outside(&self) -> Vec<Digest> {
        let mut places = vec![self.world.user(), self.world.here(), self.victim()];
        places.extend(["planted", "keys", "records"].map(|name| self.home.join(name)));
        places.iter().map(|place| content_digest(place, &[])).collect()
    }

    /// A command with the places of this scene.
    pub(super) fn fill(&self, command: &str) -> String {
        let places = [("$VICTIM", self.victim()), ("$OPERATOR", self.world.user()), ("$HARNESS", self.home.clone())];
        places.iter().fold(command.to_owned(), |text, (name, place)| text.replace(name, place.to_str().unwrap()))
    }

    /// The protocol that the agent speaks here.
    pub(super) fn wire(&self) -> Wire {
        match self.engine {
            "codex" => Wire::Responses,
            "pi" => Wire::ChatCompletions,
            _ => Wire::Messages,
        }
    }

    /// The files of the case that agents work on, in a folder of their own.
    pub(super) fn plain_tree(&self) -> PathBuf {
        let tree = self.world.path().join("plain");
        let _ = fs::remove_dir_all(&tree);
        copy(&case_folder().join("files"), &tree);
        tree
    }

    /// Writes records and configuration as they stand now.
    pub(super) fn settle(&self) {
        let (provider, model) = self.pair.split_once('/').unwrap();
        let admission = json!({
            "admission_timestamp": "2026-01-01T00:00:00Z", "allowed_network_class": "loopback", "approval_source": "tests",
            "credential_source_class": "key", "model": model, "provider": provider, "review_trigger": "never",
            "status": "admitted",
        });
        self.world.write("admissions/model/prov.json", admission.to_string());
        let folder = self.world.user().join(".config/cto");
        fs::create_dir_all(&folder).unwrap();
        let mut config = self.config.clone();
        config["models"] = json!({self.pair: {"endpoint": format!("http://{}/v1", self.server.address())}});
        fs::write(folder.join("config.yaml"), config.to_string()).unwrap();
        self.world.write("harness.yaml", self.harness.to_string());
    }

    /// Opens the gate for one stage.
    pub(super) fn open(&mut self, stage: u8) {
        self.harness = json!({"engines": {self.engine: {"enabled": true, "stage": stage}}});
        self.settle();
    }

    pub(super) fn cto(&self, arguments: &[&str]) -> Ran {
        self.cto_in(&self.world.here(), arguments)
    }

    /// The same from another folder than the workspace.
    pub(super) fn cto_in(&self, folder: &Path, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).current_dir(folder).output().unwrap())
    }

    /// A call of the binary with the home and the variables of this scene.
    pub(super) fn command(&self, arguments: &[&str]) -> CtoCommand {
        let mut command = self.world.command(arguments.iter().copied());
        command.env("CTO_HOME", &self.home).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// A run at a stage that is opened for it; the report and the bundle, which must verify.
    pub(super) fn run(&mut self, task: &str, stage: u8, more: &[&str], code: i32) -> (Value, PathBuf) {
        let (ran, bundle) = self.try_run(task, stage, more);
        assert_eq!(ran.code, code, "{}", self.told(&ran));
        (ran.json(), bundle)
    }

    /// The same, whatever comes of it.
    pub(super) fn try_run(&mut self, task: &str, stage: u8, more: &[&str]) -> (Ran, PathBuf) {
        self.open(stage);
        let number = stage.to_string();
        let mut arguments =
            vec!["run", task, "--engine", self.engine, "--stage", &number, "--model", self.pair, "--json"];
        arguments.extend_from_slice(more);
        let ran = self.cto(&arguments);
        let report: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
        let run_id = report["run_id"].as_str().unwrap_or_default();
        assert!(!run_id.is_empty(), "no report: {}", self.told(&ran));
        let bundle = self.home.join("harness-runs").join(run_id);
        let verified = self.cto(&["verify", bundle.to_str().unwrap()]);
        assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.stderr);
        (ran, bundle)
    }

    /// All that a person needs to see what went wrong.
    pub(super) fn told(&self, ran: &Ran) -> String {
        format!("exit {}\n{}\n{}", ran.code, told(ran), self.asked())
    }

    /// The models that the server was asked for, each once.
    pub(super) fn asked_models(&self) -> Vec<String> {
        let asked = self.server.asked();
        let mut models: Vec<String> =
            asked.iter().filter_map(|asked| asked.json()["model"].as_str().map(str::to_owned)).collect();
        models.sort();
        models.dedup();
        models
    }

    /// Lists the requests that the server got, for a person.
    fn asked(&self) -> String {
        let asked = self.server.asked();
        asked
            .iter()
            .map(|asked| format!("{}\n", String::from_utf8_lossy(&asked.body).chars().take(600).collect::<String>()))
            .collect()
    }
}

/// The case that agents work on, as it ships.
pub(super) const CASE: &str = "r1-string-slugify";

pub(super) fn case_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cases").join(CASE)
}

pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            testkit::copy_to_change(&from, &to);
        }
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

/// Attempts that the recorders count against the engine.
fn attempts(sandbox: &str) -> String {
    let sandbox: Value = serde_json::from_str(sandbox).unwrap_or_default();
    serde_json::to_string_pretty(&sandbox["attempts"]).unwrap()
}
