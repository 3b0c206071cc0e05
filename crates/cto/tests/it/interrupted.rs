//! Interrupted runs tell the truth: by Ctrl-C, SIGTERM, a lost terminal and SIGKILL, in setup, engine and exam. What a bundle says is
//! compared with what was seen from outside, and both verifiers take it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

pub(crate) mod outside;
mod unsealed;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{World, program, wait_for};

use crate::world;

/// Gives a time that no other process here sleeps.
pub(crate) fn nap() -> String {
    static NAPS: AtomicU32 = AtomicU32::new(0);
    format!("{}{:02}", 8_000_000 + std::process::id(), NAPS.fetch_add(1, Ordering::Relaxed))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Setup,
    /// The baseline's exam, before the engine.
    Baseline,
    Engine,
    Exam,
}

/// True if somebody takes this nap.
pub(crate) fn is_napping(nap: &str) -> bool {
    let wanted = format!("sleep\0{nap}\0").into_bytes();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| line.ends_with(&wanted))
}

pub(crate) fn case(world: &World, phase: Phase, nap: &str) -> PathBuf {
    let nap = |at: Phase| if at == phase { format!("exec sleep {nap}") } else { "true".to_owned() };
    let steps = json!({"steps": [
        {"write": {"path": "a.txt", "text": "two\n"}},
        {"run": {"argv": ["sh", "-c", nap(Phase::Engine)]}},
    ]});
    let exam = format!("grep -qx two a.txt || {{ {}; exit 0; }}; {}", nap(Phase::Baseline), nap(Phase::Exam));
    let commands = json!([["sh", "-c", exam]]).to_string();
    let environment = json!({"setup": [{"argv": ["sh", "-c", nap(Phase::Setup)]}]}).to_string();
    let setup = [("environment", environment.as_str())];
    let setup = if phase == Phase::Setup { &setup[..] } else { &[] };
    let fake = steps.to_string();
    let changes: Vec<(&str, &str)> = [("fake", fake.as_str()), ("verification_commands", &commands)]
        .into_iter()
        .chain(setup.iter().copied())
        .collect();
    world.case("made", &changes)
}

/// Starts a run, interrupts it in its nap and gives the report of its bundle, which both verifiers take.
fn interrupt(world: &World, arguments: &[&str], nap: &str, signal: Signal) -> Value {
    let before: Vec<PathBuf> = bundles(world);
    let mut child = world.start(arguments.iter().copied());
    wait_for("the nap", || is_napping(nap).then_some(()));
    kill_process(Pid::from_child(&child), signal).unwrap();
    let ended = child.wait().unwrap().code();
    assert_eq!(ended, (signal != Signal::KILL).then_some(130), "{signal:?}");
    let _ = world.cto(["recover"]).expect(0);
    wait_for("its end", || (!is_napping(nap)).then_some(()));
    let new: Vec<PathBuf> = bundles(world).into_iter().filter(|bundle| !before.contains(bundle)).collect();
    for bundle in &new {
        check_bundle(
            &mut |arguments| world.command(arguments.iter().copied()).output().unwrap(),
            &world.home(),
            bundle,
        );
    }
    let reports = new.iter().map(|bundle| outside::report_of(bundle));
    let mut governed: Vec<Value> = reports.filter(|report| report["purpose"] == "governed").collect();
    assert_eq!(governed.len(), 1);
    assert_eq!(fs::read_dir(world.home().join("active")).unwrap().count(), 0, "nothing is left beside the bundles");
    governed.remove(0)
}

fn bundles(world: &World) -> Vec<PathBuf> {
    fs::read_dir(world.bundles()).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// Both verifiers take the bundle.
fn check_bundle(cto: &mut dyn FnMut(&[&str]) -> Output, home: &Path, bundle: &Path) {
    let verified = cto(&["verify", bundle.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
    let key = home.join("keys/harness.pub");
    let said = program("python3", Path::new("/")).args([&script, bundle, Path::new("--key"), &key]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
}

fn check(signal: Signal) {
    let world = world();
    let killed = signal == Signal::KILL;
    for phase in [Phase::Setup, Phase::Baseline, Phase::Engine, Phase::Exam] {
        let nap = nap();
        case(&world, phase, &nap);
        let report = interrupt(&world, &["run", "./made", "--json"], &nap, signal);
        let name = format!("{signal:?} {phase:?}: {report:#}");
        let (status, started) = match phase {
            Phase::Setup | Phase::Baseline => ("blocked", false),
            Phase::Engine | Phase::Exam => ("fail", true),
        };
        assert_eq!(report["blocker_reasons"], json!(["harness_interrupted"]), "{name}");
        assert_eq!(
            (&report["status"], &report["engine"]["process_started"]),
            (&json!(status), &json!(started)),
            "{name}"
        );
        // Whatever it was that slept, it slept in a sandbox.
        assert_eq!(report["sandbox"]["profile"], "strict", "{name}");
        assert!(!report["coverage"].to_string().contains("sandbox_none"), "{name}");
        let exit = match phase {
            Phase::Engine if !killed => json!(137),
            Phase::Exam => json!(0),
            _ => Value::Null,
        };
        assert_eq!((&report["backend_exit_code"], &report["engine"]["exit_code"]), (&exit, &exit), "{name}");
        assert_eq!(report["engine"]["argv_sha256"].is_null(), !started, "{name}");
        // What a harness that was killed did not take any more is not known, and not nothing.
        let taken = started && !killed;
        let changed = if taken { json!(["a.txt"]) } else { json!([]) };
        assert_eq!(report["changed_files"], changed, "{name}");
        assert_eq!(report["not_applicable"]["changed_files"].is_null(), taken, "{name}");
        let patch = fs::read(world.bundles().join(report["run_id"].as_str().unwrap()).join("patch.diff")).unwrap();
        assert_eq!(patch.is_empty(), !taken, "{name}");
        let shown = world.cto(["show", report["run_id"].as_str().unwrap()]).expect(0).text();
        assert_eq!(started && killed, shown.contains("diff unknown "), "{shown}");
    }
}

#[test]
fn by_ctrl_c() {
    check(Signal::INT);
}

#[test]
fn by_sigterm() {
    check(Signal::TERM);
}

#[test]
fn by_a_lost_terminal() {
    check(Signal::HUP);
}

#[test]
fn by_sigkill() {
    check(Signal::KILL);
}

const TOY: &str = "#!/bin/sh\ncase \"$1\" in --version) echo 'toy 1.0.0'; exit 0 ;; esac\necho two > a.txt\nsleep ";
const ENGINE: &str = "engines:\n  toy:\n    executable: PLACE\n    enabled: true\n    stage: STAGE\n    definition: {about: a small script, program: toy, \
    identity: {argv: [--version], expect: toy 1.}, argv: [\"{task}\"]}\n";

/// An engine of another source is named as what was found of it, and as unknown where nobody had looked yet; never as the harness.
#[test]
fn the_engine_is_named_as_what_was_found_of_it() {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    let tools = testkit::lasting_dir(env!("CARGO_TARGET_TMPDIR"));
    let (place, nap) = (tools.path().join("toy"), nap());
    fs::write(&place, format!("{TOY}{nap}\n")).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    let open = |stage: &str| {
        world.write("harness.yaml", ENGINE.replace("PLACE", place.to_str().unwrap()).replace("STAGE", stage));
    };
    let arguments = ["run", "./made", "--engine", "toy", "--stage", "2", "--json"];
    world.case("made", &[]);
    open("1");
    let _ = world.cto(["run", "./made", "--engine", "toy", "--stage", "1"]).expect(0);
    open("2");
    for signal in [Signal::INT, Signal::KILL] {
        world.case("made", &[]);
        let report = interrupt(&world, &arguments, &nap, signal);
        let engine = report["engine"].clone();
        assert_eq!(engine["version"], "1.0.0", "{report:#}");
        let told = (&report["sandbox"]["profile"], &report["source_admission_status"]);
        assert_eq!(told, (&json!("strict"), &json!("not_admitted")));
        assert!(report["coverage"].to_string().contains("source_not_admitted"), "{report:#}");
        // The run that it is compared with sleeps in its setup, after this one's engine was looked at.
        world.case("made", &[("environment", &json!({"setup": [{"argv": ["sleep", nap]}]}).to_string())]);
        let report = interrupt(&world, &arguments, &nap, signal);
        for field in ["version", "source_id", "executable_sha256", "tree_sha256"] {
            assert_eq!(report["engine"][field], engine[field], "{field}: {report:#}");
        }
        assert_eq!(report["source_admission_status"], "not_admitted", "{report:#}");
        assert_eq!(report["engine"]["process_started"], false, "{report:#}");
    }
}
