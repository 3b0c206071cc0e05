//! The exam of shell scripts and of Make, CMake and similar tools, which may build and
//! start the tests of any repository.

use super::{Rule, Signs};

/// Signs of the ecosystem.
pub(super) const SIGNS: Signs = Signs {
    names: &[
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "Justfile",
        ".justfile",
        "Taskfile.yml",
        "Taskfile.yaml",
        "CMakeLists.txt",
        "meson.build",
    ],
    endings: &["sh", "bash", "zsh", "ksh", "bats", "mk", "just"],
    programs: &[
        "sh",
        "bash",
        "dash",
        "ash",
        "zsh",
        "ksh",
        "busybox",
        "make",
        "gmake",
        "bmake",
        "just",
        "task",
        "bats",
        "shellspec",
        "prove",
        "cmake",
        "ctest",
        "meson",
        "ninja",
    ],
};

/// Rules of this table.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "{test,tests,check,verify,selftest}.sh" "a script of this name usually runs the tests"
        is ["test.sh", "scripts/tests.sh", "check.sh", "verify.sh", "selftest.sh"] not ["latest.sh", "testing.sh"]
    Tests "{test,tests}[_-]*.sh" "tests and their shared helpers"
        is ["test-rotate.sh", "tests_common.sh"] not ["latest-a.sh"]
    Tests "*[._-]{test,tests,spec}.sh" "tests"
        is ["rotate.test.sh", "rotate-tests.sh", "rotate_spec.sh"] not ["latest.sh"]
    Tests "run[_-]test*" "starts the tests"
        is ["run-tests", "scripts/run_tests.sh", "run-test.py"] not ["run-all"]
    Tests "runtest*" "starts the tests"
        is ["runtests", "runtests.sh"] not ["runtime.sh"]
    Tests "*.bats" "tests of Bats"
        is ["rotate.bats"] not ["bats.md"]
    Tests "*.t" "tests for `prove`"
        is ["t/basic.t"] not ["a.ts"]
    Tests "test_*.{c,cc,cpp}" "tests in C and C++, and their shared helpers"
        is ["src/test_a.c", "test_a.cc", "test_a.cpp"] not ["contest_a.c", "test.c"]
    Tests "*_{test,tests}.{c,cc,cpp}" "tests in C and C++"
        is ["a_test.c", "a_tests.cc", "src/a_test.cpp"] not ["latest.c"]

    Runner ".shellspec" "options of ShellSpec"
        is [".shellspec"] not ["shellspec.md"]
    Runner "{shunit2,sharness.sh,assert.sh}" "a test library: it decides what fails"
        is ["lib/shunit2", "sharness.sh", "assert.sh"] not ["assertion.sh"]
    Runner "{Makefile,makefile,GNUmakefile,BSDmakefile}" "the manifest: its targets start the tests"
        is ["Makefile", "sub/makefile", "GNUmakefile", "BSDmakefile"] not ["Makefile.md"]
    Runner "Makefile.{am,in}" "generates a Makefile"
        is ["Makefile.am", "src/Makefile.in"] not ["Makefile.txt"]
    Runner "*.mk" "parts of a Makefile"
        is ["mk/rules.mk"] not ["mk.c"]
    Runner "CMakeLists.txt" "the manifest: lists the tests and defines their failure"
        is ["CMakeLists.txt", "src/CMakeLists.txt"] not ["docs/cmake.txt"]
    Runner "*.cmake" "parts of the manifest; CTest runs those that it finds in the build folder"
        is ["cmake/rules.cmake", "CTestCustom.cmake"] not ["cmake.md"]
    Runner "CMake{,User}Presets.json" "options of CMake and CTest: filters, the environment of tests"
        is ["CMakePresets.json", "CMakeUserPresets.json"] not ["presets.json"]
    Runner "meson.{build,options}" "the manifest: lists the tests and defines their failure"
        is ["meson.build", "src/meson.options"] not ["meson.md"]
    Runner "{justfile,Justfile,.justfile}" "just runs its recipes"
        is ["justfile", "Justfile", ".justfile"] not ["just.md"]
    Runner "*.just" "parts of a justfile"
        is ["ci.just"] not ["just.rs"]
    Runner "{Taskfile,taskfile}*.{yml,yaml}" "task runs its entries"
        is ["Taskfile.yml", "taskfile.dist.yaml"] not ["tasks.yml"]
};
