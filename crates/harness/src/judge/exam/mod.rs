//! The exam: commands and blind checks on trees of their own, made from the baseline and
//! the result alone, never the tree the engine worked in.
//!
//! Knows no run and writes no artifact: findings are returned, so that the same exam can be
//! repeated years later.

mod added_data;
mod ages;
mod agreement;
mod baseline;
mod blind;
mod built;
mod conduct;
mod control;
mod control_tests;
mod exam_files;
mod exam_tree;
mod excused;
mod faults;
mod furnish;
mod made;
mod names;
mod poison;
mod spare;

use std::collections::BTreeSet;

use contract::paths::{PathRules, PathVerdict};
use contract::report::{CheckResult, FailedTest, PassKind, PoisonedFile, TestComparison, VerificationPass};
use contract::sandbox::{Attempt, MountDigest, SetupRecord};
use contract::text::{listed, path_text, show_controls};
use contract::{Coverage, Reason};
use sandbox::SandboxStage;
use testimony::compare::Weakness;
use testimony::results::TestResults;
use tree::{Listing, ListingEntry, ObjectDatabase, PathMode, folders_above};

use crate::home::watch::Watch;
use crate::judge::environment::Layer;
use crate::run::file::Stopped;
use crate::run::sandboxes::SandboxRecords;
use crate::run::supervise::SupervisionTerms;
pub(crate) use baseline::BaselineExam;
pub(crate) use conduct::sort_of;
use control::Controlled;
use exam_tree::Ran;
use names::CommandRun;
use spare::SpareTrees;

/// Trees under examination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trees<'a> {
    pub(crate) store: &'a ObjectDatabase,
    pub(crate) baseline: &'a Listing,
    pub(crate) result: &'a Listing,
    pub(crate) rules: &'a PathRules,
}

/// A check that was ended for time.
#[derive(Debug)]
pub(crate) struct LateCheck {
    pub(crate) name: String,
    pub(crate) seconds: u64,
}

/// Findings of the exam.
#[derive(Debug, Default)]
pub(crate) struct Examined {
    pub(crate) passes: Vec<VerificationPass>,
    pub(crate) coverage: BTreeSet<Coverage>,
    pub(crate) blocks: Vec<(Reason, String)>,
    pub(crate) late: Vec<LateCheck>,
    /// Everything that was run and what it printed, for `test.log`.
    pub(crate) log: Vec<u8>,
    pub(crate) cells: SandboxRecords,
    /// Attempts that the baseline's own tests do not make.
    pub(crate) attempts: Vec<Attempt>,
    /// Setup layers that were made for trees other than the baseline.
    pub(crate) setup: Vec<SetupRecord>,
    /// Changed files that were replaced by text that cannot compile.
    pub(crate) poisoned: Vec<PoisonedFile>,
    /// True if the build makes every product that the patch carries, with the same bytes.
    pub(crate) products_rebuilt: bool,
}

impl Examined {
    /// Notes for each exam file that the patch alters that a control shows the suite to fail still,
    /// and no more.
    pub(crate) fn note_altered(&mut self, paths: &[Vec<u8>]) {
        if self.passes.is_empty() || paths.is_empty() {
            return;
        }
        self.coverage.insert(Coverage::ExamChangeNotControlled);
        for path in paths {
            let path = show_controls(&path_text(path));
            let line = format!("{path}: the patch changes a file of the exam in another way than by adding tests\n");
            self.log.extend_from_slice(line.as_bytes());
        }
    }
}

/// Paths that a reason names before the rest is only counted.
const NAMED_PATHS: usize = 20;

/// Environment of the exam, prepared beforehand.
#[derive(Debug, Default)]
pub(crate) struct Furnished {
    pub(crate) mounts: Vec<MountDigest>,
    /// Layer that setup made for the baseline.
    pub(crate) layer: Option<Layer>,
    /// The baseline's exam, where it was held before.
    pub(crate) baseline: Option<BaselineExam>,
}

/// Holds one exam.
pub(crate) struct Examiner<'a> {
    setting: SupervisionTerms<'a>,
    watch: Watch<'a>,
    trees: Trees<'a>,
    /// A supervising stage that is ready already.
    stage: Option<SandboxStage>,
    furnished: Furnished,
    /// The commands on the baseline.
    before: BaselineExam,
    /// Time that setup, builds and commands took so far.
    spent_ms: u64,
    /// Files of the exam's tree that its build wrote.
    rewritten: Vec<Vec<u8>>,
    /// Files of the patch that setup and build make themselves.
    left_out: Vec<(Vec<u8>, ListingEntry)>,
    spares: SpareTrees,
    /// True if one tree is baseline and result, so that nothing was red before and no file is changed.
    is_one_tree: bool,
    found: Examined,
    /// Ends of commands, in tests that judge them and start nothing.
    #[cfg(test)]
    script: Option<tests::Script<'a>>,
}

impl<'a> Examiner<'a> {
    /// Examiner for one run; nothing has run yet.
    pub(crate) fn new(
        setting: SupervisionTerms<'a>,
        watch: Watch<'a>,
        trees: Trees<'a>,
        stage: Option<SandboxStage>,
        furnished: Furnished,
    ) -> Self {
        let (before, spares, found) = (BaselineExam::default(), SpareTrees::default(), Examined::default());
        let (rewritten, left_out) = (Vec::new(), Vec::new());
        Self {
            setting,
            watch,
            trees,
            stage,
            furnished,
            before,
            spent_ms: 0,
            rewritten,
            left_out,
            spares,
            is_one_tree: false,
            found,
            #[cfg(test)]
            script: None,
        }
    }

    /// The same for one tree that is baseline and result at once: a test that must pass is green in it, whatever it was before.
    pub(crate) fn of_one_tree(self) -> Self {
        Self { is_one_tree: true, ..self }
    }

    /// Exam, change, control and blind, each in a tree of its own.
    pub(crate) fn examine_all(mut self) -> Result<Examined, Stopped> {
        if let Some(why) = self.cannot_set_up()? {
            self.found.blocks.push((Reason::VerificationFailed, why));
            return Ok(self.found);
        }
        self.hold_baseline()?;
        let rules = self.rules_of_result()?;
        let mut examiner: Examiner<'_> = self;
        examiner.trees.rules = &rules;
        examiner.examine_result()
    }

    fn examine_result(mut self) -> Result<Examined, Stopped> {
        let mut exam = self.exam_listing()?;
        self.leave_out_made(&mut exam);
        self.spares.wanted = true;
        let spent = self.spent_ms;
        // Without a test of the baseline nothing can be held but what the patch itself brings.
        let (exam, ran) = match self.before.has_no_test() {
            true => (exam, Vec::new()),
            false => self.hold_exam(exam)?,
        };
        let exam_ms = self.spent_ms - spent;
        if ran.iter().any(|ran| ran.unready) {
            self.found.coverage.extend([Coverage::ExamInProcess, Coverage::ExamWithoutControl]);
            self.conclude();
            return Ok(self.found);
        }
        let delivered = match exam != *self.trees.result || self.before.has_no_test() {
            true => Some(self.commands(PassKind::Change, self.trees.result, PassKind::Change.as_str())?),
            false => None,
        };
        let unproven = self.judge_must_pass(&exam, &ran);
        self.refuse_unproven(&unproven);
        self.control(Controlled::Exam, &exam, &ran)?;
        if let Some(delivered) = delivered {
            self.control(Controlled::Delivered, self.trees.result, &delivered)?;
        }
        self.note_redefinitions()?;
        self.blind(&exam)?;
        if !self.is_one_tree {
            self.poison(&exam, &ran, exam_ms)?;
        }
        self.conclude();
        Ok(self.found)
    }

    /// The result with every protected path as in the baseline, removed where the baseline
    /// has none, and the operator's files on top.
    fn exam_listing(&self) -> Result<Listing, Stopped> {
        let Trees { baseline, result, rules, .. } = self.trees;
        let of = |listing: &Listing, protected: bool| {
            let restored = move |path: &[u8]| rules.is_restored(path, !baseline.0.contains_key(path));
            let kept = listing.0.iter().filter(move |(path, _)| restored(path) == protected);
            kept.map(|(path, entry)| (path.clone(), *entry)).collect::<Vec<_>>()
        };
        let mut exam = Listing(of(result, false).into_iter().collect());
        for (path, entry) in of(baseline, true) {
            put(&mut exam, path, entry);
        }
        self.with_operator_files(exam)
    }

    fn with_operator_files(&self, mut listing: Listing) -> Result<Listing, Stopped> {
        for file in &self.setting.contract.verification_files {
            let oid = self.trees.store.put_blob(&file.bytes().unwrap_or_default())?;
            put(&mut listing, file.path.clone().into_bytes(), ListingEntry { mode: PathMode::File, oid });
        }
        Ok(listing)
    }

    /// Runs the contract's commands in one tree and compares their tests with the baseline's.
    fn commands(&mut self, kind: PassKind, listing: &Listing, exam_tree: &str) -> Result<Vec<Ran>, Stopped> {
        let exam_tree = self.make_exam_tree(listing, exam_tree)?;
        self.judge_tree_conduct(&exam_tree);
        if let Some(why) = &exam_tree.unready {
            let text = format!("{}: baseline + patch cannot be set up and built: {why}", kind.as_str());
            self.found.blocks.push((Reason::VerificationFailed, text));
        }
        if kind == PassKind::Exam {
            self.rewritten.clone_from(&exam_tree.rewritten);
            self.compare_with_made(&exam_tree)?;
        }
        let released = self.released_changes();
        let mut all = Vec::new();
        for (index, command) in self.setting.contract.verification_commands.iter().enumerate() {
            let name = pass_name(kind, index);
            let mut ran = self.command(&exam_tree, command, None, &name)?;
            self.hold_conduct_against(index);
            self.hear_only_known(index, &mut ran);
            let excused = self.excuse(kind, index, listing, &ran)?;
            let run = CommandRun { kind, index, listing, ran: &ran };
            let mut compared = self.compare_with_baseline(run, &released, excused.is_some())?;
            compared.tests.result = ran.settled_counts(compared.tests.result);
            compared.tests.failed = self.failed_tests(&ran, excused.as_ref());
            if !compared.compared {
                self.found.coverage.insert(Coverage::TestsNotCompared);
            }
            let weak = if excused.is_some() { compared.weaknesses } else { counting(&ran, compared.weaknesses) };
            if !weak.is_empty() {
                self.found.blocks.push((Reason::VerificationWeakened, format!("{name}: {}", in_words(&weak))));
            }
            let disagreement = ran.disagreement();
            let ended_well = ran.ended_well() || excused.is_some();
            let holds = ended_well && weak.is_empty() && disagreement.is_none();
            if let Some(text) = disagreement {
                self.found.blocks.push((Reason::VerificationFailed, format!("{name}: {text}")));
            }
            let result = if holds { CheckResult::Pass } else { CheckResult::Fail };
            self.found.passes.push(ran.pass(kind, name, &command.argv, compared.tests, result));
            all.push(ran);
        }
        Ok(all)
    }

    /// Leaves of what was read only the words of runners that the baseline's run shows:
    /// what others say in the same output was printed by the patch or by a test.
    fn hear_only_known(&self, index: usize, ran: &mut Ran) {
        let known = self.before.commands.get(index).map(|before| &before.runners).filter(|known| !known.is_empty());
        if let (Some(known), Some(tests)) = (known, &ran.tests) {
            ran.tests = tests.only(known);
        }
    }

    /// Turns failed checks into blockers.
    fn conclude(&mut self) {
        let failed = |pass: &&VerificationPass| {
            let excused = !pass.tests.failed.is_empty() && pass.tests.failed.iter().all(|test| test.excused.is_some());
            let by_itself = pass.exit != Some(0) && !excused || pass.kind == PassKind::Blind;
            pass.result == CheckResult::Fail && !pass.timed_out && pass.kind != PassKind::Control && by_itself
        };
        let failed: Vec<&VerificationPass> = self.found.passes.iter().filter(failed).collect();
        let names: Vec<&str> = failed.iter().map(|pass| pass.name.as_str()).collect();
        if !names.is_empty() {
            let tests = failed.iter().flat_map(|pass| &pass.tests.failed).filter(|test| test.excused.is_none());
            let tests: BTreeSet<String> = tests.map(in_one_line).collect();
            let tests = listed(tests, NAMED);
            let tests = if tests.is_empty() { tests } else { format!("; failing: {tests}") };
            let hint = self.release_hint();
            let text = format!("does not pass on baseline + patch: {}{tests}{hint}", names.join(", "));
            self.found.blocks.push((Reason::VerificationFailed, text));
        }
        let late = self.found.late.iter().map(|late| late.name.as_str());
        let (slowed, late): (Vec<&str>, Vec<&str>) = late.partition(|name| self.ends_in_baseline(name));
        let slowed =
            (!slowed.is_empty()).then(|| format!("runs out of time, and the baseline does not: {}", slowed.join(", ")));
        let late = (!late.is_empty()).then(|| format!("verification exceeded its time: {}", late.join(", ")));
        let found = [(Reason::VerificationFailed, slowed), (Reason::Timeout, late)];
        self.found.blocks.extend(found.into_iter().filter_map(|(reason, text)| Some((reason, text?))));
    }

    /// True if the command of a check ends in time on the baseline. For controls and blind
    /// checks this is unknown.
    fn ends_in_baseline(&self, name: &str) -> bool {
        let mut commands = self.before.commands.iter().enumerate();
        commands.any(|(index, before)| {
            before.ends() && [PassKind::Exam, PassKind::Change].iter().any(|kind| pass_name(*kind, index) == name)
        })
    }

    /// A patch that is good only with its own version of a protected file may be one whose
    /// task is to change that file.
    fn release_hint(&self) -> String {
        let of = |kind: PassKind| self.found.passes.iter().filter(move |pass| pass.kind == kind);
        let only_as_patched = of(PassKind::Exam).any(|pass| pass.result == CheckResult::Fail)
            && of(PassKind::Change).count() > 0
            && of(PassKind::Change).all(|pass| pass.result == CheckResult::Pass);
        if !only_as_patched {
            return String::new();
        }
        let Trees { baseline, result, rules, .. } = self.trees;
        let changes = tree::changes(baseline, result);
        let allowed = |path: &[u8]| rules.is_protected(path) && rules.judge_path(path) == PathVerdict::Allowed;
        let protected = changes.iter().filter(|change| allowed(&change.path));
        let paths: Vec<String> = protected.map(|change| path_text(&change.path)).collect();
        if paths.is_empty() {
            return String::new();
        }
        format!(
            "; it passes only with the patch's own {}: if changing it is the task, release it with exam_may_change",
            listed(paths.iter().map(|path| show_controls(path)), NAMED_PATHS)
        )
    }
}

/// Puts a file of the exam where it belongs; whatever the patch put in its way, a file
/// above it or a folder in its place, makes room.
fn put(listing: &mut Listing, path: Vec<u8>, entry: ListingEntry) {
    for folder in folders_above(&path) {
        listing.0.remove(folder);
    }
    let mut folder = path.clone();
    folder.push(b'/');
    let beneath = listing.0.range(folder.clone()..).take_while(|(name, _)| name.starts_with(&folder));
    for name in beneath.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
        listing.0.remove(&name);
    }
    listing.0.insert(path, entry);
}

fn pass_name(kind: PassKind, index: usize) -> String {
    format!("{} {}", kind.as_str(), index + 1)
}

/// The weaknesses that count. A command that failed may have stopped early, so that tests
/// are missing is no news then; what it skipped, or that it ran none, it said itself.
fn counting(ran: &Ran, weaknesses: Vec<Weakness>) -> Vec<Weakness> {
    let said = ran.tests.is_some();
    let counts = |weakness: &Weakness| match weakness {
        _ if ran.exit == Some(0) => true,
        Weakness::NewlySkipped(_) | Weakness::NoneExecuted => said && !ran.timed_out,
        Weakness::Missing(_) | Weakness::FewerExecuted { .. } | Weakness::NothingRan(_) => false,
    };
    weaknesses.into_iter().filter(counts).collect()
}

/// At most this many tests are named in a sentence; the report lists them all.
const NAMED: usize = 5;

fn in_words(weaknesses: &[Weakness]) -> String {
    let names = |tests: &[String]| listed(tests.iter().map(|test| show_controls(test)), NAMED);
    let words = weaknesses.iter().map(|weakness| match weakness {
        Weakness::NoneExecuted => "no test was executed".to_owned(),
        Weakness::Missing(tests) => format!("tests that ran in the baseline did not run: {}", names(tests)),
        Weakness::NewlySkipped(tests) => format!("tests that ran in the baseline were skipped: {}", names(tests)),
        Weakness::FewerExecuted { baseline, result } => {
            format!("{result} tests were executed, {baseline} in the baseline")
        }
        Weakness::NothingRan(places) => {
            format!("no test ran in parts that the baseline could not load: {}", names(places))
        }
    });
    words.collect::<Vec<_>>().join("; ")
}

/// A failing test with its message.
fn in_one_line(test: &FailedTest) -> String {
    let name = show_controls(&test.name);
    if test.message.is_empty() { name } else { format!("{name} ({})", show_controls(&test.message)) }
}

/// No tests: for checks that are not compared.
fn uncompared(tests: Option<&TestResults>) -> TestComparison {
    TestComparison { result: tests.map(|tests| tests.counts), ..TestComparison::default() }
}

#[cfg(test)]
mod tests;
