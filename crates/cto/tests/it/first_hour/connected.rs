//! `cto setup`: real agents against a scripted model, connected by one command, and a patch on a branch four commands later.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use serde_json::{Value, json};
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
        "opencode" => Reply::call("bash", json!({"command": command, "description": "work"})),
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

/// The provider's key, as a person exports it.
const KEY: (&str, &str) = ("UPSTREAM_KEY", "upstream-key-0123456789abcdef");

struct Scene {
    world: World,
    server: ScriptedServer,
    engine: &'static str,
    /// The agent's program, installed where no PATH leads.
    agent: Agent,
    /// Exported variables of the person's shell.
    exported: Vec<(&'static str, &'static str)>,
}

impl Scene {
    fn new(test: &str, engine: &'static str) -> Option<Self> {
        Self::with_script(test, engine, answers(engine))
    }

    fn with_script(test: &str, engine: &'static str, script: Script) -> Option<Self> {
        let agent = testkit::agent(test, engine)?;
        let world = world();
        know_operator(&world);
        let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap();
        Some(Self { world, server, engine, agent, exported: Vec::new() })
    }

    fn endpoint(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }

    fn cto(&self, words: &[&str]) -> Ran {
        Ran::of(self.world.command(words).envs(self.exported.iter().copied()).output().unwrap())
    }

    /// The words of setup for this agent.
    fn setup(&self, more: &[&str]) -> Ran {
        let endpoint = self.endpoint();
        let bin = self.agent.executable.display().to_string();
        let mut words = vec!["setup", self.engine, "--endpoint", &endpoint, "--model", "model-x", "--bin", &bin];
        words.extend_from_slice(more);
        let mut command = self.world.command(words);
        command.envs(self.exported.iter().copied());
        // An interpreter is found on the PATH.
        if let Some(bin) = self.agent.interpreter.as_ref().and_then(|node| node.parent()) {
            command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        }
        Ran::of(command.output().unwrap())
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

    if engine == "codex" {
        check_continuing(&scene, &repository, &report);
    }

    // A second setup changes nothing and asks the model for nothing but what stage 1 needs.
    let before = scene.server.asked().len();
    let again = scene.setup(&["--yes", "--json"]);
    assert_eq!(again.code, 0, "{}\n{}", again.text(), again.stderr);
    assert!(again.text().contains("earned before"), "{}", again.text());
    assert!(scene.server.asked().len() <= before + 2);
}

/// The patch of a run holds on its baseline alone: a repository that has moved on is refused, with the way to go on nevertheless.
fn check_continuing(scene: &Scene, repository: &Path, first: &Value) {
    let run = first["run_id"].as_str().unwrap();
    git(repository, ["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    let refused = scene.cto(&["run", "--continue", run, "--json"]).expect(3).json();
    let blockers = refused["blockers"].to_string();
    assert!(blockers.contains("the continued run started at") && blockers.contains("add --at"), "{blockers}");
    let commit = first["baseline_commit"].as_str().unwrap();
    let again = scene.cto(&["run", "--continue", run, "--at", commit, "--json"]).expect(0).json();
    assert_eq!(again["continues"]["run_id"], first["run_id"]);
    assert_eq!((&again["baseline_commit"], &again["result_tree"]), (&first["baseline_commit"], &first["result_tree"]));
}

#[test]
fn codex_is_connected_by_one_command() {
    check("first_hour::connected::codex_is_connected_by_one_command", "codex");
}

#[test]
fn claude_is_connected_by_one_command() {
    check("first_hour::connected::claude_is_connected_by_one_command", "claude");
}

#[test]
fn pi_is_connected_by_one_command() {
    check("first_hour::connected::pi_is_connected_by_one_command", "pi");
}

#[test]
fn opencode_is_connected_by_one_command() {
    check("first_hour::connected::opencode_is_connected_by_one_command", "opencode");
}

/// A server that answers nobody without the key.
fn guarded_answers(engine: &str) -> Script {
    let mut script = answers(engine);
    let when = When { lacks_key: Some(KEY.1.to_owned()), ..When::default() };
    script.steps.insert(0, Step { when, times: None, reply: Reply::error(401, "no key, no answer") });
    script
}

/// Files below a folder that hold a text.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).unwrap();
                found.extend(bytes.windows(text.len()).any(|part| part == text.as_bytes()).then(|| entry.path()));
            }
        }
    }
    found
}

/// The lines of `docs/quickstart.md` for somebody who has a provider's key: setup, a brief, a look, the patch, the branch and the merge.
#[test]
fn a_key_by_its_name_is_all_that_is_needed() {
    let test = "first_hour::connected::a_key_by_its_name_is_all_that_is_needed";
    let Some(mut scene) = Scene::with_script(test, "codex", guarded_answers("codex")) else { return };
    let named = ["--key", "env:UPSTREAM_KEY", "--yes"];
    let without = scene.setup(&named);
    assert_ne!(without.code, 0, "control: the variable is not exported yet\n{}", without.told());
    let mut printed = vec![without.told()];
    scene.exported.push((KEY.0, "upstream-key-of-somebody-else"));
    let wrong = scene.setup(&named);
    assert_ne!(wrong.code, 0, "control: the server refuses another key\n{}", wrong.told());
    printed.push(wrong.told());
    scene.exported = vec![KEY];
    printed.push(scene.setup(&named).expect(0).told());

    let repository = scene.world.repository("project", PROJECT);
    let at_home = |words: &[&str]| {
        let mut command = scene.world.command(words);
        Ran::of(command.envs(scene.exported.iter().copied()).current_dir(&repository).output().unwrap())
            .expect(0)
            .told()
    };
    let brief = "greet(name) in greeting.py ignores its argument. Make it return \"Hello, NAME!\".";
    let run = ["run", "--brief", brief, "--allow", "greeting.py", "--repo", ".", "--engine", "codex"];
    printed
        .extend([&run[..], &["show", "@"], &["diff", "@"], &["take", "@", "--branch", "greet-by-name"]].map(at_home));
    git(&repository, ["merge", "-q", "--ff-only", "greet-by-name"]);
    assert!(fs::read_to_string(repository.join("greeting.py")).unwrap().contains("name + "));

    let shown: Vec<_> =
        scene.server.asked().iter().map(|asked| asked.header("authorization").map(str::to_owned)).collect();
    assert!(shown.contains(&Some(format!("Bearer {}", KEY.1))), "control: the server was shown the key");
    printed.extend(["config", "doctor"].map(|word| scene.cto(&[word]).told()));
    printed.push(scene.cto(&["logs", "@", "--raw"]).expect(0).told());
    assert!(printed.iter().all(|text| !text.contains(KEY.1)), "{printed:#?}");
    // The whole world: home with ledger and bundles, configuration, workspace, repository and what setup left in TMPDIR.
    assert_eq!(files_with(scene.world.path(), KEY.1), [] as [PathBuf; 0]);
    fs::write(scene.world.home().join("control"), KEY.1).unwrap();
    assert_eq!(files_with(scene.world.path(), KEY.1), [scene.world.home().join("control")], "control");
}
