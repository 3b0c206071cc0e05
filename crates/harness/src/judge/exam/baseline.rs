//! The same commands on the baseline: which tests there were before, and how each ended.
//! Kept by tree, command and environment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use contract::baseline_exam::{BaselineCommandFact, BaselineExamFacts, PremiseFact};
use contract::decision::Profile;
use contract::exam::{Role, rules};
use contract::paths::PathSet;
use contract::sandbox::MountDigest;
use contract::task::{Command, Environment};
use contract::{Digest, Ecosystem, Reason, TaskContract, canonical_bytes, canonical_digest};
use serde::{Deserialize, Serialize};
use testimony::compare::Patterns;
use testimony::control::known_runners;
use testimony::results::{Runner, TestOutcome, TestResults};
use tree::Listing;
use untrusted_fs::own_files;

use super::built::lies_in;
use super::conduct::sort_of;
use super::exam_tree::{ExamTree, Ran};
use super::faults::{last_lines, missing_tool};
use super::{Examined, Examiner};
use crate::run::file::Stopped;

/// Version of what is kept, and of how output is read: another one is another result.
const KEPT_VERSION: &str = "6";

/// Source files of Rust that are looked through for tests.
const MOST_SOURCES: usize = 5000;

/// Inputs that decide the result. Equal keys mean that a kept result can be used.
#[derive(Serialize)]
struct Key<'a> {
    version: &'static str,
    harness: &'a str,
    tree: String,
    command: &'a Command,
    environment: &'a Environment,
    profile: Profile,
    mounts: &'a [MountDigest],
    path: Vec<PathBuf>,
    /// Path of the program, and the file system's stat of it.
    program: Option<(PathBuf, String)>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: String,
    held: BaselineCommand,
}

/// One command on the baseline with the operator's files on top.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct BaselineCommand {
    pub(super) exit: Option<i32>,
    pub(super) timed_out: bool,
    pub(super) tests: Option<TestResults>,
    /// Runners that spoke, and those that the words of the command name.
    pub(super) runners: BTreeSet<Runner>,
    /// Tests that were found, without the operator's files where they kept all from being
    /// found.
    collected: u64,
    missing_tool: Option<String>,
    last_lines: String,
    /// Attempts of its tests that a sandbox refuses.
    pub(super) tried: Vec<String>,
    /// New files that its build leaves and that run unasked or configure something.
    hooks: BTreeMap<String, Digest>,
    /// Files and folders that its build leaves where the tree has nothing.
    made: BTreeSet<String>,
}

impl BaselineCommand {
    /// True if it ends within its time limit.
    pub(super) fn ends(&self) -> bool {
        !self.timed_out && self.exit.is_some()
    }

    /// True if a runner is known and found no test.
    fn finds_none(&self) -> bool {
        !self.runners.is_empty() && self.collected == 0
    }

    fn fact(&self) -> BaselineCommandFact {
        let explains = self.exit != Some(0) && self.collected == 0;
        BaselineCommandFact {
            exit: self.exit,
            timed_out: self.timed_out,
            runner: self.runners.first().map(|runner| runner.as_str().to_owned()),
            tests: self.tests.as_ref().map(|tests| tests.counts),
            collected: self.collected,
            missing_tool: self.missing_tool.clone(),
            last_lines: if explains { self.last_lines.clone() } else { String::new() },
        }
    }
}

/// The exam of the baseline, which every result is compared with.
#[derive(Debug, Clone, Default)]
pub(crate) struct BaselineExam {
    pub(super) commands: Vec<BaselineCommand>,
    test_files: bool,
}

impl BaselineExam {
    /// A baseline without any test: there is nothing that a result could be held to.
    pub(super) fn has_no_test(&self) -> bool {
        !self.test_files && !self.commands.is_empty() && self.commands.iter().all(BaselineCommand::finds_none)
    }

    /// New files that the build of the baseline leaves and that run unasked or configure
    /// something.
    pub(super) fn hooks_built(&self) -> BTreeMap<String, Digest> {
        let all = self.commands.iter().flat_map(|command| &command.hooks);
        all.map(|(path, digest)| (path.clone(), *digest)).collect()
    }

    /// True for a path at which the build of the baseline makes something, or inside a
    /// folder that it makes.
    pub(super) fn builds(&self, path: &[u8]) -> bool {
        self.commands.iter().any(|command| lies_in(&command.made, path))
    }

    /// Facts for the gate.
    pub(crate) fn exam_facts(&self, contract: &TaskContract) -> BaselineExamFacts {
        let told = || self.commands.iter().filter_map(|command| command.tests.as_ref());
        let premise = |entry: &String| {
            let pattern = Patterns::new(std::slice::from_ref(entry));
            let matching = told().flat_map(|tests| &tests.tests).filter(|(name, _)| pattern.matches(name));
            let (red, other): (Vec<_>, Vec<_>) = matching.partition(|(_, outcome)| **outcome == TestOutcome::Failed);
            PremiseFact { entry: entry.clone(), red: red.len() as u64, other: other.len() as u64 }
        };
        let names_all = |command: &BaselineCommand| {
            command.tests.as_ref().is_some_and(|tests| tests.unloaded.is_empty() && names_every_test(tests))
        };
        BaselineExamFacts {
            unprepared: None,
            test_files: self.test_files,
            commands: self.commands.iter().map(BaselineCommand::fact).collect(),
            must_pass: contract.must_pass.iter().map(premise).collect(),
            may_stay_red: contract.may_stay_red.iter().map(premise).collect(),
            all_named: !self.commands.is_empty() && self.commands.iter().all(names_all),
        }
    }
}

/// True if the runner named some tests and counted no more than it named.
fn names_every_test(tests: &TestResults) -> bool {
    let executed = tests.tests.values().filter(|outcome| outcome.executed()).count() as u64;
    !tests.tests.is_empty() && tests.counts.executed <= executed
}

impl Examiner<'_> {
    /// Holds the exam of the baseline and nothing else.
    pub(crate) fn examine_baseline(mut self) -> Result<(BaselineExam, Examined), Stopped> {
        self.hold_baseline()?;
        Ok((self.before, self.found))
    }

    /// Holds each command on the baseline with the operator's files on top, unless that was
    /// done before.
    pub(super) fn hold_baseline(&mut self) -> Result<(), Stopped> {
        if let Some(before) = self.furnished.baseline.take() {
            self.before = before;
            return Ok(());
        }
        let listing = self.with_operator_files(self.trees.baseline.clone())?;
        let tree = listing.tree_id().to_string();
        let (mut exam_tree, mut held_commands) = (None, Vec::new());
        for (index, command) in self.setting.contract.verification_commands.iter().enumerate() {
            let file = self.kept_file(&tree, command)?;
            let held = match kept(&file) {
                Some(held) => {
                    self.say(&format!("== baseline {}: {:?}: known from an earlier run", index + 1, command.argv));
                    held
                }
                None => self.hold_command(&listing, &mut exam_tree, index, command, &file)?,
            };
            held_commands.push(held);
            if let Some(why) = exam_tree.as_ref().and_then(|exam_tree: &ExamTree| exam_tree.unready.as_ref()) {
                let text = format!("the baseline cannot be set up and built: {why}");
                self.found.blocks.push((Reason::VerificationFailed, text));
                break;
            }
        }
        // The baseline's trees are assumed until this is known.
        self.before.commands = held_commands;
        self.before.test_files = self.has_test_files()?;
        Ok(())
    }

    /// Holds a command on the baseline a second time, unless that was done before: its tests.
    pub(super) fn hold_baseline_again(&mut self, index: usize) -> Result<Option<TestResults>, Stopped> {
        let Some(command) = self.setting.contract.verification_commands.get(index) else { return Ok(None) };
        let listing = self.with_operator_files(self.trees.baseline.clone())?;
        let file = self.kept_file(&format!("{} once more", listing.tree_id()), command)?;
        if let Some(held) = kept(&file) {
            return Ok(held.tests);
        }
        let mut exam_tree = Some(self.make_exam_tree(&listing, &format!("baseline {} once more", index + 1))?);
        Ok(self.hold_command(&listing, &mut exam_tree, index, command, &file)?.tests)
    }

    fn hold_command(
        &mut self,
        listing: &Listing,
        exam_tree: &mut Option<ExamTree>,
        index: usize,
        command: &Command,
        file: &Path,
    ) -> Result<BaselineCommand, Stopped> {
        let name = format!("baseline {}", index + 1);
        let exam_tree = match exam_tree {
            Some(exam_tree) => exam_tree,
            None => exam_tree.insert(self.make_exam_tree(listing, "baseline")?),
        };
        let ran = self.run_on_baseline(exam_tree, command, &name)?;
        let tried: Vec<String> = exam_tree.attempts.iter().chain(&self.tried()).map(sort_of).collect();
        let mut runners = self.runners_named_by(listing, command);
        runners.extend(ran.tests.iter().flat_map(|tests| &tests.runners));
        let mut held = BaselineCommand {
            exit: ran.exit,
            timed_out: ran.timed_out,
            collected: ran.tests.as_ref().map_or(0, |tests| tests.collected),
            missing_tool: missing_tool(&command.argv, ran.exit, &ran.output),
            last_lines: last_lines(&ran.output),
            tests: ran.tests,
            runners,
            tried,
            hooks: exam_tree.hooks.clone(),
            made: exam_tree.made.clone(),
        };
        if held.finds_none() && !self.setting.contract.verification_files.is_empty() {
            let exam_tree = self.make_exam_tree(self.trees.baseline, &format!("{name} alone"))?;
            let alone = self.run_on_baseline(&exam_tree, command, &format!("{name} without verification_files"))?;
            held.collected = alone.tests.map_or(0, |tests| tests.collected);
        }
        if held.ends() {
            keep(file, &Kept { version: KEPT_VERSION.to_owned(), held: held.clone() });
        }
        Ok(held)
    }

    /// Runs a command on the baseline. That it is slow there is nothing the patch did.
    pub(super) fn run_on_baseline(
        &mut self,
        exam_tree: &ExamTree,
        command: &Command,
        name: &str,
    ) -> Result<Ran, Stopped> {
        let late = self.found.late.len();
        let ran = self.command(exam_tree, command, None, name)?;
        self.found.late.truncate(late);
        Ok(ran)
    }

    fn runners_named_by(&self, listing: &Listing, command: &Command) -> BTreeSet<Runner> {
        self.with_control_inputs(listing, command, known_runners)
    }

    /// True if the baseline has test files, or sources of Rust with tests in them.
    fn has_test_files(&self) -> Result<bool, Stopped> {
        // Nothing rests on it where each runner found tests.
        if !self.before.commands.iter().any(BaselineCommand::finds_none) {
            return Ok(false);
        }
        let globs = rules(Ecosystem::ALL).filter(|rule| rule.role == Role::Tests).map(|rule| rule.glob.to_owned());
        let tests = PathSet::any_depth(&globs.collect::<Vec<_>>())?;
        let protected = |path: &Vec<u8>| self.trees.rules.is_protected(path) && tests.is_match(path);
        if self.trees.baseline.0.keys().any(protected) {
            return Ok(true);
        }
        let sources = self.trees.baseline.0.iter().filter(|(path, _)| path.ends_with(b".rs")).take(MOST_SOURCES);
        let mut reader = self.trees.store.reader();
        for (_, entry) in sources {
            let content = reader.blob(entry.oid)?;
            if content.windows(TEST.len()).any(|window| window == TEST) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn kept_file(&self, tree: &str, command: &Command) -> Result<PathBuf, Stopped> {
        let path = self.setting.path();
        let program = command.argv.first().and_then(|name| sandbox::find_program(name, &path, Path::new("/")));
        let key = Key {
            version: KEPT_VERSION,
            harness: &self.setting.harness.host.harness_version,
            tree: tree.to_owned(),
            command,
            environment: &self.setting.contract.environment,
            profile: self.setting.profile,
            mounts: &self.furnished.mounts,
            program: program.map(|program| (program.clone(), identity(&program))),
            path,
        };
        let digest: Digest = canonical_digest(&key)?;
        Ok(self.setting.harness.home.cache().join("baselines").join(format!("{digest}.json")))
    }
}

/// Attribute that makes a Rust function a test.
const TEST: &[u8] = b"#[test]";

fn identity(program: &Path) -> String {
    own_files::metadata(program)
        .map(|stat| format!("{} {} {}", stat.ino(), stat.size(), stat.mtime()))
        .unwrap_or_default()
}

/// Kept result; one that cannot be read is determined again.
fn kept(file: &Path) -> Option<BaselineCommand> {
    let kept: Kept = serde_json::from_slice(&own_files::read_file(file).ok()?).ok()?;
    crate::home::lock::touch(file);
    (kept.version == KEPT_VERSION).then_some(kept.held)
}

/// A cache that cannot be written costs time, nothing else.
fn keep(file: &Path, kept: &Kept) {
    let (Ok(bytes), Some(folder)) = (canonical_bytes(kept), file.parent()) else { return };
    if fs::create_dir_all(folder).is_ok() {
        crate::home::host::write_aside(file, &bytes);
    }
}
