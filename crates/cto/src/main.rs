//! `cto`: coding agents change real code without being handed authority.
//!
//! The edge of the program: arguments, configuration, output, exit codes. What is decided,
//! run and proven is decided, run and proven in the other crates.

mod approvals_view;
mod args;
mod bridge_view;
mod commands;
mod config;
mod context;
mod credential_source;
mod error;
mod junit;
mod ladder_view;
mod lane_table;
mod legacy_run;
mod live;
mod nearest;
mod operator;
mod output;
#[cfg(test)]
#[path = "../tests/browser/payloads.rs"]
mod payloads;
mod replaced_file;
mod run_view;
mod seek;
mod settings_file;
mod signing;
mod workspace_scene;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The hidden roles come first: a supervising stage must start in about a millisecond.
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|first| first.to_str()) {
        Some(sandbox::STAGE_ARG) => sandbox::stage_main(harness::execution_rules()),
        Some("__fake") => fixtures::fake_main(&arguments[2..]),
        Some("__ca") => fixtures::ca_main(&arguments[2..]),
        Some("__model") => fixtures::model_main(&arguments[2..]),
        _ => commands::main(arguments),
    }
}
