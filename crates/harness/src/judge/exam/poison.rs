//! Poison control: the exam with changed source files replaced by text that cannot compile.
//! Where it still passes, nothing read that file, and the exam says nothing about the
//! change in it.
//!
//! Held only after an exam that passed, where a product could stand in for its source: the
//! language is compiled, or a setup or a build saw the file.

use std::collections::BTreeSet;

use contract::product::{ContentKind, SourceKind, content_kind, poison_text, source_kind};
use contract::report::{CheckResult, PassKind, PoisonOutcome, PoisonedFile, no_change_exercised};
use contract::setup_inputs::SetupInputs;
use contract::task::Command;
use contract::text::path_text;
use contract::{Coverage, Reason};
use testimony::compare::{Terms, compare};
use tree::{Listing, ListingEntry};
use untrusted_fs::read_plain;

use super::Examiner;
use super::control_tests::letters;
use super::exam_tree::Ran;
use crate::judge::products::{judge_products, written_entry};
use crate::run::file::Stopped;

/// Files that are tried one by one; the rest are tried together.
const ALONE: usize = 8;
/// Seconds that a command gets at least, however short the exam was.
const LEAST_SECONDS: u64 = 10;
/// Size of a product up to which it is compared.
const LARGEST: u64 = 256 << 20;

impl Examiner<'_> {
    /// Poisons changed files one after the other, the largest changes first. No pass begins
    /// after all of them together took as long as the exam, `exam_ms`.
    pub(super) fn poison(&mut self, exam: &Listing, ran: &[Ran], exam_ms: u64) -> Result<(), Stopped> {
        let generated = self.generated_files(exam)?;
        if !self.found.blocks.is_empty() || ran.is_empty() || !self.exam_passed() {
            return Ok(());
        }
        let files = self.poisonable(exam, &generated)?;
        let mut clean = exam.clone();
        clean.0.retain(|path, _| !generated.contains(path));
        let began = self.spent_ms;
        let (alone, together) = files.split_at(files.len().min(ALONE));
        let groups = alone.iter().map(std::slice::from_ref).chain((!together.is_empty()).then_some(together));
        for (index, group) in groups.enumerate() {
            let late = index > 0 && self.spent_ms - began >= exam_ms;
            let outcome = match late && !self.wants_exercised() {
                true => PoisonOutcome::NotTried,
                false => self.poison_files(&clean, group, index, ran, exam_ms)?,
            };
            let outcome = match outcome {
                PoisonOutcome::Exercised if group.len() > 1 => PoisonOutcome::ExercisedInGroup,
                outcome => outcome,
            };
            self.found.poisoned.extend(group.iter().map(|path| PoisonedFile { path: path_text(path), outcome }));
        }
        if self.found.poisoned.iter().any(|file| file.outcome == PoisonOutcome::NotExercised) {
            self.found.coverage.insert(Coverage::ChangeNotExercised);
        }
        if self.wants_exercised() && no_change_exercised(&self.found.poisoned) {
            let text = "the contract names tests that must pass, and the exam reads none of the changed files";
            self.found.blocks.push((Reason::VerificationFailed, text.to_owned()));
        }
        Ok(())
    }

    /// True while a contract that names tests which must pass lacks a changed file that is
    /// known to be exercised.
    fn wants_exercised(&self) -> bool {
        let poisoned = &self.found.poisoned;
        !self.setting.contract.must_pass.is_empty() && (poisoned.is_empty() || no_change_exercised(poisoned))
    }

    fn exam_passed(&self) -> bool {
        let mut exam = self.found.passes.iter().filter(|pass| pass.kind == PassKind::Exam);
        exam.all(|pass| pass.result == CheckResult::Pass)
    }

    /// Runs the exam with these files replaced, up to its first failure. Its results do not count
    /// against the run.
    fn poison_files(
        &mut self,
        clean: &Listing,
        paths: &[Vec<u8>],
        index: usize,
        ran: &[Ran],
        exam_ms: u64,
    ) -> Result<PoisonOutcome, Stopped> {
        let mut poisoned = clean.clone();
        for path in paths {
            let Some(entry) = clean.0.get(path) else { continue };
            let oid = self.trees.store.put_blob(&poison_text(path, &letters()?))?;
            poisoned.0.insert(path.clone(), ListingEntry { oid, ..*entry });
        }
        let (late, blocks, setup) = (self.found.late.len(), self.found.blocks.len(), self.found.setup.len());
        let coverage = self.found.coverage.clone();
        let outcome = self.poisoned_exam(&poisoned, &format!("poison {}", index + 1), ran, exam_ms);
        self.found.late.truncate(late);
        self.found.blocks.truncate(blocks);
        self.found.setup.truncate(setup);
        self.found.coverage = coverage;
        outcome
    }

    fn poisoned_exam(
        &mut self,
        poisoned: &Listing,
        name: &str,
        ran: &[Ran],
        exam_ms: u64,
    ) -> Result<PoisonOutcome, Stopped> {
        let exam_tree = self.make_exam_tree(poisoned, name)?;
        if exam_tree.unready.is_some() {
            return Ok(PoisonOutcome::Exercised);
        }
        let most = (2 * exam_ms).div_ceil(1000).max(LEAST_SECONDS);
        for (number, (command, before)) in self.setting.contract.verification_commands.iter().zip(ran).enumerate() {
            let command = Command { timeout_seconds: command.timeout_seconds.min(most), ..command.clone() };
            let now = self.command(&exam_tree, &command, None, &format!("{name} command {}", number + 1))?;
            if now.timed_out {
                return Ok(PoisonOutcome::NotTried);
            }
            if !passes_like(before, &now) {
                return Ok(PoisonOutcome::Exercised);
            }
        }
        Ok(PoisonOutcome::NotExercised)
    }

    /// Changed source files that could be left unread, the largest changes first. Files of
    /// the exam set are not the change.
    fn poisonable(&self, exam: &Listing, generated: &BTreeSet<Vec<u8>>) -> Result<Vec<Vec<u8>>, Stopped> {
        let trees = self.trees;
        let seen_by_setup = self.sources_seen()?;
        let is_exam =
            |path: &[u8]| trees.rules.exam.iter().any(|set| set.is_match(path)) || trees.rules.protected.is_match(path);
        let mut reader = trees.store.reader();
        let mut files = Vec::new();
        for change in tree::changes(trees.baseline, trees.result) {
            let (path, Some(after)) = (&change.path, written_entry(&change)) else { continue };
            let may_be_unread = match source_kind(path) {
                Some(SourceKind::Compiled) => true,
                Some(SourceKind::Interpreted) => seen_by_setup(path),
                None => false,
            };
            if !may_be_unread || is_exam(path) || generated.contains(path) || !exam.0.contains_key(path) {
                continue;
            }
            let now = reader.blob(after.oid)?;
            let before = change.before.map(|before| reader.blob(before.oid)).transpose()?.unwrap_or_default();
            if content_kind(path, &now) == ContentKind::Text {
                files.push((changed_bytes(&before, &now), change.path));
            }
        }
        files.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.cmp(b)));
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }

    /// Tells the files that a setup or a build could have made products of.
    pub(super) fn sources_seen(&self) -> Result<impl Fn(&[u8]) -> bool + use<>, Stopped> {
        let environment = &self.setting.contract.environment;
        let all = !environment.build.is_empty() || !environment.setup.is_empty() && environment.setup_inputs.is_empty();
        let inputs = SetupInputs::read_globs(&environment.setup_inputs)?;
        let sets_up = !environment.setup.is_empty();
        Ok(move |path: &[u8]| all || sets_up && inputs.names_path(path))
    }

    /// Files of the tree that `build` makes again when they are absent. Says whether
    /// products that the patch carries are among them, with the same bytes.
    fn generated_files(&mut self, exam: &Listing) -> Result<BTreeSet<Vec<u8>>, Stopped> {
        let trees = self.trees;
        let changes = tree::changes(trees.baseline, trees.result);
        let carried = judge_products(trees.store, trees.rules, &changes)?.carried;
        let absent: BTreeSet<Vec<u8>> = self.rewritten.iter().chain(&carried).cloned().collect();
        if absent.is_empty() || self.setting.contract.environment.build.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut listing = exam.clone();
        listing.0.retain(|path, _| !absent.contains(path));
        let blocks = self.found.blocks.len();
        let exam_tree = self.make_exam_tree(&listing, "rebuild")?;
        self.found.blocks.truncate(blocks);
        let (None, Some(changes)) = (&exam_tree.unready, exam_tree.changes()) else { return Ok(BTreeSet::new()) };
        let made = |path: &Vec<u8>| read_plain(changes, path, LARGEST);
        let same = |path: &Vec<u8>| {
            let carried = exam.0.get(path).and_then(|entry| trees.store.blob(entry.oid).ok());
            carried.is_some() && carried == made(path)
        };
        self.found.products_rebuilt = !carried.is_empty() && carried.iter().all(same);
        Ok(absent.into_iter().filter(|path| made(path).is_some()).collect())
    }
}

/// True if a command ended as before, ran what it ran before, and nothing failed that did
/// not fail before.
pub(super) fn passes_like(before: &Ran, now: &Ran) -> bool {
    let terms = Terms { may_go: &[], is_relaxed: &|_| false, known_runner: before.tests.is_some() };
    let compared = compare(before.tests.as_ref(), now.tests.as_ref(), &terms);
    let failed = |ran: &Ran| -> BTreeSet<String> {
        ran.tests.iter().flat_map(|tests| tests.failed()).map(ToString::to_string).collect()
    };
    now.exit == before.exit && compared.weaknesses.is_empty() && failed(now).is_subset(&failed(before))
}

/// Bytes between the first and the last difference.
fn changed_bytes(before: &[u8], now: &[u8]) -> usize {
    let shorter = before.len().min(now.len());
    let same = |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(one, other)| one == other).count();
    let start = same(&mut before.iter().zip(now));
    let end = same(&mut before.iter().rev().zip(now.iter().rev())).min(shorter - start);
    before.len().max(now.len()) - start - end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_as_large_as_what_lies_between_its_ends() {
        for (before, now, bytes) in [
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "axc", 1),
            ("aa", "aaa", 1),
            ("abcd", "xbcy", 4),
            ("abc", "", 3),
        ] {
            assert_eq!(changed_bytes(before.as_bytes(), now.as_bytes()), bytes, "{before} {now}");
        }
    }
}
