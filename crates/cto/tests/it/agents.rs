//! The real agents, through the real binary, in the sandbox, against a scripted model behind the bridge.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod aider;
mod cases;
mod own;
mod quickstart;
mod race;
mod scene;
