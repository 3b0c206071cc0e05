//! A run that lands in an admitted target against the same run at stage 3, and the check of
//! its approval against one signature and one full commit of the ledger.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::rounds::{Candidate, in_turns};
use super::world::{World, bench_case, repository};
use super::{Bench, bench_table};
use crate::ChoreResult;
use crate::process::{cargo, command_output, program, run_command, target};

const ROUNDS: usize = 40;
const NAMESPACE: &str = "cto-approval@v1";
const ACTIONS: &str = "[push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, \
                       vendor_source_mutation, cortex_core_mutation]";

/// Measures stage 5 against stage 3 and the approval's check against its floor.
pub(super) fn measure_stage5(bench: &Bench) -> ChoreResult<String> {
    run_command(&mut cargo(&["build", "--quiet", "--release", "--package", "harness", "--example", "approval_floor"]))?;
    let world = World::new(&bench.place, "stage5")?;
    let operator = Operator::set_up(bench, &world)?;
    operator.approve()?;
    let floor = RefCell::new(Floor::start(&operator, &world)?);
    let (checks, floors) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let candidates = vec![
        Candidate::new("`cto run`, `fake`, stage 3", "stage 3", |_| operator.run("3").map(drop)),
        Candidate::new("the same at stage 5, landed in its target", "stage 5", |_| {
            let report = operator.run("5")?;
            checks.borrow_mut().push(operator.check_time(&report)?);
            Ok(())
        })
        .clearing(|_| {
            floors.borrow_mut().push(floor.borrow_mut().ask()?);
            operator.approve()
        }),
    ];
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    let (floor, check) = (Spread::of(&floors.borrow()), Spread::of(&checks.borrow()));
    let mut text = bench_table(&rows, &[0]);
    text.push_str("\n| | p50 | min | p50 / floor |\n| --- | --- | --- | --- |\n");
    text.push_str(&floor.row("one signature check and one full commit of the ledger", &floor));
    text.push_str(&check.row("the whole check of an approval, use included", &floor));
    Ok(text)
}

/// Sorted microseconds, without the round that warms up.
struct Spread(Vec<f64>);

impl Spread {
    fn of(micros: &[f64]) -> Self {
        let mut kept: Vec<f64> = micros.iter().copied().skip(1).collect();
        kept.sort_by(f64::total_cmp);
        Self(kept)
    }

    fn p50(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    fn row(&self, name: &str, measure: &Self) -> String {
        let least = self.0.first().copied().unwrap_or_default();
        let (p50, ratio) = (self.p50() / 1000.0, self.p50() / measure.p50());
        format!("| {name} | {p50:.2} ms | {:.2} ms | {ratio:.2} |\n", least / 1000.0)
    }
}

/// A person with a key, a target and a case.
struct Operator<'a> {
    bench: &'a Bench,
    home: PathBuf,
    user: PathBuf,
    case: PathBuf,
    target: PathBuf,
    admission: PathBuf,
}

impl<'a> Operator<'a> {
    fn set_up(bench: &'a Bench, world: &World) -> ChoreResult<Self> {
        let operator = Self {
            bench,
            home: world.path_of("home"),
            user: world.path_of("user"),
            case: world.path_of("case"),
            target: world.path_of("target"),
            admission: world.path_of("target.yaml"),
        };
        let write = |path: &Path, text: &str| {
            std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
        };
        std::fs::create_dir(&operator.user).map_err(|error| format!("cannot make a home: {error}"))?;
        write(&operator.user.join(".gitconfig"), "[user]\n\tname = bench\n\temail = bench@example.invalid\n")?;
        repository(&operator.target)?;
        bench_case(&operator.case)?;
        let case = operator.case.join("case.yaml");
        let text = std::fs::read_to_string(&case).map_err(|error| format!("cannot read the case: {error}"))?;
        let text = text.replace("mutation_mode: copied-fixture", "mutation_mode: candidate-default");
        write(&case, &format!("{text}source_owner: bench\nsource_classification: owned_local\n"))?;
        operator.cto(&["key", "init"])?;
        let public = operator.home.join("keys/operator.pub");
        operator.cto(&["trust", "key", "add", &public.to_string_lossy(), "--name", "bench"])?;
        write(&operator.admission, &admission(&operator.target))?;
        operator.cto(&["record", "sign", &operator.admission.to_string_lossy()])?;
        Ok(operator)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = program(&self.bench.cto, ["--home"]);
        command.arg(&self.home).args(words).env("HOME", &self.user).current_dir(&self.user);
        command
    }

    fn cto(&self, words: &[&str]) -> ChoreResult<String> {
        command_output(&mut self.command(words))
    }

    fn ask(&self, command: &str, stage: &str) -> ChoreResult<Value> {
        let (case, admission) = (self.case.to_string_lossy(), self.admission.to_string_lossy());
        let target = self.target.to_string_lossy();
        let place = if stage == "5" { ["--target", &admission] } else { ["--repo", &target] };
        let words = [&[command, &case, "--stage", stage, "--json"], place.as_slice()].concat();
        serde_json::from_str(&self.cto(&words)?).map_err(|error| format!("no document: {error}"))
    }

    fn run(&self, stage: &str) -> ChoreResult<Value> {
        let report = self.ask("run", stage)?;
        match (report["status"].as_str(), report["target_commit"].is_string() == (stage == "5")) {
            (Some("pass"), true) => Ok(report),
            _ => Err(format!("a run at stage {stage} did not pass; these times mean nothing: {report}")),
        }
    }

    /// Requests and approves the next run at stage 5.
    fn approve(&self) -> ChoreResult {
        let request = self.ask("request", "5")?;
        let name = request["request"].as_str().unwrap_or_default();
        let packet = self.cto(&["packet", name, "--json"])?;
        let packet: Value = serde_json::from_str(&packet).map_err(|error| format!("no packet: {error}"))?;
        let sentence = packet["approval_command_text"].as_str().unwrap_or_default();
        self.cto(&["approve", name, "--sentence", sentence]).map(drop)
    }

    /// Microseconds that the check of a run's approval took, by its trace.
    fn check_time(&self, report: &Value) -> ChoreResult<f64> {
        let bundle = self.home.join("harness-runs").join(report["run_id"].as_str().unwrap_or_default());
        let trace =
            std::fs::read_to_string(bundle.join("trace.jsonl")).map_err(|error| format!("no trace: {error}"))?;
        let lines: Vec<Value> = trace.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let micros = |step: &str| {
            let line = lines.iter().find(|line| line["step"] == step);
            line.and_then(|line| line["data"]["micros"].as_f64()).ok_or_else(|| format!("the trace has no {step}"))
        };
        Ok(micros("approval.found")? + micros("approval.used")?)
    }
}

fn admission(target: &Path) -> String {
    format!(
        "admission_status: admitted\ntarget_repository_path: {}\nrepository_owner: bench\nownership_evidence: notes/1\n\
         risk_classification: low_risk_noncritical\nnoncritical_rationale: made for a bench\nallowed_paths: [strings.py]\n\
         forbidden_paths: [secrets/]\nforbidden_actions: {ACTIONS}\napproval_source: bench\n\
         approval_timestamp: 2026-01-01\noperator_outcome_required: true\nreview_trigger: never\n",
        target.display()
    )
}

/// The program that does the least, on a ledger of its own on the same disk.
struct Floor {
    child: Child,
    asked: Option<ChildStdin>,
    told: BufReader<ChildStdout>,
}

impl Floor {
    fn start(operator: &Operator<'_>, world: &World) -> ChoreResult<Self> {
        let requests = operator.home.join("requests");
        let folder = std::fs::read_dir(&requests).ok().and_then(|mut entries| entries.next()?.ok());
        let folder = folder.ok_or("nothing was approved")?.path();
        let mut command = program(target().join("release/examples/approval_floor"), [world.path_of("floor.db")]);
        command.arg(folder.join("approval-1.json")).arg(folder.join("approval-1.json.sig")).arg(NAMESPACE);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| format!("cannot start the floor: {error}"))?;
        let told = child.stdout.take().ok_or("the floor has no output")?;
        Ok(Self { asked: child.stdin.take(), told: BufReader::new(told), child })
    }

    fn ask(&mut self) -> ChoreResult<f64> {
        let asked = self.asked.as_mut().ok_or("the floor has no input")?;
        writeln!(asked, "once").map_err(|error| format!("the floor is gone: {error}"))?;
        let mut line = String::new();
        self.told.read_line(&mut line).map_err(|error| format!("the floor says nothing: {error}"))?;
        line.trim().parse().map_err(|_| format!("the floor says {line:?}"))
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        drop(self.asked.take());
        let _ = self.child.wait();
    }
}
