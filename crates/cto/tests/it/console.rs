//! The console of a home: what it shows, to whom, and what it never does.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod branches;
mod client;
mod decided;
mod demo;
mod grown;
mod keys;
mod lapsed;
mod limits;
mod live;
mod locked;
mod marked;
mod open_api;
mod opened;
mod pages;
mod panel_files;
mod pressed;
mod run_file;
mod summary;
mod summary_size;
mod verified;

use client::{Answer, Served};
