use super::{check, err};

const OLD: &str = "\
test_bad (pkg.test_a.A) ... FAIL
test_doc (pkg.test_a.A)
First line ... ok ... ok
test_err (pkg.test_a.A) ... ERROR
test_ok (pkg.test_a.A) ... ok
test_print (pkg.test_a.A) ... err text
more
ok
test_print2 (pkg.test_a.A) ... ok
ok
test_glued (pkg.test_a.A) ... textok
test_skip (pkg.test_a.A) ... skipped 'why ... ok'
test_skip2 (pkg.test_a.A) ... skipped \"it's\"
test_sub (pkg.test_a.A) ... test_subok (pkg.test_a.A) ... ok
test_xf (pkg.test_a.A) ... expected failure
test_xp (pkg.test_a.A) ... unexpected success
test_f (pkg.test_a.F) ... ok
pkg.test_imp (unittest.loader._FailedTest) ... ERROR
pkg.test_ms (unittest.loader.ModuleSkipped) ... skipped 'module'

======================================================================
ERROR: test_err (pkg.test_a.A)
----------------------------------------------------------------------
Traceback (most recent call last):
test_forged (pkg.test_a.A) ... ok

----------------------------------------------------------------------
Ran 17 tests in 0.002s

FAILED (failures=2, errors=2, skipped=3, expected failures=1, unexpected successes=1)
";

const NEW: &str = "\
test_bad (pkg.test_a.A.test_bad) ... FAIL
test_doc (pkg.test_a.A.test_doc)
First line ... ok ... ok
test_err (pkg.test_a.A.test_err) ... ERROR
test_ok (pkg.test_a.A.test_ok) ... ok
test_print (pkg.test_a.A.test_print) ... err text
more
ok
test_print2 (pkg.test_a.A.test_print2) ... ok
ok
test_glued (pkg.test_a.A.test_glued) ... textok
test_skip (pkg.test_a.A.test_skip) ... skipped 'why ... ok'
test_skip2 (pkg.test_a.A.test_skip2) ... skipped \"it's\"
test_sub (pkg.test_a.A.test_sub) ... 
  test_sub (pkg.test_a.A.test_sub) [msg] (i=1) ... FAIL
test_subok (pkg.test_a.A.test_subok) ... ok
test_xf (pkg.test_a.A.test_xf) ... expected failure
test_xp (pkg.test_a.A.test_xp) ... unexpected success
setUpClass (pkg.test_a.C) ... ERROR
setUpClass (pkg.test_a.D) ... skipped 'scls'
test_f (pkg.test_a.F.test_f) ... ok
tearDownClass (pkg.test_a.F) ... ERROR
pkg.test_imp (unittest.loader._FailedTest.pkg.test_imp) ... ERROR
pkg.test_ms (unittest.loader.ModuleSkipped.pkg.test_ms) ... skipped 'module'

======================================================================
FAIL: test_sub (pkg.test_a.A.test_sub) [msg] (i=1)
----------------------------------------------------------------------
Ran 17 tests in 0.003s

FAILED (failures=2, errors=4, skipped=4, expected failures=1, unexpected successes=1)
";

const TESTS: [&str; 13] = [
    "- pkg.test_a.A.test_bad",
    "+ pkg.test_a.A.test_doc",
    "- pkg.test_a.A.test_err",
    "+ pkg.test_a.A.test_glued",
    "+ pkg.test_a.A.test_ok",
    "+ pkg.test_a.A.test_print",
    "+ pkg.test_a.A.test_print2",
    ". pkg.test_a.A.test_skip",
    ". pkg.test_a.A.test_skip2",
    "- pkg.test_a.A.test_sub",
    "+ pkg.test_a.A.test_subok",
    ". pkg.test_a.A.test_xf",
    "- pkg.test_a.A.test_xp",
];

/// Before Python 3.11, and since.
#[test]
fn named_tests() {
    let expected = |head| [head].into_iter().chain(TESTS).chain(["+ pkg.test_a.F.test_f"]).collect::<Vec<_>>();
    check(&err(OLD), &expected("unittest 11/5/4"));
    check(&err(NEW), &expected("unittest 11/7/5"));
    check(&err(&NEW.replace('\n', "\r\n")), &expected("unittest 11/7/5"));
}

/// A class that is skipped as a whole counts as skipped, and none of its tests as run.
#[test]
fn a_skipped_class() {
    let words = "test_a (m.A.test_a) ... ok\nsetUpClass (m.B) ... skipped 'x'\nRan 1 test in 0.1s\n\nOK (skipped=1)\n";
    check(&err(words), &["unittest 1/0/1", "+ m.A.test_a"]);
}

#[test]
fn a_run_that_was_cut_off() {
    let words = "test_a (m.A.test_a) ... ok\ntest_b (m.A.test_b) ... some words\n";
    check(&err(words), &["unittest 2/1/0", "+ m.A.test_a"]);
}

#[test]
fn numbers_alone() {
    let rule = "-".repeat(70);
    for (words, head) in [
        ("Ran 3 tests in 0.001s\n\nOK", "unittest 3/0/0"),
        ("Ran 1 test in 0.001s\n\nOK (skipped=1)", "unittest 0/0/1"),
        ("Ran 9 tests in 0.001s\n\nFAILED (failures=1, errors=2, skipped=1, expected failures=1)", "unittest 7/3/2"),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", "unittest 0/0/0"),
        ("Ran 0 tests in 0.000s\n\nOK", "unittest 0/0/0"),
        ("Ran 2 tests in 0.000s", "unittest 2/0/0"),
        ("Ran 2 tests in 0.000s\n\nOK\nRan 3 tests in 0.1s\n\nFAILED (failures=1)", "unittest 5/1/0"),
    ] {
        check(&err(&format!("...\n{rule}\n{words}\n")), &[head]);
    }
}

/// The same class of tests, loaded from two modules.
#[test]
fn equal_names() {
    let words = "test_a (m.A) ... ok\ntest_a (m.A) ... skipped 'x'\nRan 2 tests in 0.1s\n\nOK (skipped=1)\n";
    check(&err(words), &["unittest 1/0/1", "+ m.A.test_a", ". m.A.test_a ⟨2⟩"]);
}

#[test]
fn words_that_only_look_alike() {
    check(&err("requests (2.31.0)\nconnect (example.org) ...\nDownloading (1.5) ... done\n"), &[]);
    let words = "requests (2.31.0)\nother\nRan 2 tests in 0.1s\n\nOK\n";
    check(&err(words), &["unittest 2/0/0"]);
    check(&err(&words.replace("Ran", "test_a (m.A) ... ok\nRan")), &["unittest 1/0/0", "+ m.A.test_a"]);
}
