//! `cto new`, contracts of six lines, and `cto run --brief`.

use std::fs;

use serde_json::Value;
use testkit::{World, git};

use super::{know_operator, text};
use crate::world;

const PYTHON: &[(&str, &str)] = &[
    ("parse.py", "def parse(line):\n    return line.split(',')[1]\n"),
    (
        "tests/test_parse.py",
        "import unittest\nfrom parse import parse\n\n\nclass Parse(unittest.TestCase):\n    def test_second(self):\n        self.assertEqual(parse('a,b'), 'b')\n",
    ),
];

/// A name, the files of a project, and the words of its tests.
type ProjectRow<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

/// The contract that `cto new` writes for these files, and what it resolves to.
fn drafted(world: &World, name: &str, files: &[(&str, &str)]) -> (String, Value) {
    let repository = world.repository(name, files);
    let words = ["new", "--from", "fix the crash in parse()", "--repo", text(&repository), "--json"];
    let made = world.cto(words).expect(0).json();
    let decided = world.cto(["decide", made["path"].as_str().unwrap(), "--json"]);
    assert_ne!(decided.code, 2, "{}\n{}", made["contract"].as_str().unwrap(), decided.stderr);
    (made["contract"].as_str().unwrap().to_owned(), decided.json())
}

#[test]
fn a_contract_is_drafted_from_what_lies_there() {
    let world = world();
    know_operator(&world);
    let (contract, _) = drafted(&world, "python", PYTHON);
    let contract = contract.replace(fs::canonicalize(world.path()).unwrap().to_str().unwrap(), "");
    insta::assert_snapshot!(contract, @r#"
    # Drafted by cto new from what lies in the repository. Read it and change what is wrong; a run does
    # what stands here.
    schema_version: "1"
    task_id: fix-the-crash-in-parse
    brief: |
      fix the crash in parse()
    # low, medium or high: how much harm a mistake could do; stages 5 and 6 take low only
    risk_class: medium
    # the folders of sources; narrow it to what the task needs
    allowed_paths: ["*.py"]
    verification_commands:
      # unittest, by the folder tests/
      - {argv: [python3, -m, unittest, discover, -v, -s, tests], timeout_seconds: 600}
    source_repository: /python
    # Unless said: title is the first line of the brief, mutation_mode is copied-fixture,
    # forbidden_actions are all ten. The owner is who git says you are. cto decide shows what the contract
    # resolves to.
    "#);
}

#[test]
fn each_kind_of_project_is_tested_by_its_own_command() {
    let rows: &[ProjectRow<'_>] = &[
        ("npm", &[("package.json", r#"{"scripts": {"test": "ava"}}"#), ("package-lock.json", "{}")], "[npm, test]"),
        (
            "pnpm",
            &[("package.json", r#"{"scripts": {"test": "jest"}}"#), ("pnpm-lock.yaml", "")],
            "[pnpm, test, --verbose]",
        ),
        (
            "jest",
            &[("package.json", r#"{"scripts": {"test": "NODE_ENV=test jest --ci"}}"#)],
            "[npm, test, \"--\", --verbose]",
        ),
        (
            "vitest",
            &[("package.json", r#"{"scripts": {"test": "vitest run"}}"#), ("yarn.lock", "")],
            "[yarn, test, --reporter=verbose]",
        ),
        ("two commands", &[("package.json", r#"{"scripts": {"test": "jest && eslint ."}}"#)], "[npm, test]"),
        ("tox", &[("tox.ini", "[testenv]\ncommands = python -m unittest\n"), ("test_a.py", "")], "[tox]"),
        ("yarn", &[("package.json", r#"{"scripts": {"test": "mocha"}}"#), ("yarn.lock", "")], "[yarn, test]"),
        (
            "unnamed",
            &[
                ("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#),
                ("test/a.test.js", ""),
            ],
            "[node, --test]",
        ),
        (
            "pytest",
            &[("pyproject.toml", "[tool.pytest.ini_options]\n"), ("tests/test_a.py", "")],
            "[python3, -m, pytest, -q]",
        ),
        ("unittest", &[("a.py", ""), ("test_a.py", "")], "[python3, -m, unittest, discover, -v]"),
        ("cargo", &[("Cargo.toml", ""), ("Cargo.lock", "")], "[cargo, test, --locked]"),
        ("go", &[("go.mod", "module m\n")], "[go, test, \"./...\"]"),
        ("maven", &[("pom.xml", "<project/>")], "[mvn, -o, -B, test]"),
        ("cmake", &[("CMakeLists.txt", "enable_testing()\n")], "[ctest, --test-dir, build, --output-on-failure]"),
        ("make", &[("Makefile", "all:\n\ntest: all\n\ttrue\n")], "[make, test]"),
        ("phpunit", &[("phpunit.xml.dist", "<phpunit/>")], "[vendor/bin/phpunit, --testdox]"),
        (
            "rspec",
            &[("Gemfile", "gem 'rspec'\n"), ("spec/a_spec.rb", "")],
            "[bundle, exec, rspec, --format, documentation]",
        ),
    ];
    let world = world();
    know_operator(&world);
    testkit::each_row(rows.iter().map(|row| (row.0, row)), |(name, files, argv)| {
        let (contract, _) = drafted(&world, name, files);
        assert!(contract.contains(&format!("argv: {argv}")), "{contract}");
    });
}

#[test]
fn what_is_foreign_stays_text() {
    let world = world();
    know_operator(&world);
    let script = "x\\nrisk_class: low\\u001b[31m";
    let files = [("package.json", format!(r#"{{"scripts": {{"test": "{script}"}}}}"#))];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let (contract, _) = drafted(&world, "hostile", &files);
    assert!(contract.contains("risk_class: medium") && !contract.contains('\u{1b}'), "{contract}");
    assert_eq!(contract.lines().filter(|line| line.starts_with("risk_class")).count(), 1, "{contract}");
}

#[test]
fn a_contract_of_six_lines_runs_and_says_what_it_resolved_to() {
    let world = world();
    know_operator(&world);
    let repository = world.repository("source", &[("a.txt", "one\n")]);
    let six = "schema_version: \"1\"\ntask_id: six\nbrief: Make a.txt say two.\nrisk_class: low\nallowed_paths: [a.txt]\nverification_commands: [[grep, -q, one, a.txt]]\n";
    let file = world.write("six.yaml", six);
    // The built-in engine does what a case says, and this is none: everything else is there.
    let told = world.cto(["decide", text(&file), "--repo", text(&repository)]).expect(3).text();
    assert_eq!(told.lines().filter(|line| line.starts_with("missing ")).count(), 1, "{told}");
    for line in [
        "default title Make a.txt say two.",
        "default mutation_mode copied-fixture",
        "default source_owner Ada <ada@example.invalid>, as git knows you",
        "default limits 1800 s, ",
    ] {
        assert!(told.contains(line), "{told}");
    }
}

#[test]
fn a_repository_is_its_operators_where_git_knows_them() {
    let world = world();
    know_operator(&world);
    let repository = world.repository("source", &[("a.txt", "one\n")]);
    let unsaid = [("source_owner", ""), ("source_classification", ""), ("title", ""), ("mutation_mode", "")];
    let case = world.case("case", &unsaid);
    let words = ["run", text(&case), "--repo", text(&repository), "--json"];
    let report = world.cto(words).expect(0).json();
    let bundle = world.bundles().join(report["run_id"].as_str().unwrap());
    let contract: Value = serde_json::from_slice(&fs::read(bundle.join("task-contract.json")).unwrap()).unwrap();
    assert_eq!(contract["source_owner"], "Ada <ada@example.invalid>");
    assert_eq!(contract["title"], "a.txt says one. Make it say two.");
    assert_eq!(contract["mutation_mode"], "copied-fixture");

    // Without an identity nobody owns it.
    fs::remove_file(world.user().join(".gitconfig")).unwrap();
    let report = world.cto(words).expect(3).json();
    assert_eq!(report["blocker_reasons"], serde_json::json!(["unowned_repository"]));

    // What a contract says is not overruled.
    know_operator(&world);
    let half = world.case("half", &[("source_classification", "")]);
    let report = world.cto(["run", text(&half), "--repo", text(&repository), "--json"]).expect(3).json();
    assert_eq!(report["blocker_reasons"], serde_json::json!(["unowned_repository"]));
}

#[test]
fn one_off_work_needs_no_contract_file() {
    let world = world();
    know_operator(&world);
    let repository = world.repository("python", PYTHON);
    let brief = |more: &[&str]| {
        let words = [
            "decide",
            "--brief",
            "parse() crashes on a line without a comma",
            "--allow",
            "*.py",
            "--repo",
            text(&repository),
        ];
        world.cto(words.iter().chain(more).copied())
    };
    let decision = brief(&["--json"]).expect(3).json();
    assert_eq!(decision["missing_gates"], serde_json::json!(["identity"]));
    assert_eq!(decision["task_id"], "parse-crashes-on-a-line-without-a-comma");
    // The work tree stays clean: nothing was written into the repository.
    assert_eq!(git(&repository, ["status", "--porcelain"]), "");

    // A mistyped case is no brief, and a brief needs what it may change.
    let mistyped = world.cto(["run", "r1-string-slugfy"]).expect(2);
    assert!(mistyped.stderr.contains("did you mean `r1-string-slugify`"), "{}", mistyped.stderr);
    let _ = world.cto(["run", "--brief", "x", "--repo", text(&repository)]).expect(2);
    let _ =
        world.cto(["run", "r1-string-slugify", "--brief", "x", "--allow", "a", "--repo", text(&repository)]).expect(2);

    // Without tests there is nothing to judge by.
    let bare = world.repository("bare", &[("notes.txt", "x\n")]);
    let refused = world.cto(["run", "--brief", "x", "--allow", "notes.txt", "--repo", text(&bare)]).expect(3);
    assert!(refused.stderr.contains("cto new --from x"), "{}", refused.stderr);
}

#[test]
fn a_brief_is_held_under_the_contract_that_would_be_drafted() {
    let world = world();
    know_operator(&world);
    let repository = world.repository("python", PYTHON);
    let contract_of = |words: &[&str]| {
        let report = world.cto(words.iter().copied().chain(["--json"])).expect(3).json();
        let bundle = world.bundles().join(report["run_id"].as_str().unwrap());
        fs::read_to_string(bundle.join("task-contract.json")).unwrap()
    };
    for (at, brief) in
        ["parse() crashes on a line without a comma", "# Mend parse()\n\nIt crashes.\n"].iter().enumerate()
    {
        let (out, place) = (world.here().join(format!("{at}.yaml")), ["--allow", "*.py", "--repo", text(&repository)]);
        let _ = world.cto([&["new", "--from", brief, "--out", text(&out)][..], &place].concat()).expect(0);
        let drafted = contract_of(&["run", text(&out)]);
        let brief_alone = contract_of(&[&["run", "--brief", brief][..], &place].concat());
        assert_eq!(brief_alone, drafted, "{brief}");
        // Control: another brief is another contract.
        assert_ne!(contract_of(&[&["run", "--brief", "something else"][..], &place].concat()), drafted);
    }
}

#[test]
fn a_contract_is_never_written_over_another() {
    let world = world();
    know_operator(&world);
    let repository = world.repository("python", PYTHON);
    let out = world.here().join("task.yaml");
    let words = ["new", "--from", "x", "--repo", text(&repository), "--out", text(&out)];
    let _ = world.cto(words).expect(0);
    let before = fs::read(&out).unwrap();
    let refused = world.cto(words).expect(2);
    assert!(refused.stderr.contains("task.yaml"), "{}", refused.stderr);
    assert_eq!(fs::read(&out).unwrap(), before);

    // Where no file is named, the next one has another name.
    let again =
        || world.cto(["new", "--from", "x", "--repo", text(&repository), "--json"]).expect(0).json()["path"].clone();
    assert_ne!(again(), again());

    // Without words there is nothing to draft, and an issue must be a text.
    let _ = world.cto(["new", "--repo", text(&repository)]).expect(2);
    let binary = world.write("issue.md", b"\xff\xfe");
    let _ = world.cto(["new", "--issue", text(&binary), "--repo", text(&repository)]).expect(2);
    let issue = world.write("issue-2.md", "# The parser crashes\n\nOn `a`, it raises IndexError.\n");
    let made = world.cto(["new", "--issue", text(&issue), "--repo", text(&repository), "--json"]).expect(0).json();
    assert!(made["contract"].as_str().unwrap().contains("task_id: the-parser-crashes"), "{made}");
}
