//! Makes unoptimised programs cheap to start and to copy.
//!
//! Tests start the program tens of thousands of times. Before it is optimised it is large, and the dynamic linker would correct a hundred
//! thousand addresses in it at each start, which is most of the time of a short command. So it lies at fixed addresses. Half of its file
//! would be line numbers of backtraces, which runs digest and copy with it; a panic names its own line without them. A release is not
//! changed.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script about the target in its environment")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|found| found == value);
    let links_by_gcc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is("PROFILE", "debug") && links_by_gcc {
        for argument in ["bins=-no-pie", "bins=-Wl,--strip-debug", "tests=-no-pie"] {
            println!("cargo::rustc-link-arg-{argument}");
        }
    }
}
