//! One output stream, heard by every reader at once.

use super::junit::Report;
use super::tally::Reading;
use super::{
    ava, cargo, ctest, go, jest, mocha, nextest, phpunit, pytest, rspec, spec, surefire, tap, text, unittest, vitest,
};

/// Readers of one stream, each in its own state.
#[derive(Debug, Default)]
pub(super) struct Voice {
    pytest: pytest::Reader,
    unittest: unittest::Reader,
    cargo: cargo::Reader,
    nextest: nextest::Reader,
    tap: tap::Reader,
    spec: spec::Reader,
    go: go::Reader,
    mocha: mocha::Reader,
    jest: jest::Reader,
    vitest: vitest::Reader,
    ava: ava::Reader,
    ctest: ctest::Reader,
    rspec: rspec::Reader,
    phpunit: phpunit::Reader,
    surefire: surefire::Reader,
}

impl Voice {
    /// Passes every line of the output to every reader.
    pub(super) fn hear(bytes: &[u8]) -> Self {
        let mut voice = Self::default();
        for line in text::lines(bytes) {
            voice.pytest.hear(&line);
            voice.unittest.hear(&line);
            voice.nextest.hear(&line);
            // A runner that shows the words of the processes it started has counted them
            // itself.
            if !voice.nextest.is_running() {
                voice.cargo.hear(&line);
            }
            voice.tap.hear(&line);
            voice.spec.hear(&line);
            voice.go.hear(&line);
            voice.mocha.hear(&line);
            voice.jest.hear(&line);
            voice.vitest.hear(&line);
            voice.ava.hear(&line);
            voice.ctest.hear(&line);
            voice.rspec.hear(&line);
            voice.phpunit.hear(&line);
            voice.surefire.hear(&line);
        }
        voice
    }

    /// Results of a stream, or a file, by itself.
    pub(super) fn alone(self) -> Vec<Reading> {
        let mut streams = Streams { stdout: self, stderr: Self::default() };
        let pytest = streams.pytest(Vec::new(), false);
        pytest.into_iter().chain(streams.rest()).collect()
    }
}

/// Both streams of a command.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) stdout: Voice,
    pub(super) stderr: Voice,
}

impl Streams {
    /// Pytest's words together with its reports. Where tests started sessions of their own,
    /// only those with a report count.
    pub(super) fn pytest(&mut self, reports: Vec<Report>, has_nested: bool) -> Option<Reading> {
        let sessions = std::mem::take(&mut self.stdout.pytest).finish();
        let sessions = sessions.and(std::mem::take(&mut self.stderr.pytest).finish());
        let is_reported = !reports.is_empty();
        sessions.with_reports(reports, has_nested && is_reported)
    }

    /// Everybody else.
    pub(super) fn rest(self) -> Vec<Reading> {
        let Self { stdout, stderr } = self;
        let each = |one: Option<Reading>, other: Option<Reading>| Reading::all(one.into_iter().chain(other));
        let nextest = each(stdout.nextest.finish(), stderr.nextest.finish());
        let cargo = cargo::finish(stdout.cargo, stderr.cargo, nextest.is_some());
        let node =
            each(each(stdout.tap.finish(), stdout.spec.finish()), each(stderr.tap.finish(), stderr.spec.finish()));
        let unittest = each(stdout.unittest.finish(), stderr.unittest.finish());
        let go = each(stdout.go.finish(), stderr.go.finish());
        let mocha = each(stdout.mocha.finish(), stderr.mocha.finish());
        let jest = each(stdout.jest.finish(), stderr.jest.finish());
        let vitest = each(stdout.vitest.finish(), stderr.vitest.finish());
        let ava = each(stdout.ava.finish(), stderr.ava.finish());
        let ctest = each(stdout.ctest.finish(), stderr.ctest.finish());
        let rspec = each(stdout.rspec.finish(), stderr.rspec.finish());
        let phpunit = each(stdout.phpunit.finish(), stderr.phpunit.finish());
        let surefire = each(stdout.surefire.finish(), stderr.surefire.finish());
        let all =
            [unittest, cargo, nextest, node, go, mocha, jest, vitest, ava, ctest, rspec, phpunit, surefire].into_iter();
        all.flatten().collect()
    }
}
