//! Whatever the bytes: an answer, soon, without a panic, within bounds.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::tally::MOST_TESTS;
use super::super::text::LONGEST_IDENTITY;
use super::super::{RunnerOutput, TestResults, read, report_files};

/// Lines and parts of lines that some reader waits for.
const WORDS: [&str; 66] = [
    "=== test session starts ===",
    "=== FAILURES ===",
    "=== short test summary info ===",
    "=== 1 failed, 2 passed in 0.05s ===",
    "a/test_b.py::test_c PASSED [ 50%]",
    "a/test_b.py::test_c[x",
    "PASSED",
    "[gw0] [ 50%] PASSED a.py::b",
    "FAILED a.py::b - x",
    "test_a (m.A) ... ok",
    "test_a (m.A)",
    "doc ... skipped 'x'",
    "ok",
    "FAIL",
    "Ran 3 tests in 0.1s",
    "OK (skipped=1)",
    "FAILED (failures=1, errors=99999999999999999999)",
    "  test_a (m.A.test_a) [x] (i=1) ... FAIL",
    "running 3 tests",
    "test a::b ... ok",
    "test a::b ... ",
    "test src/lib.rs - f (line 5) ... ignored, x",
    "failures:",
    "test result: ok. 18446744073709551615 passed; 1 failed; 1 ignored",
    "     Running unittests src/lib.rs (target/debug/deps/x-0123456789abcdef)",
    "   Doc-tests x",
    "    Starting 3 tests across 1 binary",
    "        PASS [   0.1s] x a",
    "  TRY 2 FAIL [ 0.1s] (1/2) x a",
    "     Summary [   0.1s] 3/4 tests run: 2 passed, 1 failed, 1 skipped",
    "TAP version 13",
    "# Subtest: x",
    "    # Subtest: y",
    "    ok 1 - y",
    "not ok 2 - x # TODO",
    "  ---",
    "  ...",
    "# tests 3",
    "# pass 3",
    "# duration_ms 1",
    "1..2",
    "ok 1 - x {",
    "}",
    "✔ x (1.5ms)",
    "✖ x (1ms) # y",
    "▶ x",
    "  ✔ y (1ms)",
    "▶ x (1ms)",
    "﹣ x (1ms) # SKIP",
    "✔ broken",
    "ℹ tests 3",
    "ℹ pass 18446744073709551615",
    "ℹ fail 1",
    "ℹ duration_ms 1",
    "test at a.js:1:1",
    "=== RUN   TestA",
    "--- PASS: TestA (0.00s)",
    "ok  \tx\t0.1s",
    "FAIL\tx [build failed]",
    "?   \tx\t[no test files]",
    "{\"Action\":\"run\",\"Package\":\"x\",\"Test\":\"T\"}",
    "{\"Action\":\"pass\",\"Package\":\"x\",\"Test\":\"T\"}",
    "<testsuites><testsuite name='pytest'>",
    "<testcase classname='a' name='b'><failure>",
    "</testcase></testsuite>",
    "<!DOCTYPE x [<!ENTITY a 'b'>]>",
];

fn bounded(results: &TestResults) {
    assert!(results.tests.len() <= MOST_TESTS);
    let longest = LONGEST_IDENTITY + " ⟨200000⟩".len();
    for name in results.tests.keys() {
        assert!(name.len() <= longest && !name.contains(char::is_control), "{name:?}");
    }
    let counts = results.counts;
    assert!(counts.failed <= counts.executed && counts.passed <= counts.executed);
}

fn attempt(stdout: &[u8], stderr: &[u8], file: &[u8]) {
    let argv = ["sh".to_owned(), "-c".to_owned(), String::from_utf8_lossy(stderr).into_owned()];
    let _ = report_files(&argv);
    for name in ["pytest.xml", "other"] {
        let files = [(name.to_owned(), file.to_vec())];
        if let Some(results) = read(&RunnerOutput { argv: &argv, stdout, stderr, files: &files }) {
            bounded(&results);
        }
    }
}

/// Words of all runners, in any order, changed here and there.
fn mixture() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        8 => prop::sample::select(&WORDS[..]).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => "\\PC{0,20}".prop_map(String::into_bytes),
    ];
    let end = prop::sample::select(&["\n", "\n", "\n", "\r\n", "\r", "", "\u{1b}[31m"][..]);
    let changed = (prop::collection::vec((word, end), 0..60), any::<prop::sample::Index>(), any::<u8>());
    changed.prop_map(|(words, at, byte)| {
        let mut bytes: Vec<u8> =
            words.iter().flat_map(|(word, end)| [word.as_slice(), end.as_bytes()].concat()).collect();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_mixture(stdout in mixture(), stderr in mixture(), file in mixture()) {
        attempt(&stdout, &stderr, &file);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        attempt(&bytes, &bytes, &bytes);
    }

    #[test]
    fn any_document(words in prop::collection::vec(prop::sample::select(&["<", ">", "/", "testcase", "testsuite", " name=", "'", "\"", "&", ";",
        "#", "!", "[", "]", "--", "CDATA", "?", "x", "failure", "\u{0}"][..]), 0..200)) {
        let document = format!("<testsuite>{}", words.concat());
        attempt(document.as_bytes(), b"", document.as_bytes());
    }
}

/// On a machine that does other things too. What is quadratic takes far longer.
const LONGEST: Duration = Duration::from_secs(120);

fn soon(stdout: &[u8], file: &[u8]) -> Option<TestResults> {
    let began = Instant::now();
    let argv = ["make".to_owned()];
    let results =
        read(&RunnerOutput { argv: &argv, stdout, stderr: b"", files: &[("pytest.xml".to_owned(), file.to_vec())] });
    let took = began.elapsed();
    assert!(took < LONGEST, "{took:?}: {:.80}", String::from_utf8_lossy(stdout));
    results.inspect(bounded)
}

/// Each of these is quadratic in a reader that looks back or starts again.
#[test]
fn large_outputs() {
    const SIZE: usize = 128 << 10;
    for word in WORDS.iter().chain(&[
        " ",
        "(",
        " (",
        " ... ",
        "=",
        "test ",
        "::",
        "[",
        "--- ",
        "&",
        "<",
        "<!--",
        "<testsuite",
        "<testcase name='",
        "'",
        "a (b.c) ... ",
        "\\",
        "\u{1b}",
        "\u{1b}[",
        "\u{1b}]",
        " # ",
        "{",
        "    ",
        "\"",
        "✔ ",
        "Running `",
        "/deps/",
        "\u{feff}",
        "\\#",
    ]) {
        let line = format!("{word}\n");
        soon(line.repeat(SIZE / line.len()).as_bytes(), b"");
        let long = word.repeat(SIZE / word.len());
        let announced = format!("TAP version 13\nrunning 3 tests\n=== test session starts ===\n{long}");
        soon(announced.as_bytes(), format!("<testsuite name='pytest'>{long}").as_bytes());
    }
}

#[test]
fn many_tests() {
    let many = |test: &dyn Fn(usize) -> String| (0..=MOST_TESTS).map(test).collect::<String>();
    let executed = MOST_TESTS as u64 + 1;
    for output in [
        format!("TAP version 13\n{}", many(&|n| format!("ok {n} - t{n}\n"))),
        format!(
            "running 9 tests\n{}test result: ok. {executed} passed; 0 failed\n",
            many(&|n| format!("test t{n} ... ok\n"))
        ),
        format!("{}Ran {executed} tests in 1s\n\nOK\n", many(&|n| format!("test_{n} (m.A) ... ok\n"))),
        format!("{}ok  \tx\t1s\n", many(&|n| format!("=== RUN   T{n}\n--- PASS: T{n} (0.00s)\n"))),
    ] {
        let results = soon(output.as_bytes(), b"").expect("a runner");
        assert_eq!((results.tests.len(), results.counts.executed), (0, executed), "{:.60}", output);
    }
    let report = format!("<testsuite name='pytest'>{}", many(&|n| format!("<testcase classname='a' name='t{n}'/>")));
    let results = soon(b"", report.as_bytes()).expect("a runner");
    assert_eq!((results.tests.len(), results.counts.executed), (0, executed));
}

/// More test binaries than are told apart: none is lost.
#[test]
fn many_binaries() {
    let block =
        |name: usize| format!("running 1 test\ntest t{name} ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n");
    let output: String = (0..20_000).map(block).collect();
    let results = soon(output.as_bytes(), b"").expect("a runner");
    assert_eq!((results.tests.len(), results.counts.executed), (20_000, 20_000));
}

#[test]
fn a_hundred_megabytes() {
    let case =
        "<testcase classname='a.B' name='x' file='a.py'><system-out>&lt;&a;<![CDATA[x]]></system-out></testcase>";
    let report = format!("<testsuite name='s'>{}</testsuite>", case.repeat((100 << 20) / case.len()));
    let results = soon(b"", report.as_bytes()).expect("a runner");
    assert_eq!((results.tests.len(), results.counts.executed), (0, ((100 << 20) / case.len()) as u64));
}
