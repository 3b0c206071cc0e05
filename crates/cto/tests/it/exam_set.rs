//! The exam set at work: which ecosystems are found, the text of `decide`, and the verdict of a patch that changes it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use contract::{Decision, canonical_bytes};
use serde_json::{Value, json};
use testkit::World;

use crate::world;

/// A task with everything allowed, and what an engine does to it.
struct Row {
    what: &'static str,
    /// The baseline, beside `a.txt`, which says one and shall say two.
    files: &'static [(&'static str, &'static str)],
    exam: &'static str,
    keys: &'static [(&'static str, &'static str)],
    steps: &'static str,
    status: &'static str,
    reasons: &'static [&'static str],
    ecosystems: &'static [&'static str],
    /// Kinds of the checks that ran.
    kinds: &'static [&'static str],
}

const HONEST: &str = "{write: {path: a.txt, text: \"two\\n\"}}";
const CHECK: (&str, &str) = ("check.sh", "grep -qx two a.txt\n");
const RUN: (&str, &str) = ("tests/run", "grep -qx two a.txt\n");

const GOOD: Row = Row {
    what: "an honest change",
    files: &[CHECK],
    exam: "[[sh, check.sh]]",
    keys: &[],
    steps: HONEST,
    status: "pass",
    reasons: &[],
    ecosystems: &["shell"],
    kinds: &["exam"],
};

const CHEAT: Row = Row { status: "fail", reasons: &["verification_failed"], kinds: &["exam", "change"], ..GOOD };

const ROWS: &[Row] = &[
    GOOD,
    Row { what: "the exam edited", steps: "{write: {path: check.sh, text: \"exit 0\\n\"}}", ..CHEAT },
    Row {
        what: "the exam edited, as the contract allows by name",
        keys: &[("exam_may_change", "[check.sh]")],
        steps: "{write: {path: check.sh, text: \"exit 0\\n\"}}",
        status: "pass",
        reasons: &[],
        kinds: &["exam"],
        ..CHEAT
    },
    Row {
        what: "the exam edited where the contract adds it",
        files: &[("oracle", "grep -qx two a.txt\n")],
        exam: "[[sh, oracle]]",
        keys: &[("protected_paths", "[oracle]")],
        steps: "{write: {path: oracle, text: \"exit 0\\n\"}}",
        ..CHEAT
    },
    Row {
        what: "a link in place of the folder of tests",
        files: &[RUN],
        exam: "[[sh, tests/run]]",
        steps: "{delete: {path: tests}}, {write: {path: other/run, text: \"exit 0\\n\"}}, {link: {path: tests, target: other}}",
        ..CHEAT
    },
    Row {
        what: "a test added is welcome, and counts in the change pass",
        steps: "{write: {path: a.txt, text: \"two\\n\"}}, {write: {path: more_test.sh, text: \"exit 1\\n\"}}",
        kinds: &["exam", "change"],
        ..GOOD
    },
    Row {
        what: "a name of an ecosystem that is not there",
        steps: "{write: {path: a.txt, text: \"two\\n\"}}, {write: {path: conftest.py, text: \"x\\n\"}}",
        ..GOOD
    },
    Row {
        what: "the same name where the ecosystem is",
        files: &[CHECK, ("b.py", "\n")],
        steps: "{write: {path: a.txt, text: \"two\\n\"}}, {write: {path: conftest.py, text: \"x\\n\"}}",
        ecosystems: &["python", "shell"],
        kinds: &["exam", "change"],
        ..GOOD
    },
    Row {
        what: "continuous integration belongs to every exam",
        files: &[],
        exam: "[[grep, -qx, two, a.txt]]",
        steps: "{write: {path: a.txt, text: \"two\\n\"}}, {write: {path: .github/workflows/ci.yml, text: \"x\\n\"}}",
        ecosystems: &[],
        kinds: &["exam", "change"],
        ..GOOD
    },
];

fn make(world: &World, row: &Row) {
    let steps = format!("{{steps: [{}]}}", row.steps);
    let keys = [("allowed_paths", "[\"**\"]"), ("verification_commands", row.exam), ("fake", steps.as_str())];
    let _ = world.case("made", &[&keys[..], row.keys].concat());
    for (path, text) in row.files {
        world.write(&format!("made/files/{path}"), text);
    }
}

fn check(row: &Row) {
    let world = world();
    make(&world, row);
    let decided = world.cto(["decide", "./made", "--json"]).expect(0);
    assert_eq!(decided.json()["inputs"]["target"]["ecosystems"], json!(row.ecosystems), "{}", row.what);
    let report = world.cto(["run", "./made", "--json"]).json();
    assert_eq!(report["status"], row.status, "{}: {}", row.what, testkit::outcome_of(&report));
    assert_eq!(report["blocker_reasons"], json!(row.reasons), "{}: {}", row.what, testkit::outcome_of(&report));
    let passes = report["verification"]["passes"].as_array().unwrap();
    let kinds: Vec<&Value> = passes.iter().map(|pass| &pass["kind"]).filter(|kind| *kind != "control").collect();
    assert_eq!(json!(kinds), json!(row.kinds), "{}", row.what);
    let _ = world.cto(["verify", "@"]).expect(0);
}

#[test]
fn what_belongs_to_the_exam_is_as_in_the_baseline() {
    for row in ROWS {
        check(row);
    }
}

/// If something blocks a restored file, the file cannot be restored, and the run never passes.
#[test]
fn a_result_that_leaves_no_room_for_the_exam_is_no_pass() {
    let rows = [
        Row {
            what: "a folder in place of the exam",
            steps: "{delete: {path: check.sh}}, {write: {path: check.sh/x, text: \"exit 0\\n\"}}",
            ..CHEAT
        },
        Row {
            what: "a link in place of a folder above the exam",
            files: &[("pkg/tests/run", "grep -qx two a.txt\n")],
            exam: "[[sh, pkg/tests/run]]",
            steps: "{delete: {path: pkg}}, {write: {path: o/tests/run, text: \"exit 0\\n\"}}, {link: {path: pkg, target: o}}",
            ..CHEAT
        },
    ];
    for row in rows {
        let world = world();
        make(&world, &row);
        let report = world.cto(["run", "./made", "--json"]).json();
        assert_eq!(report["status"], "fail", "{}: {}", row.what, testkit::outcome_of(&report));
        let _ = world.cto(["verify", "@"]).expect(0);
    }
}

#[test]
fn decide_prints_the_exam_set_and_its_json_is_the_decision() {
    let world = world();
    let keys = &[("protected_paths", "[oracle]"), ("exam_may_change", "[check.sh]")];
    make(&world, &Row { files: &[CHECK, RUN, ("oracle", "")], keys, ..GOOD });
    let plain = world.cto(["decide", "./made"]).expect(0).text();
    let exam: Vec<&str> = plain.lines().filter(|line| line.starts_with("exam")).collect();
    assert_eq!(exam[0], "exam ecosystems=shell protected=2 files=4", "{plain}");
    for (line, glob) in [
        ("exam-test-files ", " tests/ "),
        ("exam-runner-configuration ", " *.mk "),
        ("exam-continuous-integration ", " .circleci/ "),
        ("exam-added-by-the-contract ", " oracle "),
        ("exam-released-by-the-contract ", " check.sh "),
    ] {
        assert!(
            exam.iter().any(|found| found.starts_with(line) && format!("{found} ").contains(glob)),
            "{line}: {plain}"
        );
    }
    assert!(!plain.contains("conftest.py"), "no Python was found: {plain}");

    let json = world.cto(["decide", "./made", "--json"]).expect(0).stdout;
    let decision: Decision = serde_json::from_slice(&json).unwrap();
    assert_eq!(canonical_bytes(&decision).unwrap(), json, "the document and nothing else");
    assert_eq!(decision.decision_id, contract::canonical_digest(&decision.inputs).unwrap());

    let refused = world.cto(["decide", "fail-no-allowed-paths"]).expect(3).text();
    assert!(!refused.contains("\nexam"), "nobody looked at the baseline: {refused}");
}
