//! The console in a real browser: Chromium, driven by playwright-core, with axe-core looking for barriers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod agent;
mod approve;
#[path = "../it/console/client.rs"]
#[expect(dead_code, reason = "tests without a browser ask for more")]
mod client;
mod drive;
mod host;
mod hostile;
mod hostile_report;
mod hostile_source;
mod live;
mod pages;
mod panel;
mod payloads;
mod run_file;
mod scene;
mod tls;

use client::Served;
use drive::{Browser, Look, Page};
use testkit::World;

/// A world with the binary under test.
fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_cto"))
}
