//! The real binary, in worlds of its own.

mod smoke;

use testkit::World;

/// A world with the binary under test.
fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_cto"))
}
