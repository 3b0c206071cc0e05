//! `cto environment suggest --try`: environments are tried by the repository's own tests, and each try is reported.

use std::fs;

use serde_json::json;

use super::{know_operator, text};
use crate::world;

#[test]
fn an_environment_is_kept_if_the_tests_run_in_it() {
    let world = world();
    know_operator(&world);
    let files = [
        ("add.py", "def add(a, b):\n    return a + b\n"),
        (
            "test_add.py",
            "import unittest\nfrom add import add\n\n\nclass Add(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(1, 1), 2)\n",
        ),
    ];
    let repository = world.repository("python", &files);
    // Work that is not committed is in nobody's way.
    fs::write(repository.join("half.py"), "x = \n").unwrap();
    let words = ["environment", "suggest", text(&repository), "--try"];
    let document = world.cto(words.iter().copied().chain(["--json"])).expect(0).json();
    let tried = json!([{
        "because": null, "environment": "what every sandbox shows", "not_loaded": [], "passed": 1, "tests": 1, "why": null,
        "works": true,
    }]);
    assert_eq!(document["tried"], tried);
    let told = world.cto(words).expect(0);
    assert!(told.text().contains("# Tried: what every sandbox shows: works, 1 tests ran"), "{}", told.text());
    // The home has nothing of it.
    assert!(!world.bundles().exists() || fs::read_dir(world.bundles()).unwrap().next().is_none());
}

#[test]
fn the_next_one_is_tried_where_one_does_not_work() {
    let world = world();
    know_operator(&world);
    // A build that cannot work, and a check that needs none.
    let files =
        [("CMakeLists.txt", "message(FATAL_ERROR \"no\")\n"), ("Makefile", "test:\n\ttrue\n"), ("src/a.c", "int a;\n")];
    let repository = world.repository("cmake", &files);
    let words = ["environment", "suggest", text(&repository), "--try", "--json"];
    let document = world.cto(words).expect(0).json();
    let ends: Vec<_> = document["tried"].as_array().unwrap().iter().map(|row| row["works"].clone()).collect();
    assert_eq!(ends, [json!(false), json!(true)], "{document}");
    assert!(document["tried"][0]["why"].as_str().unwrap().contains("cmake"), "{document}");
    assert_eq!(document["draft"]["environment"]["build"], json!(null), "{document}");
}

#[test]
fn an_environment_that_nothing_mends_is_told() {
    let world = world();
    know_operator(&world);
    let repository = world.repository("broken", &[("Makefile", "test:\n\tno-such-program-anywhere\n")]);
    let words = ["environment", "suggest", text(&repository), "--try"];
    let told = world.cto(words).expect(3);
    assert!(told.stderr.contains("the tests run in none of"), "{}", told.stderr);

    // Without tests there is nothing to try it by.
    let bare = world.repository("bare", &[("Cargo.lock", "")]);
    let _ = world.cto(["environment", "suggest", text(&bare), "--try"]).expect(3);
}

/// A test that needs nothing, and one whose package nobody brings.
const HALF_LOADED: &[(&str, &str)] = &[
    (
        "test_a.py",
        "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(True)\n",
    ),
    (
        "test_b.py",
        "import unittest\nimport brought\n\n\nclass B(unittest.TestCase):\n    def test_b(self):\n        self.assertEqual(brought.ANSWER, 42)\n",
    ),
];

#[test]
fn an_environment_in_which_tests_cannot_be_loaded_is_not_kept() {
    let world = world();
    know_operator(&world);
    let lacking = world.repository("lacking", HALF_LOADED);
    let words = ["environment", "suggest", text(&lacking), "--try"];
    let told = world.cto(words).expect(3);
    assert!(told.stderr.contains("No module named 'brought'"), "{}", told.stderr);
    let document = world.cto(words.iter().copied().chain(["--json"])).expect(3).json();
    for row in document["tried"].as_array().unwrap() {
        assert_eq!((&row["works"], &row["tests"]), (&json!(false), &json!(1)), "{document}");
        assert!(row["not_loaded"].to_string().contains("brought"), "{document}");
    }

    // Control: everything loads, and a test that is red is the repository's own affair.
    let red = HALF_LOADED[0].1.replace("assertTrue(True)", "assertTrue(False)");
    let files = [("test_a.py", red.as_str()), ("test_c.py", HALF_LOADED[0].1)];
    let repository = world.repository("red", &files);
    let document = world.cto(["environment", "suggest", text(&repository), "--try", "--json"]).expect(0).json();
    let row = &document["tried"][0];
    assert_eq!((&row["works"], &row["passed"], &row["tests"]), (&json!(true), &json!(1), &json!(2)), "{document}");
}
