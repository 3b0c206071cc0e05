//! A model-backed run that is interrupted, and a recorder outside of it: processes that sleep, requests that a model's server got, the
//! folder of the run. Every field of the report is compared with what the recorder saw.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use fixtures::scripted::{Reply, Script, ScriptedServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{CtoCommand, World, times, wait_for};

use super::{check_bundle, is_napping, nap};

/// Longer than a test.
const LONG_MS: u64 = 600_000;

/// Part of a run in which it is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The setup of the fake engine's run, which this one is compared with.
    Compared,
    /// The preflight's question to the model.
    Question,
    /// The engine waits for its model.
    Answer,
    /// A tool of the engine works.
    Tool,
    Exam,
}

pub(crate) const PHASES: [Phase; 5] = [Phase::Compared, Phase::Question, Phase::Answer, Phase::Tool, Phase::Exam];
pub(crate) const SIGNALS: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL];

/// The sample, or every signal in every phase as often as `CTO_TEST_INTERRUPTIONS` says.
pub(crate) fn rows(sample: &[(Signal, Phase)]) -> Vec<(Signal, Phase)> {
    let all = || SIGNALS.into_iter().flat_map(|signal| PHASES.map(|phase| (signal, phase)));
    match times("CTO_TEST_INTERRUPTIONS", 0) {
        0 => sample.to_vec(),
        rounds => (0..rounds).flat_map(|_| all()).collect(),
    }
}

/// One run that is interrupted once.
pub(crate) struct Interruption<'a> {
    pub(crate) signal: Signal,
    pub(crate) phase: Phase,
    /// Stands in every request of the engine, and not in the preflight's question.
    pub(crate) mark: &'a str,
    /// The engine, as a run that was not interrupted has it.
    pub(crate) engine: &'a Value,
}

/// The surroundings of the run.
pub(crate) struct Outside<'a> {
    pub(crate) world: &'a World,
    pub(crate) home: &'a Path,
    pub(crate) server: &'a ScriptedServer,
    /// A call of the binary with the settings of the scene.
    pub(crate) command: &'a dyn Fn(&[&str]) -> CtoCommand,
}

/// The engine's work on its tree, and then a long nap.
pub(crate) fn work(nap: &str) -> String {
    format!("echo deux > a.txt; sleep {nap}; true")
}

/// A script of replies to the engine, with the delays of this phase.
pub(crate) fn slowed(phase: Phase, mut script: Script) -> Script {
    let slow = |reply: &mut Reply| reply.delay_head_ms = LONG_MS;
    match phase {
        Phase::Question => slow(&mut script.otherwise),
        Phase::Answer => script.steps.iter_mut().for_each(|step| slow(&mut step.reply)),
        Phase::Compared | Phase::Tool | Phase::Exam => {}
    }
    script
}

/// A nap for one interruption, and how long the engine's own tool sleeps in this phase.
pub(crate) fn naps(phase: Phase) -> (String, String) {
    let nap = nap();
    let of_tool = if phase == Phase::Tool { nap.clone() } else { "0".to_owned() };
    (nap, of_tool)
}

impl Interruption<'_> {
    /// A case of its own name, with its naps.
    fn case(&self, world: &World, nap: &str) -> String {
        let name = format!("made-{nap}");
        let exam = if self.phase == Phase::Exam { format!("exec sleep {nap}") } else { "true".to_owned() };
        let commands = json!([["sh", "-c", format!("grep -qx deux a.txt || exit 0; {exam}")]]).to_string();
        let environment = json!({"setup": [{"argv": ["sleep", nap]}]}).to_string();
        let mut changes = vec![("task_id", name.as_str()), ("verification_commands", &commands)];
        if self.phase == Phase::Compared {
            changes.push(("environment", &environment));
        }
        world.case(&name, &changes);
        name
    }

    /// Starts a run, interrupts it, and compares its report.
    pub(crate) fn hold(&self, outside: &Outside<'_>, nap: &str, more: &[&str]) {
        let name = self.case(outside.world, nap);
        let task = format!("./{name}");
        let arguments = [&["run", task.as_str(), "--stage", "2", "--json"], more].concat();
        let mut command = (outside.command)(&arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.await_phase(outside, &name, nap);
        let asked = outside.server.asked();
        kill_process(Pid::from_child(&child), self.signal).unwrap();
        let ended = child.wait().unwrap().code();
        assert_eq!(ended, (self.signal != Signal::KILL).then_some(130), "{:?} {:?}", self.signal, self.phase);
        assert!((outside.command)(&["recover"]).output().unwrap().status.success());
        wait_for("its end", || (!is_napping(nap)).then_some(()));
        assert_eq!(folders(&outside.home.join("active"), &name), Vec::<PathBuf>::new());
        let pending = asked.iter().filter(|asked| String::from_utf8_lossy(&asked.body).contains(self.mark)).count();
        let seen = Seen { asked: asked.len(), pending: if self.phase == Phase::Answer { pending } else { 0 } };
        self.check(outside, &name, &seen);
    }

    /// Waits until the run is where it is to be interrupted, and until its events tell of what the server saw.
    fn await_phase(&self, outside: &Outside<'_>, name: &str, nap: &str) {
        if !matches!(self.phase, Phase::Question | Phase::Answer) {
            wait_for("the nap", || is_napping(nap).then_some(()));
        }
        let engines = |body: &[u8]| String::from_utf8_lossy(body).contains(self.mark);
        wait_for("its events", || {
            let asked = outside.server.asked();
            let pending = match self.phase {
                Phase::Compared => return Some(()),
                Phase::Question => asked.len(),
                Phase::Answer => asked.iter().filter(|asked| engines(&asked.body)).count(),
                Phase::Tool | Phase::Exam => 0,
            };
            if pending == 0 && matches!(self.phase, Phase::Question | Phase::Answer) {
                return None;
            }
            let events =
                folders(&outside.home.join("active"), name).into_iter().map(|run| run.join("events.normalized.jsonl"));
            let text: String = events.filter_map(|file| fs::read_to_string(file).ok()).collect();
            let count = |kind: &str| text.matches(&format!("\"type\":\"{kind}\"")).count();
            (count("model.requested") == asked.len() && count("model.answered") == asked.len() - pending).then_some(())
        });
    }

    fn check(&self, outside: &Outside<'_>, name: &str, seen: &Seen) {
        let bundles = folders(&outside.home.join("harness-runs"), name);
        let reports: Vec<(Value, &PathBuf)> = bundles.iter().map(|bundle| (report_of(bundle), bundle)).collect();
        for bundle in &bundles {
            check_bundle(&mut |arguments| (outside.command)(arguments).output().unwrap(), outside.home, bundle);
        }
        let of = |purpose: &str| reports.iter().find(|(report, _)| report["purpose"] == purpose).unwrap();
        let (compared, _) = of("validation");
        if self.phase == Phase::Compared {
            assert_eq!(
                told(compared),
                json!(["blocked", ["harness_interrupted"], false, "strict", null]),
                "{compared:#}"
            );
        } else {
            assert_eq!(compared["status"], "pass", "{compared:#}");
        }
        let (report, bundle) = of("governed");
        self.check_report(report, bundle, seen);
    }

    fn check_report(&self, report: &Value, bundle: &Path, seen: &Seen) {
        let says = format!("{:?} {:?}: {report:#}", self.signal, self.phase);
        let killed = self.signal == Signal::KILL;
        let started = matches!(self.phase, Phase::Answer | Phase::Tool | Phase::Exam);
        let exit = match self.phase {
            Phase::Answer | Phase::Tool if !killed => json!(137),
            Phase::Exam => json!(0),
            _ => Value::Null,
        };
        let (status, profile) = if started { ("fail", "strict") } else { ("blocked", "none") };
        assert_eq!(told(report), json!([status, ["harness_interrupted"], started, profile, exit]), "{says}");
        assert_eq!(report["engine"]["exit_code"], exit, "{says}");
        assert_eq!((&report["stage"], &report["sandbox"]["asked"]), (&json!(2), &json!("strict")), "{says}");
        for field in ["id", "version", "source_id", "executable_sha256", "tree_sha256"] {
            assert_eq!(report["engine"][field], self.engine[field], "{field}: {says}");
        }
        let probes = u64::from(seen.asked > 0);
        let answered = (seen.asked - seen.pending) as u64 - if self.phase == Phase::Question { 0 } else { probes };
        let answered = if started { answered } else { 0 };
        let model = &report["model"];
        assert_eq!((&model["requests"], &model["answered"]), (&json!(seen.asked), &json!(answered)), "{says}");
        assert_eq!(model["probes"].as_u64().unwrap_or_default(), probes, "{says}");
        // What a harness that was killed did not take any more is not known, and not nothing.
        let taken = started && !killed;
        let changed = if taken && self.phase != Phase::Answer { json!(["a.txt"]) } else { json!([]) };
        assert_eq!(report["changed_files"], changed, "{says}");
        assert_eq!(report["not_applicable"]["changed_files"].is_null(), taken, "{says}");
        let patch = fs::read_to_string(bundle.join("patch.diff")).unwrap();
        assert_eq!(patch.contains("+deux"), changed != json!([]), "{says}");
    }
}

/// The recorder's account of the model.
struct Seen {
    /// Requests that its server got.
    asked: usize,
    /// Those that it had not begun to answer.
    pending: usize,
}

fn told(report: &Value) -> Value {
    json!([
        report["status"],
        report["blocker_reasons"],
        report["engine"]["process_started"],
        report["sandbox"]["profile"],
        report["backend_exit_code"]
    ])
}

/// The folders of runs of this task.
fn folders(parent: &Path, task: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_str().unwrap().contains(&format!("Z-{task}-"))).collect()
}

pub(super) fn report_of(bundle: &Path) -> Value {
    serde_json::from_slice(&fs::read(bundle.join("report.json")).unwrap()).unwrap()
}
