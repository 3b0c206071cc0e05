//! Findings of the scanner, texts that it leaves alone, and replacements.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, like the tests")]

mod known;
mod measured;
mod patches;
mod properties;
mod redacted;
