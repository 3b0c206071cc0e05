//! The engine `case`, with a stand-in for its program that really speaks to a scripted model through the bridge.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod climb;
mod compiled;
mod ends;
mod expected;
mod followed;
mod gates;
mod governed;
mod health;
mod history;
mod hostile;
mod identity;
mod interrupted;
mod lives;
mod pi_inside;
mod plain;
mod proven;
pub(crate) mod scene;
mod stages;
mod stayer;
mod table;
mod traced;
mod transcript;
mod workspace;
