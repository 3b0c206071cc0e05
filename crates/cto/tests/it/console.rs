//! The console of a home: what it shows, to whom, and what it never does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod client;
mod decided;
mod live;
mod locked;
mod pages;
mod summary;

use client::{Answer, Served};
