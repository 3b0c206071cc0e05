//! The real binary, in worlds of its own.

mod advice;
mod agents;
mod approvals;
mod archive;
mod audit;
mod bad_input;
mod bound;
mod broken_sources;
mod case;
mod cheats;
mod claims;
mod cli;
mod climb;
mod collected;
mod completions;
mod console;
mod controls;
mod documented;
mod engine_files;
mod environment;
mod exam;
mod exam_set;
mod first_hour;
#[cfg(feature = "fleet")]
mod fleet;
mod formats;
mod gc;
mod halt;
mod honest;
mod hostile;
mod interrupted;
mod judged;
mod ladder;
mod lanes;
mod matrix;
mod model;
mod parallel;
mod private;
mod pull_request;
mod queue;
mod recorded_run;
mod refreshed;
mod replay;
mod reverify;
mod reviewers;
mod runners;
mod secrets;
mod shared_bundles;
mod shared_ledger;
mod smoke;
mod stops;
mod strict;
mod take;
mod tamper;
mod targets;
mod terminal;
mod top;
mod traced;
mod transcript;
mod trust;
mod validated;
mod workspace_records;

use testkit::World;

/// A world with the binary under test.
fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_cto"))
}
