//! The real binary, in worlds of its own.

mod bad_input;
mod cli;
mod formats;
mod hostile;
mod matrix;
mod parallel;
mod smoke;
mod tamper;

use testkit::World;

/// A world with the binary under test.
fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_cto"))
}
