//! Runs side by side: `race`, `repeat`, `compare`, and a matrix of several engines.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{World, program};

use crate::world;

const WRONG: (&str, &str) = ("fake", r#"{steps: [{write: {path: a.txt, text: "three\n"}}]}"#);

/// The one bundle whose task has this name.
fn sealed(world: &World, name: &str) -> PathBuf {
    let entries = fs::read_dir(world.bundles()).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = entries.filter(|path| path.to_str().unwrap().contains(&format!("Z-{name}-"))).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0].clone()
}

/// The printed document is in a sealed bundle, and obeys its schema.
fn check_sealed(world: &World, name: &str, file: &str, schema: &str, printed: &Value) {
    let bundle = sealed(world, name);
    let stored: Value = serde_json::from_slice(&fs::read(bundle.join(file)).unwrap()).unwrap();
    assert_eq!(&stored, printed);
    let schema = world.cto(["schema", schema]).expect(0).json();
    assert!(jsonschema::is_valid(&schema, printed), "{printed:#}");
    let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
    let key = world.home().join("keys/harness.pub");
    let ran = program("python3", Path::new("/")).args([&script, &bundle, Path::new("--key"), &key]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(said.starts_with("pass "), "another implementation reads it the same: {said}");
}

fn race(world: &World, case: &str, more: &[&str], code: i32) -> Value {
    let words: Vec<&str> = ["race", case, "--json", "--engines"].iter().chain(more).copied().collect();
    world.cto(words).expect(code).json()
}

#[test]
fn a_lane_that_cannot_run_is_a_row_and_does_not_stop_the_others() {
    let world = world();
    world.case("made", &[]);
    let document = race(&world, "./made", &["fake,no-such-engine,fake", "--jobs", "3"], 3);
    let lanes = document["lanes"].as_array().unwrap();
    let told: Vec<_> =
        lanes.iter().map(|lane| (lane["engine"].as_str().unwrap(), lane["status"].as_str().unwrap())).collect();
    assert_eq!(
        told,
        [("fake", "pass"), ("no-such-engine", "blocked"), ("fake", "pass")],
        "in the order they were asked for"
    );
    assert_eq!((&lanes[1]["run_id"], &lanes[1]["engine_started"]), (&Value::Null, &json!(false)));
    assert!(lanes[1]["why"].as_str().unwrap().contains("no engine `no-such-engine`"), "{document}");
    for lane in [&lanes[0], &lanes[2]] {
        let bundle = world.bundles().join(lane["run_id"].as_str().unwrap());
        let report: Value = serde_json::from_slice(&fs::read(bundle.join("report.json")).unwrap()).unwrap();
        assert_eq!((&report["purpose"], &report["status"]), (&json!("governed"), &json!("pass")));
        let attestation = contract::Digest::of_bytes(&fs::read(bundle.join("attestation.dsse.json")).unwrap());
        assert_eq!(lane["attestation_sha256"], attestation.to_string());
        assert_eq!(lane["contract_digest"], document["contract_digest"]);
    }
    check_sealed(&world, "race-made", "comparison.json", "comparison", &document);
    let summary = fs::read(sealed(&world, "race-made").join("report.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    assert_eq!((&summary["status"], &document["status"]), (&json!("blocked"), &json!("blocked")), "printed as sealed");
    let none = world.cto(["show", "@"]).expect(2);
    assert!(
        none.stderr.contains("no run matches `@`"),
        "neither a lane nor a summary is what a person asked for: {none:?}"
    );
    let (asked, _) = world.run("./made", 0);
    let _ = world.cto(["race", "./made", "--engines", "fake,fake"]).expect(0);
    let last = world.cto(["show", "@", "--json"]).expect(0).json();
    assert_eq!(last["run_id"], asked["run_id"], "`@` is the last run that was asked for");
    // Control: alone, an engine that nobody knows is wrong usage.
    let _ = world.cto(["run", "./made", "--engine", "no-such-engine"]).expect(2);
}

#[test]
fn a_race_ends_as_its_lanes_do() {
    let world = world();
    for (name, changes, code) in [("made", &[][..], 0), ("wrong", &[WRONG][..], 1)] {
        let case = world.case(name, changes);
        let document = race(&world, case.to_str().unwrap(), &["fake,fake"], code);
        assert_eq!(document["lanes"].as_array().unwrap().len(), 2);
    }
    let case = world.here().join("wrong");
    let document = race(&world, case.to_str().unwrap(), &["fake,none"], 1);
    assert_eq!(document["status"], "fail", "one that failed outweighs one that was blocked");
    let _ = world.cto(["race", "no-such-task", "--engines", "fake"]).expect(2);
    let _ = world.cto(["race", "./made"]).expect(2);
}

#[test]
fn people_and_pipes_see_a_row_for_each_lane() {
    let world = world();
    let case = world.case("made", &[]);
    let case = case.to_str().unwrap();
    let shown = world.on_terminal(["race", case, "--engines", "fake,none"]);
    let screen = shown.screen();
    assert_eq!(shown.code, 3, "{screen:#?}");
    assert!(screen[0].starts_with("blocked  1 of 2 lanes ran on made"), "verdict first: {screen:#?}");
    assert!(screen[2].contains("lane") && screen[2].contains("cost") && screen[2].ends_with("why"), "{screen:#?}");
    let row = |engine: &str| screen.iter().find(|line| line.trim_start().starts_with(engine)).unwrap();
    assert!(row("fake").contains("pass") && row("none").ends_with("there is no engine `none`"), "{screen:#?}");
    let piped = world.cto(["race", case, "--engines", "fake,none"]).expect(3).text();
    let lines: Vec<&str> = piped.lines().collect();
    assert!(lines[0].starts_with("blocked ") && lines[1].starts_with("lane fake pass "), "{piped}");
    assert!(lines[2].starts_with("lane none blocked - ") && lines[2].ends_with("there is no engine `none`"), "{piped}");
}

#[test]
fn what_a_race_names_is_kept() {
    let world = world();
    world.case("made", &[]);
    let document = race(&world, "./made", &["fake,fake"], 0);
    let runs = world.cto(["gc", "--older-than", "0s", "--keep", "0", "--dry-run", "--json"]).expect(0).json();
    let fate = |run: &Value| {
        let rows = runs["runs"].as_array().unwrap();
        rows.iter().find(|row| row["run_id"] == *run).map(|row| row["fate"].clone())
    };
    let fates: Vec<_> = document["lanes"].as_array().unwrap().iter().map(|lane| fate(&lane["run_id"])).collect();
    assert!(fates.contains(&Some(json!("named"))), "one is the latest pass, the other is named: {fates:?}");
}

#[test]
fn a_task_is_repeated_and_measured() {
    let world = world();
    world.case("made", &[]);
    let junit = world.path().join("repeat.xml");
    let words = ["repeat", "./made", "-n", "3", "--jobs", "2", "--json", "--junit", junit.to_str().unwrap()];
    let document = world.cto(words).expect(0).json();
    let measured = &document["measured"];
    assert_eq!((&measured["trials"], &measured["passed"]), (&json!(3), &json!(3)));
    let hats: Vec<_> = measured["pass_hat"].as_array().unwrap().iter().map(|hat| hat["per_million"].clone()).collect();
    assert_eq!(hats, [json!(1_000_000), json!(1_000_000), json!(1_000_000)]);
    assert_eq!(measured["interval_95"], json!({"low_per_million": 438_503, "high_per_million": 1_000_000}));
    assert_eq!(measured["false_claim_rate_per_million"], json!(0));
    assert_eq!(measured["used"], Value::Null, "no model, no cost");
    assert!(measured["time"]["p95_ms"].as_u64() >= measured["time"]["median_ms"].as_u64());
    check_sealed(&world, "repeat-made", "repeat.json", "repeat", &document);
    let report: Value = world.cto(["show", document["runs"][0]["run_id"].as_str().unwrap(), "--json"]).expect(0).json();
    assert_eq!(report["purpose"], "governed");
    assert_eq!(junit_counts(&junit), "testsuite 3 3 0 0");
}

/// The root's name, its count of tests, and how many cases, failures and errors a parser of XML finds.
fn junit_counts(file: &Path) -> String {
    let script = "import sys, xml.etree.ElementTree as t; r = t.parse(sys.argv[1]).getroot(); \
         s = [r] if r.tag == 'testsuite' else list(r); n = lambda x: len(list(r.iter(x))); \
         print(r.tag, sum(int(x.get('tests')) for x in s), n('testcase'), n('failure'), n('error'))";
    let output = program("python3", Path::new("/")).args(["-c", script]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn failures_and_what_never_started_are_told_apart() {
    let world = world();
    let junit = world.path().join("repeat.xml");
    let junit_word = junit.to_str().unwrap();
    let document = world.cto(["repeat", "fail-no-diff", "-n", "2", "--json", "--junit", junit_word]).expect(1).json();
    let measured = &document["measured"];
    assert_eq!((&measured["pass_rate_per_million"], &measured["trials"]), (&json!(0), &json!(2)));
    assert_eq!(measured["false_claim_rate_per_million"], json!(1_000_000), "it claims success each time");
    assert_eq!(measured["pass_hat"][0], json!({"k": 1, "per_million": 0}));
    assert_eq!(junit_counts(&junit), "testsuite 2 2 2 0");

    let document =
        world.cto(["repeat", "fail-critical-risk", "-n", "2", "--json", "--junit", junit_word]).expect(3).json();
    let measured = &document["measured"];
    assert_eq!((&measured["trials"], &measured["not_started"]), (&json!(0), &json!(2)));
    assert_eq!((&measured["pass_rate_per_million"], &measured["interval_95"]), (&Value::Null, &Value::Null));
    assert_eq!(junit_counts(&junit), "testsuite 2 2 0 2");

    let piped = world.cto(["repeat", "fail-no-diff", "-n", "2"]).expect(1).text();
    assert!(piped.starts_with("fail ") && piped.contains("\npass^2 ppm=0\n"), "{piped}");
    let screen = world.on_terminal(["repeat", "fail-no-diff", "-n", "2"]).screen().join("\n");
    for wanted in ["fail  fail-no-diff  fake  0 of 2 runs passed", "pass rate", "pass^1 0 %", "false claims", "median"]
    {
        assert!(screen.contains(wanted), "{wanted}: {screen}");
    }
    for wrong in [&["repeat", "fail-no-diff"][..], &["repeat", "fail-no-diff", "-n", "0"], &["repeat", "x", "-n", "1"]]
    {
        let _ = world.cto(wrong).expect(2);
    }
}

#[test]
fn any_runs_are_compared_and_a_damaged_one_is_not() {
    let world = world();
    world.case("made", &[]);
    let runs: Vec<String> = [("./made", 0), ("./made", 0), ("fail-no-diff", 1)]
        .iter()
        .map(|(task, code)| world.run(task, *code).0["run_id"].as_str().unwrap().to_owned())
        .collect();
    let same = world.cto(["compare", &runs[0], &runs[1], "--json"]).expect(0).json();
    assert_eq!((&same["task_id"], same["contract_digest"].is_string()), (&json!("made"), true));
    let all = world.cto(["compare", &runs[0], &runs[1], "@", "--json"]).expect(0).json();
    assert_eq!(
        (&all["task_id"], &all["contract_digest"], &all["status"]),
        (&Value::Null, &Value::Null, &json!("fail"))
    );
    let schema = world.cto(["schema", "comparison"]).expect(0).json();
    assert!(jsonschema::is_valid(&schema, &all));
    assert_eq!(all["lanes"][2]["claims_contradicted"], json!(1));
    assert_eq!(fs::read_dir(world.bundles()).unwrap().count(), 3, "nothing is written");
    let screen = world.on_terminal(["compare", &runs[0], &runs[2]]).screen().join("\n");
    for wanted in ["2 runs of several tasks", "fake made", "fake fail-no-diff", "no_diff +1", "1 false"] {
        assert!(screen.contains(wanted), "{wanted}: {screen}");
    }
    let report = world.bundles().join(&runs[1]).join("report.json");
    let text = fs::read_to_string(&report).unwrap();
    fs::write(&report, text.replace("\"duration_ms\":", "\"duration_ms\":1")).unwrap();
    let ran = world.cto(["compare", &runs[0], &runs[1]]).expect(1);
    assert!(ran.stderr.contains("does not verify"), "{}", ran.stderr);
}

#[test]
fn a_matrix_of_several_engines_is_one_for_each() {
    let world = world();
    let ran = world.cto(["matrix", "--engine", "fake", "--engine", "no-such-engine"]).expect(2);
    assert!(ran.stderr.contains("no engine `no-such-engine`"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(world.bundles()).unwrap().count(), 0, "told before anything ran");
    let junit = world.path().join("matrix.xml");
    let words = ["matrix", "--engine", "fake,fake", "--json", "--junit", junit.to_str().unwrap()];
    let document = world.cto(words).expect(0).json();
    let matrices = document.as_array().unwrap();
    assert_eq!(matrices.len(), 2);
    let cases = matrices[0]["cases"].as_array().unwrap().len();
    assert_eq!(junit_counts(&junit), format!("testsuites {0} {0} 0 0", 2 * cases));
}
