//! `docs/quickstart.md`, word for word: its commands are run as they stand, but for the port of the model server.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;

use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};

use super::cases::FIX;
use super::scene::{MARK, shell};
use crate::world;

const PAGE: &str = include_str!("../../../../../docs/quickstart.md");
/// The one word that is not as it stands.
const PORT: &str = "127.0.0.1:8000";

/// The commands of the page.
fn commands() -> String {
    let blocks = PAGE.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    blocks.collect::<Vec<_>>().join("\n")
}

fn answers() -> Script {
    let step = |contains: &str, times: Option<u64>, reply: Reply| Step {
        when: When { contains: Some(contains.to_owned()), ..When::default() },
        times,
        reply,
    };
    let greet = r#"sed -i 's/return "Hello!"/return f"Hello, {name}!"/' greeting.py"#;
    let steps = vec![
        step("Greet by name", Some(1), shell("codex", greet)),
        step("Greet by name", None, Reply::text("Done.")),
        step(MARK, Some(1), shell("codex", FIX)),
        step(MARK, None, Reply::text("Done.")),
    ];
    Script { steps, otherwise: Reply::text("ready") }
}

#[test]
fn the_quickstart_works_as_it_stands() {
    let Some(agent) = testkit::agent("agents::quickstart", "codex") else { return };
    let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), answers()).unwrap();
    let world = world();
    // What `npm install -g` would have made: the packages where they stay, and the program on the path.
    let installed = testkit::lasting_dir(env!("CARGO_TARGET_TMPDIR"));
    let packages = agent.executable.ancestors().find(|dir| dir.ends_with("node_modules")).unwrap();
    let packages = testkit::lasting_copy(packages, &installed);
    let programs = installed.path().join("bin");
    fs::create_dir(&programs).unwrap();
    symlink(packages.join("@openai/codex/bin/codex.js"), programs.join("codex")).unwrap();
    symlink(world.binary(), programs.join("cto")).unwrap();
    let project = world.user().join("my-project");
    let made = world.repository("made", &[
        ("greeting.py", "def greet(name):\n    return \"Hello!\"\n"),
        ("test_greeting.py", "import unittest\nfrom greeting import greet\n\n\nclass Greeting(unittest.TestCase):\n    def test_says_hello(self):\n        self.assertTrue(greet(\"you\").startswith(\"Hello\"))\n"),
    ]);
    fs::rename(made, &project).unwrap();
    testkit::git(&project, ["config", "user.name", "Me"]);
    testkit::git(&project, ["config", "user.email", "me@example.org"]);

    let commands = commands();
    assert!(commands.contains(PORT) && commands.contains("cto take"), "the page has changed its shape");
    let script = format!("set -eu\n{}", commands.replace(PORT, &server.address().to_string()));
    let mut bash = world.program("bash");
    let path = std::iter::once(programs.clone()).chain(["/usr/local/bin", "/usr/bin", "/bin"].map(Into::into));
    bash.arg("-c").arg(script).env("PATH", std::env::join_paths(path).unwrap());
    let output = bash.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let on_branch = |what: &str| testkit::git(&project, ["show", what]);
    assert!(on_branch("greet-by-name:greeting.py").contains("Hello, {name}!"), "{said}");
    assert!(fs::read_to_string(project.join("greeting.py")).unwrap().contains("\"Hello!\""), "the work tree stays");
}
