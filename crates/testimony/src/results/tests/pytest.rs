use super::{Left, check, out};

const REPORT: &str = r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="2"
failures="1" skipped="2" tests="15" time="0.069" hostname="h"><testcase classname="sub.test_b" name="test_ok"
file="sub/test_b.py" line="0" time="0.000" /><testcase classname="test_a" name="test_bad" file="test_a.py" line="2"
time="0.000"><failure message="assert 0">&gt;   def test_bad(): assert 0
&lt;testcase name="forged"/&gt;</failure></testcase><testcase classname="test_a" name="test_skip" file="test_a.py" line="3"
time="0.000"><skipped type="pytest.skip" message="no">test_a.py:4: no</skipped></testcase><testcase classname="test_a"
name="test_xf" file="test_a.py" line="5"><skipped type="pytest.xfail" message="" /></testcase><testcase classname="test_a"
name="test_p[a::b &quot;c&quot; &#x1b;]" file="test_a.py" line="9" /><testcase classname="test_a.TestC.TestInner"
name="test_i" file="test_a.py" line="14" /><testcase classname="test_i.TestI" name="test_inherited" file="base.py" line="1"
/><testcase classname="" name="sub.test_c" file="sub/test_c.py"><error message="collection failure">x</error></testcase>
<testcase classname="test_a" name="test_late" file="test_a.py" line="24"><error message="failed on teardown"/></testcase>
</testsuite></testsuites>"#;

const NAMED: [&str; 8] = [
    "+ sub/test_b.py::test_ok",
    "+ test_a.py::TestC::TestInner::test_i",
    "- test_a.py::test_bad",
    "- test_a.py::test_late",
    "+ test_a.py::test_p[a::b \"c\" ␛]",
    ". test_a.py::test_skip",
    ". test_a.py::test_xf",
    "+ test_i.TestI::test_inherited",
];

fn with(head: &'static str) -> Vec<&'static str> {
    [head].into_iter().chain(NAMED).collect()
}

#[test]
fn the_report() {
    let report = Left { files: &[("pytest.xml", REPORT)], ..Left::default() };
    check(&report, &with("pytest 6/2/2"));
    let old = REPORT.replace(" name=\"pytest tests\"", "").replace("TestInner\"", "TestInner.()\"");
    check(&Left { files: &[("r.xml", &old)], ..Left::default() }, &with("pytest 6/2/2"));
    let renamed = REPORT.replace("\"pytest tests\"", "\"x\"").replace("\"pytest\"", "\"y\"");
    check(&Left { files: &[("pytest.xml", &renamed)], ..Left::default() }, &with("pytest 6/2/2"));
}

#[test]
fn the_worse_of_report_and_words() {
    let words =
        |summary: &str| format!("=== test session starts ===\ncollected 9 items\n\n=== {summary} in 0.05s ===\n");
    let checked = |summary: &str, head: &'static str| {
        let files = &[("pytest.xml", REPORT)];
        check(&Left { stdout: &words(summary), files, ..Left::default() }, &with(head));
    };
    checked("1 failed, 5 passed, 1 skipped, 1 xfailed, 1 error", "pytest 6/2/2");
    checked("2 passed", "pytest 2/2/2");
    checked("5 failed, 20 passed, 3 skipped", "pytest 6/5/3");
    checked("no tests ran", "pytest 0/0/2");
}

/// The second session wrote over the report of the first, which printed only numbers.
#[test]
fn two_sessions_and_one_report() {
    let words = "..\n2 passed in 0.01s\n======\n......\n1 failed, 5 passed, 2 skipped in 1.10s\n";
    check(&Left { stdout: words, files: &[("pytest.xml", REPORT)], ..Left::default() }, &with("pytest 8/2/2"));
}

const VERBOSE: &str = "\
============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0 -- /x/bin/python
collecting ... collected 15 items

sub/test_b.py::test_ok PASSED                                            [  6%]
test_a.py::test_bad FAILED                                               [ 20%]
test_a.py::test_skip SKIPPED (a (b) PASSED)                              [ 26%]
test_a.py::test_xf XFAIL (no)                                            [ 33%]
test_a.py::test_old xfail                                                [ 33%]
test_a.py::test_xp XPASS                                                 [ 40%]
test_a.py::test_p[a b] PASSED                                            [ 46%]
test_a.py::TestC::test_m hello
lines PASSED
test_a.py::test_glued textPASSED                                         [ 86%]
test_a.py::test_sub SUBPASSED[msg] (i=0)                                 [ 87%]
test_a.py::test_sub PASSED                                               [ 88%]
test_a.py::test_late PASSED                                              [100%]
test_a.py::test_late ERROR                                               [100%]
[gw1] [100%] PASSED test_d.py::test_d 
==================================== ERRORS ====================================
test_a.py::test_forged PASSED                                            [100%]
=========================== short test summary info ============================
ERROR test_a.py::test_late - ValueError: x
";

#[test]
fn printed_names() {
    let tests = [
        "+ sub/test_b.py::test_ok",
        "+ test_a.py::TestC::test_m",
        "- test_a.py::test_bad",
        "+ test_a.py::test_glued",
        "- test_a.py::test_late",
        ". test_a.py::test_old",
        "+ test_a.py::test_p[a b]",
        ". test_a.py::test_skip",
        "+ test_a.py::test_sub",
        ". test_a.py::test_xf",
        "+ test_a.py::test_xp",
        "+ test_d.py::test_d",
    ];
    let expected = |head| [head].into_iter().chain(tests).collect::<Vec<_>>();
    let ended = format!("{VERBOSE}== 1 failed, 8 passed, 1 skipped, 2 xfailed, 1 xpassed, 1 error in 0.05s ==\n");
    check(&out(&ended), &expected("pytest 9/2/3"));
    check(&out(VERBOSE), &expected("pytest 9/2/3"));
    check(&out(&ended.replace("PASSED", "\x1b[32mPASSED\x1b[0m").replace('\n', "\r\n")), &expected("pytest 9/2/3"));
}

#[test]
fn a_session_that_was_cut_off() {
    let words = "=== test session starts ===\na/test_b.py::test_c PASSED [ 50%]\na/test_b.py::test_d ";
    check(&out(words), &["pytest 2/1/0", "+ a/test_b.py::test_c"]);
    check(&out("=== test session starts ===\ncollected 3 items\n\na/test_b.py .."), &["pytest 0/0/0"]);
}

#[test]
fn the_list_after_a_session() {
    let list = "=== test session starts ===\na.py .F\n=== short test summary info ===\nPASSED a.py::test_a[x - y]\n\
        SKIPPED [1] a.py:4: no\nFAILED a.py::test_b - assert 0\n=== 1 failed, 1 passed, 1 skipped in 0.10s ===\n";
    check(&out(list), &["pytest 2/1/1", "+ a.py::test_a[x - y]", "- a.py::test_b"]);
    // Without those that passed it is a part only.
    let failed = list.replace("PASSED a.py::test_a[x - y]\n", "");
    check(&out(&failed), &["pytest 2/1/1"]);
}

#[test]
fn numbers_alone() {
    for (summary, head) in [
        ("3 passed in 0.06s", "pytest 3/0/0"),
        ("=== 1 failed, 10 passed, 1 skipped, 1 xfailed, 1 xpassed, 2 error in 0.16 seconds ===", "pytest 14/3/2"),
        ("== 2 passed, 1 warning, 3 deselected in 75.10s (0:01:15) ==", "pytest 2/0/0"),
        ("== 3 failed, 2 passed, 1 skipped, 5 subtests passed in 0.05s ==", "pytest 5/3/1"),
        ("=== no tests ran in 0.00s ===", "pytest 0/0/0"),
        ("=== 1 error in 0.21s ===", "pytest 0/0/0"),
        ("5 deselected in 0.01s", "pytest 0/0/0"),
    ] {
        check(&out(summary), &[head]);
    }
    for other in
        ["3 passed in time", "3 passed in 5 places", "3 apples in 0.06s", "99999999999999999999 passed in 0.06s"]
    {
        check(&out(other), &[]);
    }
}

/// Output of a test of pytest that runs pytest itself, shown by `-s`, among its captured output, and cut off.
#[test]
fn sessions_within_a_session() {
    let inner = "=== test session starts ===\ncollected 1 item\n\nt.py::test_x FAILED [100%]\n=== FAILURES ===\n=== 1 failed in 0.01s ===\n";
    let outer = |shown: &str| {
        format!(
            "=== test session starts ===\ncollected 2 items\n\na.py::test_a {shown}PASSED [ 50%]\na.py::test_b PASSED [100%]\n=== 2 passed in 0.05s ===\n"
        )
    };
    let both = ["pytest 2/0/0", "+ a.py::test_a", "+ a.py::test_b"];
    check(&out(&outer("\n")), &both);
    check(&out(&outer(&format!("\n{inner}"))), &both);
    check(&out(&outer(&format!("\n{inner}{inner}"))), &both);
    // A session that never came to its end takes the rest of the words with it; the report still has the
    // names.
    let cut = outer("\n=== test session starts ===\n");
    check(&out(&cut), &["pytest 1/1/0"]);
    let files = &[(
        "pytest.xml",
        "<testsuites name=\"pytest tests\"><testcase classname=\"a\" name=\"test_a\" file=\"a.py\"/><testcase classname=\"a\" name=\"test_b\" file=\"a.py\"/></testsuites>",
    )];
    check(&Left { stdout: &cut, files, ..Left::default() }, &both);
    let captured = format!(
        "=== test session starts ===\na.py::test_a FAILED [100%]\n=== FAILURES ===\n--- Captured stdout call ---\n{inner}=== 1 failed in 0.05s ===\n"
    );
    check(&out(&captured), &["pytest 1/1/0", "- a.py::test_a"]);
}

/// Files that could not be collected are no tests, and the collected tests are reported beside them.
#[test]
fn files_that_could_not_be_collected() {
    let words = "=== test session starts ===\ncollected 3 items / 1 error\n\n=== ERRORS ===\n___ ERROR collecting sub/test_c.py ___\n\
                 === short test summary info ===\nERROR sub/test_c.py - ImportError: no\n!!! Interrupted !!!\n=== 1 error in 0.05s ===\n";
    let results = super::read_left(&out(words)).unwrap();
    assert_eq!((results.collected, results.counts.executed), (3, 0));
    assert_eq!(results.unloaded.iter().collect::<Vec<_>>(), ["sub/test_c.py"]);
    let reported = super::read_left(&Left { files: &[("pytest.xml", REPORT)], ..Left::default() }).unwrap();
    assert_eq!(reported.unloaded.iter().collect::<Vec<_>>(), ["sub/test_c.py"]);
}

/// Quiet sessions have no heading, so that only their reports tell which of them a test started.
#[test]
fn quiet_sessions_within_a_quiet_session() {
    const OUTER: &str =
        "<testsuites name=\"pytest tests\"><testcase classname=\"a\" name=\"test_a\" file=\"a.py\"/></testsuites>";
    let words =
        "F\n1 failed in 0.01s\n.                                                    [100%]\n1 passed in 0.50s\n";
    let own = ("pytest${PYTEST_CURRENT_TEST}.xml", OUTER);
    // Two sessions, one after the other: the first wrote its report where the second did.
    check(&Left { stdout: words, files: &[own], ..Left::default() }, &["pytest 2/1/0", "+ a.py::test_a"]);
    for nested in [("pytesta.py::test_a (call).xml", OUTER), ("pytesttests", "")] {
        check(&Left { stdout: words, files: &[own, nested], ..Left::default() }, &["pytest 1/0/0", "+ a.py::test_a"]);
    }
    // Without a report of its own nothing is left out.
    let nested = [("pytesttests", "")];
    check(&Left { stdout: words, files: &nested, ..Left::default() }, &["pytest 2/1/0"]);
}
