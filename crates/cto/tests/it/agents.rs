//! The real agents, through the real binary, in the sandbox, against a scripted model behind the bridge.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod aider;
mod behaviours;
mod cases;
mod climb;
mod hijacking;
mod hostile;
mod interrupted;
mod misbehaving;
mod own;
mod projects;
mod quickstart;
mod race;
mod scene;
mod traced;
