//! Runners of tests through the real binary: numbers, names, a control of the harness's own, a skipped test, a crash.
//!
//! Every project has a test that fails on the baseline (`adds`), one that passes (`stays`) and one that is skipped (`later`). The patch
//! that mends it is the control of the two that do not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod debian;
mod junit;
mod npm;
mod sessions;

use serde_json::{Value, json};
use testkit::World;

use crate::world;

/// A project whose tests one runner runs.
struct Project {
    runner: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// The file that patches change, as it is on the baseline, mended, and ending the process with success while a test runs.
    source: &'static str,
    broken: &'static str,
    mended: &'static str,
    exits: &'static str,
    /// Another that is as wrong as the baseline.
    wrong: &'static str,
    command: Value,
    environment: Value,
    /// The runner's name for the test that the baseline fails.
    failing: &'static str,
    /// Reasons of a process that ends with success while a test runs: a runner that notices fails, of one that does not the summary is missing.
    when_it_exits: &'static [&'static str],
    /// The test that stays, skipped by the patch, where a row shows that; the file is the last of [`Self::files`].
    skipping: Option<(&'static str, &'static str)>,
}

/// The exam proves less: no summary, or fewer tests than on the baseline.
const WEAKENED: &[&str] = &["verification_weakened"];

/// The runner notices that a test ended its process, and fails.
const FAILED: &[&str] = &["verification_failed"];

/// The session says that all is well, and its test neither passed nor failed.
const WEAKENED_AND_FAILED: &[&str] = &["verification_weakened", "verification_failed"];

impl Project {
    fn write(&self, world: &World) -> std::path::PathBuf {
        let files: Vec<_> = self.files.iter().copied().chain([(self.source, self.broken)]).collect();
        world.repository(self.runner, &files)
    }

    fn run(&self, world: &World, repository: &std::path::Path, patch: &str) -> Value {
        let steps = json!({"steps": [{"write": {"path": self.source, "text": patch}}]}).to_string();
        let (commands, environment) = (json!([self.command]).to_string(), self.environment.to_string());
        let allowed = json!([self.source]).to_string();
        let changes = [
            ("allowed_paths", allowed.as_str()),
            ("verification_commands", &commands),
            ("environment", &environment),
            ("fake", &steps),
        ];
        let case = world.case("case", &changes);
        let words = ["run", case.to_str().unwrap(), "--repo", repository.to_str().unwrap(), "--json"];
        world.cto(words).json()
    }
}

fn exam(report: &Value) -> &Value {
    let passes = report["verification"]["passes"].as_array().unwrap();
    passes.iter().find(|pass| pass["kind"] == "exam").unwrap_or(&Value::Null)
}

fn check(project: &Project) {
    let world = world();
    std::fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
    let repository = project.write(&world);

    let mended = project.run(&world, &repository, project.mended);
    assert_eq!(mended["status"], "pass", "{:#}\n{}", mended["blockers"], log(&world, &mended));
    let tests = &exam(&mended)["tests"];
    assert_eq!(tests["baseline"], json!({"executed": 2, "failed": 1, "passed": 1, "skipped": 1}), "{}", project.runner);
    assert_eq!(tests["result"], json!({"executed": 2, "failed": 0, "passed": 2, "skipped": 1}), "{}", project.runner);
    let kinds: Vec<&Value> =
        mended["verification"]["passes"].as_array().unwrap().iter().map(|pass| &pass["kind"]).collect();
    assert!(kinds.contains(&&json!("control")), "{}: {kinds:?}", project.runner);
    let coverage = mended["coverage"].to_string();
    assert!(!coverage.contains("exam_without_control") && !coverage.contains("tests_not_compared"), "{coverage}");

    let wrong = project.run(&world, &repository, project.wrong);
    assert_eq!(wrong["status"], "fail", "{:#}", wrong["blockers"]);
    let failed: Vec<&Value> =
        exam(&wrong)["tests"]["failed"].as_array().unwrap().iter().map(|test| &test["name"]).collect();
    assert_eq!(failed, [&json!(project.failing)], "{}", log(&world, &wrong));

    let exits = project.run(&world, &repository, project.exits);
    assert_eq!(exits["status"], "fail", "{}", log(&world, &exits));
    assert_eq!(exits["blocker_reasons"], json!(project.when_it_exits), "{}", log(&world, &exits));
    let _ = world.cto(["verify", "@"]).expect(0);
    if let Some(skipping) = project.skipping {
        check_skipping(project, &world, &repository, skipping);
    }
}

/// A patch that mends one test and skips another by its name proves less than the baseline did: the exam has one test fewer.
fn check_skipping(
    project: &Project,
    world: &World,
    repository: &std::path::Path,
    (runs, skips): (&'static str, &'static str),
) {
    let (path, tests) = project.files.last().unwrap();
    assert!(tests.contains(runs), "{}: the test is there", project.runner);
    let allowed = json!([project.source, path]).to_string();
    let (commands, environment) = (json!([project.command]).to_string(), project.environment.to_string());
    let run = |tests: String| {
        let write = |path: &str, text: &str| json!({"write": {"path": path, "text": text}});
        let steps = json!({"steps": [write(project.source, project.mended), write(path, &tests)]}).to_string();
        let changes = [
            ("allowed_paths", allowed.as_str()),
            ("exam_may_change", allowed.as_str()),
            ("verification_commands", &commands),
            ("environment", &environment),
            ("fake", steps.as_str()),
        ];
        let case = world.case("skips", &changes);
        world.cto(["run", case.to_str().unwrap(), "--repo", repository.to_str().unwrap(), "--json"]).json()
    };
    let skipped = run(tests.replace(runs, skips));
    assert_eq!(skipped["status"], "fail", "{:#}\n{}", skipped["blockers"], log(world, &skipped));
    assert!(skipped["blocker_reasons"].as_array().unwrap().contains(&json!("verification_weakened")), "{skipped:#}");
    let lost = skipped["blockers"].to_string();
    assert!(lost.contains("skip"), "{lost}");
    // The control: the same files with nothing skipped.
    let kept = run(format!("{tests}\n"));
    assert_eq!(kept["status"], "pass", "{:#}\n{}", kept["blockers"], log(world, &kept));
}

/// The output of a run's checks, for the message of a failed test.
fn log(world: &World, report: &Value) -> String {
    let bundle = world.bundles().join(report["run_id"].as_str().unwrap_or_default());
    std::fs::read_to_string(bundle.join("test.log")).unwrap_or_default()
}
