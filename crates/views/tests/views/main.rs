//! Views of homes that are made of a real ledger and of golden bundles.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on must stop")]
#![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

mod find;
mod live;
mod looking;
mod pages;
mod sealed;
mod spend;
mod tally;
mod world;
