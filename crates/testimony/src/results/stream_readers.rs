//! One output stream, heard by every reader at once.

use super::junit::JunitReport;
use super::tally::RunnerReading;
use super::{
    ava, cargo, ctest, go, jest, mocha, nextest, phpunit, pytest, rspec, spec, surefire, tap, text, unittest, vitest,
};

/// Readers of one stream, each in its own state.
#[derive(Debug, Default)]
pub(super) struct StreamReaders {
    pytest: pytest::PytestReader,
    unittest: unittest::UnittestReader,
    cargo: cargo::CargoReader,
    nextest: nextest::NextestReader,
    tap: tap::TapReader,
    spec: spec::SpecReader,
    go: go::GoReader,
    mocha: mocha::MochaReader,
    jest: jest::JestReader,
    vitest: vitest::VitestReader,
    ava: ava::AvaReader,
    ctest: ctest::CtestReader,
    rspec: rspec::RspecReader,
    phpunit: phpunit::PhpunitReader,
    surefire: surefire::SurefireReader,
}

impl StreamReaders {
    /// Passes every line of the output to every reader.
    pub(super) fn hear_output(bytes: &[u8]) -> Self {
        let mut readers = Self::default();
        for line in text::output_lines(bytes) {
            readers.pytest.take_line(&line);
            readers.unittest.take_line(&line);
            readers.nextest.take_line(&line);
            // A runner that shows the words of the processes it started has counted them
            // itself.
            if !readers.nextest.is_running() {
                readers.cargo.take_line(&line);
            }
            readers.tap.take_line(&line);
            readers.spec.take_line(&line);
            readers.go.take_line(&line);
            readers.mocha.take_line(&line);
            readers.jest.take_line(&line);
            readers.vitest.take_line(&line);
            readers.ava.take_line(&line);
            readers.ctest.take_line(&line);
            readers.rspec.take_line(&line);
            readers.phpunit.take_line(&line);
            readers.surefire.take_line(&line);
        }
        readers
    }

    /// Results of a stream, or a file, by itself.
    pub(super) fn alone(self) -> Vec<RunnerReading> {
        let mut streams = Streams { stdout: self, stderr: Self::default() };
        let pytest = streams.pytest(Vec::new(), false);
        pytest.into_iter().chain(streams.rest()).collect()
    }
}

/// Both streams of a command.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) stdout: StreamReaders,
    pub(super) stderr: StreamReaders,
}

impl Streams {
    /// Pytest's words together with its reports. Where tests started sessions of their own,
    /// only those with a report count.
    pub(super) fn pytest(&mut self, reports: Vec<JunitReport>, has_nested: bool) -> Option<RunnerReading> {
        let sessions = std::mem::take(&mut self.stdout.pytest).finish_sessions();
        let sessions = sessions.and(std::mem::take(&mut self.stderr.pytest).finish_sessions());
        let is_reported = !reports.is_empty();
        sessions.with_reports(reports, has_nested && is_reported)
    }

    /// Everybody else.
    pub(super) fn rest(self) -> Vec<RunnerReading> {
        let Self { stdout, stderr } = self;
        let each =
            |one: Option<RunnerReading>, other: Option<RunnerReading>| RunnerReading::all(one.into_iter().chain(other));
        let nextest = each(stdout.nextest.finish_reading(), stderr.nextest.finish_reading());
        let cargo = cargo::finish_streams(stdout.cargo, stderr.cargo, nextest.is_some());
        let node = each(
            each(stdout.tap.finish_reading(), stdout.spec.finish_reading()),
            each(stderr.tap.finish_reading(), stderr.spec.finish_reading()),
        );
        let unittest = each(stdout.unittest.finish_reading(), stderr.unittest.finish_reading());
        let go = each(stdout.go.finish_reading(), stderr.go.finish_reading());
        let mocha = each(stdout.mocha.finish_reading(), stderr.mocha.finish_reading());
        let jest = each(stdout.jest.finish(), stderr.jest.finish());
        let vitest = each(stdout.vitest.finish(), stderr.vitest.finish());
        let ava = each(stdout.ava.finish_reading(), stderr.ava.finish_reading());
        let ctest = each(stdout.ctest.finish_reading(), stderr.ctest.finish_reading());
        let rspec = each(stdout.rspec.finish(), stderr.rspec.finish());
        let phpunit = each(stdout.phpunit.finish(), stderr.phpunit.finish());
        let surefire = each(stdout.surefire.finish(), stderr.surefire.finish());
        let all =
            [unittest, cargo, nextest, node, go, mocha, jest, vitest, ava, ctest, rspec, phpunit, surefire].into_iter();
        all.flatten().collect()
    }
}
