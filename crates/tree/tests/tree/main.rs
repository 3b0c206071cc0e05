//! Everything here meets real git and real directories.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod capture;
mod hostile;
mod patch;
mod source;
mod support;
mod work_repository;
