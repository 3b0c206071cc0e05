//! Signatures held beside the real ssh-keygen.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, like the tests")]

mod allowed;
mod keygen;
mod kinds;
mod security_key;
