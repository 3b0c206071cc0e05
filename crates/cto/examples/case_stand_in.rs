//! `cto __ca` as a program of its own: tests install it as Case, and what is installed is digested again and again.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    fixtures::ca_main(&arguments)
}
