//! The exam of Rust: cargo's tests, cargo's settings for them, and code that
//! building runs.
//!
//! Clippy and rustfmt are not part of it, since they decide how code looks and not which
//! tests run. Examples are not either: they are built and not run.

use super::{Rule, Signs};

/// Signs of the ecosystem.
pub(super) const SIGNS: Signs = Signs {
    names: &["Cargo.toml", "rust-toolchain.toml"],
    endings: &["rs"],
    programs: &["cargo", "cargo-nextest", "rustc", "rustup", "rustdoc", "cross", "nextest"],
};

/// Rules of this table.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "{test,tests}.rs" "unit tests in a separate file"
        is ["src/tests.rs", "src/a/test.rs"] not ["src/testing.rs", "contests.rs"]
    Tests "*_{test,tests}.rs" "unit tests in a separate file"
        is ["src/parse_test.rs", "src/parse_tests.rs"] not ["src/latest.rs"]
    Tests "test_*.rs" "unit tests in a separate file, and their shared helpers"
        is ["src/test_support.rs"] not ["src/testing.rs"]
    Tests "benches/" "benchmarks, which `cargo test` can run too"
        is ["benches/parse.rs"] not ["src/bench.rs"]
    Tests "proptest-regressions/" "saved counterexamples, which each run tries again"
        is ["proptest-regressions/parse.txt"] not ["regressions.md"]

    Runner "Cargo.toml" "the manifest: tests, their builds, and replaced dependencies"
        is ["Cargo.toml", "crates/a/Cargo.toml"] not ["Cargo.toml.md"]
    Runner "Cargo.lock" "fixes the versions of dependencies"
        is ["Cargo.lock"] not ["a.lock"]
    Runner ".cargo/" "aliases, flags and variables of cargo; can replace the program that runs the tests"
        is [".cargo/config.toml", "crates/a/.cargo/config"] not ["cargo/a.rs"]
    Runner "{rust-toolchain,rust-toolchain.toml}" "chooses the compiler, and can name a path to one"
        is ["rust-toolchain", "rust-toolchain.toml"] not ["toolchain.toml"]
    Runner ".config/nextest.toml" "configuration of nextest: filters, retries, scripts"
        is [".config/nextest.toml"] not ["nextest.toml"]
    Runner "Makefile.toml" "cargo-make runs its tasks"
        is ["Makefile.toml"] not ["make.toml"]
    Runner "Cross.toml" "configuration of cross: where and how it runs the tests"
        is ["Cross.toml"] not ["cross.md"]
    Runner "{tarpaulin,.tarpaulin}.toml" "configuration of tarpaulin: which tests it runs"
        is ["tarpaulin.toml", ".tarpaulin.toml"] not ["tarpaulin.md"]

    BuildHook "build.rs" "runs during the build, before any test"
        is ["build.rs", "crates/a/build.rs"] not ["src/builder.rs"]
};
