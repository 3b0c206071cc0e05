//! Changed files that the exam does not read are named; files that it reads are not.

use serde_json::{Value, json};
use testkit::each_row;

use super::{Project, world_with};

/// A crate whose `lib.rs` is right or wrong, with room for files that nothing names.
const CRATE: Project = Project {
    files: &[
        ("Cargo.toml", "[package]\nname = \"sub\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"sub\"\nversion = \"0.1.0\"\n"),
        (".gitignore", "/target\n"),
        ("src/lib.rs", "pub fn answer() -> u8 {\n    41\n}\n"),
        ("tests/answer.rs", "#[test]\nfn answers() {\n    assert_eq!(sub::answer(), 42);\n}\n"),
    ],
    allowed: "[src/]",
    commands: "[[cargo, test, --offline]]",
};

const MAKE: Project = Project {
    files: &[
        ("src/answer.c", "int answer(void) { return 41; }\n"),
        ("src/answer.h", "int answer(void);\n"),
        ("src/main.c", "#include \"answer.h\"\nint main(void) { return answer() != 42; }\n"),
        ("Makefile", "test:\n\tcc -o answer src/answer.c src/main.c && ./answer\n"),
    ],
    allowed: "[src/]",
    commands: "[[make, test]]",
};

/// The outcome of each poisoned file of a run that passes.
fn poisoned(project: &Project, does: &str) -> (Vec<(String, String)>, String) {
    let world = world_with(project, does);
    let (report, _) = world.run("./made", 0);
    let _ = world.cto(["verify", "@"]).expect(0);
    let _ = world.cto(["reverify", "@"]).expect(0);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let files = report["verification"]["poisoned"].as_array().cloned().unwrap_or_default();
    let unread = files.iter().any(|file| file["outcome"] == "not_exercised");
    assert_eq!(report["coverage"].as_array().unwrap().contains(&json!("change_not_exercised")), unread, "{does}");
    let files = files.iter().map(|file| (text(&file["path"]), text(&file["outcome"]))).collect();
    (files, world.cto(["show", "@"]).text())
}

fn check(project: &Project, does: &str, expected: &[(&str, &str)]) {
    let (found, first_screen) = poisoned(project, does);
    // The first is always tried; for the others there may be no time.
    let untried = |index: usize, outcome: &str| index > 0 && outcome == "not_tried";
    let tried = found.iter().zip(expected).enumerate().map(|(index, ((path, outcome), (_, expected)))| {
        (path.as_str(), if untried(index, outcome) { expected } else { outcome.as_str() })
    });
    assert_eq!(tried.collect::<Vec<_>>(), expected, "{does}: {found:?}");
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (path, outcome) in &found {
        let named = first_screen.contains(&format!("not-exercised {path}\n"));
        assert_eq!(named, outcome == "not_exercised", "{first_screen}");
    }
}

#[test]
fn a_changed_file_that_is_compiled_is_exercised_and_one_that_is_not_is_named() {
    let good = "printf 'pub fn answer() -> u8 {\\n    42\\n}\\n' > src/lib.rs".to_owned();
    let beside =
        format!("{good}; echo 'pub fn a_function_that_nothing_calls_and_nothing_names() {{}}' > src/unused.rs");
    let unused = &[("src/unused.rs", "not_exercised"), ("src/lib.rs", "exercised")][..];
    let good_c = "printf 'int answer(void) { return 42; }\\n' > src/answer.c".to_owned();
    let more =
        format!("{good_c}; echo 'extern int n;' >> src/answer.h; echo 'int w32(void) {{ return 1; }}' > src/win.c");
    let windows = &[("src/win.c", "not_exercised"), ("src/answer.h", "exercised"), ("src/answer.c", "exercised")][..];
    let rows = [
        ("Rust", (&CRATE, good, &[("src/lib.rs", "exercised")][..])),
        ("Rust, unused", (&CRATE, beside, unused)),
        ("C", (&MAKE, good_c, &[("src/answer.c", "exercised")])),
        ("C, unused", (&MAKE, more, windows)),
    ];
    each_row(rows, |(project, does, expected)| check(project, &does, expected));
}

/// If many files changed, the largest changes are tried alone, as long as there is time.
#[test]
fn many_changed_files_are_tried_together_or_listed_as_not_tried() {
    let good = "printf 'int answer(void) { return 42; }\\n' > src/answer.c";
    let many = format!("{good}; for n in 1 2 3 4 5 6 7 8 9; do echo 'int unused(void);' > src/u$n.c; done");
    let (found, _) = poisoned(&MAKE, &many);
    assert_eq!(found.len(), 10, "{found:?}");
    assert_eq!(found[0].1, "not_exercised", "the first is always tried: {found:?}");
    let known = ["not_exercised", "exercised", "exercised_in_group", "not_tried"];
    assert!(found.iter().all(|(_, outcome)| known.contains(&outcome.as_str())), "{found:?}");
}

/// Sources of an interpreter are not poisoned where nothing could have made products of them.
#[test]
fn a_script_is_not_poisoned() {
    const SCRIPT: Project = Project {
        files: &[("a.txt", "one\n"), ("say.sh", "echo one\n")],
        allowed: "[a.txt, say.sh]",
        commands: "[[grep, -qx, two, a.txt]]",
    };
    check(&SCRIPT, "echo two > a.txt; echo 'echo two' > say.sh", &[]);
}

/// A package in Go with a file for another system, which nothing compiles here.
#[test]
fn go_reads_what_is_built_for_this_system_alone() {
    let Some(environment) = testkit::go_environment("judged::poison::go") else { return };
    let world = crate::world();
    let steps = json!([
        {"write": {"path": "answer.go", "text": "package answer\n\nfunc Answer() int { return 42 }\n"}},
        {"write": {"path": "answer_windows.go", "text": "package answer\n\nfunc onlyOnAnotherSystem() string { return \"another system\" }\n"}},
    ]);
    let (fake, environment) = (json!({"steps": steps}).to_string(), environment.to_string());
    let changes = [
        ("allowed_paths", "['*.go']"),
        ("verification_commands", "[[go, test, -vet=off, ./...]]"),
        ("environment", environment.as_str()),
        ("fake", fake.as_str()),
    ];
    world.case("made", &changes);
    world.write("made/files/go.mod", "module answer\n\ngo 1.21\n");
    world.write("made/files/answer.go", "package answer\n\nfunc Answer() int { return 41 }\n");
    let test = "package answer\n\nimport \"testing\"\n\nfunc TestAnswer(t *testing.T) {\n\tif Answer() != 42 {\n\t\tt.Fatal()\n\t}\n}\n";
    world.write("made/files/answer_test.go", test);
    let (report, _) = world.run("./made", 0);
    let poisoned = &report["verification"]["poisoned"];
    assert_eq!(poisoned[0], json!({"path": "answer_windows.go", "outcome": "not_exercised"}), "{poisoned}");
    assert!(["exercised", "not_tried"].contains(&poisoned[1]["outcome"].as_str().unwrap()), "{poisoned}");
    let _ = world.cto(["verify", "@"]).expect(0);
}

/// A contract that names tests which must pass is not met by an exam that reads none of the changed files.
#[test]
fn must_pass_needs_a_changed_file_that_the_exam_reads() {
    const UNREAD: Project = Project {
        files: &[
            ("src/add.ts", "exports.add = (a: number, b: number) => a - b;\n"),
            ("dist/add.js", "exports.add = (a, b) => a - b;\n"),
            (
                "test/add.test.js",
                "require('node:test')('adds', () => require('assert').equal(require('../dist/add.js').add(1, 2), 3));\n",
            ),
        ],
        allowed: "[src/, dist/]",
        commands: "[[node, --test, test/]]",
    };
    let does = "echo 'exports.add = (a, b) => a + b;' > dist/add.js; echo '// later' >> src/add.ts";
    each_row([("without", ("[]", 0)), ("with", ("[adds]", 1))], |(must_pass, code)| {
        let world = world_with(&UNREAD, does);
        let case = world.here().join("made/case.yaml");
        let text = std::fs::read_to_string(&case).unwrap();
        std::fs::write(&case, format!("{text}must_pass: {must_pass}\n")).unwrap();
        let (report, _) = world.run("./made", code);
        let says = report["blockers"].to_string().contains("the exam reads none of the changed files");
        assert_eq!(says, code == 1, "{:#}", report["blockers"]);
        assert_eq!(report["verification"]["poisoned"][0]["outcome"], "not_exercised");
        let _ = world.cto(["verify", "@"]).expect(0);
    });
}
