//! What verification costs beyond the commands it runs, on an exam of two seconds.

use std::path::Path;

use super::rounds::{Candidate, in_turns};
use super::world::{World, copy_tree, small_case};
use super::{Bench, table};
use crate::Outcome;
use crate::process::{output, program};

const ROUNDS: usize = 5;

/// The exam and its control: what a run executes when the baseline's tests are known.
const PASSES: usize = 2;

pub(super) fn measure(bench: &Bench) -> Outcome<String> {
    let world = World::new(&bench.place, "exam")?;
    let (tree, case) = (world.path("tree"), world.path("slow-case"));
    slow_case(&case)?;
    copy_tree(&case.join("files"), &tree)?;
    let home = world.path("home");
    let first = |round: usize| world.path(&format!("home-{round}"));
    let candidates = vec![
        Candidate::new("the exam's command, twice, and nothing else", "commands", |_| {
            (0..PASSES).try_for_each(|_| output(program("python3", EXAM).current_dir(&tree)).map(drop))
        }),
        Candidate::new("`cto run`, exam and control, baseline known", "known", |_| sealed(bench, &home, &case)),
        Candidate::new("`cto run`, exam and control, baseline not known", "new", |round| {
            sealed(bench, &first(round), &case)
        }),
    ];
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    Ok(table(&rows, &[0]))
}

const EXAM: [&str; 4] = ["-m", "unittest", "-v", "test_slow"];

fn sealed(bench: &Bench, home: &Path, case: &Path) -> Outcome {
    let words = ["--home".as_ref(), home.as_os_str(), "run".as_ref(), case.as_os_str()];
    let report = output(program(&bench.cto, words).args(["--sandbox", "none", "--json"]))?;
    let report: serde_json::Value = serde_json::from_str(&report).map_err(|error| format!("no report: {error}"))?;
    let passes = report["verification"]["passes"].as_array().map_or(0, Vec::len);
    match passes == PASSES {
        true => Ok(()),
        false => Err(format!("{passes} checks were run, not {PASSES}; these times mean nothing")),
    }
}

/// The small case with a test that takes two seconds, as slow tests do: mostly waiting.
fn slow_case(folder: &Path) -> Outcome {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
    copy_tree(&small_case().join("files"), &folder.join("files"))?;
    std::fs::copy(small_case().join("good.patch"), folder.join("good.patch")).map_err(fail)?;
    std::fs::write(folder.join("files/test_slow.py"), TEST).map_err(fail)?;
    std::fs::write(folder.join("case.yaml"), CASE).map_err(fail)
}

const TEST: &str = "import time\nimport unittest\n\n\nclass SlowTest(unittest.TestCase):\n    def test_slow(self):\n        time.sleep(2)\n";

const CASE: &str = r#"schema_version: "1"
task_id: slow
title: an exam of two seconds
brief: Apply the patch.
risk_class: low
allowed_paths: [strings.py]
forbidden_actions: [push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, vendor_source_mutation, cortex_core_mutation]
mutation_mode: copied-fixture
verification_commands:
  - argv: ["python3", "-m", "unittest", "-v", "test_slow"]
fake:
  patch: good.patch
expect:
  status: pass
  reasons: []
"#;
