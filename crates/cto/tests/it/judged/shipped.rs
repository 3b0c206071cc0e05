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
    /// Environment in which a sandbox shows its tools; None where this machine lacks them.
    tools: fn(&str) -> Option<Value>,
}

fn nothing_more(_: &str) -> Option<Value> {
    Some(json!({}))
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
        environments: &["{}", r#"{"build": ["make out/answer"]}"#, r#"{"setup": ["make out/answer"]}"#],
        commands: "[[make, test]]",
        tools: nothing_more,
    },
    Language {
        name: "TypeScript",
        source: "src/answer.ts",
        text: "export const answer = (): number => @;\n",
        broken: "export const answer = (: number => {\n",
        files: &[
            (
                "tsconfig.json",
                r#"{"compilerOptions": {"incremental": true, "module": "commonjs", "outDir": "dist", "rootDir": "src", "target": "es2022", "lib": ["es5"],
                "tsBuildInfoFile": "dist/state.json", "types": []}, "include": ["src"]}"#,
            ),
            (
                "test/answer.test.js",
                "require('node:test')('answer', () => require('assert').equal(require('../dist/answer.js').answer(), 42));\n",
            ),
        ],
        make: "node \"$TSC\" -p .",
        twists: &[
            "true",
            "cp dist/answer.js src/answer.js",
            "echo '*' > dist/.gitignore",
            "rm dist/state.json",
            // The compiler's record of wrong source beside the output of good source.
            "sed -i s/42/40/ src/answer.ts && node \"$TSC\" -p . && sed -i s/40/42/ dist/answer.js",
        ],
        environments: &[
            "{}",
            r#"{"build": [["sh", "-c", "node \"$TSC\" -p ."]]}"#,
            r#"{"setup": [["sh", "-c", "node \"$TSC\" -p ."]]}"#,
        ],
        commands: "[[node, --test, test/]]",
        tools: tsc_tools,
    },
    Language {
        name: "Go",
        source: "answer.go",
        text: "package answer\n\nfunc Answer() int { return @ }\n",
        broken: "package answer\n\nfunc Answer( int {\n",
        files: &[
            ("go.mod", "module answer\n\ngo 1.21\n"),
            (
                "answer_test.go",
                "package answer\n\nimport \"testing\"\n\nfunc TestAnswer(t *testing.T) {\n\tif Answer() != 42 {\n\t\tt.Fatal(Answer())\n\t}\n}\n",
            ),
        ],
        make: "go test -vet=off -c -o answer.test . && go tool compile -o answer.a answer.go",
        twists: &[
            "true",
            "rm answer.a",
            "mkdir bin && mv answer.test bin/",
            "mkdir -p vendor/answer && mv answer.a vendor/answer/",
        ],
        environments: &["{}", r#"{"build": ["go test -vet=off -c -o answer.test ."]}"#],
        commands: "[[go, test, -vet=off, ./...]]",
        tools: testkit::go_environment,
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
        environments: &["{}", r#"{"build": ["python3 -m compileall -q -b answer.py"]}"#],
        commands: "[[python3, -m, unittest, -v]]",
        tools: nothing_more,
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
        environments: &["{}", r#"{"setup": ["cargo test --offline --no-run"]}"#],
        commands: "[[cargo, test, --offline]]",
        tools: nothing_more,
    },
];

fn tsc_tools(test: &str) -> Option<Value> {
    let mut environment = testkit::tsc_environment(test)?;
    environment["variables"] = json!({"TSC": testkit::tsc(test)?});
    Some(environment)
}

/// An environment with what the tools need.
fn environment_of(text: &str, tools: &Value) -> String {
    let mut all = tools.clone();
    let more: Value = serde_json::from_str(text).unwrap();
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all.to_string()
}

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
    let test = "judged::shipped::no_product_of_good_source_speaks_for_wrong_source";
    let Some(tools) = (language.tools)(test) else { return };
    let mut draw = Draw(round.wrapping_mul(977).wrapping_add(11));
    let good = language.text.replace('@', "42");
    let wrong = [language.text.replace('@', "40"), language.broken.to_owned(), good.clone()];
    let (delivered, twist) = (draw.of(&wrong).clone(), *draw.of(language.twists));
    let picked = *draw.of(language.environments);
    let environment = &environment_of(picked, &tools);
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
