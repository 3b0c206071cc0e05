//! A runner that no reader knows, by the JUnit XML that it is told to write.

use serde_json::{Value, json};
use testkit::World;

use super::{exam, log};
use crate::world;

/// Runs two tests, passes over a third, and writes its report at the end alone.
const RUNNER: &str = "import sys\nsys.path.insert(0, '.')\nfrom adder import add\n\ncases = [('adds', add(1, 1) == 2), ('stays', add(1, 0) == 1)]\n\
    report = '<testsuite name=\"adder\">'\nfor name, good in cases:\n    end = '/>' if good else '><failure message=\"wrong sum\"/></testcase>'\n    \
    report += '<testcase classname=\"adder\" name=\"%s\"%s' % (name, end)\nreport += '<testcase classname=\"adder\" name=\"later\"><skipped/></testcase></testsuite>'\n\
    open(sys.argv[1].split('=')[1], 'w').write(report)\nsys.exit(0 if all(good for _, good in cases) else 1)\n";

const BROKEN: &str = "def add(a, b):\n    return a - b\n";
const MENDED: &str = "def add(a, b):\n    return a + b\n";
const WRONG: &str = "def add(a, b):\n    return a - b - 0\n";
const NO_REPORT: &str = "import os\n\n\ndef add(a, b):\n    os._exit(0)\n";
const HALF_A_REPORT: &str = "import os\n\n\ndef add(a, b):\n    open('r.xml', 'w').write('<testsuite><testcase name=\"adds\"/><testcase na')\n    os._exit(0)\n";
/// Runs a patch that makes the source this text, in the repository of a new world.
fn run_patch(source: &str) -> (World, Value) {
    let world = world();
    std::fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
    let repository = world.repository("junit", &[("adder.py", BROKEN), ("tests/run.py", RUNNER)]);
    let steps = json!({"steps": [{"write": {"path": "adder.py", "text": source}}]}).to_string();
    let commands = json!([["python3", "tests/run.py", "--junitxml=r.xml"]]).to_string();
    let changes =
        [("allowed_paths", "[adder.py]"), ("verification_commands", commands.as_str()), ("fake", steps.as_str())];
    let case = world.case("case", &changes);
    let words = ["run", case.to_str().unwrap(), "--repo", repository.to_str().unwrap(), "--json"];
    let report = world.cto(words).json();
    (world, report)
}

#[test]
fn junit_xml_of_an_unknown_runner_is_counted_and_named() {
    let (world, mended) = run_patch(MENDED);
    assert_eq!(mended["status"], "pass", "{:#}\n{}", mended["blockers"], log(&world, &mended));
    let tests = &exam(&mended)["tests"];
    assert_eq!(tests["baseline"], json!({"executed": 2, "failed": 1, "passed": 1, "skipped": 1}));
    assert_eq!(tests["result"], json!({"executed": 2, "failed": 0, "passed": 2, "skipped": 1}));
    let coverage = mended["coverage"].to_string();
    assert!(coverage.contains("exam_without_control"), "no control is known of such a runner: {coverage}");
    assert!(!coverage.contains("tests_not_compared"), "{coverage}");

    let (world, wrong) = run_patch(WRONG);
    assert_eq!(wrong["status"], "fail", "{:#}", wrong["blockers"]);
    assert_eq!(exam(&wrong)["tests"]["failed"], json!([{"name": "adder::adds"}]), "{}", log(&world, &wrong));
}

/// A process that ends with success before its report is whole has run no tests. The control is the whole report above.
#[test]
fn no_report_and_half_a_report_do_not_pass() {
    let rows = [("no report", NO_REPORT), ("half a report", HALF_A_REPORT)];
    testkit::each_row(rows, |source| {
        let (world, report) = run_patch(source);
        assert_ne!(report["status"], "pass", "{}", log(&world, &report));
        assert_eq!(report["blocker_reasons"], json!(["verification_weakened"]));
    });
}
