//! The order of the work: one process a test, longest first, but for tests that share what
//! their process has made.

use crate::ChoreResult;

use super::durations::Durations;
use super::programs::TestProgram;
use super::select::Selection;

/// Tests that one process runs, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Job<'a> {
    pub(super) program: &'a TestProgram,
    /// Package, target and test; or, of several tests, what they share.
    pub(super) label: String,
    pub(super) tests: Vec<String>,
    pub(super) suite: TestSuite,
    /// Known to wait most of its time, so that it needs no processor of its own.
    pub(super) is_idle: bool,
}

/// Kinds of tests whose time is told apart, in the order in which they are begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestSuite {
    Usual,
    /// A real browser.
    Browser,
    /// Real database servers.
    Fleet,
    /// Real agents, their clients or a real model.
    Agents,
}

impl TestSuite {
    /// Each with its name, those first whose time is printed first.
    pub(super) const NAMES: [(&'static str, TestSuite); 4] = [
        ("agent suites", Self::Agents),
        ("fleet suite", Self::Fleet),
        ("browser suite", Self::Browser),
        ("all other tests", Self::Usual),
    ];
}

/// Tests that share a value of their process which is dear to make, such as a home that was
/// climbed in or a corpus of bundles.
struct Group {
    label: &'static str,
    package: &'static str,
    target: &'static str,
    /// Beginnings of names.
    prefixes: &'static [&'static str],
    /// Every name holds it.
    word: &'static str,
}

const fn of_cto(label: &'static str, prefixes: &'static [&'static str], word: &'static str) -> Group {
    Group { label, package: "cto", target: "it", prefixes, word }
}

const GROUPS: &[Group] = &[
    // One home an agent: the agent's copy in it is hundreds of megabytes.
    of_cto("agents of codex", &["agents::"], "::codex_"),
    of_cto("agents of pi", &["agents::"], "::pi_"),
    of_cto("agents of claude", &["agents::"], "::claude_"),
    // One program that Bun has compiled.
    of_cto("case::compiled", &["case::compiled::"], ""),
    // One database server.
    of_cto("fleet", &["fleet::"], ""),
    Group { label: "fleet", package: "ledger", target: "fleet", prefixes: &[""], word: "" },
    // One corpus of sealed bundles, and one run of the whole matrix.
    of_cto("tamper", &["tamper::"], ""),
    of_cto("formats", &["formats::"], ""),
    // One home a language: what the tests of a baseline are is found out once.
    of_cto("honest pytest", &["honest::pytest_", "honest::twin::pytest_"], ""),
    of_cto("honest unittest", &["honest::unittest_", "honest::twin::unittest_"], ""),
    of_cto("honest cargo", &["honest::cargo_", "honest::twin::cargo_"], ""),
    of_cto("honest node", &["honest::node_", "honest::twin::node_"], ""),
    of_cto("honest go", &["honest::go_", "honest::twin::go_"], ""),
    of_cto("honest make", &["honest::make_", "honest::twin::make_", "honest::shell_", "honest::twin::shell_"], ""),
];

/// Suites whose time is told apart, by package, target and beginning of the name.
const SUITES: [(TestSuite, &str, &str, &str); 9] = [
    (TestSuite::Agents, "cto", "it", "agents::"),
    (TestSuite::Agents, "cto", "it", "case::pi_inside::"),
    (TestSuite::Agents, "cto", "it", "first_hour::connected::"),
    (TestSuite::Agents, "cto", "it", "first_hour::systems::"),
    (TestSuite::Agents, "bridge", "it", "sdk::"),
    (TestSuite::Agents, "bridge", "real", ""),
    (TestSuite::Fleet, "ledger", "fleet", ""),
    (TestSuite::Fleet, "cto", "it", "fleet::"),
    (TestSuite::Browser, "cto", "browser", ""),
];

impl Group {
    fn includes(&self, program: &TestProgram, test: &str) -> bool {
        program.package == self.package
            && program.target == self.target
            && self.prefixes.iter().any(|prefix| test.starts_with(prefix))
            && test.contains(self.word)
    }
}

impl<'a> Job<'a> {
    /// Job of a single test.
    pub(super) fn of_one(program: &'a TestProgram, test: String) -> Self {
        let label = format!("{} {} {test}", program.package, program.target);
        let is_suite = |(_, package, target, prefix): &&(TestSuite, &str, &str, &str)| {
            program.package == *package && program.target == *target && test.starts_with(prefix)
        };
        let suite = SUITES.iter().find(is_suite).map_or(TestSuite::Usual, |(suite, ..)| *suite);
        Self { program, label, tests: vec![test], suite, is_idle: false }
    }

    /// Arguments for libtest. Several tests run on one thread: the processes are what runs
    /// side by side. A single test keeps a thread of its own, with the small stack that
    /// threads have.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        let one_by_one = (self.tests.len() > 1).then_some("--test-threads=1");
        ["--exact", "--show-output"].into_iter().chain(one_by_one).chain(self.tests.iter().map(String::as_str))
    }
}

/// Jobs of the chosen tests, in the order in which they are begun: the usual ones, the
/// fleet, the agents, and in each the longest first.
pub(super) fn plan_jobs<'a>(
    programs: &'a [TestProgram],
    selection: &Selection,
    durations: &Durations,
) -> ChoreResult<Vec<Job<'a>>> {
    let mut jobs = Vec::new();
    for program in programs {
        let chosen = program.list_tests()?.into_iter().filter(|test| selection.includes(program, test));
        jobs.extend(join_groups(program, chosen));
    }
    jobs.iter_mut().for_each(|job| job.is_idle = durations.is_idle(&job.label));
    order_jobs(&mut jobs, durations);
    Ok(jobs)
}

fn join_groups<'a>(program: &'a TestProgram, tests: impl IntoIterator<Item = String>) -> Vec<Job<'a>> {
    let mut jobs: Vec<Job<'a>> = Vec::new();
    for test in tests {
        let mut job = Job::of_one(program, test);
        if let Some(group) = GROUPS.iter().find(|group| group.includes(program, &job.tests[0])) {
            job.label = format!("{} {} {}", program.package, program.target, group.label);
        }
        match jobs.iter_mut().find(|known| known.label == job.label) {
            Some(known) => known.tests.append(&mut job.tests),
            None => jobs.push(job),
        }
    }
    jobs
}

fn order_jobs(jobs: &mut [Job<'_>], durations: &Durations) {
    let place = |job: &Job<'_>| (job.suite, std::cmp::Reverse(durations.expected_millis(&job.label, job.tests.len())));
    jobs.sort_by_cached_key(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> TestProgram {
        TestProgram { package: "cto".to_owned(), target: "it".to_owned(), executable: "/x".into(), folder: "/".into() }
    }

    fn labels(jobs: &[Job<'_>]) -> Vec<(String, usize)> {
        jobs.iter().map(|job| (job.label.clone(), job.tests.len())).collect()
    }

    #[test]
    fn tests_that_share_are_one_job() {
        let program = program();
        let names =
            ["honest::go_a", "cli::help", "honest::twin::go_a", "honest::every_folder", "agents::cases::pi_climbs"];
        let jobs = join_groups(&program, names.map(str::to_owned));
        let expected = [
            ("cto it honest go", 2),
            ("cto it cli::help", 1),
            ("cto it honest::every_folder", 1),
            ("cto it agents of pi", 1),
        ];
        assert_eq!(labels(&jobs), expected.map(|(label, tests)| (label.to_owned(), tests)));
        assert_eq!(jobs.iter().filter(|job| job.suite == TestSuite::Agents).count(), 1);
        let jobs = join_groups(&program, ["first_hour::connected::x", "first_hour::setup::x"].map(str::to_owned));
        assert_eq!(jobs.iter().map(|job| job.suite == TestSuite::Agents).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn the_longest_are_begun_first_and_agents_last() {
        let program = program();
        let names = ["a", "b", "agents::own::x", "new", "agents::own::y"];
        let mut jobs = join_groups(&program, names.map(str::to_owned));
        let mut durations = Durations::default();
        for (test, millis) in [("a", 50), ("b", 30_000), ("agents::own::x", 60_000), ("agents::own::y", 90_000)] {
            durations.set(&format!("cto it {test}"), millis);
        }
        order_jobs(&mut jobs, &durations);
        let order: Vec<&str> = jobs.iter().map(|job| job.tests[0].as_str()).collect();
        assert_eq!(order, ["b", "new", "a", "agents::own::y", "agents::own::x"]);
    }
}
