//! The exam of Rust: cargo's tests, cargo's settings for them, and code that
//! building runs.
//!
//! Clippy and rustfmt are not part of it, since they decide how code looks and not which
//! tests run. Examples are not either: they are built and not run.

use super::{Rule, Signs};

pub(super) const SIGNS: Signs = Signs {
    names: &["Cargo.toml", "rust-toolchain.toml"],
    endings: &["rs"],
    programs: &["cargo", "cargo-nextest", "rustc", "rustup", "rustdoc", "cross", "nextest"],
};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "{test,tests}.rs" "unit tests in a file of their own"
        is ["src/tests.rs", "src/a/test.rs"] not ["src/testing.rs", "contests.rs"]
    Tests "*_{test,tests}.rs" "unit tests in a file of their own"
        is ["src/parse_test.rs", "src/parse_tests.rs"] not ["src/latest.rs"]
    Tests "test_*.rs" "unit tests in a file of their own, and what they share"
        is ["src/test_support.rs"] not ["src/testing.rs"]
    Tests "benches/" "benchmarks, which cargo test can run too"
        is ["benches/parse.rs"] not ["src/bench.rs"]
    Tests "proptest-regressions/" "counterexamples that are tried again each time"
        is ["proptest-regressions/parse.txt"] not ["regressions.md"]

    Runner "Cargo.toml" "the manifest; which tests exist, how they are built, what stands in place of a dependency"
        is ["Cargo.toml", "crates/a/Cargo.toml"] not ["Cargo.toml.md"]
    Runner "Cargo.lock" "which versions are built"
        is ["Cargo.lock"] not ["a.lock"]
    Runner ".cargo/" "aliases, flags, environment, and a program that runs the tests in their stead"
        is [".cargo/config.toml", "crates/a/.cargo/config"] not ["cargo/a.rs"]
    Runner "{rust-toolchain,rust-toolchain.toml}" "chooses the compiler, and can name a path to one"
        is ["rust-toolchain", "rust-toolchain.toml"] not ["toolchain.toml"]
    Runner ".config/nextest.toml" "configuration of nextest: filters, retries, scripts"
        is [".config/nextest.toml"] not ["nextest.toml"]
    Runner "Makefile.toml" "what cargo-make runs"
        is ["Makefile.toml"] not ["make.toml"]
    Runner "Cross.toml" "where and how cross runs the tests"
        is ["Cross.toml"] not ["cross.md"]
    Runner "{tarpaulin,.tarpaulin}.toml" "which tests tarpaulin runs"
        is ["tarpaulin.toml", ".tarpaulin.toml"] not ["tarpaulin.md"]

    BuildHook "build.rs" "code that building runs, before any test"
        is ["build.rs", "crates/a/build.rs"] not ["src/builder.rs"]
};
