//! `cargo xtask dist`: the program as it is shipped.
//!
//! Linked without shared libraries and at a fixed address: it can be copied to any machine of the same architecture, and starts
//! in half the time. A run starts the program itself three times over, so that is felt. The price of the address is that only
//! stack, heap and mappings lie at random places; what `cargo build --release` makes has all four.

use std::path::PathBuf;

use crate::Outcome;
use crate::process::{cargo, run, target};

/// For the program alone; procedural macros cannot be linked this way.
const LINKED: [&str; 6] = [
    "-C",
    "target-feature=+crt-static",
    "-C",
    "relocation-model=static",
    // The standard library asks at run time whether this is there, and copies itself to start a program in a folder where not.
    "-C",
    "link-arg=-Wl,--undefined=posix_spawn_file_actions_addchdir_np",
];

pub(crate) fn build() -> Outcome<PathBuf> {
    let words = ["rustc", "--quiet", "--release", "--package", "cto", "--bin", "cto", "--"];
    run(cargo(&words).args(LINKED))?;
    Ok(target().join("release/cto"))
}
