//! The ledger on a server: the same tests as of a file, and those that only a server needs.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]
#![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

#[path = "../ledger/chain.rs"]
mod chain;
#[path = "../ledger/collect.rs"]
mod collect;
#[path = "../ledger/fixtures.rs"]
mod fixtures;
mod guard;
#[path = "../ledger/leases.rs"]
mod leases;
#[path = "../ledger/lists.rs"]
mod lists;
mod moved;
mod objects;
mod open;
#[path = "../ledger/queue.rs"]
mod queue;
#[path = "../ledger/requests.rs"]
mod requests;
mod retried;
mod rights;
mod starts;
#[path = "../ledger/together.rs"]
mod together;
mod upgraded;
mod world;
