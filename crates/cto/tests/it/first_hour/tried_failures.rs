//! `cto environment suggest --try`: the words of a failure choose what is tried next.

use serde_json::{Value, json};
use testkit::World;

use super::systems::{search_path, show};
use super::{know_operator, text};
use crate::environment::project::File;
use crate::world;

const COUNTS: &str = "def count(n, word):\n    return f'{n} {word}s'\n";
const COUNTS_TEST: File = (
    "tests/test_counts.py",
    "import unittest\n\nfrom counts import count\n\n\nclass Counts(unittest.TestCase):\n    def test_many(self):\n        self.assertEqual(count(3, 'hat'), '3 hats')\n",
);

/// Tried drafts: the label, the line that chose it, and the end.
fn tried(world: &World, path: &std::ffi::OsStr, name: &str, files: &[File]) -> Vec<(String, Value, bool)> {
    let repository = world.repository(name, files);
    let words = ["environment", "suggest", text(&repository), "--try", "--json"];
    let output = world.command(words).env("PATH", path).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = document["tried"].as_array().unwrap().iter();
    rows.map(|row| {
        let label = row["environment"].as_str().unwrap().to_owned();
        (label, row["because"].clone(), row["works"] == json!(true))
    })
    .collect()
}

#[test]
fn modules_of_the_project_are_shown_where_they_are_not_found() {
    let test = "first_hour::tried_failures::modules_of_the_project_are_shown_where_they_are_not_found";
    let Some(path) = search_path(test, false) else { return };
    let world = world();
    know_operator(&world);
    let pyproject = "[project]\nname = \"counts\"\nversion = \"1.0.0\"\n";
    let below = [("pyproject.toml", pyproject), ("src/counts.py", COUNTS), COUNTS_TEST];
    let rows = tried(&world, &path, "below", &below);
    let last = rows.last().unwrap();
    assert_eq!((last.0.as_str(), last.2), ("with src/ on Python's path", true), "{rows:?}");
    assert!(last.1.as_str().unwrap().contains("No module named 'counts'"), "{rows:?}");
    assert_eq!(rows.len(), 2, "{rows:?}");

    // Control: beside the tests they are found, and nothing else is tried.
    let beside = [("pyproject.toml", pyproject), ("counts.py", COUNTS), COUNTS_TEST];
    let rows = tried(&world, &path, "beside", &beside);
    assert_eq!(rows, [("from what this machine has".to_owned(), json!(null), true)]);
}

#[test]
fn a_project_is_installed_where_its_package_is_asked_for() {
    let test = "first_hour::tried_failures::a_project_is_installed_where_its_package_is_asked_for";
    let (Some(home), Some(path)) = (testkit::user_home(test), search_path(test, false)) else { return };
    let world = world();
    know_operator(&world);
    show(&world, &home.join(".cache/pip"), ".cache/pip");
    let pyproject = "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\n[project]\nname = \"counts\"\nversion = \"1.0.0\"\n\n[tool.setuptools]\npackage-dir = {\"\" = \"src\"}\npy-modules = [\"counts\"]\n";
    let versioned = "import unittest\nfrom importlib.metadata import version\n\n\nclass Version(unittest.TestCase):\n    def test_version(self):\n        self.assertEqual(version('counts'), '1.0.0')\n";
    let files = |requirements: &'static str| {
        [
            ("pyproject.toml", pyproject),
            ("requirements.txt", requirements),
            (".gitignore", ".venv/\n*.egg-info/\n"),
            ("src/counts.py", COUNTS),
            ("tests/test_version.py", versioned),
        ]
    };
    let rows = tried(&world, &path, "with-backend", &files("setuptools\nwheel\n"));
    let last = rows.last().unwrap();
    assert_eq!((last.0.as_str(), last.2, rows.len()), ("with the project itself installed", true, 2), "{rows:?}");
    assert!(last.1.as_str().unwrap().contains("PackageNotFoundError"), "{rows:?}");

    // The requirements leave the build tools out, and the manifest names them.
    let rows = tried(&world, &path, "without-backend", &files("wheel\n"));
    let last = rows.last().unwrap();
    let label = "with the build tools that the project names";
    assert_eq!((last.0.as_str(), last.2, rows.len()), (label, true, 3), "{rows:?}");
    assert!(last.1.as_str().unwrap().contains("BackendUnavailable"), "{rows:?}");
}

#[test]
fn a_lock_file_that_is_stale_is_let_go() {
    let test = "first_hour::tried_failures::a_lock_file_that_is_stale_is_let_go";
    let (Some(home), Some(path)) = (testkit::user_home(test), search_path(test, true)) else { return };
    let world = world();
    know_operator(&world);
    for below in [".cache/pnpm", ".local/share/pnpm/store"] {
        show(&world, &home.join(below), below);
    }
    let stale = "lockfileVersion: '9.0'\n\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\n\nimporters:\n\n  .: {}\n";
    let manifest = "{\"name\": \"kinds\", \"private\": true, \"scripts\": {\"test\": \"node --test\"}, \"dependencies\": {\"is-number\": \"7.0.0\"}}\n";
    let tests = "const test = require('node:test');\ntest('a number', () => require('node:assert')(require('is-number')(1)));\n";
    let files = [
        ("package.json", manifest),
        ("pnpm-lock.yaml", stale),
        (".gitignore", "node_modules/\n"),
        ("test/a.test.js", tests),
    ];
    let rows = tried(&world, &path, "stale", &files);
    let last = rows.last().unwrap();
    assert_eq!((last.0.as_str(), last.2, rows.len()), ("without holding to the lock file", true, 2), "{rows:?}");
    assert!(last.1.as_str().unwrap().contains("ERR_PNPM_OUTDATED_LOCKFILE"), "{rows:?}");
}

#[test]
fn what_one_cache_lacks_is_looked_for_in_another() {
    let test = "first_hour::tried_failures::what_one_cache_lacks_is_looked_for_in_another";
    let (Some(home), Some(path)) = (testkit::user_home(test), search_path(test, false)) else { return };
    let world = world();
    know_operator(&world);
    std::fs::create_dir_all(world.user().join(".cache/pip/http")).unwrap();
    show(&world, &home.join(".cache/uv"), ".cache/uv");
    show(&world, &home.join("bin/uv"), ".local/bin/uv");
    let tests = "import unittest\nimport inflection\n\n\nclass Words(unittest.TestCase):\n    def test_many(self):\n        self.assertEqual(inflection.pluralize('box'), 'boxes')\n";
    let files = [("requirements.txt", "inflection==0.5.1\n"), (".gitignore", ".venv/\n"), ("test_words.py", tests)];
    let rows = tried(&world, &path, "words", &files);
    let last = rows.last().unwrap();
    assert_eq!((last.0.as_str(), last.2, rows.len()), ("from another cache of this machine", true, 2), "{rows:?}");
    assert!(last.1.as_str().unwrap().contains("inflection==0.5.1"), "{rows:?}");
}

#[test]
fn scripts_that_want_the_network_are_told_that_there_is_none() {
    let test = "first_hour::tried_failures::scripts_that_want_the_network_are_told_that_there_is_none";
    let Some(path) = search_path(test, false) else { return };
    let world = world();
    know_operator(&world);
    let ask =
        "import os, socket\n\nif 'UV_OFFLINE' not in os.environ:\n    socket.getaddrinfo('registry.invalid', 443)\n";
    let rows = tried(&world, &path, "asks", &[("Makefile", "test:\n\tpython3 ask.py\n"), ("ask.py", ask)]);
    let last = rows.last().unwrap();
    let label = "with package managers told that there is no network";
    assert_eq!((last.0.as_str(), last.2, rows.len()), (label, true, 2), "{rows:?}");
    assert!(last.1.as_str().unwrap().contains("getaddrinfo"), "{rows:?}");
}
