//! Hostile programs in profile `strict`, as root and as an ordinary user. Each attack has a control that shows it works without
//! the sandbox, on things the test made itself.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]
#![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

mod escape;
mod exhaust;
mod hidden;
mod host;
mod network;
mod records;
mod secrets;
mod survive;
mod unnamed;
mod useful;
mod world;
mod writes;
