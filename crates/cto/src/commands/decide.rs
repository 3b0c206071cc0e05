//! `cto decide`: the Eligibility Decision, nothing run, and the exam set that a run would
//! be judged by.

use std::fmt::Write as _;

use contract::decision::Refusal;
use contract::exam::{DATA_FOLDERS, Role, is_source_name, rules};
use contract::remedy::fill_places;
use contract::task::hidden_exit_code;
use contract::text::show_controls;
use contract::{Decision, Ecosystem, Gate, Purpose, Status, TaskContract, canonical_bytes};
use harness::{Ask, ExamShare, FAKE, Home, Task};

use super::resolved;
use crate::args::Asked;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, count_text, wrap};

/// Prints the decision on a task without running it.
pub(crate) fn decide_task(context: &Context, asked: &Asked) -> Result<u8, CommandError> {
    let task = context.load_asked(asked)?;
    let ask = context.build_ask(asked, &task, Purpose::Governed)?;
    answer_ask(context, &task, &ask, &asked.task_words())
}

/// Asks the gate and shows what it says. `word` names the task in commands to paste.
pub(super) fn answer_ask(context: &Context, task: &Task, ask: &Ask, word: &str) -> Result<u8, CommandError> {
    // A home of its own: asking leaves nothing behind, not even an empty home. Copies of
    // engines, the rungs they have earned and approvals lie in the real one, where there is
    // one.
    let scratch = tempfile::tempdir()?;
    let needs_home = ask.engine != FAKE || ask.stage.mutation_mode().needs_approval();
    let real = needs_home.then(|| Home::existing(&context.config.place()).ok()).flatten();
    let place = real.map_or_else(|| scratch.path().join("home").into(), |_| context.config.place());
    let harness = context.harness_at(&place)?;
    let work = scratch.path().join("work");
    std::fs::create_dir(&work)?;
    let harness::DecideAnswer { decision, exam } = harness::decide_only(&harness, task, ask, &work)?;
    let exam = ExamSet::of(&task.contract, &decision, exam);
    let output = context.output;
    if let Some(halted) = harness::halted(&context.config.home).filter(|_| decision.inputs.settings.halted) {
        output.print_note(&format!("the kill switch is {halted}\n"));
    }
    if output.json {
        output.print_json_bytes(&canonical_bytes(&decision)?);
    } else if output.terminal {
        output.print(
            &(people(output, &decision, word)
                + &resolved::people(output, task)
                + &exam.people(output)
                + &hidden_exit_codes(&task.contract, "\n  ")),
        );
    } else {
        output.print(
            &(lines(&decision, word)
                + &resolved::task_lines(task)
                + &exam.lines()
                + &hidden_exit_codes(&task.contract, "")),
        );
    }
    Ok(status(&decision).exit_code())
}

/// A line for each command whose exit code a shell hides.
fn hidden_exit_codes(contract: &TaskContract, before: &str) -> String {
    let commands = contract.verification_commands.iter().enumerate();
    let hidden = commands.filter_map(|(index, command)| Some((index, hidden_exit_code(&command.argv)?)));
    hidden.map(|(index, why)| format!("{before}advice verification_commands {}: {why}\n", index + 1)).collect()
}

fn status(decision: &Decision) -> Status {
    // What only a run finds out stays not evaluated here; what a phase before it refuses is
    // missing.
    if decision.missing_gates.is_empty() { Status::Pass } else { Status::Blocked }
}

fn people(output: Output, decision: &Decision, task: &str) -> String {
    let paint = output.paint;
    let status = status(decision);
    let tail = format!("{}  {}  up to: {}", decision.task_id, decision.inputs.engine, decision.allowed_mutation_mode);
    let width = status.as_str().len() + 2 + tail.chars().count();
    let right = format!("decision {}  nothing ran", decision.decision_id.short());
    let mut out = output.headline(&format!("{}  {tail}", paint.paint_status(status)), width, &right);
    out.push_str("\n\n");
    for gate in &decision.required_gates {
        let refusals: Vec<_> = decision.refusals.iter().filter(|refusal| refusal.gate == *gate).collect();
        if decision.not_evaluated.contains(gate) {
            let why = match decision.missing_gates.is_empty() {
                true if *gate == Gate::BaselineExam => "not evaluated: only a run holds it",
                true => "not evaluated: only a run asks the model",
                false => "not evaluated: an earlier gate is missing",
            };
            let _ = writeln!(out, "  - {gate:<30}  {}", paint.dim(why));
        } else if refusals.is_empty() {
            let _ = writeln!(out, "  {} {gate:<30}", paint.tick());
        }
        for refusal in refusals {
            let _ = writeln!(out, "  {} {gate:<30}  {}", paint.cross(), show_controls(&refusal.text));
            let _ = writeln!(out, "    {:<30}  {} {}", "", paint.arrow(), paint.command(&remedy_for(refusal, task)));
        }
    }
    let _ = writeln!(out, "\n  {}  {}", paint.dim("escalates to"), decision.escalation_path.as_str());
    out
}

/// The remedy of a refusal, with this task in it; nothing has run that it could name.
fn remedy_for(refusal: &Refusal, task: &str) -> String {
    show_controls(&fill_places(&refusal.remedy, "RUN", task))
}

fn lines(decision: &Decision, task: &str) -> String {
    let backend = &decision.inputs.engine;
    let mut out = format!("{} {} {backend} {}\n", status(decision), decision.task_id, decision.allowed_mutation_mode);
    let join = |gates: &[contract::Gate]| gates.iter().map(|gate| gate.id()).collect::<Vec<_>>().join(",");
    let _ = writeln!(out, "passed {}", join(&decision.passed_gates));
    for refusal in &decision.refusals {
        let _ = writeln!(
            out,
            "missing {} {} {} fix: {}",
            refusal.gate,
            refusal.reason,
            show_controls(&refusal.text),
            remedy_for(refusal, task)
        );
    }
    if !decision.not_evaluated.is_empty() {
        let _ = writeln!(out, "not-evaluated {}", join(&decision.not_evaluated));
    }
    out
}

/// Exam set of a run, as far as it is known.
struct ExamSet {
    /// Ecosystems of the baseline; none if it was not read.
    ecosystems: Option<Vec<Ecosystem>>,
    files: Option<ExamShare>,
    /// Groups of globs with their names. Groups without globs are left out.
    groups: Vec<(&'static str, Vec<String>)>,
}

impl ExamSet {
    fn of(contract: &TaskContract, decision: &Decision, files: Option<ExamShare>) -> Self {
        let ecosystems = decision.inputs.target.as_ref().map(|target| target.ecosystems.clone());
        let globs = |role: Role| {
            let of_role = rules(decision.ecosystems()).filter(move |rule| rule.role == role);
            (role.title(), of_role.map(|rule| rule.glob.to_owned()).collect())
        };
        let written = |globs: &[String]| globs.iter().map(|glob| show_controls(glob)).collect();
        let contracts = [
            ("added by the contract", written(&contract.protected_paths)),
            ("released by the contract", written(&contract.exam_may_change)),
        ];
        let data = ("data of tests", DATA_FOLDERS.iter().map(|folder| format!("{folder}/")).collect());
        let (needs, may_need) = unreleased(contract, decision);
        let named = [("needs exam_may_change", written(&needs)), ("needs it if it has tests", written(&may_need))];
        let mut groups: Vec<(&str, Vec<String>)> =
            Role::ALL.iter().copied().map(globs).chain([data]).chain(contracts).chain(named).collect();
        groups.retain(|(_, globs)| !globs.is_empty());
        Self { ecosystems, files, groups }
    }

    fn people(&self, output: Output) -> String {
        let paint = output.paint;
        let Some(ecosystems) = &self.ecosystems else {
            let why = paint.dim("unknown: an earlier gate is missing, so the baseline was not read");
            return format!("  {}      {why}\n", paint.dim("exam set"));
        };
        let found = names(ecosystems, ", ", "no ecosystem was found");
        let files = self.files.map_or_else(String::new, |files| {
            format!("   {} of {} of the baseline", files.protected, count_text(files.all, "file", "files"))
        });
        let mut out = format!("  {}      {found}{files}\n\n", paint.dim("exam set"));
        for (title, globs) in &self.groups {
            let mut title = *title;
            for line in wrap(&globs.join(" "), output.width.saturating_sub(30)) {
                let _ = writeln!(out, "    {}  {line}", paint.dim(&format!("{title:<24}")));
                title = "";
            }
        }
        out
    }

    fn lines(&self) -> String {
        let Some(ecosystems) = &self.ecosystems else { return String::new() };
        let mut out = format!("exam ecosystems={}", names(ecosystems, ",", "none"));
        if let Some(files) = self.files {
            let _ = write!(out, " protected={} files={}", files.protected, files.all);
        }
        out.push('\n');
        for (title, globs) in &self.groups {
            let _ = writeln!(out, "exam-{} {}", title.replace(' ', "-"), globs.join(" "));
        }
        out
    }
}

/// Paths of the exam that the contract names one by one as allowed: configuration, a change
/// of which counts for nothing in the exam, and sources, a change of which counts for
/// nothing if a test of the baseline runs from them. Data of tests is released by its name.
fn unreleased(contract: &TaskContract, decision: &Decision) -> (Vec<String>, Vec<String>) {
    let Ok(rules) = decision.path_rules(contract) else { return Default::default() };
    let named = |path: &&String| rules.names_literally(path.as_bytes()) && rules.is_protected(path.as_bytes());
    let (may_be, needs): (Vec<String>, Vec<String>) = contract
        .allowed_paths
        .iter()
        .filter(named)
        .cloned()
        .partition(|path| rules.may_be_released_by_name(path.as_bytes()));
    (needs, may_be.into_iter().filter(|path| is_source_name(path.as_bytes())).collect())
}

fn names(ecosystems: &[Ecosystem], between: &str, none: &str) -> String {
    match ecosystems {
        [] => none.to_owned(),
        some => some.iter().map(|ecosystem| ecosystem.as_str()).collect::<Vec<_>>().join(between),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Paint;

    fn output(width: usize) -> Output {
        let paint = Paint { color: false, unicode: true, links: false };
        Output {
            json: false,
            quiet: false,
            verbose: false,
            terminal: true,
            progress: false,
            step_lines: false,
            paint,
            paint_errors: paint,
            width,
        }
    }

    fn exam(ecosystems: Option<&[Ecosystem]>) -> ExamSet {
        let globs = |globs: &[&str]| globs.iter().map(ToString::to_string).collect();
        ExamSet {
            ecosystems: ecosystems.map(<[Ecosystem]>::to_vec),
            files: ecosystems.map(|_| ExamShare { protected: 1, all: 1 }),
            groups: vec![
                ("test files", globs(&["tests/", "test*.py", "conftest.py"])),
                ("released by the contract", globs(&["Makefile"])),
            ],
        }
    }

    #[test]
    fn people_see_what_is_protected() {
        insta::assert_snapshot!(exam(Some(&[Ecosystem::Python, Ecosystem::Shell])).people(output(50)), @"
          exam set      python, shell   1 of 1 file of the baseline

            test files                tests/ test*.py
                                      conftest.py
            released by the contract  Makefile
        ");
        let none = exam(Some(&[])).people(output(100));
        assert!(none.starts_with("  exam set      no ecosystem was found   1 of 1 file of the baseline\n"), "{none}");
        insta::assert_snapshot!(exam(None).people(output(100)), @"  exam set      unknown: an earlier gate is missing, so the baseline was not read");
    }

    #[test]
    fn programs_read_a_fact_a_line() {
        insta::assert_snapshot!(exam(Some(&[Ecosystem::Python, Ecosystem::Shell])).lines(), @"
        exam ecosystems=python,shell protected=1 files=1
        exam-test-files tests/ test*.py conftest.py
        exam-released-by-the-contract Makefile
        ");
        assert_eq!(exam(Some(&[])).lines().lines().next(), Some("exam ecosystems=none protected=1 files=1"));
        assert_eq!(exam(None).lines(), "");
    }
}
