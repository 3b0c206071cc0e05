//! Property: whatever products of good source are delivered beside wrong source, there is no silent pass. The oracle is the
//! source: it is right or wrong by construction, and nothing that was built before has a say.

use serde_json::{Value, json};
use testkit::times;

use crate::world;

/// A small project whose answer is one number in one source file.
struct Language {
    name: &'static str,
    source: &'static str,
    /// The source that answers with `@`.
    text: &'static str,
    /// The source that no compiler accepts.
    broken: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Makes products in the tree, of good source.
    make: &'static str,
    /// Disguises of the products, one at a time.
    twists: &'static [&'static str],
    environments: &'static [&'static str],
    commands: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language {
        name: "C",
        source: "src/answer.c",
        text: "int answer(void) { return @; }\n",
        broken: "#error no\n",
        files: &[
            ("src/main.c", "int answer(void);\nint main(void) { return answer() != 42; }\n"),
            (
                "Makefile",
                "out/answer: src/answer.o src/main.o\n\tmkdir -p out && cc -o $@ src/answer.o src/main.o\nsrc/%.o: src/%.c\n\t\
                 cc -c -o $@ $<\ntest: out/answer\n\tout/answer\n",
            ),
        ],
        make: "make out/answer",
        twists: &["true", "rm src/main.o", "echo '*' > out/.gitignore", "rm src/*.o", "mv out/answer src/answer"],
        environments: &["{}", "{build: [make out/answer]}", "{setup: [make out/answer]}"],
        commands: "[[make, test]]",
    },
    Language {
        name: "TypeScript",
        source: "src/answer.ts",
        text: "exports.answer = (): number => @;\n",
        broken: "exports.answer = (: number => {\n",
        files: &[
            ("tools/tsc.js", super::built::TSC),
            (
                "test/answer.test.js",
                "require('node:test')('answer', () => require('assert').equal(require('../dist/answer.js').answer(), 42));\n",
            ),
        ],
        make: "node tools/tsc.js",
        twists: &["true", "cp dist/answer.js src/answer.js", "echo '*' > dist/.gitignore"],
        environments: &["{}", "{build: [node tools/tsc.js]}", "{setup: [node tools/tsc.js]}"],
        commands: "[[node, --test, test/]]",
    },
    Language {
        name: "Python",
        source: "answer.py",
        text: "def answer():\n    return @\n",
        broken: "def answer(:\n",
        files: &[(
            "test_answer.py",
            "import unittest, answer\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(answer.answer(), 42)\n",
        )],
        make: "python3 -m compileall -q -b answer.py; python3 -m compileall -q answer.py",
        twists: &["true", "rm answer.pyc", "rm -r __pycache__", "mkdir lib && mv answer.pyc lib/answer.pyc"],
        environments: &["{}", "{build: [python3 -m compileall -q -b answer.py]}"],
        commands: "[[python3, -m, unittest, -v]]",
    },
    Language {
        name: "Rust",
        source: "src/lib.rs",
        text: "pub fn answer() -> u8 {\n    @\n}\n",
        broken: "pub fn answer( -> u8 {\n",
        files: &[
            ("Cargo.toml", "[package]\nname = \"sub\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"sub\"\nversion = \"0.1.0\"\n"),
            ("tests/answer.rs", "#[test]\nfn answers() {\n    assert_eq!(sub::answer(), 42);\n}\n"),
        ],
        make: "cargo test -q --offline --no-run",
        twists: &["true", "rm target/CACHEDIR.TAG", "mv target out && rm out/CACHEDIR.TAG"],
        environments: &["{}", "{setup: [cargo test --offline --no-run]}"],
        commands: "[[cargo, test, --offline]]",
    },
];

/// Numbers that look random and are the same each time.
struct Draw(u64);

impl Draw {
    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        &all[usize::try_from(self.0 >> 33).unwrap() % all.len()]
    }
}

/// Good source is built, other source is delivered with what was built.
fn deliver(round: u64, language: &Language) {
    let mut draw = Draw(round.wrapping_mul(977).wrapping_add(11));
    let good = language.text.replace('@', "42");
    let wrong = [language.text.replace('@', "40"), language.broken.to_owned(), good.clone()];
    let (delivered, twist) = (draw.of(&wrong).clone(), *draw.of(language.twists));
    let environment = *draw.of(language.environments);
    let world = world();
    let script = format!("{}\n{twist} || true", language.make);
    let old = format!("touch -d 2001-01-01 {}", language.source);
    let write = |text: &str| json!({"write": {"path": language.source, "text": text}});
    let run = |script: &str| json!({"run": {"argv": ["sh", "-c", script]}});
    let fake = json!({"steps": [write(&good), run(&script), write(&delivered), run(&old)]}).to_string();
    let changes = [
        ("allowed_paths", "['**']"),
        ("verification_commands", language.commands),
        ("environment", environment),
        ("fake", fake.as_str()),
    ];
    world.case("made", &changes);
    world.write(&format!("made/files/{}", language.source), language.text.replace('@', "41"));
    for (path, text) in language.files {
        world.write(&format!("made/files/{path}"), text);
    }
    let ran = world.cto(["run", "./made", "--json"]);
    let report = ran.json();
    let told = format!("{} round {round}: {environment}, {twist}, {delivered:?}: {report:#}", language.name);
    let says =
        |code: &str| report["coverage"].as_array().is_some_and(|codes: &Vec<Value>| codes.contains(&json!(code)));
    let is_admitted = says("product_not_rebuilt") || says("change_not_exercised");
    assert!(report["status"] != "pass" || delivered == good || is_admitted, "{told}");
    assert_ne!(report["status"], "blocked", "{told}");
    let _ = world.cto(["verify", "@"]).expect(0);
}

#[test]
fn no_product_of_good_source_speaks_for_wrong_source() {
    for round in 0..times("CTO_TEST_PRODUCTS", 1) {
        for language in LANGUAGES {
            deliver(round.into(), language);
        }
    }
}
