//! The ledger through its public face, and through a raw connection where somebody tampers with it.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]
#![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

mod chain;
mod collect;
mod fixtures;
mod leases;
mod lists;
mod open;
mod queue;
mod requests;
mod surface;
mod together;
mod versions;
mod world;
