//! Work of an engine that must succeed inside: programs that build and test software, without false alarms.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Who, not_here};

use super::check::{harmless, recorded};
use super::program::shell;
use super::scene::Scene;

pub(super) const CLASS: &str = "What works inside";

/// A tool, and a script that says `works` at its end.
pub(super) struct Tool {
    pub(super) name: &'static str,
    script: &'static str,
    /// The contract's environment; `None` if the tool is not available.
    environment: fn(&str, Who) -> Option<Value>,
}

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "`git`: a repository, a commit, a branch, a merge",
        script: "git commit -qam work; git log --format=%an -1 | grep -qx engine; cd $(mktemp -d); git init -q
            git config user.name n; git config user.email e@localhost
            echo x > file; git add file; git commit -qm one; git switch -qc side; git mv file moved; git commit -qam two
            git switch -q -; git merge -q side; test \"$(git log --format=%s | tr '\\n' ' ')\" = 'two one ' && echo works",
        environment: |_, _| Some(json!({})),
    },
    Tool {
        name: "a shell script, with pipes, jobs and temporary files",
        script: "file=$(mktemp); for i in 1 2 3; do (echo $i >> $file) & done; wait
            test $(sort $file | uniq | wc -l) = 3 && rm $file && echo works",
        environment: |_, _| Some(json!({})),
    },
    Tool {
        name: "`python3 -m unittest`, with processes and a server",
        script: "mkdir junk; cat > junk/test_it.py <<'END'
import multiprocessing, socket, threading, unittest
class Test(unittest.TestCase):
    def test_pool(self):
        with multiprocessing.Pool(2) as pool: self.assertEqual(pool.map(abs, [-1, -2]), [1, 2])
    def test_server(self):
        server = socket.create_server(('127.0.0.1', 0))
        threading.Thread(target=lambda: server.accept()[0].sendall(b'own')).start()
        self.assertEqual(socket.create_connection(server.getsockname()).recv(9), b'own')
END
            python3 -m unittest -q junk/test_it.py && echo works",
        environment: |_, _| Some(json!({})),
    },
    Tool {
        name: "`pytest`",
        script: "mkdir junk; echo 'def test_it(tmp_path): (tmp_path / \"x\").write_text(\"x\")' > junk/test_it.py
            python3 -m pytest -q -p no:cacheprovider junk && echo works",
        environment: |test, who| {
            let environment = testkit::python_environment(test)?;
            let places: Vec<&str> =
                environment["mounts"].as_array()?.iter().filter_map(|mount| mount["source"].as_str()).collect();
            readable(test, who, &places).then_some(environment)
        },
    },
    Tool {
        name: "`node`, with a child process and a server",
        script: "node -e 'console.log(require(\"child_process\").execSync(\"echo hi\").toString().trim())
            require(\"http\").createServer((_, answer) => answer.end(\"works\")).listen(0, \"127.0.0.1\", function () {
            fetch(`http://127.0.0.1:${this.address().port}`).then(it => it.text()).then(it => { console.log(it); process.exit(0) }) })'",
        environment: |test, _| testkit::node_environment(test),
    },
    Tool {
        name: "`cargo build` of a crate without dependencies",
        script: "cargo init -q --name tiny --vcs none junk; cd junk; echo 'fn main() { println!(\"works\") }' > src/main.rs
            cargo build -q --offline; target/debug/tiny",
        environment: |test, who| {
            let toolchain = testkit::cargo();
            readable(test, who, &[toolchain.to_str()?]).then(|| json!({}))
        },
    },
];

/// True if the user may enter and read these places, as far as the test can tell for another user.
fn readable(test: &str, who: Who, places: &[&str]) -> bool {
    let open = |path: &Path| fs::metadata(path).is_ok_and(|stat| stat.permissions().mode() & 0o005 == 0o005);
    let shut = places.iter().flat_map(|place| Path::new(place).ancestors()).find(|path| !open(path));
    match shut {
        Some(shut) if who.is_another() => {
            not_here(test, &format!("as {who:?}: {} is shut for others", shut.display()));
            false
        }
        _ => true,
    }
}

#[test]
fn what_engines_need_works_inside() {
    let test = "what_engines_need_works_inside";
    for who in Who::all(test) {
        let scene = Scene::new(who);
        for tool in TOOLS {
            if let Some(environment) = (tool.environment)(test, who) {
                works(&scene, tool, environment);
            }
        }
        scene.close();
    }
}

fn works(scene: &Scene, tool: &Tool, environment: Value) {
    let argv = shell(&format!("set -e\n{}", tool.script));
    let steps = json!({"steps": [{"write": {"path": "a.txt", "text": "two\n"}}, {"run": {"argv": argv}}]}).to_string();
    scene.set_case(&[("fake", &steps), ("environment", &environment.to_string())]);
    let before = scene.outside();
    let sealed = scene.run_strict(&[]);
    let told = || format!("{} as {:?}: {}", tool.name, scene.who, sealed.told());
    assert!(sealed.stdout.lines().any(|line| line == "works"), "{}", told());
    assert_eq!((sealed.exit, &sealed.report["status"]), (0, &json!("pass")), "{}", told());
    let alarms: Vec<&Value> = sealed.attempts().iter().filter(|attempt| attempt["judged"] != "note").collect();
    assert!(alarms.is_empty(), "{}", told());
    harmless(scene, &sealed, &before);
    recorded(&sealed);
}
