//! The default exam set: what an engine is judged by and may not change unless the contract allows it.
//!
//! Globs match at any depth. The list is part of the rules (`rules_version`), because verdicts rest on it.

/// Test files and directories, and the configuration that decides which tests run and how.
pub const DEFAULT: &[&str] = &[
    // Python
    "test_*.py",
    "*_test.py",
    "tests/",
    "test/",
    "conftest.py",
    "pytest.ini",
    "tox.ini",
    "noxfile.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    // Rust
    "build.rs",
    ".cargo/",
    // Node
    "*.test.js",
    "*.test.mjs",
    "*.test.cjs",
    "*.test.ts",
    "*.spec.js",
    "*.spec.ts",
    "__tests__/",
    "jest.config.*",
    "vitest.config.*",
    ".mocharc.*",
    // Go
    "*_test.go",
    "testdata/",
    // Shell and Make
    "test.sh",
    "*.bats",
    // Continuous integration
    ".github/workflows/",
    ".gitlab-ci.yml",
    ".ci/",
];
