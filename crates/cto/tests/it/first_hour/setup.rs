//! `cto setup`: real agents against a scripted model, connected by one command, and a patch on a branch four commands later.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use serde_json::json;
use testkit::{Agent, Ran, World, git};

use super::{know_operator, text};
use crate::world;

/// Words of every task, and of no preflight question.
const MARK: &str = "Only these paths may change";

/// The call of an agent's shell.
fn shell(engine: &str, command: &str) -> Reply {
    match engine {
        "codex" => Reply::call("exec_command", json!({"cmd": command})),
        "pi" => Reply::call("bash", json!({"command": command})),
        _ => Reply::call("Bash", json!({"command": command, "description": "work"})),
    }
}

/// Solves the case of stage 2 and the person's own task, each when it is asked for.
fn answers(engine: &str) -> Script {
    let slugify = "sed -i 's/return text.lower().*/return \"-\".join(text.lower().split())/' strings.py";
    let greet = "sed -i 's/Hello, World!/Hello, \" + name + \"!/' greeting.py";
    let step = |contains: &str, times: Option<u64>, reply: Reply| Step {
        when: When { contains: Some(contains.to_owned()), ..When::default() },
        times,
        reply,
    };
    let steps = vec![
        step("greet(name)", Some(1), shell(engine, greet)),
        step("greet(name)", None, Reply::text("done")),
        step(MARK, Some(1), shell(engine, slugify)),
        step(MARK, None, Reply::text("done")),
    ];
    Script { steps, otherwise: Reply::text("ready") }
}

struct Scene {
    world: World,
    server: ScriptedServer,
    engine: &'static str,
    /// The agent's program, installed where no PATH leads.
    agent: Agent,
}

impl Scene {
    fn new(test: &str, engine: &'static str) -> Option<Self> {
        let agent = testkit::agent(test, engine)?;
        let world = world();
        know_operator(&world);
        let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), answers(engine)).unwrap();
        Some(Self { world, server, engine, agent })
    }

    fn endpoint(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }

    fn cto(&self, words: &[&str]) -> Ran {
        self.world.cto(words)
    }

    /// The words of setup for this agent.
    fn setup(&self, more: &[&str]) -> Ran {
        let endpoint = self.endpoint();
        let bin = self.agent.executable.display().to_string();
        let mut words = vec!["setup", self.engine, "--endpoint", &endpoint, "--model", "model-x", "--bin", &bin];
        words.extend_from_slice(more);
        let mut command = self.world.command(words);
        // An interpreter is found on the PATH.
        if let Some(bin) = self.agent.interpreter.as_ref().and_then(|node| node.parent()) {
            command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        }
        let output = command.output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

const PROJECT: &[(&str, &str)] = &[
    ("greeting.py", "def greet(name):\n    return \"Hello, World!\"\n"),
    (
        "test_greeting.py",
        "import unittest\nfrom greeting import greet\n\n\nclass Greet(unittest.TestCase):\n    def test_greets(self):\n        self.assertTrue(greet('World').startswith('Hello'))\n",
    ),
];

/// Setup, a brief, a look and the branch: the person types four commands.
fn check(test: &str, engine: &'static str) {
    let Some(scene) = Scene::new(test, engine) else { return };
    let ran = scene.setup(&["--yes", "--json"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.text(), ran.stderr);
    let document = ran.json();
    let steps: Vec<&str> =
        document["steps"].as_array().unwrap().iter().filter_map(|step| step["step"].as_str()).collect();
    assert_eq!(
        steps,
        ["engine", "workspace", "settings", "model", "stage 1", "stage 2", "source", "stage 3"],
        "{document}"
    );
    let workspace = scene.world.user().join("cto-workspace/admissions");
    for record in [workspace.join("model/local__model-x.json"), workspace.join(format!("source/{engine}.yaml"))] {
        let record = fs::read_to_string(record).unwrap();
        assert!(record.contains("Ada <ada@example.invalid>, with cto setup --yes"), "{record}");
        let is_open = |line: &&str| !line.starts_with('#') && line.contains("FILL IN");
        assert_eq!(record.lines().find(is_open), None, "{record}");
    }
    assert_eq!(scene.cto(&["ladder", "--engine", engine, "--json"]).expect(0).text().matches("validated").count(), 2);

    let repository = scene.world.repository("project", PROJECT);
    let brief = "greet(name) in greeting.py ignores its argument. Make it return \"Hello, NAME!\".";
    let words =
        ["run", "--brief", brief, "--allow", "greeting.py", "--repo", text(&repository), "--engine", engine, "--json"];
    let report = scene.cto(&words).expect(0).json();
    assert_eq!((&report["status"], &report["stage"]), (&json!("pass"), &json!(3)), "{}", report["blockers"]);
    let _ = scene.cto(&["take", "@", "--branch", "greet-by-name"]).expect(0);
    assert!(git(&repository, ["show", "greet-by-name:greeting.py"]).contains("name"));

    // A second setup changes nothing and asks the model for nothing but what stage 1 needs.
    let before = scene.server.asked().len();
    let again = scene.setup(&["--yes", "--json"]);
    assert_eq!(again.code, 0, "{}\n{}", again.text(), again.stderr);
    assert!(again.text().contains("earned before"), "{}", again.text());
    assert!(scene.server.asked().len() <= before + 2);
}

#[test]
fn codex_is_connected_by_one_command() {
    check("first_hour::setup::codex_is_connected_by_one_command", "codex");
}

#[test]
fn claude_is_connected_by_one_command() {
    check("first_hour::setup::claude_is_connected_by_one_command", "claude");
}

#[test]
fn pi_is_connected_by_one_command() {
    check("first_hour::setup::pi_is_connected_by_one_command", "pi");
}

/// Files of the operator, to show that a refusal writes none.
fn files_of(world: &World) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(world.user()).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn nobody_agrees_without_a_terminal_or_a_yes() {
    let world = world();
    let before = files_of(&world);
    let words = ["setup", "codex", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m"];
    let refused = world.cto(words).expect(2);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);

    // A key is never taken itself, and never repeated.
    let given = ["setup", "codex", "--key", "sk-live-0123456789", "--model", "m", "--yes"];
    let refused = world.cto(given).expect(2);
    assert!(refused.stderr.contains("env:NAME") && !refused.stderr.contains("0123456789"), "{}", refused.stderr);
    let _ = world.cto(["setup", "codex", "--yes"]).expect(2);
    let _ = world.cto(["setup", "codex", "--model", "m", "--yes"]).expect(2);
    let _ = world.cto(["setup", "nothing", "--yes"]).expect(2);
    let _ = world.cto(["setup", "fake", "--yes"]).expect(2);
    let _ = world.cto(["setup", "codex", "--stage", "4", "--yes"]).expect(2);
    assert_eq!(files_of(&world), before);
}

#[test]
fn an_engine_that_is_not_there_is_told_with_the_command_that_helps() {
    let world = world();
    let words = ["setup", "codex", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--yes"];
    let mut command = world.command(words);
    command.env("PATH", "/usr/bin:/bin");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("install it"), "{said}");
    // Nothing was made before the program was found.
    assert!(!world.user().join("cto-workspace").exists());
}

#[test]
fn settings_that_a_person_wrote_stay() {
    let world = world();
    let folder = world.user().join(".config/cto");
    fs::create_dir_all(&folder).unwrap();
    let own = "# mine\nsandbox: strict\nmodels: {}\n";
    fs::write(folder.join("config.yaml"), own).unwrap();
    let bin = world.write("codex", "#!/bin/sh\necho codex-cli 0.1\n");
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["setup", "codex", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--yes", "--bin", text(&bin)];
    let ran = world.cto(words);
    assert_eq!(ran.code, 2, "{}{}", ran.text(), ran.stderr);
    assert!(ran.stderr.contains("add by hand"), "{}", ran.stderr);
    let after = fs::read_to_string(folder.join("config.yaml")).unwrap();
    assert!(after.starts_with(own), "{after}");
}

/// The stand-in for Case as it is installed: a launcher and what it launches, in a package.
fn case_program() -> (tempfile::TempDir, PathBuf) {
    let dir = testkit::lasting_dir(env!("CARGO_TARGET_TMPDIR"));
    let package = dir.path().join("node_modules/ca-stand-in");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("package.json"), r#"{"name": "ca-stand-in", "version": "0.1.0"}"#).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_cto"), package.join("cto")).unwrap();
    let launcher = package.join("ca");
    fs::write(&launcher, "#!/bin/sh\nexec \"${0%/*}/cto\" __ca \"$@\"\n").unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
    (dir, launcher)
}

#[test]
fn case_is_connected_by_one_command() {
    let envelope = |more: serde_json::Value| {
        let mut envelope = json!({"status": "completed", "summary": "done"});
        envelope.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Reply::text(format!("It is done.\n<<<AGENT_RESULT\n{envelope}\nAGENT_RESULT>>>"))
    };
    let step = |contains: &str, times: Option<u64>, reply: Reply| Step {
        when: When { contains: Some(contains.to_owned()), ..When::default() },
        times,
        reply,
    };
    let work = "sed -i 's/return text.lower().*/return \"-\".join(text.lower().split())/' strings.py";
    let claims = json!({"artifacts": {"filesChanged": ["strings.py"], "testsPassed": true}});
    let steps = vec![
        step("You are the implementer of", Some(1), Reply::call("bash", json!({"command": work}))),
        step("You are the implementer of", None, envelope(claims)),
        step("You are the ", None, envelope(json!({}))),
    ];
    let script = Script { steps, otherwise: Reply::text("ready") };
    let world = world();
    know_operator(&world);
    let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap();
    let endpoint = format!("http://{}/v1", server.address());
    let (_kept, launcher) = case_program();

    // Its program is never looked for: `case` and `ca` are names of others.
    let unnamed = ["setup", "case", "--endpoint", &endpoint, "--model", "model-x", "--yes"];
    let _ = world.cto(unnamed).expect(3);
    let words = [&unnamed[..], &["--bin", text(&launcher), "--json"]].concat();
    let ran = world.cto(&words);
    assert_eq!(ran.code, 0, "{}\n{}", ran.text(), ran.stderr);
    assert_eq!(world.cto(["ladder", "--engine", "case", "--json"]).expect(0).text().matches("validated").count(), 2);
}

#[test]
fn a_person_who_does_not_agree_has_admitted_nothing() {
    let world = world();
    know_operator(&world);
    let bin = world.write("codex", "#!/bin/sh\necho codex-cli 0.1\n");
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["setup", "codex", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--bin", text(&bin)];
    let mut showing = world.start_at_terminal(words);
    // A workspace and the settings are agreed to, the model is not.
    for (times, answer) in ["yes\n", "yes\n", "no\n"].into_iter().enumerate() {
        showing.wait_for_text("[yes/no]", times + 1);
        showing.type_text(answer);
    }
    let shown = showing.finish();
    let said = String::from_utf8_lossy(&shown.bytes);
    assert_eq!(shown.code, 3, "{said}");
    assert!(said.contains("Admit the model local/m?") && said.contains("you did not agree"), "{said}");
    let record = world.user().join("cto-workspace/admissions/model/local__m.json");
    let record = fs::read_to_string(record).unwrap();
    assert!(record.contains("\"status\": \"draft\""), "{record}");
    // The gate is as it was.
    let gate = fs::read_to_string(world.user().join("cto-workspace/harness.yaml")).unwrap();
    assert!(!gate.contains("enabled"), "{gate}");
}
