//! From nothing to a verified patch on a branch: repositories of different build systems, one agent, every typed line counted.

use std::net::TcpListener;

use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use serde_json::json;
use testkit::{World, git};

use super::{know_operator, text};
use crate::world;

/// Commands and lines that a person may need until the branch is there.
const MOST_COMMANDS: usize = 4;
const MOST_LINES: usize = 8;

/// A repository with one thing that is wrong, and the words that set it right.
struct System {
    name: &'static str,
    /// A program that has to be in /usr/bin, or be found on the PATH.
    needs: &'static str,
    files: &'static [(&'static str, &'static str)],
    allow: &'static str,
    fix: &'static str,
    /// A file of the branch, and what stands in it afterwards.
    fixed: (&'static str, &'static str),
}

const SYSTEMS: &[System] = &[
    System {
        name: "unittest",
        needs: "python3",
        files: &[
            ("adder.py", "def add(a, b):\n    return a - b\n"),
            (
                "tests/test_adder.py",
                "import unittest\nfrom adder import add\n\n\nclass Adder(unittest.TestCase):\n    def test_zero(self):\n        self.assertEqual(add(1, 0), 1)\n\n    def test_adds(self):\n        self.assertEqual(add(1, 1), 2)\n",
            ),
        ],
        allow: "adder.py",
        fix: "sed -i 's/a - b/a + b/' adder.py",
        fixed: ("adder.py", "a + b"),
    },
    System {
        name: "make",
        needs: "make",
        files: &[
            ("src/adder.sh", "echo $(($1 - $2))\n"),
            ("Makefile", "test:\n\ttest \"$$(sh src/adder.sh 1 1)\" = 2\n"),
        ],
        allow: "src/",
        fix: "sed -i 's/1 - /1 + /' src/adder.sh",
        fixed: ("src/adder.sh", "$1 + $2"),
    },
    System {
        name: "cmake",
        needs: "ctest",
        files: &[
            (".gitignore", "build/\n"),
            ("src/adder.sh", "echo $(($1 - $2))\n"),
            (
                "CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.16)\nproject(adder NONE)\nenable_testing()\nadd_test(NAME adds COMMAND sh -c \"test $(sh ${CMAKE_SOURCE_DIR}/src/adder.sh 1 1) = 2\")\n",
            ),
        ],
        allow: "src/",
        fix: "sed -i 's/1 - /1 + /' src/adder.sh",
        fixed: ("src/adder.sh", "$1 + $2"),
    },
    System {
        name: "npm",
        needs: "npm",
        files: &[
            (
                "package.json",
                "{\"name\": \"adder\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test\"}}\n",
            ),
            ("lib/adder.js", "exports.add = (a, b) => a - b;\n"),
            (
                "test/adder.test.js",
                "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('../lib/adder.js');\ntest('adds', () => assert.strictEqual(add(1, 1), 2));\ntest('zero', () => assert.strictEqual(add(1, 0), 1));\n",
            ),
        ],
        allow: "lib/",
        fix: "sed -i 's/a - b/a + b/' lib/adder.js",
        fixed: ("lib/adder.js", "a + b"),
    },
    System {
        name: "node",
        needs: "node",
        files: &[
            ("package.json", "{\"name\": \"adder\", \"version\": \"1.0.0\"}\n"),
            ("lib/adder.js", "exports.add = (a, b) => a - b;\n"),
            (
                "test/adder.test.js",
                "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('../lib/adder.js');\ntest('adds', () => assert.strictEqual(add(1, 1), 2));\n",
            ),
        ],
        allow: "lib/",
        fix: "sed -i 's/a - b/a + b/' lib/adder.js",
        fixed: ("lib/adder.js", "a + b"),
    },
];

fn brief(system: &System) -> String {
    format!("add() of the {} project subtracts. Make it add.", system.name)
}

/// Solves the case of stage 2 and each repository's task, each when it is asked for.
fn answers() -> Script {
    let slugify = "sed -i 's/return text.lower().*/return \"-\".join(text.lower().split())/' strings.py";
    let shell = |command: &str| Reply::call("exec_command", json!({"cmd": command}));
    let step = |contains: &str, times: Option<u64>, reply: Reply| Step {
        when: When { contains: Some(contains.to_owned()), ..When::default() },
        times,
        reply,
    };
    let own = SYSTEMS.iter().flat_map(|system| {
        [step(&brief(system), Some(1), shell(system.fix)), step(&brief(system), None, Reply::text("done"))]
    });
    let case = "Only these paths may change";
    let steps = own.chain([step(case, Some(1), shell(slugify)), step(case, None, Reply::text("done"))]).collect();
    Script { steps, otherwise: Reply::text("ready") }
}

/// A person at a shell: everything that is typed is counted.
struct Person<'w> {
    world: &'w World,
    commands: usize,
    lines: usize,
}

impl Person<'_> {
    fn types(&mut self, words: &[&str], code: i32) -> testkit::Ran {
        self.commands += 1;
        self.lines += 1 + words.iter().map(|word| word.matches('\n').count()).sum::<usize>();
        self.world.cto(words).expect(code)
    }
}

#[test]
fn a_few_lines_to_a_branch_whatever_builds_it() {
    let test = "first_hour::systems::a_few_lines_to_a_branch_whatever_builds_it";
    let Some(agent) = testkit::agent(test, "codex") else { return };
    let world = world();
    know_operator(&world);
    let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), answers()).unwrap();
    let endpoint = format!("http://{}/v1", server.address());
    let bin = agent.executable.display().to_string();
    let setup = ["setup", "codex", "--endpoint", &endpoint, "--model", "model-x", "--bin", &bin, "--yes"];
    let mut first = Person { world: &world, commands: 0, lines: 0 };
    let _ = first.types(&setup, 0);
    let is_there = |name: &str| std::path::Path::new("/usr/bin").join(name).exists();
    testkit::each_row(SYSTEMS.iter().map(|system| (system.name, system)), |system| {
        if !is_there(system.needs) {
            return testkit::skip(test, &format!("no {} in /usr/bin for {}", system.needs, system.name));
        }
        let repository = world.repository(system.name, system.files);
        let mut person = Person { world: &world, ..first };
        let words = [
            "run",
            "--brief",
            &brief(system),
            "--allow",
            system.allow,
            "--repo",
            text(&repository),
            "--engine",
            "codex",
            "--json",
        ];
        let report = person.types(&words, 0).json();
        assert_eq!(report["status"], "pass", "{}", report["blockers"]);
        let _ = person.types(&["take", "@", "--branch", "fixed"], 0);
        let (file, content) = system.fixed;
        assert!(git(&repository, ["show", &format!("fixed:{file}")]).contains(content));
        assert!(person.commands <= MOST_COMMANDS && person.lines <= MOST_LINES, "{} {}", person.commands, person.lines);
    });
}
