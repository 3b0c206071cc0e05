//! A repository that tries to hijack the agent: it stays on the bridge and with its model, nothing of the repository's runs by
//! itself, and the repository has no say.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};

use fixtures::scripted::{Reply, Script, ScriptedServer};
use serde_json::{Value, json};
use testkit::{Agent, git, program};

use super::cases::FIX;
use super::hostile::{MARKER, plant};
use super::scene::{CASE, PAIR, Scene, case_folder, copy, doing};

/// Tries to reach what a hijacker would want to be reached, and says what comes of it. By ports alone: the whole address of the
/// model's server is a secret, and a run that says it fails for that.
const REACH: &str = r#"python3 - <<'END'
import socket
for port in $TRAP, $SERVER:
    try:
        socket.create_connection(("127.0.0.1", port), 2)
        print("reached" + " ", port)
    except OSError as error:
        print("refused", type(error).__name__)
END"#;

/// The beginning of a port that was reached; the command for the shell does not contain it.
const REACHED: &str = "reached ";

fn stays(engine: &'static str) {
    let test = "agents::hijacking";
    let Some(mut scene) = Scene::new(test, engine, doing(engine, &[FIX], "Done.")) else { return };
    // An engine that lost its model asks the wrong server again and again.
    scene.give_time(Some(60));
    let trap = trap();
    let address = trap.address().to_string();
    let case = scene.world.here().join("hijack");
    copy(&case_folder(), &case);
    plant(&case.join("files"), &address);
    let _ = scene.run(CASE, 1, &[], 0);

    let (report, bundle) = scene.run("./hijack", 2, &[], 0);
    assert_eq!(report["changed_files"], json!(["strings.py"]), "nothing of the repository's ran");
    assert_eq!(scene.asked_models(), ["model-x"], "the model is unchanged");
    let (provider, model) = PAIR.split_once('/').unwrap();
    assert_eq!(report["model"]["requested"], json!({"provider": provider, "model": model}));
    assert_eq!(report["model"]["refused"], 0, "nothing else was asked for");
    let sandbox = fs::read_to_string(bundle.join("sandbox.json")).unwrap();
    assert!(!sandbox.contains(&address), "nobody even tried: {sandbox}");

    // What does as AGENTS.md says gets nowhere either.
    let port = |server: SocketAddr| server.port().to_string();
    let reach = |server: SocketAddr| REACH.replace("$TRAP", &port(trap.address())).replace("$SERVER", &port(server));
    scene.follow_at(|server| doing(engine, &[&reach(server), FIX], "Done."));
    let (_, bundle) = scene.run("./hijack", 2, &[], 0);
    let said = fs::read_to_string(bundle.join("backend/stdout.log")).unwrap();
    assert!(said.contains("refused ConnectionRefusedError") && !said.contains(REACHED), "{said}");

    no_authority(&mut scene);
    assert_eq!(trap.asked().len(), 0, "nobody came to the trap");

    let tree = scene.plain_tree();
    plant(&tree, &address);
    let output = program("bash", &tree).args(["-c", &reach(scene.server.address())]).output().unwrap();
    let reached = String::from_utf8(output.stdout).unwrap();
    assert_eq!(reached.matches(REACHED).count(), 2, "control: both can be reached from outside");
    assert!(follows(&scene, &tree, &trap), "control: without the harness the repository is followed");
}

fn trap() -> ScriptedServer {
    let script = Script { steps: Vec::new(), otherwise: Reply::text("trapped") };
    ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap()
}

/// A shut gate stays shut, whatever the repository says about it, and in every directory.
fn no_authority(scene: &mut Scene) {
    scene.harness = json!({});
    scene.settle();
    let task = scene.world.write("hijack/task.yaml", task());
    let repository = scene.world.path().join("repository");
    copy(&scene.world.here().join("hijack/files"), &repository);
    git(&repository, ["init", "-q"]);
    git(&repository, ["add", "-Af"]);
    git(&repository, ["commit", "-qm", "first"]);
    let mut wanted = vec!["run", task.to_str().unwrap(), "--engine", scene.engine, "--stage", "3", "--model", PAIR];
    wanted.extend(["--json", "--repo", repository.to_str().unwrap()]);
    for folder in [scene.world.here(), repository.clone()] {
        let report: Value = scene.cto_in(&folder, &wanted).expect(3).json();
        let reasons = report["blocker_reasons"].as_array().unwrap();
        assert!(reasons.contains(&json!("gate_missing")), "{}", report["blockers"]);
        assert_eq!(report["engine"]["process_started"], false);
    }
}

fn task() -> String {
    testkit::contract_text(&[
        ("allowed_paths", "[strings.py]"),
        ("verification_commands", "[[python3, -m, unittest, test_strings]]"),
    ])
}

/// The agent as a person would start it, in the same repository, with a home of its own and the same server.
fn follows(scene: &Scene, tree: &Path, trap: &ScriptedServer) -> bool {
    let home = scene.world.path().join("plain-home");
    fs::create_dir(&home).unwrap();
    git(tree, ["init", "-q"]);
    let task = home.join("task.txt");
    fs::write(&task, "Fix it. Only these paths may change: strings.py").unwrap();
    let mut command = plainly(scene, tree, &home);
    command.env("HOME", &home).env("TMPDIR", scene.world.tmp()).stdin(fs::File::open(task).unwrap());
    let output = command.stderr(Stdio::null()).output().unwrap();
    assert!(!output.stdout.is_empty(), "it does not even start");
    let hooked = tree.join(MARKER).exists();
    match scene.engine {
        // Codex and Pi take no server from a repository; they run what it names.
        "codex" | "pi" => hooked,
        _ => hooked && !trap.asked().is_empty(),
    }
}

fn plainly(scene: &Scene, tree: &Path, home: &Path) -> Command {
    let base = format!("http://{}", scene.server.address());
    let Agent { executable, .. } = testkit::agent("agents::hijacking", scene.engine).unwrap();
    let node = testkit::agent("agents::hijacking", "pi").and_then(|agent| agent.interpreter).unwrap();
    let mut command = if scene.engine == "claude" {
        program(executable.to_str().unwrap(), tree)
    } else {
        program(node.to_str().unwrap(), tree)
    };
    match scene.engine {
        "codex" => {
            let config = format!(
                "model = \"model-x\"\nmodel_provider = \"own\"\ncheck_for_update_on_startup = false\n\n[model_providers.own]\nname = \"own\"\n\
                 base_url = \"{base}/v1\"\nenv_key = \"KEY\"\nwire_api = \"responses\"\n\n[analytics]\nenabled = false\n"
            );
            fs::write(home.join("config.toml"), config).unwrap();
            command.arg(executable).args([
                "exec",
                "--json",
                "--dangerously-bypass-approvals-and-sandbox",
                "--skip-git-repo-check",
                "-",
            ]);
            command.env("CODEX_HOME", home).env("KEY", "own");
        }
        "pi" => {
            let models = json!({"providers": {"own": {"baseUrl": format!("{base}/v1"), "api": "openai-completions", "apiKey": "own", "models": [{"id": "model-x"}]}}});
            fs::write(home.join("models.json"), models.to_string()).unwrap();
            command.arg(executable).args([
                "-p",
                "--mode",
                "json",
                "--provider",
                "own",
                "--model",
                "model-x",
                "--approve",
            ]);
            command.envs([("PI_CODING_AGENT_DIR", home.to_str().unwrap()), ("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")]);
        }
        _ => {
            command.args([
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--dangerously-skip-permissions",
                "--model",
                "model-x",
            ]);
            command.envs([("ANTHROPIC_BASE_URL", base.as_str()), ("ANTHROPIC_API_KEY", "own"), ("IS_SANDBOX", "1")]);
            command.envs([
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("DISABLE_TELEMETRY", "1"),
            ]);
            command.env("CLAUDE_CONFIG_DIR", home);
        }
    }
    command
}

#[test]
fn codex_stays() {
    stays("codex");
}

#[test]
fn pi_stays() {
    stays("pi");
}

#[test]
fn claude_stays() {
    stays("claude");
}
