//! What others say of themselves: test runners of their tests, engines of their work. Read from bytes that the code under
//! judgement may have written, compared with what the harness saw, never believed.
//!
//! Pure: no clock, no file system, no process. Whatever comes in, nothing here panics and memory stays bounded.

pub mod claims;
pub mod compare;
pub mod control;
pub mod ending;
pub mod notes;
mod phases;
pub mod progress;
pub mod results;
