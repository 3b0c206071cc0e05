//! A fresh tree, a command in it, and what it left: exit, output, and its test results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::report::{CheckResult, PassKind, TestComparison, VerificationPass};
use contract::sandbox::Attempt;
use contract::task::Command;
use contract::{Digest, Reason};
use sandbox::{Access, Ended, Spec, Upper, WorkspaceFrom};
use testimony::results::{self, RunnerOutput, TestResults};
use tree::Listing;
use untrusted_fs::own_files::OwnPath as _;
use untrusted_fs::{plain_names, read_plain};

use super::furnish::Layers;
use super::{Examiner, LateCheck};
use crate::run::file::Stopped;
use crate::run::followed::FollowedProgram;
use crate::run::program_view::ProgramView;
use crate::run::supervise::{self, exit_code, limits_exceeded};

/// Upper bound on the reports of a command that are read.
const MOST_REPORTS: usize = 16;
/// Surefire leaves one for each class.
const MOST_LEFT_REPORTS: usize = 2000;
const LARGEST_REPORT: u64 = 64 << 20;

/// A tree to run commands in.
pub(super) struct ExamTree {
    root: PathBuf,
    program_view: ProgramView,
    /// Folder of the changes to the tree, if it lies on layers.
    changes: Option<PathBuf>,
    /// Layers that setup put under the tree.
    layers: Vec<PathBuf>,
    /// Folder for reports of runners, outside of the tree.
    reports: PathBuf,
    /// The reason why no command is run in it: setup or build failed on this tree.
    pub(super) unready: Option<String>,
    /// Tried by setup and build of this tree.
    pub(super) attempts: Vec<Attempt>,
    /// Files of the tree that the build wrote.
    pub(super) rewritten: Vec<Vec<u8>>,
    /// New files that the build left and that run unasked or configure something.
    pub(super) hooks: BTreeMap<String, Digest>,
    /// Files and folders that the build of the baseline left where the tree has nothing.
    pub(super) made: BTreeSet<String>,
}

impl ExamTree {
    /// Folder of the changes to the tree, if it lies on layers.
    pub(super) fn changes(&self) -> Option<&Path> {
        self.changes.as_deref()
    }

    /// Places of what build and setup wrote, what counts first.
    pub(super) fn made_in(&self) -> impl Iterator<Item = &Path> {
        self.changes.iter().chain(&self.layers).map(PathBuf::as_path)
    }
}

/// Result of one command.
pub(super) struct Ran {
    pub(super) exit: Option<i32>,
    pub(super) timed_out: bool,
    pub(super) stdout_sha256: Option<Digest>,
    pub(super) tests: Option<TestResults>,
    /// True if it was not started, because setup or build failed on its tree.
    pub(super) unready: bool,
    pub(super) duration_ms: u64,
    pub(super) output: Vec<u8>,
}

impl Ran {
    /// True if the command ended with 0 in time.
    pub(super) fn ended_well(&self) -> bool {
        self.exit == Some(0) && !self.timed_out
    }

    /// Row of the report for this command.
    pub(super) fn pass(
        &self,
        kind: PassKind,
        name: String,
        argv: &[String],
        tests: TestComparison,
        result: CheckResult,
    ) -> VerificationPass {
        VerificationPass {
            kind,
            name,
            argv: argv.to_vec(),
            exit: self.exit,
            duration_ms: self.duration_ms,
            timed_out: self.timed_out,
            tests,
            result,
        }
    }
}

impl Examiner<'_> {
    /// Lays a tree out, sets it up and builds what is under test.
    pub(super) fn make_exam_tree(&mut self, listing: &Listing, short: &str) -> Result<ExamTree, Stopped> {
        let name = self.unused_name(&format!("verify-{}", short.replace(' ', "-")));
        let root = self.setting.dir(&format!("{name}/tree"))?;
        let reports = self.setting.dir(&format!("{name}/reports"))?;
        let program_view = self.setting.make_mounts(&name, root.clone())?;
        let ages = self.ages(listing, &program_view)?;
        self.lay_out(listing, &ages, &root)?;
        let Layers { files, attempts } = self.layers(listing, &ages)?;
        let mut exam_tree = ExamTree {
            root,
            program_view,
            changes: None,
            layers: Vec::new(),
            reports,
            unready: None,
            attempts,
            rewritten: Vec::new(),
            hooks: BTreeMap::new(),
            made: BTreeSet::new(),
        };
        let layers = match files {
            Ok(layers) => layers,
            Err(why) => {
                exam_tree.unready = Some(why);
                return Ok(exam_tree);
            }
        };
        if layers.is_empty() && self.setting.contract.environment.build.is_empty() {
            return Ok(exam_tree);
        }
        let above = self.setting.dir(&format!("{name}/above"))?;
        let changes = above.join("upper");
        // The patched tree above: what the patch writes where setup wrote something else is what is tested.
        let lower = [&exam_tree.root].into_iter().chain(&layers).cloned().collect();
        let from = WorkspaceFrom::Layers { lower, upper: Upper::Directory(above) };
        let seen = [&changes].into_iter().chain(&layers).cloned().collect();
        exam_tree.program_view = exam_tree.program_view.with_layers(seen, from);
        (exam_tree.changes, exam_tree.layers) = (Some(changes), layers);
        self.build_tested(&mut exam_tree, listing, short)?;
        Ok(exam_tree)
    }

    /// A name in the work area that no other tree has. Exam and delivered tree may both ask for the same check on the baseline.
    fn unused_name(&self, name: &str) -> String {
        let mut unused = name.to_owned();
        let mut number = 2;
        while self.setting.work.join(&unused).own_exists() {
            unused = format!("{name}-{number}");
            number += 1;
        }
        unused
    }

    /// Runs a command and logs it.
    pub(super) fn command(
        &mut self,
        exam_tree: &ExamTree,
        command: &Command,
        stdin: Option<Vec<u8>>,
        name: &str,
    ) -> Result<Ran, Stopped> {
        let ran = match &exam_tree.unready {
            Some(why) => not_started(why),
            None => self.run(exam_tree, command, stdin, name)?,
        };
        self.log(name, &command.argv, &ran);
        if ran.timed_out {
            self.found.late.push(LateCheck { name: name.to_owned(), seconds: command.timeout_seconds });
        }
        Ok(ran)
    }

    /// Runs a command that is no test, and logs it.
    pub(super) fn run_logged(&mut self, exam_tree: &ExamTree, command: &Command, name: &str) -> Result<Ran, Stopped> {
        let ran = self.run(exam_tree, command, Some(Vec::new()), name)?;
        self.log(name, &command.argv, &ran);
        Ok(ran)
    }

    /// Runs a command; without input it is asked to name its tests.
    fn run(
        &mut self,
        exam_tree: &ExamTree,
        command: &Command,
        stdin: Option<Vec<u8>>,
        name: &str,
    ) -> Result<Ran, Stopped> {
        if self.watch.cancelled() {
            return Err(Stopped::Cancelled);
        }
        let wall = Duration::from_secs(command.timeout_seconds);
        let mut program_view = exam_tree.program_view.clone();
        let names_tests = stdin.is_none();
        let reports = exam_tree.reports.join(name.replace(' ', "-"));
        let seen_reports = program_view.show_path(&reports, "reports", Access::ReadWrite);
        fs::create_dir_all(&reports).map_err(|error| Stopped::Io(reports.clone(), error))?;
        let Some(mut spec) = self.setting.spec(&command.argv, command.cwd.as_deref(), &program_view, wall) else {
            let program = command.argv.first().map_or("", String::as_str);
            return Ok(Ran { unready: false, ..not_started(&format!("`{program}` was not found")) });
        };
        if names_tests {
            for (variable, value) in results::asking(&seen_reports) {
                if !self.setting.contract.environment.variables.contains_key(variable) {
                    spec.env.push((variable.to_owned(), value));
                }
            }
        }
        spec.stdin = stdin;
        let ended = self.supervise(spec, name)?;
        if ended.cancelled {
            return Err(Stopped::Cancelled);
        }
        if let Some(what) = limits_exceeded(&ended, &self.setting.contract.limits) {
            self.found.blocks.push((Reason::BudgetExceeded, format!("the verification {what}")));
        }
        self.spent_ms += u64::try_from(ended.elapsed.as_millis()).unwrap_or_default();
        let tests = names_tests.then(|| heard(command, exam_tree, &reports, &ended)).flatten();
        Ok(ran(&ended, tests))
    }

    /// Runs a program to its end and keeps what its sandbox came to; meanwhile the next tree is laid out.
    fn supervise(&mut self, spec: Spec, name: &str) -> Result<Ended, Stopped> {
        #[cfg(test)]
        if let Some(play) = self.script {
            return Ok(play(name, &spec));
        }
        let prepare = || supervise::prepare_stage(&self.setting.harness.supervisor, self.setting.profile);
        let stage = self.stage.take().map_or_else(prepare, Ok)?;
        let followed = FollowedProgram::announce_program(&self.setting, self.watch, name, spec.wall);
        let (spare, store) = (self.next_spare(), self.trees.store);
        let (ended, spare) = std::thread::scope(|scope| {
            let copying = spare.map(|spare| scope.spawn(move || spare.lay_out(store)));
            let ended = followed.run_heard(self.watch, |watch| self.setting.run_program(stage, spec, watch));
            (ended, copying.and_then(|copying| copying.join().ok()).flatten())
        });
        self.spares.keep_copy(spare);
        let ended = ended?;
        self.found.cells.add_sandbox(name, &ended);
        Ok(ended)
    }

    /// Appends a line to the log.
    pub(super) fn say(&mut self, sentence: &str) {
        self.found.log.extend_from_slice(sentence.as_bytes());
        self.found.log.push(b'\n');
    }

    fn log(&mut self, name: &str, argv: &[String], ran: &Ran) {
        let exit = match ran {
            Ran { timed_out: true, .. } => "timed out".to_owned(),
            Ran { exit: Some(exit), .. } => format!("exit {exit}"),
            _ => "did not start".to_owned(),
        };
        self.say(&format!("== {name}: {argv:?}: {exit}, {} ms", ran.duration_ms));
        self.found.log.extend_from_slice(&ran.output);
        if !self.found.log.ends_with(b"\n") {
            self.found.log.push(b'\n');
        }
    }
}

/// Test results of the command, from its output and its reports.
fn heard(command: &Command, exam_tree: &ExamTree, reports: &Path, ended: &Ended) -> Option<TestResults> {
    let mut files = Vec::new();
    let names = plain_names(reports, b"", MOST_REPORTS).into_iter().filter_map(|name| String::from_utf8(name).ok());
    for name in names {
        let bytes = read_plain(reports, name.as_bytes(), LARGEST_REPORT).unwrap_or_default();
        files.push((name, bytes));
    }
    let named = results::report_files(&command.argv).into_iter().take(MOST_REPORTS);
    let mut left = LARGEST_REPORT;
    for name in named.chain(reports_left_by_runner(command, exam_tree)) {
        let below = below_cwd(command, &name);
        let places = exam_tree.changes.iter().chain([&exam_tree.root]);
        let found = places.into_iter().find_map(|place| read_plain(place, below.as_bytes(), left));
        left = left.saturating_sub(found.as_ref().map_or(0, |bytes| bytes.len() as u64));
        files.extend(found.map(|bytes| (name, bytes)));
    }
    let (stdout, stderr) = (ended.stdout.text_bytes(), ended.stderr.text_bytes());
    results::read(&RunnerOutput { argv: &command.argv, stdout: &stdout, stderr: &stderr, files: &files })
}

/// Names of the reports that the command's runner leaves in folders of its own.
fn reports_left_by_runner(command: &Command, exam_tree: &ExamTree) -> Vec<String> {
    let mut names = Vec::new();
    for (folder, prefix) in results::report_folders(&command.argv) {
        let below = below_cwd(command, folder);
        let places = exam_tree.changes.iter().chain([&exam_tree.root]);
        let found = places.into_iter().map(|place| plain_names(place, below.as_bytes(), MOST_LEFT_REPORTS));
        let found = found.into_iter().flatten().filter_map(|name| String::from_utf8(name).ok());
        names.extend(found.filter(|name| name.starts_with(prefix)).map(|name| format!("{folder}/{name}")));
    }
    names.sort();
    names.dedup();
    names
}

fn below_cwd(command: &Command, name: &str) -> String {
    command.cwd.as_ref().map_or_else(|| name.to_owned(), |cwd| format!("{cwd}/{name}"))
}

/// Result of a command that could not be started.
fn not_started(why: &str) -> Ran {
    Ran {
        exit: None,
        timed_out: false,
        stdout_sha256: None,
        tests: None,
        unready: true,
        duration_ms: 0,
        output: format!("{why}\n").into_bytes(),
    }
}

/// Result of an ended program. Output and errors are joined for the log.
pub(super) fn ran(ended: &Ended, tests: Option<TestResults>) -> Ran {
    let mut output = ended.stdout.text_bytes();
    let errors = ended.stderr.text_bytes();
    if !errors.is_empty() {
        output.extend_from_slice(b"[stderr]\n");
        output.extend_from_slice(&errors);
    }
    Ran {
        exit: exit_code(ended),
        timed_out: ended.timed_out,
        stdout_sha256: Some(Digest::from_bytes(ended.stdout.sha256)),
        tests,
        unready: false,
        duration_ms: u64::try_from(ended.elapsed.as_millis()).unwrap_or(u64::MAX),
        output,
    }
}
