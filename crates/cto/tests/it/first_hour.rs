//! The first hour: a contract that writes itself, an engine that is connected by one command, work that goes on meanwhile, and runs
//! that go on from others.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod agreed;
mod at;
mod case_scene;
mod connected;
mod continued;
mod ctest;
mod drafted;
mod setup;
mod systems;
mod tried;
mod tried_failures;
mod tried_systems;

use std::fs;
use std::path::Path;

use testkit::World;

/// An operator that git knows.
fn know_operator(world: &World) {
    fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
}

/// A path as text.
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
