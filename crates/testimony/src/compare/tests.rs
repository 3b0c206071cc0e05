use super::pattern::{Patterns, function};
use super::{Compared, MOST_LISTED, Terms, Weakness};
use crate::results::{Runner, TestOutcome, TestResults};
use contract::report::TestCounts;

/// `+a -b .c` as results, with their own numbers.
pub(super) fn named(tests: &str) -> TestResults {
    let tests = tests.split_whitespace().map(|test| {
        let outcome = match test.split_at(1).0 {
            "+" => TestOutcome::Passed,
            "-" => TestOutcome::Failed,
            _ => TestOutcome::Skipped,
        };
        (test[1..].to_owned(), outcome)
    });
    let tests: std::collections::BTreeMap<_, _> = tests.collect();
    TestResults::of_tests(Runner::Pytest, tests)
}

/// With the same terms for every file.
fn compare(baseline: Option<&TestResults>, result: Option<&TestResults>, may_go: &[String], relaxed: bool) -> Compared {
    super::compare(baseline, result, &Terms { may_go, is_relaxed: &|_| relaxed, known_runner: false })
}

fn numbered(executed: u64) -> TestResults {
    with(named(""), executed)
}

/// The same names with another number of executed tests.
fn with(mut results: TestResults, executed: u64) -> TestResults {
    results.counts = TestCounts { executed, passed: executed, failed: 0, skipped: 0 };
    results
}

fn shown(compared: &Compared) -> String {
    let each = compared.weaknesses.iter().map(|weakness| match weakness {
        Weakness::NoneExecuted => "none".to_owned(),
        Weakness::Missing(tests) => format!("missing {}", tests.join(" ")),
        Weakness::NewlySkipped(tests) => format!("skipped {}", tests.join(" ")),
        Weakness::FewerExecuted { baseline, result } => format!("{baseline} to {result}"),
        Weakness::NothingRan(places) => format!("nothing ran in {}", places.join(" ")),
    });
    each.collect::<Vec<_>>().join(", ")
}

fn check(baseline: &TestResults, result: &TestResults, expected: &str) {
    let compared = compare(Some(baseline), Some(result), &["x::gone_*".to_owned()], false);
    assert_eq!(shown(&compared), expected, "{baseline:?}\n{result:?}");
    assert_eq!(compared.compared, baseline.counts.executed > 0);
    assert_eq!(compared.tests.baseline, Some(baseline.counts));
    assert_eq!(compared.tests.result, Some(result.counts));
}

#[test]
fn by_name() {
    for (before, after, expected) in [
        ("+a -b .c", "+a -b .c", ""),
        ("+a +b", "-a +b +new .later", ""),
        ("+a +b", "+a", "missing b"),
        ("+a -b +c", "+a", "missing b c"),
        ("+a +b", "+a .b", "skipped b"),
        ("+a +b +c", ".a +c", "missing b, skipped a"),
        ("+a .b", "+a", ""),
        ("+a +b", ".a .b", "none, skipped a b"),
        ("+a +x::gone_b", "+a", ""),
        ("+a +x::gone_b", "+a .x::gone_b", ""),
        ("+a +x::gone", "+a", "missing x::gone"),
        (".a", ".a", "none"),
        // New tests never replace old ones.
        ("+a +b", "+a +c +d", "missing b"),
    ] {
        check(&named(before), &named(after), expected);
    }
}

#[test]
fn by_number() {
    check(&numbered(3), &numbered(3), "");
    check(&numbered(3), &numbered(5), "");
    check(&numbered(3), &numbered(2), "3 to 2");
    check(&numbered(3), &numbered(0), "none");
    check(&numbered(0), &numbered(0), "none");
    check(&named("+a +b"), &numbered(1), "2 to 1");
    check(&named("+a +b +x::gone_c"), &numbered(2), "");
    check(&named("+a +b +x::gone_c"), &numbered(1), "3 to 1");
    check(&numbered(2), &named("+a"), "2 to 1");
    check(&numbered(2), &named("+a +b +c"), "");
}

#[test]
fn by_name_and_the_rest_by_number() {
    check(&with(named("+a"), 5), &with(named("+a"), 5), "");
    check(&with(named("+a"), 5), &with(named("+a"), 4), "5 to 4");
    check(&with(named("+a"), 5), &with(named("+a +b"), 5), "5 to 4");
    check(&named("+a +b"), &with(named("+a +b"), 1), "2 to 1");
    check(&named("+a +b +x::gone_c"), &with(named("+a +b +c"), 2), "");
}

#[test]
fn with_one_side() {
    let one = |baseline: Option<&TestResults>, result: Option<&TestResults>, expected: &str, was_compared| {
        let compared = compare(baseline, result, &[], false);
        assert_eq!((shown(&compared).as_str(), compared.compared), (expected, was_compared));
    };
    one(None, None, "", false);
    one(None, Some(&named("+a")), "", false);
    one(None, Some(&named(".a")), "none", false);
    one(Some(&named("+a")), None, "none", true);
    one(Some(&named(".a")), None, "none", false);
    one(Some(&named(".a")), Some(&named("+a")), "", false);
}

#[test]
fn lists_are_bounded_and_sorted() {
    let many: String = (0..=MOST_LISTED).map(|number| format!("+t{number:05} ")).collect();
    let compared = compare(Some(&named(&many)), Some(&named("+x")), &[], false);
    assert_eq!(compared.tests.missing.len(), MOST_LISTED);
    assert!(compared.tests.missing.is_sorted());
    assert!(matches!(&compared.weaknesses[..], [Weakness::Missing(all)] if all.len() == MOST_LISTED + 1));
}

#[test]
fn by_function() {
    for (before, after, expected) in [
        ("+a.py::t[1] +a.py::t[2]", "+a.py::t[3]", ""),
        ("+a.py::t[1] .a.py::t[2]", ".a.py::t[1] +a.py::t[2]", ""),
        ("+a.py::t[1] +u", ".a.py::t[1] +u", "skipped a.py::t"),
        ("+a.py::t[1]", "+a.py::u[1]", "missing a.py::t"),
        ("+p::TestA +p::TestA/x", "+p::TestA", ""),
        ("+p::TestA/x", "+p::TestB/x", "missing p::TestA"),
    ] {
        let compared = compare(Some(&named(before)), Some(&named(after)), &[], true);
        assert_eq!(shown(&compared), expected, "{before} {after}");
    }
}

#[test]
fn functions() {
    for (identity, expected) in [
        ("a/test_b.py::TestC::test_d[x::y[0]-z]", "a/test_b.py::TestC::test_d"),
        ("a/test_b.py::test_d", "a/test_b.py::test_d"),
        ("a/test_b.py::Test/x", "a/test_b.py::Test/x"),
        ("example.com/gg::TestSub/a/b[1]", "example.com/gg::TestSub"),
        ("x (src/lib.rs) > tests::adds::case_1_small", "x (src/lib.rs) > tests::adds"),
        ("x (src/lib.rs) > tests::case_of_doubt", "x (src/lib.rs) > tests::case_of_doubt"),
        ("parent > a [x]", "parent > a [x]"),
        ("parent > child ⟨12⟩", "parent > child"),
        ("parent > child ⟨⟩", "parent > child ⟨⟩"),
        ("a.B::adds(int, int)[1]", "a.B::adds(int, int)"),
        ("::", "::"),
        ("", ""),
    ] {
        assert_eq!(function(identity), expected, "{identity}");
    }
}

#[test]
fn patterns() {
    for (pattern, identity, expected) in [
        ("a", "a", true),
        ("test_a", "x.py::test_a", true),
        ("test_a", "x.py::my_test_a", false),
        ("test_a", "x.py::test_ab", false),
        ("test_a", "x.py::test_a[1]", true),
        ("test_a[1]", "x.py::test_a[1]", true),
        ("C::test_a", "x.py::C::test_a[1]", true),
        ("child", "parent > child", true),
        ("hild", "parent > child", false),
        ("A.test_a", "pkg.mod.A.test_a", true),
        ("TestA", "pkg::TestA/sub", true),
        ("sub", "pkg::TestA/sub", true),
        ("test_*", "x.py::test_a", false),
        ("*::test_*", "x.py::test_a", true),
        ("x.py*", "x.py::test_a", true),
        ("*", "anything", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "acb", false),
        ("ab*ba", "aba", false),
        ("a?c", "abc", false),
        ("[a]", "a", false),
        ("", "", false),
        ("", "a::", false),
    ] {
        assert_eq!(Patterns::new(&[pattern.to_owned()]).matches(identity), expected, "{pattern} {identity}");
    }
}

/// Tests that the baseline could not load are not compared, and must run now.
#[test]
fn what_could_not_be_loaded() {
    let unloaded = |mut results: TestResults, places: &[&str]| {
        results.unloaded = places.iter().map(ToString::to_string).collect();
        results
    };
    for (before, places, after, expected) in [
        ("+b.py::t", &["a.py"][..], "+a.py::t +b.py::t", ""),
        ("+b.py::t", &["a.py"], "+b.py::t", "nothing ran in a.py"),
        ("+b.py::t", &["a.py"], ".a.py::t +b.py::t", "nothing ran in a.py"),
        ("+b.py::t", &["x/a.py"], "+x.a.T::t +b.py::t", ""),
        ("+m.A.t", &["p.m"], "+p.m.A.t +m.A.t", ""),
        ("+x::T", &["x/y"], "+x::T +x/y::T", ""),
        ("+x::T", &["x/y"], "+x::T +x/yz::T", "nothing ran in x/y"),
        // A runner that names no files.
        ("-a.test.js +b", &["a.test.js"], "+b +c", ""),
        ("+b.py::t", &["a.py"], "+a.py::t", "missing b.py::t"),
    ] {
        let compared = compare(Some(&unloaded(named(before), places)), Some(&named(after)), &[], false);
        assert_eq!((shown(&compared).as_str(), compared.compared), (expected, false), "{before} {after}");
    }
    let compared = compare(Some(&named("+a.py::t")), Some(&unloaded(named("+a.py::t"), &["b.py"])), &[], false);
    assert_eq!(shown(&compared), "nothing ran in b.py");
}

#[test]
fn a_known_runner_that_was_silent_before_must_speak() {
    let terms = |known_runner| Terms { may_go: &[], is_relaxed: &|_| false, known_runner };
    assert_eq!(shown(&super::compare(None, None, &terms(true))), "none");
    assert_eq!(shown(&super::compare(None, None, &terms(false))), "");
}

/// One released file relaxes itself.
#[test]
fn parameters_may_differ_where_a_file_was_released() {
    let terms = Terms { may_go: &[], is_relaxed: &|identity| identity.starts_with("a.py"), known_runner: false };
    let (before, after) = (named("+a.py::t[1] +b.py::t[1]"), named("+a.py::t[2] +b.py::t[2]"));
    assert_eq!(shown(&super::compare(Some(&before), Some(&after), &terms)), "missing b.py::t[1]");
}
