//! Failing tests of random names, for runners we know: an exam that holds one must fail.
//!
//! One goes into each file with tests that ran, so that the same command runs it too. Where
//! that is not sure, because the command picks its tests by an expression or nothing shows
//! which file ran, there is no control rather than one that proves nothing.

mod command;
mod ctest;
mod go;
mod java;
mod node;
mod php;
mod places;
mod pytest;
mod python;
mod ruby;
mod rust;
mod rust_packages;
mod script;
mod tree;
mod unittest;
mod wanted;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use self::places::{declaring_files, known_runners, may_declare_tests};
pub use self::tree::ControlInputs;
pub use self::wanted::ControlTest;

use self::command::Commands;
use self::tree::ExamView;
use self::wanted::ControlRequest;
use crate::results::{Runner, TestResults};

/// Failing tests that the same command will run, one in each file with tests that ran. `name` is random, lower-case letters only.
/// None where the runner is not known well enough.
pub fn control_tests(exam: &TestResults, inputs: &ControlInputs<'_>, name: &str) -> Vec<ControlTest> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    let tree = ExamView::of_exam(inputs);
    let commands = Commands::of_command(inputs, &tree);
    let wanted = ControlRequest { exam, tree: &tree, commands: &commands, name };
    let mut controls = match exam.runner {
        Runner::Pytest => pytest::pytest_controls(&wanted),
        Runner::Unittest => unittest::unittest_controls(&wanted),
        Runner::Cargo => rust::controls_of_cargo(&wanted),
        Runner::Nextest => rust::controls_of_nextest(&wanted),
        Runner::Node => node::node_controls(&wanted),
        Runner::Go => go::go_controls(&wanted),
        // The report does not say who wrote it; the command may.
        Runner::Junit if commands.after(&["node"]).is_some() => node::node_controls(&wanted),
        Runner::Mocha | Runner::Jest | Runner::Vitest | Runner::Ava => script::script_controls(&wanted),
        Runner::Ctest => ctest::ctest_controls(&wanted),
        Runner::Rspec => ruby::ruby_controls(&wanted),
        Runner::Phpunit => php::php_controls(&wanted),
        Runner::Surefire => java::java_controls(&wanted),
        Runner::Junit => None,
    }
    .unwrap_or_default();
    let mut seen = BTreeSet::new();
    controls.retain(|control| seen.insert(control.path.clone()));
    controls
}

/// Those of the tests that the runner did not see fail. Where it gives numbers alone, as many failures as there are tests are
/// theirs: the exam without them passed.
pub fn unseen<'c>(controls: &'c [ControlTest], results: Option<&TestResults>) -> Vec<&'c ControlTest> {
    let Some(results) = results else { return controls.iter().collect() };
    let unseen: Vec<&ControlTest> = controls.iter().filter(|control| !control.is_named_in(results)).collect();
    let unnamed = results.counts.failed.saturating_sub(results.failed().count() as u64);
    if unnamed >= unseen.len() as u64 { Vec::new() } else { unseen }
}
