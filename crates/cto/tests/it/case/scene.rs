//! A workspace as the operator of Case has it: the gate, the stage, the program and the model in environment variables.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{CtoCommand, Ran, World};

use crate::world;

pub(super) const TASK: &str = "r1-string-slugify";
/// Not a secret, and like one.
pub(super) const KEY: &str = "upstream-key-0123456789abcdef";

/// The program as it is installed: a launcher, and what it launches, in a package, so that both are taken along.
static PROGRAM: LazyLock<(TempDir, PathBuf)> = LazyLock::new(install_stand_in);

pub(crate) fn install_stand_in() -> (TempDir, PathBuf) {
    let dir = testkit::lasting_dir(env!("CARGO_TARGET_TMPDIR"));
    let package = dir.path().join("node_modules/ca-stand-in");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("package.json"), r#"{"name": "ca-stand-in", "version": "0.1.0"}"#).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_cto")).with_file_name("examples").join("case_stand_in");
    fs::copy(&program, package.join("case")).unwrap();
    let launcher = package.join("ca");
    fs::write(&launcher, "#!/bin/sh\nexec \"${0%/*}/case\" \"$@\"\n").unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
    (dir, launcher)
}

pub(super) struct Scene {
    pub(super) world: World,
    pub(super) server: ScriptedServer,
    pub(super) environment: Vec<(&'static str, String)>,
    /// Settings of the engine in the user's configuration.
    pub(super) engine: Value,
    /// Further engines, by their names.
    pub(super) engines: Value,
    pub(super) classes: Value,
}

/// The envelope that satisfies a phase.
pub(super) fn envelope(more: Value) -> String {
    let mut envelope = json!({"status": "completed", "summary": "done"});
    envelope.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    format!("It is done.\n<<<AGENT_RESULT\n{envelope}\nAGENT_RESULT>>>")
}

/// Answers for a role: the list in its order, then the last answer every time.
pub(super) fn role(role: &str, replies: Vec<Reply>) -> Vec<Step> {
    let when = || When { contains: Some(format!("You are the {role} of")), ..When::default() };
    let mut steps: Vec<Step> = replies.into_iter().map(|reply| Step { when: when(), times: Some(1), reply }).collect();
    if let Some(last) = steps.last_mut() {
        last.times = None;
    }
    steps
}

/// The steps given, then a completed envelope for every other role, and a word for the preflight.
pub(super) fn script(mut steps: Vec<Step>) -> Script {
    let when = When { contains: Some("You are the ".to_owned()), ..When::default() };
    steps.push(Step { when, times: None, reply: Reply::text(envelope(json!({}))) });
    Script { steps, otherwise: Reply::text("ready") }
}

pub(super) const WORK: &str = "sed -i 's/return text.lower().*/return \"-\".join(text.lower().split())/' strings.py";

pub(super) const COMMIT: &str = "git add strings.py && git commit -qm work";

pub(super) fn bash(command: &str) -> Reply {
    Reply::call("bash", json!({"command": command}))
}

/// An implementer that does this and says that it did.
pub(super) fn working(command: &str, claims: Value) -> Script {
    script(role("implementer", vec![bash(command), Reply::text(envelope(claims))]))
}

/// An implementer that does the work of the case.
pub(super) fn good() -> Script {
    working(WORK, json!({"artifacts": {"filesChanged": ["strings.py"], "testsPassed": true}}))
}

impl Scene {
    pub(super) fn new(script: Script) -> Self {
        let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap();
        let world = world();
        let _ = world.cto(["init", "."]).expect(0);
        let admission = json!({
            "admission_timestamp": "2026-01-01T00:00:00Z", "allowed_network_class": "local", "approval_source": "tests",
            "credential_source_class": "local", "model": "qwen3.6-35b-a3b", "provider": "qwen-local",
            "review_trigger": "never", "status": "admitted",
        });
        let admission = world.write("records/qwen-local.json", admission.to_string());
        let endpoint = format!("http://{}/v1", server.address());
        let environment = vec![
            ("CTO_HARNESS_ALLOW_CASE", "1".to_owned()),
            ("CTO_HARNESS_CASE_STAGE", "2".to_owned()),
            ("CTO_HARNESS_CASE_BIN", PROGRAM.1.display().to_string()),
            ("CTO_HARNESS_CASE_MODEL_PROVIDER", "qwen-local".to_owned()),
            ("CTO_HARNESS_CASE_MODEL", "qwen3.6-35b-a3b".to_owned()),
            ("CTO_HARNESS_CASE_MODEL_ADMISSION_FILE", admission.display().to_string()),
            ("CTO_HARNESS_CASE_LOCAL_BASE_URL", endpoint),
        ];
        let classes = json!({
            "credential_sources": {"local": {"env": "UPSTREAM_KEY"}, "login": {"env": "UPSTREAM_KEY"}},
            "network_classes": {"local": {"hosts": ["127.0.0.1"], "scripted": true}},
        });
        let engines = json!({});
        Self { world, server, environment, engine: json!({"settle_seconds": 1}), engines, classes }
    }

    pub(super) fn set(&mut self, name: &'static str, value: &str) {
        self.unset(name);
        self.environment.push((name, value.to_owned()));
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.environment.retain(|(known, _)| *known != name);
    }

    /// A program of one script in place of the stand-in.
    pub(super) fn name_script(&mut self, text: &str) {
        let file = self.world.write("other/ca", text);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        self.set("CTO_HARNESS_CASE_BIN", file.to_str().unwrap());
    }

    /// Other answers from here on.
    pub(super) fn answer(&mut self, script: Script) {
        self.server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap();
        let endpoint = format!("http://{}/v1", self.server.address());
        self.set("CTO_HARNESS_CASE_LOCAL_BASE_URL", &endpoint);
    }

    pub(super) fn cto(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    /// A call of the binary with the configuration and the variables of this scene.
    pub(super) fn command(&self, arguments: &[&str]) -> CtoCommand {
        let mut config = self.classes.clone();
        config["engines"] = self.engines.clone();
        config["engines"]["case"] = self.engine.clone();
        let folder = self.world.user().join(".config/cto");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.yaml"), config.to_string()).unwrap();
        let mut command = self.world.command(arguments.iter().copied());
        command.env("UPSTREAM_KEY", KEY).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A governed run; the report and the bundle, which must verify.
    pub(super) fn run(&self, task: &str, stage: &str, code: i32) -> (Value, PathBuf) {
        self.run_named("", &[task, "--stage", stage], code)
    }

    /// The same with a name to tell it by, and with more to say.
    pub(super) fn run_named(&self, name: &str, what: &[&str], code: i32) -> (Value, PathBuf) {
        let ran = self.cto(&[&["run", "--engine", "case", "--json"], what].concat());
        assert_eq!(ran.code, code, "{name}: {}", told(&ran));
        let report = ran.json();
        let bundle = self.world.bundles().join(report["run_id"].as_str().unwrap());
        let verified = self.world.cto(["verify", bundle.to_str().unwrap()]);
        assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.stderr);
        (report, bundle)
    }

    /// The rung that stage 2 rests on.
    pub(super) fn climb(&mut self) {
        self.set("CTO_HARNESS_CASE_STAGE", "1");
        let _ = self.run(TASK, "1", 0);
        self.set("CTO_HARNESS_CASE_STAGE", "2");
    }

    /// The case with words for the stand-in in its brief.
    pub(super) fn told(&self, words: &str) -> String {
        self.told_as(words, "")
    }

    /// The same, with a contract that does not forbid to push and to open pull requests.
    pub(super) fn told_open(&self, words: &str) -> String {
        self.told_as(words, "  - push\n  - pr_open\n")
    }

    /// `without` are lines that the contract loses.
    fn told_as(&self, words: &str, without: &str) -> String {
        let case = fixtures::find(TASK).unwrap();
        let folder = self.world.here().join("cases").join("told");
        for file in case.files {
            let path = folder.join(file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = String::from_utf8(file.bytes.to_vec()).unwrap();
            let text = text.replacen("brief: |\n", &format!("brief: |\n  ca-stand-in: {words}\n"), 1);
            let text = without.split_inclusive('\n').fold(text, |text, line| text.replacen(line, "", 1));
            // The exam is not what these tests are about.
            let quick = format!("environment: {}\nverification_commands:", testkit::quick(json!({})));
            let text = text.replacen("verification_commands:", &quick, 1);
            fs::write(path, text).unwrap();
        }
        folder.display().to_string()
    }
}

pub(super) fn reasons(report: &Value) -> Vec<&str> {
    report["blocker_reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect()
}

fn told(ran: &Ran) -> String {
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    let dir = report["artifacts_dir"].as_str().map(Path::new);
    let log = |name: &str| dir.map(|dir| fs::read_to_string(dir.join(name)).unwrap_or_default()).unwrap_or_default();
    let cut = |text: String| text.chars().take(4000).collect::<String>();
    format!(
        "{}\nstderr: {}\nstdout.log: {}\nstderr.log: {}",
        serde_json::to_string_pretty(&report["blockers"]).unwrap(),
        ran.stderr,
        cut(log("backend/stdout.log")),
        cut(log("backend/stderr.log"))
    )
}

pub(super) fn events(bundle: &Path) -> Vec<Value> {
    let text = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn exited(bundle: &Path) -> Value {
    events(bundle).into_iter().find(|event| event["type"] == "engine.exited").unwrap()["data"].clone()
}
