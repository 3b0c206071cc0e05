//! `cargo test`: libtest's output on stdout, and cargo's on stderr about the binary that
//! printed it.

use contract::report::TestCounts;

use super::tally::{MOST_TESTS, RunnerReading, TestNames, counts, sum};
use super::{Runner, TestOutcome, text};

/// Beyond this many test binaries they are counted as one.
const MOST_BLOCKS: usize = 10_000;

/// Output of one test binary, from `running N tests` to `test result:`.
#[derive(Debug, Default)]
struct Block {
    label: Option<String>,
    names: TestNames,
    /// Test whose name was printed before its output; with one thread the outcome comes
    /// last.
    pending: Option<Pending>,
    said: Option<TestCounts>,
    /// True while the captured output of tests is being printed.
    details: bool,
}

#[derive(Debug)]
struct Pending {
    name: String,
    /// An outcome at the end of a line that the test began.
    glued: Option<TestOutcome>,
}

/// Reader of libtest's and cargo's lines.
#[derive(Debug, Default)]
pub(super) struct CargoReader {
    blocks: Vec<Block>,
    /// Blocks without a result yet. A test that runs a test binary itself makes more than one.
    open: Vec<usize>,
    labels: Vec<String>,
    /// A label after which no block came yet.
    label: Option<String>,
    /// Number of tests of all blocks.
    tests: usize,
}

impl CargoReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        if let Some(label) = label(line) {
            if self.labels.len() <= MOST_BLOCKS {
                self.labels.push(label.clone());
            }
            self.label = Some(label);
        } else if is_beginning(line) {
            self.begin();
        } else if let Some(block) = self.open.last().and_then(|open| self.blocks.get_mut(*open)) {
            match block.hear(line) {
                Line::Test if self.tests >= MOST_TESTS => block.names.forget(),
                Line::Test => self.tests += 1,
                Line::Last => drop(self.open.pop()),
                Line::Other => {}
            }
        }
    }

    fn begin(&mut self) {
        let label = self.label.take();
        if self.blocks.len() < MOST_BLOCKS {
            self.blocks.push(Block { label, ..Block::default() });
        } else if let Some(last) = self.blocks.last_mut() {
            (last.label, last.details) = (None, false);
        }
        if self.open.len() < MOST_BLOCKS {
            self.open.push(self.blocks.len() - 1);
        }
    }
}

/// Both streams. Where another runner of the same binaries has counted, only what cargo
/// itself announced is new.
pub(super) fn finish_streams(stdout: CargoReader, stderr: CargoReader, counted: bool) -> Option<RunnerReading> {
    let announced = !stdout.labels.is_empty() || !stderr.labels.is_empty();
    if counted && !announced {
        return None;
    }
    let readings = match (stdout.blocks.is_empty(), stderr.blocks.is_empty()) {
        (false, true) => settle(stdout.blocks, stderr.labels),
        (true, false) => settle(stderr.blocks, stdout.labels),
        _ => settle(stdout.blocks, Vec::new()).into_iter().chain(settle(stderr.blocks, Vec::new())).collect(),
    };
    RunnerReading::all(readings)
}

/// Labels of the other stream fit only if there is one for each block.
fn settle(mut blocks: Vec<Block>, labels: Vec<String>) -> Vec<RunnerReading> {
    if blocks.iter().all(|block| block.label.is_none()) && labels.len() == blocks.len() {
        blocks.iter_mut().zip(labels).for_each(|(block, label)| block.label = Some(label));
    }
    blocks.into_iter().map(Block::settle).collect()
}

/// Meaning of a line for a block.
enum Line {
    Test,
    Last,
    Other,
}

impl Block {
    fn hear(&mut self, line: &str) -> Line {
        if let Some(said) = line.strip_prefix("test result: ") {
            self.said = Some(self.said.map_or(result(said), |before| sum(before, result(said))));
            return Line::Last;
        }
        if matches!(line, "failures:" | "successes:") {
            self.details = true;
        }
        match self.details {
            true => Line::Other,
            false => self.hear_test(line),
        }
    }

    fn hear_test(&mut self, line: &str) -> Line {
        if let Some((name, words)) = test_line(line) {
            self.end_pending();
            match outcome(words) {
                Some(outcome) => self.names.add_test(plain_name(name), outcome),
                None => self.pending = Some(Pending { name: name.to_owned(), glued: glued(words) }),
            }
            return Line::Test;
        }
        if let Some(pending) = &mut self.pending {
            pending.glued = glued(line).or(pending.glued);
            if outcome(line).is_some() {
                self.end_pending();
            }
        }
        Line::Other
    }

    /// Takes the outcome at the end of the line, once it is clear that no line of its own
    /// follows.
    fn end_pending(&mut self) {
        if let Some(Pending { name, glued: Some(outcome) }) = self.pending.take_if(|pending| pending.glued.is_some()) {
            self.names.add_test(plain_name(&name), outcome);
        }
    }

    fn settle(mut self) -> RunnerReading {
        if self.said.is_some() {
            self.end_pending();
        }
        let mut names = self.names;
        match (self.pending, self.said) {
            (Some(_), None) => names.cut_off(),
            // Its outcome was lost among what it printed, unless the name itself was
            // something printed.
            (Some(pending), Some(said)) if said.executed.saturating_add(said.skipped) > names.number() => {
                let outcome = if said.failed == 0 { TestOutcome::Passed } else { TestOutcome::Failed };
                names.add_test(plain_name(&pending.name), outcome);
            }
            _ => {}
        }
        let names = match self.label {
            Some(label) => names.below_parent(&label),
            None => names,
        };
        RunnerReading::settle_names(Runner::Cargo, names, self.said)
    }
}

fn is_beginning(line: &str) -> bool {
    let rest = line.strip_prefix("running ").and_then(text::leading_number);
    rest.is_some_and(|(_, rest)| matches!(rest, " test" | " tests"))
}

/// `ok. 8 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s`.
fn result(said: &str) -> TestCounts {
    let (mut passed, mut failed, mut skipped) = (0_u64, 0, 0);
    for part in said.split(['.', ';']) {
        match text::leading_number(part.trim()) {
            Some((number, " passed" | " measured")) => passed = passed.saturating_add(number),
            Some((number, " failed")) => failed = number,
            Some((number, " ignored")) => skipped = number,
            _ => {}
        }
    }
    counts(passed.saturating_add(failed), failed, skipped)
}

/// A test's name and the words after it. With several threads a test's own words may stand
/// before them in the line.
fn test_line(line: &str) -> Option<(&str, &str)> {
    let start = match line.starts_with("test ") {
        true => 0,
        false => line.rfind("test ").filter(|at| outcome_follows(&line[*at..]))?,
    };
    let (name, words) = line[start + "test ".len()..].split_once(" ... ")?;
    // Words of a program may look alike; a name has no spaces but those of a documentation
    // test.
    let is_name = !name.is_empty() && (!plain_name(name).contains(' ') || name.contains(" - "));
    is_name.then_some((name, words))
}

fn outcome_follows(line: &str) -> bool {
    line.rsplit_once(" ... ").is_some_and(|(_, words)| outcome(words).is_some())
}

/// Name without parts that may change while the test stays: its line, its expected end.
fn plain_name(name: &str) -> &str {
    let endings = [" - should panic", " - compile fail", " - compile"];
    let name = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    match name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (line ")) {
        Some((name, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

fn outcome(words: &str) -> Option<TestOutcome> {
    let word = words.split([' ', ',']).next().unwrap_or_default();
    let rest = &words[word.len()..];
    match word {
        "ok" if rest.is_empty() || rest.starts_with(" <") => Some(TestOutcome::Passed),
        "bench:" => Some(TestOutcome::Passed),
        "FAILED" if rest.is_empty() || rest.starts_with(" <") => Some(TestOutcome::Failed),
        "ignored" if rest.is_empty() || rest.starts_with(", ") => Some(TestOutcome::Skipped),
        _ => None,
    }
}

/// An outcome behind what a test printed without ending its line.
fn glued(line: &str) -> Option<TestOutcome> {
    let ended = || ["ok", "FAILED", "ignored"].iter().find(|word| line.ends_with(*word)).and_then(|word| outcome(word));
    outcome(line).or_else(ended)
}

/// Name of the running binary: `x (src/lib.rs)`, `x (doc)`, or `x` if its source is not
/// printed. The hash in its file name changes and is left out.
fn label(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(library) = line.strip_prefix("Doc-tests ") {
        return (!library.contains(' ')).then(|| format!("{library} (doc)"));
    }
    let rest = line.strip_prefix("Running ")?;
    if let Some(command) = rest.strip_prefix('`') {
        return command
            .trim_end_matches('`')
            .split(' ')
            .find_map(|word| target(word).filter(|_| word.contains("/deps/")));
    }
    match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((source, binary)) => {
            let source = source.strip_prefix("unittests ").unwrap_or(source);
            Some(format!("{} ({source})", target(binary)?))
        }
        None => target(rest),
    }
}

/// `x` of `target/debug/deps/x-0123456789abcdef`.
fn target(binary: &str) -> Option<String> {
    let (name, hash) = binary.rsplit('/').next()?.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && !name.is_empty() && !name.contains('=')).then(|| name.to_owned())
}
