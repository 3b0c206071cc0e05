//! The exam of shell scripts and of Make and its kin, which in any repository may be what starts the tests.

use super::{Rule, Signs};

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
    ],
};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "{test,tests,check,verify,selftest}.sh" "a script of this name is the exam"
        is ["test.sh", "scripts/tests.sh", "check.sh", "verify.sh", "selftest.sh"] not ["latest.sh", "testing.sh"]
    Tests "{test,tests}[_-]*.sh" "tests, and what they share"
        is ["test-rotate.sh", "tests_common.sh"] not ["latest-a.sh"]
    Tests "*[._-]{test,tests,spec}.sh" "tests"
        is ["rotate.test.sh", "rotate-tests.sh", "rotate_spec.sh"] not ["latest.sh"]
    Tests "run[_-]test*" "what starts the tests"
        is ["run-tests", "scripts/run_tests.sh", "run-test.py"] not ["run-all"]
    Tests "runtest*" "what starts the tests"
        is ["runtests", "runtests.sh"] not ["runtime.sh"]
    Tests "*.bats" "tests of Bats"
        is ["rotate.bats"] not ["bats.md"]
    Tests "*.t" "tests that prove runs"
        is ["t/basic.t"] not ["a.ts"]

    Runner ".shellspec" "options of ShellSpec"
        is [".shellspec"] not ["shellspec.md"]
    Runner "{shunit2,sharness.sh,assert.sh}" "what tests are written with: it says what fails"
        is ["lib/shunit2", "sharness.sh", "assert.sh"] not ["assertion.sh"]
    Runner "{Makefile,makefile,GNUmakefile,BSDmakefile}" "the manifest; its targets are what is run"
        is ["Makefile", "sub/makefile", "GNUmakefile", "BSDmakefile"] not ["Makefile.md"]
    Runner "Makefile.{am,in}" "what a Makefile is made from"
        is ["Makefile.am", "src/Makefile.in"] not ["Makefile.txt"]
    Runner "*.mk" "parts of a Makefile"
        is ["mk/rules.mk"] not ["mk.c"]
    Runner "{justfile,Justfile,.justfile}" "what just runs"
        is ["justfile", "Justfile", ".justfile"] not ["just.md"]
    Runner "*.just" "parts of a justfile"
        is ["ci.just"] not ["just.rs"]
    Runner "{Taskfile,taskfile}*.{yml,yaml}" "what task runs"
        is ["Taskfile.yml", "taskfile.dist.yaml"] not ["tasks.yml"]
};
