//! Independent verification: trees of its own, made from the baseline and the result alone, never the tree the engine
//! worked in.

use std::path::PathBuf;
use std::time::Duration;

use contract::report::{CheckResult, PassKind, TestComparison, VerificationPass};
use contract::task::{BlindCheck, Command};
use contract::{Coverage, Digest, EventKind, Reason};
use evidence::names;
use sandbox::Ended;
use serde_json::json;
use tree::{Entry, Listing, Mode};

use crate::result::{Captured, record_patch};
use crate::run::{Run, Stopped};
use crate::supervise::{Places, TIMEOUT_MARKER, exit_code, spec};
use crate::target::Baseline;
use crate::watch::{Step, StepState};

/// A run whose result was verified, or whose findings say why it was not.
pub(crate) struct Verified<'a> {
    pub(crate) run: Run<'a>,
}

/// The log of everything that was run, for `test.log`.
#[derive(Default)]
struct Log(Vec<u8>);

/// A tree to run commands in.
struct Room {
    root: PathBuf,
    places: Places,
}

impl<'a> Captured<'a> {
    /// Runs the exam on the result, with everything the exam rests on as the baseline has it; meanwhile the patch is made
    /// and applied again.
    pub(crate) fn verify(self) -> Result<Verified<'a>, Stopped> {
        let Self { mut run, baseline, listing, rules, tree, unverifiable } = self;
        run.check_cancelled()?;
        run.step(Step::Verify, StepState::Began, "");
        let exam = exam_listing(&run, &baseline, &listing, |path| rules.is_protected(path))?;
        let mut log = Log::default();
        let no_command = run.task.contract.verification_commands.is_empty();
        let skipped = unverifiable.or_else(|| no_command.then_some("the contract says why there is no test"));
        let (patch, examined) = std::thread::scope(|scope| {
            let patch = scope.spawn(|| baseline.store.prove(&baseline.listing, &listing));
            let examined = match skipped {
                Some(why) => {
                    skip(&mut run, &mut log, why);
                    Ok(())
                }
                None => examine(&mut run, &baseline, &listing, &exam, &mut log),
            };
            (patch.join(), examined)
        });
        examined?;
        let patch =
            patch.map_err(|_| Stopped::Io(names::PATCH.into(), std::io::Error::other("the thread ended early")))?;
        record_patch(&mut run, &patch?, tree)?;
        run.write(names::TEST_LOG, &log.0)?;
        conclude(&mut run);
        announce(&mut run)?;
        run.step(Step::Verify, StepState::Ended, &summary(&run));
        Ok(Verified { run })
    }
}

fn announce(run: &mut Run<'_>) -> Result<(), Stopped> {
    let checks = run.findings.verification.passes.len();
    if checks > 0 || run.findings.has(Reason::ReviewerRejected) {
        let result = run.findings.verification.result;
        run.event(EventKind::VerificationCompleted, json!({"checks": checks, "result": result}))?;
    } else {
        run.findings.skip(EventKind::VerificationCompleted.name(), "nothing was verified");
    }
    Ok(())
}

/// The result with every protected path as in the baseline, removed where the baseline has none, and the operator's files
/// on top.
fn exam_listing(
    run: &Run<'_>,
    baseline: &Baseline,
    result: &Listing,
    protected: impl Fn(&[u8]) -> bool,
) -> Result<Listing, Stopped> {
    let mut exam = Listing(
        result.0.iter().filter(|(path, _)| !protected(path)).map(|(path, entry)| (path.clone(), *entry)).collect(),
    );
    exam.0.extend(
        baseline.listing.0.iter().filter(|(path, _)| protected(path)).map(|(path, entry)| (path.clone(), *entry)),
    );
    for file in &run.task.contract.verification_files {
        let bytes = file.bytes().unwrap_or_default();
        let oid = baseline.store.put_blob(&bytes)?;
        exam.0.insert(file.path.clone().into_bytes(), Entry { mode: Mode::File, oid });
    }
    Ok(exam)
}

fn skip(run: &mut Run<'_>, log: &mut Log, why: &str) {
    let sentence = match &run.task.contract.no_test_rationale {
        Some(rationale) if run.task.contract.verification_commands.is_empty() => {
            run.findings.coverage.insert(Coverage::NoVerification);
            format!("No verification: {rationale}")
        }
        _ => format!("No verification was run: {why}."),
    };
    run.findings.skip("verification", &sentence);
    log.say(&sentence);
}

/// Exam, change, control and blind, each in a tree of its own.
fn examine(
    run: &mut Run<'_>,
    baseline: &Baseline,
    result: &Listing,
    exam: &Listing,
    log: &mut Log,
) -> Result<(), Stopped> {
    let commands = run.task.contract.verification_commands.clone();
    commands_in(run, baseline, exam, &commands, PassKind::Exam, log)?;
    if exam != result {
        commands_in(run, baseline, result, &commands, PassKind::Change, log)?;
    }
    match run.task.contract.control_patch.clone() {
        Some(patch) => control(run, baseline, exam, &commands, patch.text.as_bytes(), log)?,
        None => {
            run.findings.coverage.insert(Coverage::ExamWithoutControl);
        }
    }
    let checks = run.task.contract.blind_checks.clone();
    if checks.is_empty() {
        run.findings.coverage.insert(Coverage::ExamInProcess);
    } else {
        let room = room(run, baseline, exam, "blind")?;
        for (index, check) in checks.iter().enumerate() {
            blind(run, &room, index, check, log)?;
        }
    }
    run.findings.coverage.insert(Coverage::TestsNotCompared);
    Ok(())
}

fn room(run: &Run<'_>, baseline: &Baseline, listing: &Listing, name: &str) -> Result<Room, Stopped> {
    let places = Places::make(run, &format!("verify-{name}"))?;
    let root = run.work_dir(&format!("verify-{name}/tree"))?;
    tree::materialise(&baseline.store, listing, &root)?;
    Ok(Room { root, places })
}

fn commands_in(
    run: &mut Run<'_>,
    baseline: &Baseline,
    listing: &Listing,
    commands: &[Command],
    kind: PassKind,
    log: &mut Log,
) -> Result<(), Stopped> {
    let room = room(run, baseline, listing, kind.as_str())?;
    for (index, command) in commands.iter().enumerate() {
        let ran = command_in(run, &room, command, None, &format!("{} {}", kind.as_str(), index + 1), log)?;
        let result = if ran.exit == Some(0) && !ran.timed_out { CheckResult::Pass } else { CheckResult::Fail };
        run.findings.verification.passes.push(ran.pass(kind, index, command.argv.clone(), result));
    }
    Ok(())
}

/// The altered exam must fail: if it passes, the exam proves nothing.
fn control(
    run: &mut Run<'_>,
    baseline: &Baseline,
    exam: &Listing,
    commands: &[Command],
    patch: &[u8],
    log: &mut Log,
) -> Result<(), Stopped> {
    let altered = match baseline.store.apply_into(exam, patch) {
        Ok(altered) => altered,
        Err(error) => {
            let text = format!("the control patch does not apply to the exam: {error}");
            log.say(&text);
            run.findings.coverage.insert(Coverage::ExamWithoutControl);
            run.findings.block(Reason::VerificationWeakened, text, names::TEST_LOG);
            return Ok(());
        }
    };
    let room = room(run, baseline, &altered, "control")?;
    let first = run.findings.verification.passes.len();
    let mut refused = false;
    for (index, command) in commands.iter().enumerate() {
        let ran = command_in(run, &room, command, None, &format!("control {}", index + 1), log)?;
        refused |= ran.exit.is_some_and(|exit| exit != 0) && !ran.timed_out;
        run.findings.verification.passes.push(ran.pass(
            PassKind::Control,
            index,
            command.argv.clone(),
            CheckResult::Pass,
        ));
    }
    if !refused {
        run.findings.verification.passes[first..].iter_mut().for_each(|pass| pass.result = CheckResult::Fail);
        if !run.findings.verification.passes[first..].iter().any(|pass| pass.timed_out) {
            run.findings.block(
                Reason::VerificationWeakened,
                "an exam that was altered so that it must fail passes",
                names::TEST_LOG,
            );
        }
    }
    Ok(())
}

/// Input goes in, output is compared here; the expected side never enters a tree.
fn blind(run: &mut Run<'_>, room: &Room, index: usize, check: &BlindCheck, log: &mut Log) -> Result<(), Stopped> {
    let command = Command { argv: check.argv.clone(), shell: false, timeout_seconds: check.timeout_seconds, cwd: None };
    let stdin = Some(check.stdin.clone().into_bytes());
    let ran = command_in(run, room, &command, stdin, &format!("blind {}", index + 1), log)?;
    let stdout_holds = check.expect_stdout_sha256.is_none_or(|expected| ran.stdout_sha256 == Some(expected));
    let holds = !ran.timed_out && ran.exit == Some(i32::from(check.expect_exit)) && stdout_holds;
    let result = if holds { CheckResult::Pass } else { CheckResult::Fail };
    run.findings.verification.passes.push(ran.pass(PassKind::Blind, index, command.argv, result));
    Ok(())
}

/// What came of one command.
struct Ran {
    exit: Option<i32>,
    timed_out: bool,
    duration_ms: u64,
    output: Vec<u8>,
    stdout_sha256: Option<Digest>,
}

impl Ran {
    fn pass(self, kind: PassKind, index: usize, argv: Vec<String>, result: CheckResult) -> VerificationPass {
        let name = format!("{} {}", kind.as_str(), index + 1);
        let tests = TestComparison::default();
        VerificationPass {
            kind,
            name,
            argv,
            exit: self.exit,
            duration_ms: self.duration_ms,
            timed_out: self.timed_out,
            tests,
            result,
        }
    }
}

fn command_in(
    run: &mut Run<'_>,
    room: &Room,
    command: &Command,
    stdin: Option<Vec<u8>>,
    name: &str,
    log: &mut Log,
) -> Result<Ran, Stopped> {
    let ran = run_command(run, room, command, stdin)?;
    log.record(name, &command.argv, &ran);
    if ran.timed_out {
        run.trace("timeout", json!({"at": name, "timeout_seconds": command.timeout_seconds}))?;
        if !run.draft.files().contains_key(&format!("backend/{TIMEOUT_MARKER}")) {
            run.marker(TIMEOUT_MARKER, &format!("{name} was ended after {} s", command.timeout_seconds))?;
        }
    }
    Ok(ran)
}

fn run_command(run: &mut Run<'_>, room: &Room, command: &Command, stdin: Option<Vec<u8>>) -> Result<Ran, Stopped> {
    let cwd = command.cwd.as_ref().map_or_else(|| room.root.clone(), |below| room.root.join(below));
    let wall = Duration::from_secs(command.timeout_seconds);
    let Some(mut spec) = spec(run, &command.argv, cwd, &room.places, wall) else {
        let output = format!("`{}` was not found\n", command.argv.first().map_or("", String::as_str)).into_bytes();
        return Ok(Ran { exit: None, timed_out: false, duration_ms: 0, output, stdout_sha256: None });
    };
    spec.stdin = stdin;
    let stage = run.take_stage()?;
    let mut watch = sandbox::Watch { cancel: Some(run.watch.cancel), stop: None, on_line: None };
    let ended = stage.run(&spec, &mut watch)?;
    if ended.cancelled {
        return Err(Stopped::Cancelled);
    }
    if ended.output_exceeded {
        let limit = run.task.contract.limits.output_bytes;
        run.findings.block(
            Reason::BudgetExceeded,
            format!("the verification printed more than {limit} bytes (limits.output_bytes)"),
            names::TEST_LOG,
        );
    }
    Ok(ran(&ended))
}

fn ran(ended: &Ended) -> Ran {
    let mut output = ended.stdout.text_bytes();
    let errors = ended.stderr.text_bytes();
    if !errors.is_empty() {
        output.extend_from_slice(b"[stderr]\n");
        output.extend_from_slice(&errors);
    }
    Ran {
        exit: exit_code(ended),
        timed_out: ended.timed_out,
        duration_ms: u64::try_from(ended.elapsed.as_millis()).unwrap_or(u64::MAX),
        output,
        stdout_sha256: Some(Digest::from_bytes(ended.stdout.sha256)),
    }
}

impl Log {
    fn say(&mut self, sentence: &str) {
        self.0.extend_from_slice(sentence.as_bytes());
        self.0.push(b'\n');
    }

    fn record(&mut self, name: &str, argv: &[String], ran: &Ran) {
        let exit = match ran {
            Ran { timed_out: true, .. } => "timed out".to_owned(),
            Ran { exit: Some(exit), .. } => format!("exit {exit}"),
            _ => "did not start".to_owned(),
        };
        self.say(&format!("== {name}: {argv:?}: {exit}, {} ms", ran.duration_ms));
        self.0.extend_from_slice(&ran.output);
        if !self.0.ends_with(b"\n") {
            self.0.push(b'\n');
        }
    }
}

/// Turns failed checks into blockers, and tells a late engine with a good patch from a late one without.
fn conclude(run: &mut Run<'_>) {
    let passes = &run.findings.verification.passes;
    let names_of = |wanted: &dyn Fn(&VerificationPass) -> bool| {
        passes.iter().filter(|pass| wanted(pass)).map(|pass| pass.name.clone()).collect::<Vec<_>>().join(", ")
    };
    let timed_out = names_of(&|pass| pass.timed_out);
    let failed =
        names_of(&|pass| pass.result == CheckResult::Fail && !pass.timed_out && pass.kind != PassKind::Control);
    let ran = !passes.is_empty();
    let all_hold = ran && passes.iter().all(|pass| pass.result == CheckResult::Pass);
    run.findings.verification.result = match (ran, all_hold) {
        (false, _) => CheckResult::NotRun,
        (_, true) => CheckResult::Pass,
        _ => CheckResult::Fail,
    };
    if !failed.is_empty() {
        run.findings.block(
            Reason::VerificationFailed,
            format!("does not pass on baseline + patch: {failed}"),
            names::TEST_LOG,
        );
    }
    if !timed_out.is_empty() {
        run.findings.block(Reason::Timeout, format!("verification exceeded its time: {timed_out}"), names::TEST_LOG);
    }
    if run.findings.engine.timed_out {
        late_engine(run, all_hold);
    }
}

fn late_engine(run: &mut Run<'_>, all_hold: bool) {
    let seconds = crate::supervise::wall(run).as_secs();
    let valid = all_hold && !run.findings.changed_files.is_empty() && run.findings.blockers.is_empty();
    let (reason, text) = if valid {
        (
            Reason::LifecycleTimeoutAfterValidPatch,
            format!("the patch is good, but the engine was still running after {seconds} s"),
        )
    } else {
        (Reason::Timeout, format!("the engine was still running after {seconds} s"))
    };
    run.findings.block(reason, text, "backend/provider-timeout.txt");
}

fn summary(run: &Run<'_>) -> String {
    let passes = &run.findings.verification.passes;
    let held = passes.iter().filter(|pass| pass.result == CheckResult::Pass).count();
    if passes.is_empty() { "nothing to run".to_owned() } else { format!("{held} of {} checks hold", passes.len()) }
}
