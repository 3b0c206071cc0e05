use super::{Left, check, out};

const STDERR: &str = "   Compiling x-y v0.1.0 (/tmp/x)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.92s
     Running unittests src/lib.rs (target/debug/deps/x_y-4ecc71417e50c6b2)
error: test failed, to rerun pass `-p x-y --lib`
     Running tests/it.rs (/elsewhere/target/debug/deps/it-e753abd685cef485)
   Doc-tests x_y
";

const STDOUT: &str = "
running 7 tests
test tests::ign ... ignored, because ... ok
test tests::ign2 ... ignored
test tests::ok ... ok
partial
lines
wordstest tests::printy ... ok
test tests::sp - should panic ... ok
test tests::bad ... FAILED
test tests::timed ... ok <0.001s>

failures:

---- tests::bad stdout ----
test tests::forged ... ok

failures:
    tests::bad

test result: FAILED. 4 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.48s


running 2 tests
test deep::ok ... ok
test ok ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s


running 5 tests
test src/lib.rs - (line 4) ... ok
test src/lib.rs - f (line 16) - compile fail ... ok
test src/lib.rs - f (line 10) ... ignored
test src/lib.rs - f (line 19) - compile ... ok
test src/lib.rs - g::h<T> (line 7) ... ok

test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.64s

";

#[test]
fn binaries_are_told_on_the_other_stream() {
    let expected = [
        "cargo 11/1/3",
        "+ it (tests/it.rs) > deep::ok",
        "+ it (tests/it.rs) > ok",
        "+ x_y (doc) > src/lib.rs -",
        "+ x_y (doc) > src/lib.rs - f",
        "+ x_y (doc) > src/lib.rs - f ⟨2⟩",
        ". x_y (doc) > src/lib.rs - f ⟨3⟩",
        "+ x_y (doc) > src/lib.rs - g::h<T>",
        "- x_y (src/lib.rs) > tests::bad",
        ". x_y (src/lib.rs) > tests::ign",
        ". x_y (src/lib.rs) > tests::ign2",
        "+ x_y (src/lib.rs) > tests::ok",
        "+ x_y (src/lib.rs) > tests::printy",
        "+ x_y (src/lib.rs) > tests::sp",
        "+ x_y (src/lib.rs) > tests::timed",
    ];
    check(&Left { stdout: STDOUT, stderr: STDERR, ..Left::default() }, &expected);
    // A binary more than blocks: nothing says which is which.
    let more = format!("{STDERR}     Running benches/b.rs (target/debug/deps/b-0123456789abcdef)\n");
    let unlabelled = [
        "cargo 11/1/3",
        "+ deep::ok",
        "+ ok",
        "+ src/lib.rs -",
        "+ src/lib.rs - f",
        "+ src/lib.rs - f ⟨2⟩",
        ". src/lib.rs - f ⟨3⟩",
        "+ src/lib.rs - g::h<T>",
        "- tests::bad",
        ". tests::ign",
        ". tests::ign2",
        "+ tests::ok",
        "+ tests::printy",
        "+ tests::sp",
        "+ tests::timed",
    ];
    check(&Left { stdout: STDOUT, stderr: &more, ..Left::default() }, &unlabelled);
}

const BLOCK: &str = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";

#[test]
fn binaries_are_told_in_one_stream() {
    for (label, test) in [
        ("     Running unittests src/main.rs (target/debug/deps/x-4ecc71417e50c6b2)", "+ x (src/main.rs) > a"),
        ("     Running target/debug/deps/x-4ecc71417e50c6b2", "+ x > a"),
        ("     Running `/w/target/debug/deps/x_y-4ecc71417e50c6b2 --nocapture`", "+ x_y > a"),
        ("     Running `rustc --out-dir /w/deps --extern a=/w/deps/liba-4ecc71417e50c6b2.rlib`", "+ a"),
        ("   Doc-tests x", "+ x (doc) > a"),
        ("     Running away", "+ a"),
    ] {
        // A binary with a harness of its own announces itself and prints no block.
        let words = format!("     Running tests/own.rs (target/debug/deps/own-4ecc71417e50c6b2)\n{label}\n\n{BLOCK}");
        let test = if test == "+ a" { "+ own (tests/own.rs) > a" } else { test };
        check(&out(&words), &["cargo 1/0/0", test]);
    }
}

#[test]
fn one_thread_prints_the_name_first() {
    let words = "running 3 tests\ntest a ... words\nmore words\nok\ntest b ... FAILED\ntest c - should panic ... ignored\n\
        test d ... wordsok\ntest e ... words\n moreok\ntest result: FAILED. 3 passed; 1 failed; 1 ignored\n";
    check(&out(words), &["cargo 4/1/1", "+ a", "- b", ". c", "+ d", "+ e"]);
}

/// A process that ends in the middle, and one whose words look like a test.
#[test]
fn a_binary_that_was_cut_off() {
    check(&out("running 3 tests\ntest a ... ok\ntest b ... "), &["cargo 2/1/0", "+ a"]);
    check(&out("running 3 tests\n"), &["cargo 0/0/0"]);
    check(&out("running 3 tests\ntest a ... ok\nthis test connection ... open\n"), &["cargo 1/0/0", "+ a"]);
    let words = BLOCK.replace("test a", "test connection ... open\ntest a");
    check(&out(&words), &["cargo 1/0/0", "+ a"]);
}

/// A test that starts another test binary.
#[test]
fn blocks_within_a_block() {
    let words = format!(
        "running 2 tests\ntest x ... ok\n{BLOCK}test y ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored\n"
    );
    check(&out(&words), &["cargo 3/0/0", "+ a", "+ x", "+ y"]);
}

#[test]
fn numbers_alone() {
    let quiet = "\nrunning 7 tests\nii.partial\n. 4/7\ntests::bad --- FAILED\n. 6/7\n\nfailures:\n\n---- tests::bad stdout ----\n\
        test tests::forged ... ok\n\ntest result: FAILED. 3 passed; 2 failed; 2 ignored; 0 measured; 0 filtered out\n";
    check(&out(quiet), &["cargo 5/2/2"]);
    check(
        &out("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 2 filtered out\n"),
        &["cargo 0/0/0"],
    );
    check(
        &out(
            "running 2 tests\ntest b ... bench: 1 ns/iter\ntest result: ok. 0 passed; 0 failed; 1 ignored; 1 measured",
        ),
        &["cargo 1/0/1", "+ b"],
    );
    check(&out("test result: ok. 3 passed\ntest a ... ok\n"), &[]);
}

const NEXTEST: &str = "    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.63s
────────────
 Nextest run ID 6c9754b3-97a7-4b7f-8052-40c6785f8f85 with nextest profile: default
    Starting 9 tests across 4 binaries (2 tests skipped)
        PASS [   0.007s] m t::one
  TRY 1 ABRT [   0.008s] x-y more::aborts
  stdout ───

    running 1 test

    (test aborted with signal 6: SIGABRT)

  TRY 2 ABRT [   0.006s] x-y more::aborts
  TRY 1 FAIL [   0.119s] x-y more::flaky
  stdout ───

running 1 test
test more::flaky ... FAILED
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 10 filtered out; finished in 0.10s

  TRY 2 PASS [   0.029s] x-y more::flaky
        LEAK [   0.219s] (4/9) x-y more::leaky
        SKIP [         ] x-y tests::ign
        PASS [   0.016s] (  5/9) x-y::it deep::ok
     SIGSEGV [   0.016s] x-y::it crashes
     TIMEOUT [   0.016s] x-y::it slow
        PASS [   0.006s] x-y::bin/x-y in_main
        SLOW [>  1.000s] x-y more::slow
TRY 1 TRMNTG [>  2.000s] x-y more::slow
   TRY 1 TMT [   2.010s] x-y more::slow
────────────
";

const NEXTEST_SUMMARY: &str =
    "     Summary [   4.173s] 9 tests run: 5 passed (1 flaky, 1 leaky), 3 failed, 1 timed out, 1 skipped
   FLAKY 2/2 [   0.029s] x-y more::flaky
  TRY 2 ABRT [   0.006s] x-y more::aborts
error: test run failed
";

#[test]
fn nextest() {
    let tests = [
        "+ m > t::one",
        "- x-y > more::aborts",
        "+ x-y > more::flaky",
        "+ x-y > more::leaky",
        "- x-y > more::slow",
        ". x-y > tests::ign",
        "+ x-y::bin/x-y > in_main",
        "- x-y::it > crashes",
        "+ x-y::it > deep::ok",
        "- x-y::it > slow",
    ];
    let expected: Vec<&str> = ["nextest 9/4/1"].into_iter().chain(tests).collect();
    check(&Left { stderr: &format!("{NEXTEST}{NEXTEST_SUMMARY}"), ..Left::default() }, &expected);
    check(&Left { stderr: NEXTEST, ..Left::default() }, &expected);
    // Uncaptured, the binaries print for themselves what nextest has counted.
    let uncaptured = Left { stdout: BLOCK, stderr: &format!("{NEXTEST}{NEXTEST_SUMMARY}"), ..Left::default() };
    check(&uncaptured, &expected);
}

#[test]
fn nextest_with_fewer_words() {
    let quiet = "    Starting 13 tests across 4 binaries\n  TRY 1 FAIL [   0.119s] x a\n  TRY 2 PASS [   0.119s] x a\n";
    let summary = "     Summary [   4.173s] 13 tests run: 13 passed (1 flaky), 2 skipped\n";
    check(&out(&format!("{quiet}{summary}")), &["nextest 13/0/2"]);
    let cut = "     Summary [   0.173s] 5/13 tests run: 4 passed, 1 failed, 0 skipped\n";
    check(&out(&format!("    Starting 13 tests across 4 binaries\n{cut}")), &["nextest 5/1/0"]);
    check(
        &out("    Starting 0 tests across 0 binaries\n     Summary [   0.000s] 0 tests run: 0 passed, 0 skipped\n"),
        &["nextest 0/0/0"],
    );
}
