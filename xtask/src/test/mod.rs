//! `cargo xtask test`: builds once, runs every test as a process of its own, longest first,
//! and ends with one line of counts.
//!
//! libtest swallows what a passing test prints, so a test that cannot run here appends
//! `skipped: reason` to the file that CTO_TEST_SKIPS names; it is counted as skipped, not
//! as passed. Lines with `not here: reason` are printed too: they are rows for which this
//! machine has nothing to try.

mod changed;
mod counts;
mod durations;
mod memory;
mod plan;
mod processes;
mod programs;
mod select;
mod work;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ChoreResult;
use crate::process::{cache, cargo, repository_root, run_command};
use crate::tools;

use counts::Counts;
use durations::Durations;
use memory::MemoryFolder;
use plan::{Job, TestSuite, plan_jobs};
pub(crate) use programs::BUILD_TESTS;
pub(crate) use programs::FEATURES;
use programs::{CargoPackages, TestProgram};
use select::Selection;

/// The test that lets both verifiers judge the bundles that all others left, in the package
/// and target that have it.
const JUDGE: &str = "collected::both_verifiers_agree_on_every_bundle_of_the_suite";
const JUDGE_PROGRAM: (&str, &str) = ("cto", "it");

/// Runs the tests and prints their counts. The exit code alone tells of failures, since
/// nothing may follow the counts.
pub(crate) fn run_tests_chore(arguments: &[&str]) -> ChoreResult {
    let counts = run_tests(arguments)?;
    // Nothing may follow the counts, so only the exit code shows a failure.
    println!("{}\n{counts}", counts.unsteady_line());
    match counts.verdict() {
        Ok(()) => Ok(()),
        Err(_) => std::process::exit(1),
    }
}

/// Runs the tests and prints everything but the counts.
pub(crate) fn run_tests(arguments: &[&str]) -> ChoreResult<Counts> {
    let mut selection = Selection::read_selection(arguments)?;
    let workspace = CargoPackages::read_packages()?;
    if let Some(base) = &selection.changed_since {
        let scope = changed::find_scope(&workspace, base)?;
        println!("changed since {base}: {scope}");
        selection.scope = scope;
    }
    let _alone = wait_for_other_runs()?;
    let environment = TestVariables::prepare()?;
    let Some(programs) = programs::build_programs(&workspace)? else {
        println!("cargo test failed without naming a test: something did not build");
        return Ok(Counts { failed: 1, ..Counts::default() });
    };
    let mut durations = Durations::read_times()?;
    let jobs = plan_jobs(&programs, &selection, &durations)?;
    let mut finished = Vec::with_capacity(jobs.len());
    let counts = work::run_jobs(&jobs, &environment, selection.show_output, &mut finished);
    finished.iter().for_each(|job| durations.remember_job(job));
    if selection.is_everything() {
        durations.keep_only(&jobs.iter().map(|job| job.label.clone()).collect());
    }
    durations.write()?;
    let mut counts = counts?;
    counts.join_counts(doc_tests(&selection)?);
    counts.join_counts(judge(&programs, &environment)?);
    if selection.durations {
        durations::print_slowest(&finished);
        durations.write_slow_tests()?;
    }
    environment.tell_skips(&mut counts)?;
    Ok(counts)
}

/// Waits until no other run uses the same files; the lock goes with the value.
fn wait_for_other_runs() -> ChoreResult<File> {
    let path = cache()?.join("test.lock");
    let failed = |error: std::io::Error| format!("cannot lock {}: {error}", path.display());
    let file = File::create(&path).map_err(failed)?;
    if file.try_lock().is_err() {
        eprintln!("xtask: waiting for another run of the tests");
        file.lock().map_err(failed)?;
    }
    Ok(file)
}

/// Builds the program that other chores call. A run of the tests calls the same file, built with more features, so this waits for its end.
pub(crate) fn build_plain_program() -> ChoreResult {
    let _lock = wait_for_other_runs()?;
    run_command(&mut cargo(&["build", "--quiet", "--package", "cto"]))
}

/// Variables of every test, and the files that they name.
pub(crate) struct TestVariables {
    skips: PathBuf,
    bundles: PathBuf,
    variables: Vec<(OsString, OsString)>,
    /// For everything but agents, whose copies take gigabytes.
    memory: Option<MemoryFolder>,
}

/// Seed of property tests. It is the same in every run of the suite, so that one commit has one answer; `cargo xtask soak` searches with
/// random ones, and a person may set another.
const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";

impl TestVariables {
    fn prepare() -> ChoreResult<Self> {
        tools::programs();
        let skips = cache()?.join("skips.txt");
        std::fs::write(&skips, "").map_err(|error| format!("cannot write {}: {error}", skips.display()))?;
        let bundles = empty_folder("bundles")?;
        let mut variables: Vec<(OsString, OsString)> = vec![
            ("CTO_TEST_SKIPS".into(), skips.clone().into()),
            ("CTO_TEST_BUNDLES".into(), bundles.clone().into()),
            ("CTO_TEST_WARM".into(), empty_folder("warm")?.into()),
            // Snapshots are compared below it; without the variable every process asks
            // cargo for it.
            ("INSTA_WORKSPACE_ROOT".into(), repository_root().into()),
        ];
        if std::env::var_os(PROPERTY_SEED).is_none() {
            variables.push((PROPERTY_SEED.into(), "20260101".into()));
        }
        for (variable, made) in tools::make_all() {
            match made {
                Ok(path) => variables.push((variable.into(), path.into())),
                Err(message) => eprintln!("xtask: no {variable}, tests that need it are skipped: {message}"),
            }
        }
        Ok(Self { skips, bundles, variables, memory: MemoryFolder::make_folder()? })
    }

    /// A test program as cargo starts it: in the folder of its package.
    fn command(&self, job: &Job<'_>) -> Command {
        let program = job.program;
        let mut command = Command::new(&program.executable);
        command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
        command.env("CARGO_PKG_NAME", &program.package);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(memory) = self.memory.as_ref().filter(|_| job.suite != TestSuite::Agents) {
            command.env("TMPDIR", memory.path());
        }
        command
    }

    /// Prints the reasons for skips and counts them.
    fn tell_skips(&self, counts: &mut Counts) -> ChoreResult {
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", self.skips.display());
        let text = std::fs::read_to_string(&self.skips).map_err(failed)?;
        for reason in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            println!("{reason}");
            counts.skip_tests(u64::from(reason.starts_with("skipped:")));
        }
        Ok(())
    }
}

/// Runs the judging test once more when every bundle is there that the suite makes.
fn judge(programs: &[TestProgram], environment: &TestVariables) -> ChoreResult<Counts> {
    let is_its_program = |program: &&TestProgram| (program.package.as_str(), program.target.as_str()) == JUDGE_PROGRAM;
    let program = programs.iter().find(is_its_program).ok_or("the program of the judging test was not built")?;
    let jobs = [Job::of_one(program, JUDGE.to_owned())];
    let mut variables = environment.variables.clone();
    variables.retain(|(name, _)| name != "CTO_TEST_BUNDLES");
    variables.push(("CTO_TEST_COLLECTED".into(), environment.bundles.clone().into()));
    let again = TestVariables {
        skips: environment.skips.clone(),
        bundles: environment.bundles.clone(),
        variables,
        memory: None,
    };
    work::run_jobs(&jobs, &again, true, &mut Vec::new())
}

/// Runs the examples of doc comments, where there are any: rustdoc takes its time to find none.
fn doc_tests(selection: &Selection) -> ChoreResult<Counts> {
    if !selection.is_everything() || !programs::has_doc_tests(&repository_root().join("crates"))? {
        return Ok(Counts::default());
    }
    let output = cargo(&["test", "--workspace", "--features", FEATURES, "--no-fail-fast", "--doc"]).output();
    let output = output.map_err(|error| format!("cannot run cargo test: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    let mut counts = Counts::default();
    said.lines().for_each(|line| counts.add_line(line));
    counts.failed = counts.failed.max(u64::from(!output.status.success()));
    Ok(counts)
}

fn empty_folder(name: &str) -> ChoreResult<PathBuf> {
    let folder = cache()?.join(name);
    remove_folder(&folder)?;
    std::fs::create_dir(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder)
}

fn remove_folder(folder: &Path) -> ChoreResult {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}
