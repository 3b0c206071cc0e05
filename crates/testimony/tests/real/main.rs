//! The real runners on tiny projects: what they say is read, changed exams are found to be weaker, and a control fails.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot set its scene up must stop")]

mod cargo;
mod go;
mod node;
mod noise;
mod project;
mod pytest;
mod unittest;
