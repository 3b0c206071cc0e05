//! Hostile engines in profile `strict`, through the real binary: what each tries, that it fails, and what the bundle says.
//!
//! A row is a case whose engine runs an attacking program. It is run as root and as an ordinary user, in the sandbox, where
//! it must reach nothing, and in a control, where it must reach what it is after: a row that cannot succeed proves nothing.
//! `docs/hostile-engines.md` lists the rows.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod cheats;
mod check;
mod escape;
mod exhaust;
mod kill;
mod network;
mod page;
mod program;
mod read;
mod row;
mod scene;
mod sealed;
mod survive;
mod theft;
mod unavailable;
mod useful;
mod write;
