//! Attacks on the door to untrusted files, each with a control that shows what a reader by path falls for.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod race;
mod read;
mod remove;
mod walk;
mod world;
