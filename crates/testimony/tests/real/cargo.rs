use testimony::results::Runner;

use crate::project::{Change, Files, Project, Setting, Trial};

const MANIFEST: &str =
    "[package]\nname = \"one-two\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\nmembers = [\"member\"]\n";
const MEMBER: &str = "[package]\nname = \"member\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

const LIBRARY: &str = "\
#![deny(warnings)]
//! ```
//! one_two::f();
//! ```
/// ```
/// one_two::f();
/// ```
/// ```no_run
/// one_two::f();
/// ```
pub fn f() {}

#[cfg(test)]
mod tests {
    #[test]
    fn one() {
        println!(\"words\");
    }

    #[test]
    #[should_panic]
    fn panics() {
        panic!()
    }

    #[test]
    #[ignore = \"it ... ok\"]
    fn later() {}
}";

/// A test of it.
const ONE: &str = "    #[test]\n    fn one() {\n        println!(\"words\");\n    }\n";

const INTEGRATION: &str = "\
#[test]
fn one() {}
mod deep {
    #[test]
    fn two() {}
}
// the end";

const FILES: Files<'_> = &[
    ("Cargo.toml", MANIFEST),
    ("member/Cargo.toml", MEMBER),
    ("member/src/lib.rs", "#[test]\nfn one() {}"),
    ("src/lib.rs", LIBRARY),
    ("src/main.rs", "fn main() {}\n"),
    ("tests/it.rs", INTEGRATION),
];

fn setting() -> Setting {
    let cargo = testkit::cargo();
    let mut setting = Setting::with(&cargo);
    setting.variables = vec![("CARGO_NET_OFFLINE", "true".to_owned())];
    setting
}

const fn change<'a>(path: &'a str, from: &'a str, to: &'a str, exact: &'a str, by_function: &'a str) -> Change<'a> {
    Change { path, from, to, exact, by_function }
}

#[test]
fn names_changes_and_control() {
    let one = "one_two (src/lib.rs) > tests::one";
    let [missing, skipped] = ["missing", "skipped"].map(|word| format!("{word} {one}"));
    let cut = "missing it (tests/it.rs) > deep::two it (tests/it.rs) > one";
    let changes = [
        change("src/lib.rs", ONE, "", &missing, &missing),
        change("src/lib.rs", "    #[test]\n    fn one", "    #[test]\n    #[ignore]\n    fn one", &skipped, &skipped),
        change("src/lib.rs", "/// ```no_run", "/// ```ignore", "skipped one_two (doc) > src/lib.rs - f ⟨2⟩", ""),
        // Documentation tests are moved by a patch above them.
        change("src/lib.rs", "//! ```\n//! one", "//! Words.\n//!\n//! ```\n//! one", "", ""),
        change("tests/it.rs", "fn two() {}", "fn two() { std::process::abort() }", cut, cut),
        change(
            "tests/it.rs",
            "fn one() {}",
            "fn one() { std::process::exit(0) }",
            "missing it (tests/it.rs) > one",
            "missing it (tests/it.rs) > one",
        ),
    ];
    let mut setting = setting();
    // What is left when a test ends the process depends on how many run beside it.
    setting.variables.push(("RUST_TEST_THREADS", "1".to_owned()));
    let trial = Trial {
        setting,
        runner: Runner::Cargo,
        argv: &["cargo", "test", "--workspace", "--no-fail-fast"],
        files: FILES,
        named: &[
            "+ it (tests/it.rs) > deep::two",
            "+ it (tests/it.rs) > one",
            "+ member (src/lib.rs) > one",
            "+ one_two (doc) > src/lib.rs -",
            "+ one_two (doc) > src/lib.rs - f",
            "+ one_two (doc) > src/lib.rs - f ⟨2⟩",
            ". one_two (src/lib.rs) > tests::later",
            "+ one_two (src/lib.rs) > tests::one",
            "+ one_two (src/lib.rs) > tests::panics",
        ],
        numbers: [8, 0, 1],
        changes: &changes,
    };
    trial.hold();
}

#[test]
fn numbers_alone() {
    Trial {
        setting: setting(),
        runner: Runner::Cargo,
        argv: &["cargo", "test", "--quiet", "--offline"],
        files: FILES,
        named: &[],
        numbers: [7, 0, 1],
        changes: &[
            change("src/lib.rs", ONE, "", "7 to 6", "7 to 6"),
            change(
                "src/lib.rs",
                "    #[test]\n    fn one",
                "    #[test]\n    #[ignore]\n    fn one",
                "7 to 6",
                "7 to 6",
            ),
        ],
    }
    .hold();
}

#[test]
fn controls_by_command() {
    let project = Project::new(&setting(), FILES);
    for argv in [
        &["cargo", "test", "--lib"][..],
        &["cargo", "test", "--lib", "-q"],
        &["cargo", "test", "--test", "it", "--quiet"],
        &["cargo", "test", "-p", "member"],
        &["cargo", "test", "one"],
        &["cargo", "test", "--", "--test-threads=1", "--nocapture"],
        &["sh", "-c", "cargo test --offline 2>&1"],
        &["cargo", "test", "-v"],
    ] {
        project.control(argv, "");
    }
    project.control(&["cargo", "test"], "member");
    let none = project.run(&["cargo", "test", "nothing_is_named_so"], "");
    assert_eq!((none.exit, none.numbers()), (Some(0), [0, 0, 0]), "{}", none.output);
}

/// A setting in the repository cannot hide the names.
#[test]
fn settings_of_the_repository() {
    let mut files = FILES.to_vec();
    files.push((".cargo/config.toml", "[term]\nquiet = true\n"));
    files.push((".config/nextest.toml", "[profile.default]\nstatus-level = \"none\"\nfinal-status-level = \"none\"\n"));
    let project = Project::new(&setting(), &files);
    assert_eq!(project.run(&["cargo", "test"], "").named().len(), 8);
    let Some(nextest) = testkit::nextest("nextest settings") else { return };
    let nextest = nextest.to_string_lossy();
    assert_eq!(project.run(&[&*nextest, "nextest", "run", "--workspace"], "").named().len(), 6);
}

#[test]
fn nextest() {
    let Some(nextest) = testkit::nextest("nextest") else { return };
    let mut setting = setting();
    setting.path.extend(nextest.parent().map(std::path::Path::to_path_buf));
    let changes = [
        change("src/lib.rs", ONE, "", "missing one-two > tests::one", "missing one-two > tests::one"),
        change(
            "src/lib.rs",
            "    #[test]\n    fn one",
            "    #[test]\n    #[ignore]\n    fn one",
            "skipped one-two > tests::one",
            "skipped one-two > tests::one",
        ),
        change("tests/it.rs", "fn two() {}", "fn two() { std::process::abort() }", "", ""),
        // Each test is a process of its own: one that ends early is all that is lost, and counts as passed.
        change("tests/it.rs", "fn one() {}", "fn one() { std::process::exit(0) }", "", ""),
    ];
    let mut trial = Trial {
        setting,
        runner: Runner::Nextest,
        argv: &["cargo", "nextest", "run", "--workspace", "--no-fail-fast"],
        files: FILES,
        named: &[
            "+ member > one",
            ". one-two > tests::later",
            "+ one-two > tests::one",
            "+ one-two > tests::panics",
            "+ one-two::it > deep::two",
            "+ one-two::it > one",
        ],
        numbers: [5, 0, 1],
        changes: &changes,
    };
    trial.hold();
    trial.changes = &[];
    trial.argv = &["cargo", "nextest", "run", "--workspace", "--no-capture"];
    trial.hold();
}

#[test]
fn nothing_to_run() {
    let files: Files<'_> = &[("Cargo.toml", MEMBER), ("src/lib.rs", "")];
    let project = Project::new(&setting(), files);
    assert_eq!(project.run(&["cargo", "test"], "").numbers(), [0, 0, 0]);
    project.write("src/lib.rs", b"#[test] fn one() { let x: u8 = \"\"; }");
    assert!(project.run(&["cargo", "test"], "").tests.is_none());
}

/// Sources that are easily broken by what is put at their end.
#[test]
fn controls_in_files_of_all_shapes() {
    for content in [
        "#![allow(dead_code)]\r\n#[cfg(test)]\r\nmod tests { #[test]\r\nfn a() {} }",
        "#[test]\nfn a() {}\n/* the end */ // really",
        "#[cfg(test)]\nmod tests;\n",
    ] {
        let files: Files<'_> =
            &[("in/Cargo.toml", MEMBER), ("in/src/lib.rs", content), ("in/src/tests.rs", "#[test]\nfn a() {}\n")];
        Project::new(&setting(), files).control(&["cargo", "test"], "in");
    }
}
