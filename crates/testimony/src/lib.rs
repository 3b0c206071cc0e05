//! Testimony of others about themselves: test runners about their tests, engines about
//! their work. It is read from bytes that the code under judgement may have written,
//! compared with the harness's observations, and never believed.
//!
//! Pure: no clock, no file system, no process. Whatever comes in, nothing here panics and
//! memory stays bounded.

pub mod claims;
pub mod compare;
pub mod control;
pub mod ending;
pub mod notes;
mod phases;
pub mod progress;
pub mod results;
