//! The engine `case`, with a stand-in for its program that really speaks to a scripted model through the bridge.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod ends;
mod gates;
mod health;
mod lives;
mod scene;
mod stages;
