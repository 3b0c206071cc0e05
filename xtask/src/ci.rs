//! `cargo xtask ci`: what must hold before a change is taken. Every step runs, so that one
//! round shows all there is to mend.

use crate::process::{cargo, run_command};
use crate::{ChoreResult, exam, house, must_not_compile, prose, schema, test};

/// Runs every step and fails if any of them failed. `with_test` adds the whole suite.
pub(crate) fn run_ci(with_test: bool) -> ChoreResult {
    let counts = match with_test {
        true => Some(test::run_tests(&[])?),
        false => None,
    };
    let mut failed: Vec<&str> = counts.and_then(|counts| counts.verdict().err()).map(|_| "tests").into_iter().collect();
    for (name, step) in STEPS {
        println!("== {name}");
        if let Err(message) = step() {
            println!("{message}");
            failed.push(name);
        }
    }
    let verdict = match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("ci failed: {}", failed.join(", "))),
    };
    if let Some(counts) = counts {
        println!("{}\n{counts}", counts.unsteady_line());
    }
    verdict
}

type Step = fn() -> ChoreResult;

const STEPS: [(&str, Step); 8] = [
    ("formatting", formatting),
    ("lints", lints),
    ("forbidden steps", must_not_compile::check_refused),
    ("documentation", documentation),
    ("schemas", schema::check_schemas),
    ("exam set", exam::check_tables),
    ("house", house::check_limits),
    ("prose", prose::check_prose),
];

fn formatting() -> ChoreResult {
    run_command(&mut cargo(&["fmt", "--all", "--check"]))
}

fn lints() -> ChoreResult {
    run_command(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--features",
        test::FEATURES,
        "--",
        "-D",
        "warnings",
    ]))
}

fn documentation() -> ChoreResult {
    run_command(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Clippy reads the nearest clippy.toml alone, so those of single crates repeat the workspace's.
    #[test]
    fn crates_with_bans_of_their_own_keep_those_of_the_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let common = read("clippy.toml");
        let crates = ["cortex", "harness", "ledger", "sandbox", "suggest", "tree", "views"]
            .map(|name| read(&format!("crates/{name}/clippy.toml")));
        for own in &crates {
            assert!(own.contains(common.trim()), "clippy.toml of the workspace stands in each: {own}");
            assert_eq!(own, &crates[0], "they are alike");
        }
    }
}
