//! Real programs under real supervision. Each defence has a control that shows what happens without it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, like the tests")]
#![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

mod disk;
mod ends;
mod lost;
mod output;
mod surroundings;
mod trees;
mod world;
