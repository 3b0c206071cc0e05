//! What the scanner finds, what it leaves alone, and what it writes instead.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, like the tests")]

mod known;
mod measured;
mod patches;
mod properties;
mod redacted;
