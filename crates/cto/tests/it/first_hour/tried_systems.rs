//! `cto environment suggest --try` on repositories of different build systems, with caches as their users have them and with none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Ran, World, git};

use super::systems::repositories::SYSTEMS;
use super::systems::{fill_caches, find_missing, search_path, show};
use super::{know_operator, text};
use crate::environment::project::File;
use crate::world;

/// A repository whose manager is named, and whose versions are not.
struct Unlocked {
    name: &'static str,
    files: &'static [File],
    /// Word of the setup command that must be drafted.
    manager: &'static str,
}

const KIND: File = (
    "index.js",
    "const chalk = require('chalk');\nconst plain = new chalk.Instance({ level: 0 });\nexports.kind = (t) => plain.bold(/^[0-9]+$/.test(t) ? 'number' : 'word');\n",
);
const KIND_TEST: File = (
    "test/kind.test.js",
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst { kind } = require('..');\ntest('a number', () => assert.equal(kind('12'), 'number'));\ntest('a word', () => assert.equal(kind('twelve'), 'word'));\n",
);
const IGNORED: File = (".gitignore", "node_modules/\n");

const UNLOCKED: &[Unlocked] = &[
    Unlocked {
        name: "npm without a lock",
        files: &[
            (
                "package.json",
                "{\"private\": true, \"scripts\": {\"test\": \"node --test\"}, \"dependencies\": {\"chalk\": \"^4.1.0\"}}\n",
            ),
            IGNORED,
            KIND,
            KIND_TEST,
        ],
        manager: "npm",
    },
    Unlocked {
        name: "pnpm by its workspace file",
        files: &[
            (
                "package.json",
                "{\"private\": true, \"scripts\": {\"test\": \"node --test\"}, \"dependencies\": {\"chalk\": \"^4.1.0\"}}\n",
            ),
            ("pnpm-workspace.yaml", "packages: ['.']\n"),
            IGNORED,
            KIND,
            KIND_TEST,
        ],
        manager: "pnpm",
    },
    Unlocked {
        name: "yarn by packageManager",
        files: &[
            (
                "package.json",
                "{\"private\": true, \"packageManager\": \"yarn@1.22.22\", \"scripts\": {\"test\": \"node --test\"}, \"dependencies\": {\"chalk\": \"^4.1.0\"}}\n",
            ),
            IGNORED,
            KIND,
            KIND_TEST,
        ],
        manager: "yarn",
    },
];

/// A person's machine: with the caches of package managers, or with the managers alone.
struct Desk {
    world: World,
    path: OsString,
}

impl Desk {
    fn call(&self, words: &[&str]) -> Ran {
        let output = self.world.command(words).env("PATH", &self.path).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ran { code: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }
    }

    /// The repository with its task done, so that its tests are green.
    fn lay(&self, name: &str, files: &[File], fix: &str) -> PathBuf {
        let repository = self.world.repository(name, files);
        let done = testkit::program("sh", &repository).args(["-c", fix]).status().unwrap();
        assert!(done.success(), "{fix}");
        git(&repository, ["commit", "--quiet", "--allow-empty", "--all", "-m", "done"]);
        repository
    }

    /// Holds the drafted exam in the drafted environment, with an engine that changes nothing.
    fn hold_drafted(&self, repository: &Path) -> Value {
        let drafted = self.call(&["new", "--from", "Change nothing.", "--repo", text(repository), "--json"]);
        let contract = drafted.expect(0).json()["contract"].as_str().unwrap().to_owned();
        let case = format!("{contract}diff_required: false\nfake: {{steps: []}}\n");
        self.world.write("held/case.yaml", case);
        self.world.write("held/files/a.txt", "one\n");
        let held = self.world.here().join("held");
        self.call(&["run", text(&held), "--repo", text(repository), "--json"]).json()
    }
}

/// One desk with filled caches, and one with empty ones.
fn desks(test: &str, wants_managers: bool) -> Option<(Desk, Desk)> {
    let (filled, empty) = (world(), world());
    know_operator(&filled);
    know_operator(&empty);
    fill_caches(test, &filled)?;
    show(&empty, &testkit::user_home(test)?.join("bin/uv"), ".local/bin/uv");
    let path = search_path(test, wants_managers)?;
    Some((Desk { world: filled, path: path.clone() }, Desk { world: empty, path }))
}

/// The first draft works with caches. Without them the same repository's tests do not run, unless it needs no package.
fn check_draft(desks: &(Desk, Desk), name: &str, files: &[File], fix: &str, needs_packages: bool) -> Value {
    let (filled, empty) = desks;
    let repository = filled.lay(name, files, fix);
    let document = filled.call(&["environment", "suggest", text(&repository), "--try", "--json"]).expect(0).json();
    let tried = document["tried"].as_array().unwrap();
    assert_eq!((tried.len(), &tried[0]["works"]), (1, &json!(true)), "{document:#}");
    if needs_packages {
        let held = empty.hold_drafted(&empty.lay(name, files, fix));
        assert_ne!(held["status"], "pass", "{:#}", held["blockers"]);
    }
    document["draft"]["environment"].clone()
}

fn check_systems(test: &str, names: &[(&str, bool)]) {
    let wants_managers = names.iter().any(|(name, _)| ["pnpm", "yarn"].contains(name));
    let Some(desks) = desks(test, wants_managers) else { return };
    testkit::each_row(names.iter().map(|row| (row.0, row)), |(name, needs_packages)| {
        let system = SYSTEMS.iter().find(|system| system.name == *name).unwrap();
        match find_missing(system) {
            Some(missing) => testkit::skip(test, &format!("no {missing} for {name}")),
            None => drop(check_draft(&desks, name, system.files, system.fix, *needs_packages)),
        }
    });
}

#[test]
fn node_is_tried() {
    check_systems(
        "first_hour::tried_systems::node_is_tried",
        &[("npm with a lock", true), ("pnpm", true), ("yarn", true)],
    );
}

#[test]
fn python_is_tried() {
    check_systems(
        "first_hour::tried_systems::python_is_tried",
        &[("pip with a lock", true), ("pip without a lock", true), ("uv", true), ("poetry", true)],
    );
}

#[test]
fn what_compiles_is_tried() {
    let rows = [("cargo", true), ("go with vendored modules", false), ("maven offline", true)];
    check_systems("first_hour::tried_systems::what_compiles_is_tried", &rows);
}

#[test]
fn without_a_lock_the_named_manager_installs_from_its_cache() {
    let test = "first_hour::tried_systems::without_a_lock_the_named_manager_installs_from_its_cache";
    let Some(desks) = desks(test, true) else { return };
    testkit::each_row(UNLOCKED.iter().map(|row| (row.name, row)), |Unlocked { name, files, manager }| {
        let environment = check_draft(&desks, name, files, "true", true);
        let argv = environment["setup"][0]["argv"].as_array().unwrap();
        assert!(argv.contains(&json!(manager)) && argv.contains(&json!("install")), "{environment:#}");
    });
}

/// One cache alone is enough: that of pip, that of Poetry, or that of uv.
#[test]
fn each_cache_of_python_is_enough() {
    let test = "first_hour::tried_systems::each_cache_of_python_is_enough";
    let (Some(home), Some(path)) = (testkit::user_home(test), search_path(test, false)) else { return };
    let system = SYSTEMS.iter().find(|system| system.name == "pip with a lock").unwrap();
    let rows: [&[&str]; 3] = [&[".cache/pip"], &[".cache/pypoetry"], &[".cache/uv", ".local/bin/uv"]];
    testkit::each_row(rows.iter().map(|row| (row[0], row)), |caches| {
        let desk = Desk { world: world(), path: path.clone() };
        know_operator(&desk.world);
        for below in *caches {
            let place = if below.ends_with("bin/uv") { home.join("bin/uv") } else { home.join(below) };
            show(&desk.world, &place, below);
        }
        let held = desk.hold_drafted(&desk.lay("counts", system.files, system.fix));
        assert_eq!(held["status"], "pass", "{:#}", held["blockers"]);
    });
}
