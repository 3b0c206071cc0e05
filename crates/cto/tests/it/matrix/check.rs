//! Checks that hold for every run, whatever its end.

use std::fs;
use std::path::{Path, PathBuf};

use contract::case::load_case;
use contract::{Digest, Status};
use evidence::names;
use fixtures::{CaseFolder, Script};
use serde_json::{Value, json};
use testkit::{World, content_digest, files_of, git, program};

use crate::advice::Shell;
use crate::world;

/// Says in `backend/` that nothing was started.
const NOT_STARTED: &str = "engine-not-started.txt";

/// The end of a case, and its proof.
pub(super) struct Row {
    /// A built-in case, or a name of its own.
    pub(super) name: &'static str,
    /// Worst first, each with the event that carries it.
    pub(super) reasons: &'static [(&'static str, &'static str)],
    pub(super) status: Status,
    pub(super) exit: i32,
    /// Files in `backend/` beside the two logs.
    pub(super) markers: &'static [&'static str],
    /// Control: who runs the engine and then the exam in the engine's own tree is content.
    pub(super) fools_naive: bool,
    /// The engine of this row writes into the source, as nothing stops it below a sandbox.
    pub(super) changes_source: bool,
    /// Sets the scene and says how to ask for the run.
    pub(super) set: fn(&World) -> Vec<String>,
    pub(super) drive: fn(&World, &[String]) -> Drove,
    pub(super) evidence: fn(&Seen),
}

/// The end of a run, and the run that it was.
pub(super) struct Drove {
    pub(super) exit: i32,
    pub(super) run_id: String,
}

impl Row {
    const fn ends(name: &'static str, status: Status, exit: i32) -> Self {
        Self {
            name,
            reasons: &[],
            status,
            exit,
            markers: &[],
            fools_naive: false,
            changes_source: false,
            set: |_| Vec::new(),
            drive: plain,
            evidence: |_| (),
        }
    }

    pub(super) const fn passes(name: &'static str) -> Self {
        Self::ends(name, Status::Pass, 0)
    }

    pub(super) const fn fails(name: &'static str) -> Self {
        Self::ends(name, Status::Fail, 1)
    }

    pub(super) const fn blocked(name: &'static str) -> Self {
        Self::ends(name, Status::Blocked, 3)
    }

    pub(super) fn codes(&self) -> Vec<&'static str> {
        self.reasons.iter().map(|(code, _)| *code).collect()
    }
}

/// A sealed run.
pub(super) struct Seen {
    pub(super) report: Value,
    pub(super) bundle: PathBuf,
    pub(super) events: Vec<Value>,
    pub(super) trace: Vec<Value>,
}

impl Seen {
    fn read(bundle: PathBuf) -> Self {
        let report = serde_json::from_slice(&fs::read(bundle.join(names::REPORT)).expect("a report")).expect("JSON");
        let (events, trace) = (lines(&bundle.join(names::EVENTS)), lines(&bundle.join(names::TRACE)));
        Self { report, bundle, events, trace }
    }

    pub(super) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.bundle.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The data of the first event of a kind.
    pub(super) fn event(&self, kind: &str) -> &Value {
        let found = self.events.iter().find(|event| event["type"] == kind);
        &found.unwrap_or_else(|| panic!("no {kind} in {:#?}", self.events))["data"]
    }

    /// The data of the first step of a name in the trace.
    pub(super) fn step(&self, name: &str) -> &Value {
        let found = self.trace.iter().find(|step| step["step"] == name);
        &found.unwrap_or_else(|| panic!("no {name} in {:#?}", self.trace))["data"]
    }

    pub(super) fn blocker(&self, index: usize) -> &str {
        self.report["blockers"][index]["text"].as_str().expect("a text")
    }

    /// Results of the checks of one kind.
    pub(super) fn passes(&self, kind: &str) -> Vec<String> {
        let passes = self.report["verification"]["passes"].as_array().expect("a list").iter();
        let results = passes.filter(|pass| pass["kind"] == kind).map(|pass| &pass["result"]);
        results.map(|result| result.as_str().expect("a result").to_owned()).collect()
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a log");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Runs a row and checks everything about it.
pub(super) fn check(row: &Row) {
    let world = world();
    // Keys, cache and ledger are made by the first run.
    let warm_up = world.cto(["run", "fail-critical-risk", "--json"]).expect(3).json();
    let builtin = fixtures::find(row.name);
    let args = match builtin {
        Some(case) => vec![copy_out(&world, case)],
        None => (row.set)(&world),
    };
    let before = Outside::look(&world, "harness-runs/none");
    let drove = (row.drive)(&world, &args);
    assert_eq!(drove.exit, row.exit);
    let after = Outside::look(&world, &format!("harness-runs/{}", drove.run_id));
    let seen = Seen::read(world.bundles().join(&drove.run_id));
    assert_eq!(seen.report["run_id"], drove.run_id);
    assert_ne!(seen.report["run_id"], warm_up["run_id"]);

    verdict(row, &seen);
    events(row, &seen);
    artifacts(row, &seen);
    freshness(&seen);
    ledger(&world, &seen);
    after.same_as(&before, row.changes_source);
    assert_eq!(testkit::left_running(&drove.run_id), Vec::<String>::new(), "processes are left");
    (row.evidence)(&seen);
    advice(row, &world, &args);
    if row.fools_naive {
        naive(&world, builtin.expect("a built-in case"));
    }
}

/// Rows whose remedy nobody can paste: the case dirties the copy that is made of it, and there is no repository of a person.
const OF_NOBODY: [&str; 1] = ["fail-dirty-starting-tree"];

/// Pastes every remedy in the state that printed it. A refused run is refused again to print it as a person reads it.
fn advice(row: &Row, world: &World, args: &[String]) {
    if row.reasons.is_empty() || OF_NOBODY.contains(&row.name) {
        return;
    }
    let run = || world.cto(["run"].into_iter().chain(args.iter().map(String::as_str)));
    let printed = if row.exit == 3 { run() } else { world.cto(["show", "@"]) };
    let shell = Shell { cto: &|words| world.cto(words), repository: &world.path().join("source") };
    shell.paste_all(&printed, &run);
}

fn plain(world: &World, args: &[String]) -> Drove {
    let ran = world.cto(["run", "--json"].iter().copied().chain(args.iter().map(String::as_str)));
    let report = ran.json();
    let run_id = report["run_id"].as_str().expect("a run id").to_owned();
    let on_disk = fs::read(world.bundles().join(&run_id).join(names::REPORT)).expect("a report");
    assert_eq!(ran.stdout, on_disk, "--json prints the report as it is on disk");
    Drove { exit: ran.code, run_id }
}

/// The case as a person has it: a folder, whose content must stay as it is.
fn copy_out(world: &World, case: &CaseFolder) -> String {
    for file in case.files {
        let path = world.write(&format!("{}/{}", case.id, file.path), file.bytes);
        if file.executable {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
        }
    }
    format!("./{}", case.id)
}

/// Everything a run may not change, as digests.
#[derive(PartialEq, Eq)]
struct Outside {
    source: Digest,
    rest: Vec<(&'static str, Digest)>,
}

impl Outside {
    fn look(world: &World, bundle: &str) -> Self {
        // What only the harness writes; `cache` and the ledger grow with every run.
        let own = ["ledger.db", "ledger.db-wal", "ledger.db-shm", "cache", bundle];
        let places = [
            ("HOME", content_digest(&world.user(), &[])),
            ("the directory of the command", content_digest(&world.here(), &[])),
            ("TMPDIR", content_digest(&world.tmp(), &[])),
            ("CTO_HOME", content_digest(&world.home(), &own)),
        ];
        for folder in ["active", "work"] {
            let left: Vec<_> = fs::read_dir(world.home().join(folder)).expect("a folder").flatten().collect();
            assert!(left.is_empty(), "{folder}/ holds {left:?}");
        }
        Self { source: content_digest(&world.path().join("source"), &["big"]), rest: places.to_vec() }
    }

    fn same_as(&self, before: &Self, changes_source: bool) {
        for (now, then) in self.rest.iter().zip(&before.rest) {
            assert_eq!(now, then, "{} is not what it was", now.0);
        }
        assert_eq!(self.source != before.source, changes_source, "the source repository");
    }
}

fn verdict(row: &Row, seen: &Seen) {
    let report = &seen.report;
    assert_eq!(report["blocker_reasons"], json!(row.codes()), "{:#}", report["blockers"]);
    let listed: Vec<&Value> = report["blockers"].as_array().expect("a list").iter().map(|it| &it["reason"]).collect();
    assert_eq!(listed, row.codes());
    for blocker in report["blockers"].as_array().expect("a list") {
        for key in ["text", "remedy"] {
            assert!(blocker[key].as_str().is_some_and(|text| !text.is_empty()), "{key} of {blocker}");
        }
        let evidence = blocker["evidence"].as_str().expect("a path");
        assert!(seen.bundle.join(evidence).is_file(), "the evidence of {blocker}");
    }
    assert_eq!(report["status"], json!(row.status));
    assert_eq!(report["failure_reason"].is_null(), row.reasons.is_empty());
    assert_eq!(report["runtime_default_activation"], false);
    assert_eq!(report["core_promotion_status"], "not-promoted");
}

fn events(row: &Row, seen: &Seen) {
    let mut prev = Digest::ZERO.to_string();
    for (seq, (event, line)) in seen.events.iter().zip(seen.text(names::EVENTS).lines()).enumerate() {
        assert_eq!((&event["seq"], &event["prev"]), (&json!(seq), &json!(prev)));
        prev = Digest::of_bytes(line.as_bytes()).to_string();
    }
    let last = seen.events.last().expect("events");
    assert_eq!((&last["type"], &last["data"]["status"]), (&json!("run.completed"), &json!(row.status)));
    assert_eq!(seen.events.iter().filter(|event| event["type"] == "run.completed").count(), 1);
    for (index, (code, kind)) in row.reasons.iter().enumerate() {
        let mut of_kind = seen.events.iter().filter(|event| event["type"] == *kind).map(|event| &event["data"]);
        let carries = |data: &Value| {
            data["reason"] == *code
                || index > 0 && data["reasons"].as_array().is_some_and(|all| all.contains(&json!(code)))
        };
        assert!(of_kind.any(carries), "no {kind} carries {code}: {:#?}", seen.events);
    }
    if !seen.decision()["missing_gates"].as_array().expect("a list").is_empty() {
        let data = seen.event("backend.gate.blocked");
        assert_eq!((&data["case_executed"], &data["engine_executed"]), (&json!(false), &json!(false)));
        for key in ["backend", "gate", "reason", "mutation_mode"] {
            assert!(data[key].is_string(), "{key} of {data}");
        }
        assert_eq!(seen.report["engine"]["process_started"], false);
    }
}

impl Seen {
    fn decision(&self) -> Value {
        serde_json::from_str(&self.text(names::DECISION)).expect("a decision")
    }
}

fn artifacts(row: &Row, seen: &Seen) {
    for name in names::ALWAYS {
        assert!(seen.bundle.join(name).is_file(), "{name} is missing");
    }
    for marker in row.markers {
        assert!(!seen.text(&format!("backend/{marker}")).trim().is_empty(), "{marker} is empty");
    }
    let marked: Vec<String> = fs::read_dir(seen.bundle.join(names::BACKEND))
        .expect("backend/")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| !["stdout.log", "stderr.log", "recovered", NOT_STARTED].contains(&name.as_str()))
        .collect();
    assert_eq!(marked.len(), row.markers.len(), "markers: {marked:?}");
    let idle = seen.bundle.join(names::BACKEND).join(NOT_STARTED).exists();
    assert_eq!(seen.report["engine"]["process_started"], !idle);

    let listed = seen.report["artifact_digests"].as_object().expect("a map");
    let files: Vec<String> =
        files_of(&seen.bundle).iter().map(|name| name.to_str().expect("UTF-8").to_owned()).collect();
    let others = files.iter().filter(|name| *name != names::ATTESTATION);
    assert_eq!(listed.keys().collect::<Vec<_>>(), others.clone().collect::<Vec<_>>());
    for name in others.filter(|name| *name != names::REPORT) {
        let found = Digest::of_bytes(&fs::read(seen.bundle.join(name)).expect("a file"));
        assert_eq!(listed[name], found.to_string(), "{name}");
    }
    // The report's own digest is taken with that one entry empty.
    let own = listed[names::REPORT].as_str().expect("a digest");
    let blank = seen.text(names::REPORT).replace(&format!("\"report.json\":\"{own}\""), "\"report.json\":\"\"");
    assert_eq!(own, Digest::of_bytes(blank.as_bytes()).to_string());
    assert_eq!(
        seen.report["artifact_paths"].as_object().expect("a map").keys().collect::<Vec<_>>(),
        files.iter().collect::<Vec<_>>()
    );
}

fn freshness(seen: &Seen) {
    let at = |value: &Value| value.as_str().expect("a time").to_owned();
    let (started, finished) = (at(&seen.report["run_started_at"]), at(&seen.report["run_finished_at"]));
    let fresh = seen.report["freshness"].as_object().expect("a map");
    assert!(files_of(&seen.bundle).iter().all(|name| fresh.contains_key(name.to_str().expect("UTF-8"))));
    for (name, times) in fresh {
        let (written, checked) = (at(&times["written_at"]), at(&times["checked_at"]));
        assert!(started <= written && written <= checked && checked <= finished, "{name}: {times}");
    }
}

fn ledger(world: &World, seen: &Seen) {
    let run_id = seen.report["run_id"].as_str().expect("a run id");
    let verified = world.cto(["verify", run_id, "--json"]).expect(0).json();
    assert_eq!((&verified["ok"], &verified["judged_again"]), (&json!(true), &json!(true)));
    let rows = world.cto(["runs", "--json"]).expect(0).text();
    let row = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let row = row.into_iter().find(|row| row["run_id"] == run_id).expect("a row in the ledger");
    assert_eq!((&row["status"], &row["reasons"]), (&seen.report["status"], &seen.report["blocker_reasons"]));
    let attestation = Digest::of_bytes(&fs::read(seen.bundle.join(names::ATTESTATION)).expect("an attestation"));
    assert_eq!(row["attestation_sha256"], attestation.to_string());
}

/// Runs the engine, believes its exit code, and runs the exam where the engine worked.
fn naive(world: &World, case: &CaseFolder) {
    let folder = world.here().join(case.id);
    let (tree, state) = (world.path().join("naive"), world.path().join("naive-state"));
    testkit::copy_bundle(&folder.join("files"), &tree);
    fs::create_dir(&state).expect("a directory");
    git(&tree, ["init", "-q"]);
    let read = |name: &str| fs::read(folder.join(name)).map_err(|error| error.to_string());
    let loaded = load_case("case.yaml", &read("case.yaml").expect("a case"), &read).expect("a good case");
    let steps = loaded.fake.expect("steps");
    let script = Script { steps: steps.steps, claims: steps.claims, speaks: steps.speaks, state_dir: state.clone() };
    let path = state.join("script.json");
    fs::write(&path, serde_json::to_vec(&script).expect("JSON")).expect("a script");
    let engine = program(env!("CARGO_BIN_EXE_cto"), &tree).arg("__fake").arg(&path).output().expect("it starts");
    assert!(engine.status.success(), "control: {}", String::from_utf8_lossy(&engine.stderr));
    for command in &loaded.contract.verification_commands {
        let exam = program(&command.argv[0], &tree).args(&command.argv[1..]).output().expect("it starts");
        assert!(exam.status.success(), "control: {}", String::from_utf8_lossy(&exam.stderr));
    }
}
