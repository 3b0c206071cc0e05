//! Data of tests is exam: what they compare with may not be changed to fit, may be added, and is released by name.

use testkit::each_row;

use super::{Project, Row, check, naive_is_content};

/// A page that a test compares with a file.
const PAGE: Project = Project {
    files: &[
        ("page.py", "def page():\n    return open(\"golden/page.txt\").read()\n\n\ndef name():\n    return \"shop\"\n"),
        ("golden/page.txt", "shop\n"),
        (
            "test_page.py",
            "import unittest\n\nimport page\n\n\nclass Page(unittest.TestCase):\n    def test_page(self):\n        self.assertEqual(page.name() + \"\\n\", open(\"golden/page.txt\").read())\n",
        ),
    ],
    allowed: "[page.py, golden/]",
    commands: "[{argv: [python3, -m, unittest, -v]}]",
};

/// The same in JavaScript.
const NODE_PAGE: Project = Project {
    files: &[
        ("page.js", "exports.name = () => \"shop\";\n"),
        ("fixtures/page.json", "\"shop\"\n"),
        (
            "page.test.js",
            "require('node:test')('page', () => require('assert').equal(require('./page.js').name(), require('./fixtures/page.json')));\n",
        ),
    ],
    allowed: "[page.js, fixtures/]",
    commands: "[[node, --test]]",
};

fn row(does: &str, reasons: &'static [&'static str], coverage: &'static [&'static str]) -> Row {
    Row { project: &PAGE, does: does.to_owned(), reasons, litter: &[], coverage }
}

const OTHER_NAME: &str = "sed -i 's/\"shop\"/\"store\"/' page.py";

#[test]
fn expected_output_is_not_changed_to_fit() {
    // Somebody who looks at the tree that the engine left is content.
    let does = format!("{OTHER_NAME} && echo store > golden/page.txt");
    naive_is_content(&PAGE, &does, "python3 -m unittest");
    // Data that the patch adds is there where the exam needs it, and what it changed still is not.
    let adds = "echo more > golden/more.txt && echo 'open(\"golden/more.txt\").read()' >> page.py";
    let both = format!("{does} && {adds}");
    naive_is_content(&PAGE, &both, "python3 -m unittest");
    let in_node = "echo '{}' > fixtures/more.json && echo \"require('./fixtures/more.json');\" >> page.js";
    let source = "echo 'MORE = 1' > golden/more.py && echo 'from golden import more' >> page.py";
    let altered = &["exam_change_not_controlled"][..];
    let rows = [
        ("changed", row(&does, &["verification_failed"], altered)),
        ("added", row(adds, &[], altered)),
        ("added in Node", Row { project: &NODE_PAGE, ..row(in_node, &[], altered) }),
        ("changed and added", row(&both, &["verification_failed"], altered)),
        ("source in such a folder", row(source, &[], &[])),
    ];
    each_row(rows, |row| drop(check(&row)));
}

#[test]
fn a_contract_that_names_exam_files_is_told_before_a_run_is_spent() {
    let world = super::world_with(&PAGE, "true");
    let contract = std::fs::read_to_string(world.here().join("made/case.yaml")).unwrap();
    let named = contract.replace("[page.py, golden/]", "[page.py, golden/page.txt, test_page.py, conftest.py]");
    assert_ne!(contract, named);
    std::fs::write(world.here().join("made/case.yaml"), &named).unwrap();
    let told = world.cto(["decide", "./made"]).expect(0).text();
    assert!(
        told.contains("exam-needs-exam_may_change conftest.py\nexam-needs-it-if-it-has-tests test_page.py\n"),
        "{told}"
    );
    let released = format!("{named}\nexam_may_change: [conftest.py]\n");
    std::fs::write(world.here().join("made/case.yaml"), released).unwrap();
    let told = world.cto(["decide", "./made"]).expect(0).text();
    assert!(!told.contains("exam-needs-exam_may_change"), "{told}");
}

/// A helper of tests, data that they compare with, and a file from which tests run: what naming each among the allowed paths is worth.
#[test]
fn a_path_by_name_releases_only_a_file_from_which_no_test_ran() {
    let with = |test: &str| {
        let helper = ("tests/helper.py", "def shown(text):\n    return text + \"\\n\"\n");
        let page = ("page.py", "def name():\n    return \"shop\"\n");
        let test = ("test_page.py", test.to_owned());
        [helper, page, ("golden/page.txt", "shop\n"), ("tests/__init__.py", "")]
            .map(|(path, text)| (path, text.to_owned()))
            .into_iter()
            .chain([test])
            .collect::<Vec<_>>()
    };
    let test = "import unittest\n\nimport page\nfrom tests.helper import shown\n\n\nclass Page(unittest.TestCase):\n    def test_page(self):\n        self.assertEqual(shown(page.name()), open(\"golden/page.txt\").read())\n";
    let failed = &["verification_failed"][..];
    let helper = "sed -i 's/text + .*/\"shop\\\\n\"/' tests/helper.py";
    let rows = [
        // Work that changes what the tests read, and says so.
        ("data by name", ("[page.py, golden/page.txt]", "echo store > golden/page.txt", &[][..])),
        ("a helper by name", ("[page.py, tests/helper.py]", helper, &[])),
        // The same by a glob, and a file that is a test.
        ("data by a glob", ("[page.py, 'golden/*']", "echo store > golden/page.txt", failed)),
        ("a helper by a glob", ("[page.py, 'tests/*']", helper, failed)),
        ("a test by name", ("[page.py, test_page.py]", "sed -i 's/self.assert.*/pass/' test_page.py", failed)),
    ];
    each_row(rows, |(allowed, does, reasons)| {
        let files = with(test);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let script = format!("{OTHER_NAME} && {does}");
        let fake = serde_json::json!({"steps": [{"run": {"argv": ["sh", "-ec", script]}}]}).to_string();
        let world = super::baseline::made(&files, &[], &[("allowed_paths", allowed), ("fake", &fake)]);
        let (report, _) = world.run("./made", i32::from(!reasons.is_empty()));
        assert_eq!(report["blocker_reasons"], serde_json::json!(reasons), "{allowed}: {:#}", report["blockers"]);
        assert!(report["coverage"].to_string().contains("exam_change_not_controlled"), "{allowed}");
        let _ = world.cto(["verify", "@"]).expect(0);
        let _ = world.cto(["reverify", "@"]);
    });
}

/// Tests in Rust and in Node, in files that the contract names among the allowed paths.
#[test]
fn a_test_by_name_is_not_changed_to_fit() {
    const CRATE: Project = Project {
        files: &[
            ("Cargo.toml", "[package]\nname = \"page\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"),
            ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"page\"\nversion = \"0.1.0\"\n"),
            (".gitignore", "/target\n"),
            ("src/lib.rs", "pub fn name() -> &'static str {\n    \"shop\"\n}\n"),
            ("tests/page.rs", "#[test]\nfn page() {\n    assert_eq!(page::name(), \"shop\");\n}\n"),
        ],
        allowed: "[src/lib.rs, tests/page.rs]",
        commands: "[[cargo, test, --offline]]",
    };
    const NODE: Project = Project { allowed: "[page.js, page.test.js]", ..NODE_PAGE };
    let empties =
        "sed -i 's/\"shop\"/\"store\"/' page.js && echo \"require('node:test')('page', () => 1);\" > page.test.js";
    let rows = [
        ("cargo", (&CRATE, "sed -i s/shop/store/ src/lib.rs tests/page.rs", "cargo test --offline")),
        ("node", (&NODE, empties, "node --test")),
    ];
    each_row(rows, |(project, does, looks)| {
        naive_is_content(project, does, looks);
        let failed = &["verification_failed"][..];
        let _ = check(&Row { project, ..row(does, failed, &["exam_change_not_controlled"]) });
    });
}
