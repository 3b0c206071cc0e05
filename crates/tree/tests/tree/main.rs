//! Everything here meets real git and real directories.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
#![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

mod capture;
mod checkout;
mod committed;
mod deeds;
mod forged;
mod hostile;
mod land;
mod layer;
mod overlay;
mod patch;
mod random;
mod setup;
mod source;
mod support;
mod work_repository;
