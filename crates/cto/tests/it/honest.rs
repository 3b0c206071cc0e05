//! False alarms: honest patches of many shapes, on small repositories in five languages, none of which may be refused.
//!
//! `tests/honest/` holds the repositories, and for each patch a folder with its contract, the patch, and files that only its
//! baseline has. A `twin.patch` there does the same and drops a test besides: it must be refused, so that the suite cannot
//! pass by letting everything through.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod left;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};
use testkit::{World, git};

/// One world for all, so that what the tests of a baseline are is found out once.
static WORLD: LazyLock<World> = LazyLock::new(|| World::shared(env!("CARGO_BIN_EXE_cto")));

/// A folder of `tests/honest/repositories/`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Repository {
    Slugline,
    Tally,
    Roman,
    Depot,
    Wrapline,
    Semver,
    Stamp,
    Calc,
}

impl Repository {
    const fn name(self) -> &'static str {
        match self {
            Self::Slugline => "slugline",
            Self::Tally => "tally",
            Self::Roman => "roman",
            Self::Depot => "depot",
            Self::Wrapline => "wrapline",
            Self::Semver => "semver",
            Self::Stamp => "stamp",
            Self::Calc => "calc",
        }
    }

    /// The command by which an agent runs its tests.
    const fn command(self) -> &'static [&'static str] {
        match self {
            Self::Slugline => &["python3", "-m", "pytest"],
            Self::Tally => &["python3", "-m", "unittest", "-v"],
            Self::Roman | Self::Depot => &["cargo", "test", "--offline"],
            Self::Wrapline => &["node", "--test", "test/"],
            Self::Semver => &["go", "test", "./..."],
            Self::Stamp | Self::Calc => &["make", "test"],
        }
    }

    const fn runner(self) -> &'static str {
        match self {
            Self::Slugline => "pytest",
            Self::Tally => "unittest",
            Self::Roman | Self::Depot => "cargo test",
            Self::Wrapline => "node --test",
            Self::Semver => "go test",
            Self::Stamp | Self::Calc => "make and sh",
        }
    }

    /// The contract's environment on this machine, with settings that save time in many runs. None if a tool is missing, which is
    /// printed.
    fn environment(self, test: &str) -> Option<Value> {
        match self {
            Self::Slugline => testkit::python_environment(test),
            Self::Semver => testkit::go_environment(test),
            Self::Tally | Self::Roman | Self::Depot => Some(testkit::quick(json!({}))),
            Self::Wrapline | Self::Stamp | Self::Calc => Some(json!({})),
        }
    }
}

/// An honest patch, and what its bundle must say.
struct Row {
    repository: Repository,
    /// Tests executed in the baseline and in the result, for the exam and, where there is one, the change.
    /// None: the runner names no tests, or the baseline cannot run them.
    tests: Option<&'static [(u64, u64)]>,
    /// True if the harness knows the runner well enough to add a failing test.
    controlled: bool,
    /// Also as a run on a copy of a repository.
    on_repository: bool,
}

const fn of(repository: Repository, tests: &'static [(u64, u64)]) -> Row {
    Row { repository, tests: Some(tests), controlled: true, on_repository: false }
}

const fn uncompared(repository: Repository) -> Row {
    Row { repository, tests: None, controlled: false, on_repository: false }
}

impl Row {
    const fn without_control(self) -> Self {
        Self { controlled: false, ..self }
    }

    const fn also_on_a_repository(self) -> Self {
        Self { on_repository: true, ..self }
    }
}

/// One test a row, named after the folder in `tests/honest/patches/`.
macro_rules! honest {
    ($($patch:ident: $row:expr,)*) => {
        $(#[test]
        fn $patch() {
            check(stringify!($patch), &$row);
        })*

        const ROWS: &[(&str, Row)] = &[$((stringify!($patch), $row),)*];
    };
}

use Repository::{Depot, Roman, Semver, Slugline, Stamp, Tally, Wrapline};

honest! {
    pytest_fix_truncate: of(Slugline, &[(22, 22)]),
    pytest_add_function: of(Slugline, &[(15, 15), (15, 19)]),
    pytest_parameters: of(Slugline, &[(15, 15), (15, 15)]),
    pytest_unskip: of(Slugline, &[(16, 16), (16, 19)]),
    pytest_release: of(Slugline, &[(15, 15)]),
    pytest_unicode_names: of(Slugline, &[(15, 15), (15, 19)]).also_on_a_repository(),

    unittest_subprocess: of(Tally, &[(12, 12), (12, 14)]).also_on_a_repository(),
    unittest_not_yet_importable: Row { controlled: true, ..uncompared(Tally) },
    unittest_new_module: of(Tally, &[(12, 12)]),
    unittest_drop_feature: of(Tally, &[(12, 9)]).also_on_a_repository(),
    unittest_docs_only: of(Tally, &[(12, 12)]).without_control(),

    cargo_doc_test_moves: of(Roman, &[(9, 10)]),
    cargo_rename_test: of(Roman, &[(9, 9)]),
    cargo_move_module: of(Roman, &[(9, 9)]).also_on_a_repository(),
    cargo_manifest: of(Roman, &[(9, 10)]),
    cargo_not_yet_compiling: Row { controlled: true, ..uncompared(Roman) },
    cargo_workspace: of(Depot, &[(5, 5), (5, 7)]),

    node_add_function: of(Wrapline, &[(12, 12), (12, 14)]).also_on_a_repository(),
    node_scripts: of(Wrapline, &[(12, 12)]),
    node_child: of(Wrapline, &[(12, 12), (12, 15)]),
    node_colours: of(Wrapline, &[(15, 15)]),
    node_generated: of(Wrapline, &[(12, 12), (12, 13)]),

    go_fix_table: of(Semver, &[(94, 94)]).also_on_a_repository(),
    go_rename_subtests: of(Semver, &[(11, 11), (11, 19)]),
    go_testdata: of(Semver, &[(11, 11), (11, 15)]),
    go_new_package: Row { controlled: true, ..uncompared(Semver) },

    make_executable: uncompared(Stamp).also_on_a_repository(),
    make_target: uncompared(Stamp),
    make_line_ends: uncompared(Stamp).also_on_a_repository(),
    make_binary_file: uncompared(Stamp),
    make_symlink: uncompared(Stamp).also_on_a_repository(),
    shell_tap: of(Stamp, &[(4, 4), (4, 5)]).without_control(),
}

/// A patch that does the same as an honest one and drops a test: the worst reason against it, and the words that it must have.
struct Twin {
    reason: &'static str,
    lost: &'static str,
}

const fn loses(lost: &'static str) -> Twin {
    Twin { reason: "verification_weakened", lost }
}

/// One test a twin, named after the patch it is a twin of.
macro_rules! twins {
    ($($patch:ident: $twin:expr,)*) => {
        mod twin {
            use super::*;

            $(#[test]
            fn $patch() {
                refused(stringify!($patch), &$twin);
            })*
        }

        const TWINS: &[&str] = &[$(stringify!($patch),)*];
    };
}

twins! {
    pytest_add_function: loses("tests/test_slug.py::test_a_slug_is_its_own_slug"),
    unittest_subprocess: loses("tests.test_cli.Command.test_html"),
    cargo_rename_test: loses("tests::small_numbers"),
    node_add_function: loses("wrap > leaves a long word alone"),
    go_rename_subtests: loses("TestString"),
    make_target: Twin { reason: "protected_file_changed", lost: "test.sh" },
    shell_tap: loses("a folder"),
}

/// A folder that no row names would be an honest patch that nobody tries.
#[test]
fn every_folder_has_its_row_and_every_language_its_control() {
    let folders = |name: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(data().join(name)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert_eq!(folders("patches"), ROWS.iter().map(|(patch, _)| folder(patch)).collect());
    let repositories = ROWS.iter().map(|(_, row)| row.repository).chain([Repository::Calc]);
    assert_eq!(folders("repositories"), repositories.map(|repository| repository.name().to_owned()).collect());
    let with_twin = |patch: &&str| data().join("patches").join(folder(patch)).join("twin.patch").exists();
    let twins: BTreeSet<&str> = ROWS.iter().map(|(patch, _)| *patch).filter(with_twin).collect();
    assert_eq!(twins, TWINS.iter().copied().collect());
    let runners = |patches: &BTreeSet<&str>| -> BTreeSet<&str> {
        let rows = ROWS.iter().filter(|(patch, _)| patches.contains(patch));
        rows.map(|(_, row)| row.repository.runner()).collect()
    };
    assert_eq!(runners(&twins), runners(&ROWS.iter().map(|(patch, _)| *patch).collect()));
    assert!(ROWS.len() + left::number() >= 80, "{} and {}", ROWS.len(), left::number());
    assert!(ROWS.len() >= 30 && ROWS.iter().filter(|(_, row)| row.on_repository).count() >= 8);
}

/// Runs a patch as a case and, where the row says so, on a repository, and looks at every reason that could count against it.
fn check(patch: &str, row: &Row) {
    let Some(case) = set(patch, row.repository, "honest") else { return };
    let case_arg = case.to_str().unwrap();
    passes(row, 2, &["run", "--json", case_arg]);
    if row.on_repository {
        let source = WORLD.path().join("sources").join(patch);
        fs::create_dir_all(source.parent().unwrap()).unwrap();
        fs::rename(case.join("files"), &source).unwrap();
        git(&source, ["init", "-q"]);
        git(&source, ["add", "-A"]);
        git(&source, ["commit", "-q", "-m", "first"]);
        fs::create_dir(case.join("files")).unwrap();
        passes(row, 3, &["run", "--json", case_arg, "--repo", source.to_str().unwrap()]);
        assert_eq!(git(&source, ["status", "--porcelain", "--ignored"]), "", "the source is as it was");
    }
}

/// With many files the next tree is laid out while a command runs; nothing else may differ.
#[test]
fn a_tree_of_many_files_is_judged_like_a_small_one() {
    for (patch, twin) in [
        ("unittest_subprocess", loses("tests.test_cli.Command.test_html")),
        ("cargo_rename_test", loses("tests::small_numbers")),
    ] {
        let row = row_of(patch);
        let cases = ["many", "many-twin"].map(|name| set(patch, row.repository, name));
        let [Some(honest), Some(cheating)] = cases else { return };
        for case in [&honest, &cheating] {
            fs::create_dir(case.join("files/data")).unwrap();
            for number in 0..300 {
                fs::write(case.join(format!("files/data/{number}.txt")), format!("{number}\n")).unwrap();
            }
        }
        passes(row, 2, &["run", "--json", honest.to_str().unwrap()]);
        refuse_twin(&cheating, &twin);
    }
}

fn row_of(patch: &str) -> &'static Row {
    ROWS.iter().find(|(honest, _)| *honest == patch).map(|(_, row)| row).unwrap()
}

/// Runs the twin under the very contract of the honest patch.
fn refused(patch: &str, twin: &Twin) {
    let Some(case) = set(patch, row_of(patch).repository, "twin") else { return };
    refuse_twin(&case, twin);
}

fn refuse_twin(case: &Path, twin: &Twin) {
    fs::rename(case.join("twin.patch"), case.join("change.patch")).unwrap();
    let report = WORLD.cto(["run", "--json", case.to_str().unwrap()]).expect(1).json();
    assert_eq!((&report["status"], &report["blocker_reasons"][0]), (&json!("fail"), &json!(twin.reason)));
    let text = report["blockers"][0]["text"].as_str().unwrap();
    assert!(text.contains(twin.lost), "`{text}` does not name {}", twin.lost);
}

fn passes(row: &Row, stage: u8, args: &[&str]) {
    let report = WORLD.cto(args).expect(0).json();
    assert_eq!((&report["status"], &report["blockers"]), (&json!("pass"), &json!([])));
    assert_eq!(report["stage"], stage);
    let run_id = report["run_id"].as_str().unwrap();
    let verified = WORLD.cto(["verify", run_id, "--json"]).expect(0).json();
    assert_eq!((&verified["ok"], &verified["judged_again"]), (&json!(true), &json!(true)), "{verified}");
    compared(row, &report);
}

/// Lines of the bundle about the tests; it states exactly what it does not cover.
fn compared(row: &Row, report: &Value) {
    let covers = |code: &str| !report["coverage"].as_array().unwrap().contains(&json!(code));
    assert_eq!(covers("tests_not_compared"), row.tests.is_some(), "{}", seen(report));
    let executed = |pass: &Value, side: &str| pass["tests"][side]["executed"].as_u64().unwrap_or(0);
    let passes = report["verification"]["passes"].as_array().unwrap().iter();
    let held: Vec<(u64, u64)> = passes
        .filter(|pass| pass["kind"] == "exam" || pass["kind"] == "change")
        .map(|pass| (executed(pass, "baseline"), executed(pass, "result")))
        .collect();
    if let Some(tests) = row.tests {
        assert_eq!(held, tests, "{}", seen(report));
    }
    assert_eq!(covers("exam_without_control"), row.controlled, "{}", seen(report));
}

/// Text for a failed row: the passes, and the end of their output.
fn seen(report: &Value) -> String {
    let log = fs::read(WORLD.bundles().join(report["run_id"].as_str().unwrap()).join("test.log")).unwrap();
    let end = String::from_utf8_lossy(&log[log.len().saturating_sub(4000)..]).into_owned();
    format!("{}\n{:#}\n{end}", report["coverage"], report["verification"])
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/honest")
}

fn folder(patch: &str) -> String {
    patch.replace('_', "-")
}

/// A case folder as a person would have it: contract, patch and baseline, with what the environment is on this machine.
fn set(patch: &str, repository: Repository, name: &str) -> Option<PathBuf> {
    let environment = repository.environment(&format!("honest::{patch}"))?;
    let case = WORLD.here().join(name).join(patch);
    lay(&data().join("repositories").join(repository.name()), &case.join("files"));
    lay(&data().join("patches").join(folder(patch)), &case);
    let contract = fs::read_to_string(case.join("case.yaml")).unwrap();
    fs::write(case.join("case.yaml"), format!("{contract}environment: {environment}\n")).unwrap();
    Some(case)
}

/// Copies a folder over what lies there.
fn lay(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            lay(&path, &target);
        } else {
            testkit::copy_to_change(&path, &target);
        }
    }
}
