//! Mocha, Jest, Vitest, AVA, CTest, RSpec, PHPUnit and Surefire, as they were recorded.

use super::{Left, check, err, out, read_left};

#[test]
fn mocha() {
    let words = "\n\n  ✔ top level\n  math\n    ✔ adds\n    1) fails\n    - later\n    - todo\n    deep\n      ✔ nests (40ms)\n\n\n  3 passing (23ms)\n  2 pending\n  1 failing\n\n  1) math\n       fails:\n\n      AssertionError [ERR_ASSERTION]: 1 == 2\n";
    check(
        &out(words),
        &[
            "mocha 4/1/2",
            "+ math > adds",
            "+ math > deep > nests",
            "- math > fails",
            ". math > later",
            ". math > todo",
            "+ top level",
        ],
    );
    check(&out("\n  2 passing (3ms)\n\n"), &["mocha 2/0/0"]);
    assert!(read_left(&out("  ✔ a\n  ✔ b\n")).is_none(), "no summary, no runner");
}

#[test]
fn jest() {
    let several = "PASS j/b.test.js\nFAIL j/broken.test.js\n  ● Test suite failed to run\n\n    Cannot find module './nothing'\n\nFAIL j/a.test.js\n  ● math › fails\n\n    expect(received).toBe(expected)\n\nTest Suites: 2 failed, 1 passed, 3 total\nTests:       1 failed, 1 skipped, 1 todo, 4 passed, 7 total\nSnapshots:   0 total\n";
    check(&err(several), &["jest 5/1/2"]);
    let unloaded = read_left(&err(several)).expect("jest").unloaded;
    assert_eq!(unloaded.into_iter().collect::<Vec<_>>(), ["j/broken.test.js"]);
    let verbose = "PASS ./a.test.js (5.1 s)\n  math\n    ✓ adds (2 ms)\n    ○ skipped later\n    deep\n      ✓ nests\n  ✓ top level\n\nTest Suites: 1 passed, 1 total\nTests:       1 skipped, 3 passed, 4 total\n";
    check(
        &err(verbose),
        &[
            "jest 3/0/1",
            "+ a.test.js > math > adds",
            "+ a.test.js > math > deep > nests",
            ". a.test.js > math > later",
            "+ a.test.js > top level",
        ],
    );
    // A test that prints a summary of its own ends nothing without the line before it.
    assert!(read_left(&out("Tests:       9 passed, 9 total\n")).is_none());
}

#[test]
fn vitest() {
    let words = "\n RUN  v3.2.7 /w\n\n ❯ v/a.test.mjs (6 tests | 1 failed | 2 skipped) 6ms\n   ✓ math > adds 1ms\n   × math > fails 4ms\n     → expected 1 to be 2 // Object.is equality\n   ↓ math > later\n   ↓ math > todo\n   ✓ math > deep > nests 0ms\n   ✓ top level 0ms\n\n Test Files  1 failed (1)\n      Tests  1 failed | 3 passed | 1 skipped | 1 todo (6)\n   Start at  09:32:58\n";
    check(
        &out(words),
        &[
            "vitest 4/1/2",
            "+ v/a.test.mjs > math > adds",
            "+ v/a.test.mjs > math > deep > nests",
            "- v/a.test.mjs > math > fails",
            ". v/a.test.mjs > math > later",
            ". v/a.test.mjs > math > todo",
            "+ v/a.test.mjs > top level",
        ],
    );
    check(
        &out(
            "\n RUN  v3.2.7 /w\n\n ✓ a.test.ts (2 tests) 5ms\n\n Test Files  1 passed (1)\n      Tests  2 passed (2)\n",
        ),
        &["vitest 2/0/0"],
    );
}

#[test]
fn vitest_names_tests_below_suites_and_on_lines_of_their_own() {
    let tests = [
        "vitest 3/1/1",
        "+ a.test.mjs > add > deep > nests",
        "- a.test.mjs > add > fails",
        ". a.test.mjs > add > later",
        "+ b.test.mjs > stays",
    ];
    let tree = "\n RUN  v5.1.0 /w\n\n ❯ a.test.mjs (3 tests | 1 failed | 1 skipped) 6ms\n   ❯ add (3)\n     × fails 4ms\n     ↓ later\n     ✓ deep (1)\n       ✓ nests 0ms\n ✓ b.test.mjs (1 test) 2ms\n   ✓ stays 0ms\n\n Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 2 passed | 1 skipped (4)\n";
    check(&out(tree), &tests);
    let verbose = "\n RUN  v5.1.0 /w\n\n × a.test.mjs > add > fails 4ms\n   → expected +0 to be 2\n ↓ a.test.mjs > add > later\n ✓ a.test.mjs > add > deep > nests 0ms\n ✓ b.test.mjs > stays 1ms\n\n Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 2 passed | 1 skipped (4)\n";
    check(&out(verbose), &tests);
}

#[test]
fn ava() {
    let words = "\n  ✔ b › b one\n  - [skip] a › later\n  - [todo] a › todo\n  ✔ a › adds\n  ✘ [fail]: a › fails\n  ✔ [expected fail] a › known\n  ─\n\n  a › fails\n\n  Difference (- actual, + expected):\n\n  - 1\n  + 2\n\n  ─\n\n  1 test failed\n  1 known failure\n  1 test skipped\n  1 test todo\n";
    check(
        &out(words),
        &["ava 4/1/2", "+ a › adds", "- a › fails", "+ a › known", ". a › later", ". a › todo", "+ b › b one"],
    );
    check(&out("\n  ✔ adds\n  ─\n\n  1 test passed\n"), &["ava 1/0/0", "+ adds"]);
    // Tests that a process left undone by ending have failed.
    let ended = "\n  - [skip] later\n  ✘ Exiting due to process.exit() when running a.test.mjs\n\n  ✘ 2 tests remaining in a.test.mjs\n  ─\n\n  1 test skipped\n";
    check(&out(ended), &["ava 2/2/1", ". later"]);
}

#[test]
fn ctest() {
    let words = "Test project /w/build\n    Start 1: a\n1/4 Test #1: a ................................   Passed    0.00 sec\n    Start 2: b\n2/4 Test #2: b ................................***Failed    0.01 sec\n3/4 Test #3: c ................................***Not Run (Disabled)   0.00 sec\n4/4 Test #4: d ................................***Exception: SegFault  0.10 sec\n\n25% tests passed, 2 tests failed out of 4\n";
    check(&out(words), &["ctest 3/2/1", "+ a", "- b", ". c", "- d"]);
    // A disabled test is not counted in the summary.
    check(
        &out(&words.replace("2 tests failed out of 4", "2 tests failed out of 3")),
        &["ctest 3/2/1", "+ a", "- b", ". c", "- d"],
    );
}

#[test]
fn runners_that_give_numbers() {
    check(&out("....F*\n\n6 examples, 1 failure, 1 pending\n"), &["rspec 5/1/1"]);
    check(&out("0 examples, 0 failures, 1 error occurred outside of examples\n"), &["rspec 1/1/0"]);
    check(&out("OK (12 tests, 34 assertions)\n"), &["phpunit 12/0/0"]);
    check(&out("FAILURES!\nTests: 12, Assertions: 34, Failures: 1, Errors: 1, Skipped: 2.\n"), &["phpunit 10/2/2"]);
    let maven = "[INFO] Running ex.AppTest\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.05 s <<< FAILURE! - in ex.AppTest\n[INFO] Results:\n[INFO] \n[ERROR] Failures: \n[ERROR]   AppTest.fails:3 no\n[INFO] \n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n";
    check(&out(maven), &["surefire 2/1/1"]);
    // The numbers of a class alone are no end.
    assert!(
        read_left(&out("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s - in A\n"))
            .is_none()
    );
}

#[test]
fn rspec_names_examples_in_its_documentation() {
    let words = "\nadd\n  adds (FAILED - 1)\n  stays\n  later (PENDING: Not yet implemented)\n  deep\n    nests\n\nother\n  is\n\nPending: (Failures listed here are expected and do not affect your suite's status)\n\n  1) add later\n     # Not yet implemented\n\nFailures:\n\n  1) add adds\n     Failure/Error: it\n\nFinished in 0.01 seconds\n5 examples, 1 failure, 1 pending\n\nFailed examples:\n\nrspec ./spec/a_spec.rb:3 # add adds\n";
    check(
        &out(words),
        &["rspec 4/1/1", "- add > adds", "+ add > deep > nests", ". add > later", "+ add > stays", "+ other > is"],
    );
    // Lines that a test prints among them make the names too many, and then there are none.
    check(&out(&words.replace("  stays\n", "  stays\n  printed\n")), &["rspec 4/1/1"]);
}

#[test]
fn phpunit_names_tests_where_it_is_asked() {
    let words = "PHPUnit 9.6.7 by Sebastian Bergmann and contributors.\n\nAdder\n ✘ Adds\n   │\n   │ Failed asserting that 0 is identical to 2.\n   │\n\n ✔ Stays [0.05 ms]\n ↩ Later\n\nTime: 00:00.012\n\nSummary of non-successful tests:\n\nAdder\n ✘ Adds\n\n ↩ Later\n\nFAILURES!\nTests: 3, Assertions: 2, Failures: 1, Skipped: 1.\n";
    check(&out(words), &["phpunit 2/1/1", "- Adder > Adds", ". Adder > Later", "+ Adder > Stays"]);
}

#[test]
fn names_stand_in_the_reports_of_surefire() {
    let stdout = "[INFO] Results:\n[INFO] \n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n";
    let report = "<testsuite name=\"ex.AppTest\"><testcase name=\"adds\" classname=\"ex.AppTest\"><failure/></testcase><testcase name=\"later\" classname=\"ex.AppTest\"><skipped/></testcase></testsuite>";
    let other = "<testsuite name=\"ex.BTest\"><testcase name=\"stays\" classname=\"ex.BTest\"/></testsuite>";
    let files =
        [("target/surefire-reports/TEST-ex.AppTest.xml", report), ("target/surefire-reports/TEST-ex.BTest.xml", other)];
    let left = Left { argv: "mvn -o -B test", stdout, files: &files, ..Left::default() };
    check(&left, &["surefire 2/1/1", "- ex.AppTest::adds", ". ex.AppTest::later", "+ ex.BTest::stays"]);
    // A report that tells of more than was printed gives no names, and nothing better than the worse numbers.
    let more = [files[0], files[1], ("target/surefire-reports/TEST-ex.CTest.xml", other)];
    check(&Left { files: &more, ..left }, &["surefire 2/1/1"]);
}
