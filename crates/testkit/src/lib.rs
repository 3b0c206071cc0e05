//! Temporary worlds, tampering and faults, for tests only.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot set its scene up must stop")]

mod bundle;
mod skip;
mod world;

pub use bundle::{copy_bundle, files_of, resign};
pub use skip::{python, skip};
pub use world::{Ran, World, content_digest};
