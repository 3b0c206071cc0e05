//! Several runners in one output.

use super::{Left, check, read_left};

const NODE: &str = "✔ a (0.1ms)\nℹ tests 1\nℹ pass 1\nℹ duration_ms 1\n";
const CARGO: &str = "running 1 test\ntest b ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
const PYTEST: &str = "...\n3 passed in 0.06s\n";
const UNITTEST: &str = "test_d (m.A) ... ok\nRan 1 test in 0.1s\n\nOK\n";
const GO: &str = "=== RUN   TestE\n--- PASS: TestE (0.00s)\nPASS\nok  \tx\t0.1s\n";
const TAP: &str = "TAP version 13\nok 1 - f\n1..1\n# tests 1\n# pass 1\n# fail 0\n# duration_ms 4.1\n";
const NEXTEST: &str = "    Starting 1 test across 1 binary\n        PASS [   0.007s] m g\n     Summary [   0.1s] 1 test run: 1 passed, 0 skipped\n";

#[test]
fn none_is_lost() {
    let stdout = [NODE, CARGO, PYTEST, GO, TAP].concat();
    let stderr =
        ["     Running unittests src/lib.rs (target/debug/deps/x-4ecc71417e50c6b2)\n", UNITTEST, NEXTEST].concat();
    let left = Left { argv: "make test", stdout: &stdout, stderr: &stderr, files: &[("r.tap", TAP)] };
    check(
        &left,
        &["pytest 10/0/0", "+ a", "+ f", "+ f ⟨2⟩", "+ m > g", "+ m.A.test_d", "+ x (src/lib.rs) > b", "+ x::TestE"],
    );
}

#[test]
fn each_order_gives_the_same() {
    let parts = [NODE, CARGO, PYTEST, GO, TAP, UNITTEST, NEXTEST];
    let expected = ["pytest 9/0/0", "+ a", "+ b", "+ f", "+ m > g", "+ m.A.test_d", "+ x::TestE"];
    for first in 0..parts.len() {
        let stdout: String = parts.iter().cycle().skip(first).take(parts.len()).copied().collect();
        // A block of cargo that no cargo announced counts only where nextest did not.
        let stdout = stdout.replace("running 1 test\n", "   Doc-tests x\nrunning 1 test\n");
        let expected = expected.map(|test| if test == "+ b" { "+ x (doc) > b" } else { test });
        let mut expected: Vec<&str> = expected.to_vec();
        expected[1..].sort_by_key(|test| &test[2..]);
        check(&Left { stdout: &stdout, ..Left::default() }, &expected);
    }
}

#[test]
fn nobody() {
    check(
        &Left {
            argv: "sh test.sh",
            stdout: "ok\nall tests passed\n",
            stderr: "warning: x\n",
            files: &[("r.xml", "x")],
        },
        &[],
    );
}

/// Files that could not be loaded, as each runner tells it: such a file is no test that was found.
#[test]
fn what_could_not_be_loaded() {
    let rule = "=".repeat(70);
    let unittest = format!(
        "{rule}\nERROR: pkg.test_a (unittest.loader._FailedTest.pkg.test_a)\nRan 1 test in 0.1s\n\nFAILED (errors=1)\n"
    );
    let go = "# x\nx.go:2:23: no\nFAIL\texample.org/x [build failed]\nFAIL\n";
    let node = "TAP version 13\n# Subtest: /project/a.test.js\nnot ok 1 - /project/a.test.js\n1..1\n# tests 1\n# pass 0\n# fail 1\n# duration_ms 4.1\n";
    for (stdout, unloaded) in [(unittest.as_str(), "pkg.test_a"), (go, "example.org/x"), (node, "a.test.js")] {
        let results = read_left(&Left { stdout, ..Left::default() }).unwrap();
        assert_eq!(results.unloaded.iter().collect::<Vec<_>>(), [unloaded]);
        assert_eq!(results.collected, 0, "{unloaded}");
    }
}
