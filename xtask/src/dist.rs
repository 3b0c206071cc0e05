//! `cargo xtask dist`: the program as it is shipped.
//!
//! Linked without shared libraries: it can be copied to any machine of the same architecture, and starts in less than half the
//! time. A run starts itself three times over, so that is felt.

use std::path::PathBuf;

use crate::Outcome;
use crate::process::{cargo, run, target};

/// Only the program itself is linked this way; procedural macros cannot be.
const LINKED: [&str; 2] = ["-C", "target-feature=+crt-static"];

pub(crate) fn build() -> Outcome<PathBuf> {
    let words = ["rustc", "--quiet", "--release", "--package", "cto", "--bin", "cto", "--"];
    run(cargo(&words).args(LINKED))?;
    Ok(target().join("release/cto"))
}
