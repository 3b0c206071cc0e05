//! The gate of phase D: an environment that cannot run its own tests, or a contract that is
//! wrong about them, is refused before an engine costs anything.

use contract::baseline_exam::{BaselineCommandFact, BaselineExamFacts, PremiseFact};
use contract::decision::Refusal;
use contract::text::show_controls;
use contract::{Gate, Reason, TaskContract};

use crate::rules::refuse_gate;

/// Exit codes by which a shell says that it could not start a program.
const NOT_STARTED: [i32; 2] = [126, 127];

/// Judges the baseline's exam; an empty list opens the gate.
pub(crate) fn judge_baseline_exam(contract: &TaskContract, facts: &BaselineExamFacts) -> Vec<Refusal> {
    if let Some(why) = &facts.unprepared {
        return broken(&show_controls(why), "");
    }
    let commands = facts.commands.iter().enumerate();
    let mut refusals: Vec<Refusal> = commands
        .filter_map(|(index, command)| {
            let why = why_broken(contract, facts, command)?;
            Some(broken(&format!("verification_commands {}: {why}", index + 1), &command.last_lines))
        })
        .flatten()
        .collect();
    // A broken environment names no tests, so that nothing more can be said of them.
    if refusals.is_empty() {
        refusals.extend(facts.must_pass.iter().flat_map(|premise| wrong_must_pass(premise, facts.all_named)));
        refusals.extend(facts.may_stay_red.iter().flat_map(wrong_may_stay_red));
    }
    refusals
}

fn broken(why: &str, last_lines: &str) -> Vec<Refusal> {
    let reason = Reason::EnvironmentBroken;
    let lines = last_lines.lines().map(|line| show_controls(line.trim())).collect::<Vec<_>>().join(" | ");
    let end = if lines.is_empty() { lines } else { format!("; it ends with: {lines}") };
    refuse_gate(Gate::BaselineExam, reason, format!("{why}{end}"), reason.remedy())
}

fn why_broken(contract: &TaskContract, facts: &BaselineExamFacts, command: &BaselineCommandFact) -> Option<String> {
    let ran = command.tests.is_some_and(|tests| tests.executed > 0);
    if let Some(tool) = &command.missing_tool {
        return Some(format!("`{}` is not there on the baseline", show_controls(tool)));
    }
    match (command.exit, &command.runner) {
        (None, _) if !command.timed_out => Some("it cannot be started on the baseline".to_owned()),
        (Some(exit), _) if NOT_STARTED.contains(&exit) && !ran => {
            Some(format!("it cannot be started on the baseline: exit {exit}"))
        }
        _ if command.timed_out => None,
        (_, Some(runner)) if facts.test_files && command.collected == 0 && contract.must_pass.is_empty() => {
            Some(format!("{} finds no test in the baseline, which has test files", show_controls(runner)))
        }
        _ => None,
    }
}

fn wrong_must_pass(premise: &PremiseFact, all_named: bool) -> Vec<Refusal> {
    let entry = show_controls(&premise.entry);
    match premise {
        PremiseFact { red: 0, other: 0, .. } if all_named => {
            premise_false(format!("must_pass `{entry}` matches no test of the baseline's exam"))
        }
        PremiseFact { red: 0, other: 1.., .. } => {
            premise_false(format!("must_pass `{entry}` matches only tests that do not fail in the baseline"))
        }
        _ => Vec::new(),
    }
}

fn wrong_may_stay_red(premise: &PremiseFact) -> Vec<Refusal> {
    let entry = show_controls(&premise.entry);
    match premise {
        PremiseFact { other: 1.., .. } => {
            premise_false(format!("may_stay_red `{entry}` matches a test that does not fail in the baseline"))
        }
        PremiseFact { red: 0, .. } => {
            premise_false(format!("may_stay_red `{entry}` matches no test that the baseline's exam saw fail"))
        }
        _ => Vec::new(),
    }
}

fn premise_false(text: String) -> Vec<Refusal> {
    let reason = Reason::ContractPremiseFalse;
    refuse_gate(Gate::BaselineExam, reason, text, reason.remedy())
}

#[cfg(test)]
mod tests {
    use contract::report::TestCounts;

    use super::*;
    use crate::tests::contract;

    fn command() -> BaselineCommandFact {
        BaselineCommandFact {
            exit: Some(1),
            timed_out: false,
            runner: Some("pytest".to_owned()),
            tests: Some(TestCounts { executed: 2, passed: 1, failed: 1, skipped: 0 }),
            collected: 2,
            missing_tool: None,
            last_lines: String::new(),
        }
    }

    fn facts() -> BaselineExamFacts {
        BaselineExamFacts {
            test_files: true,
            commands: vec![command()],
            all_named: true,
            ..BaselineExamFacts::default()
        }
    }

    fn premise(red: u64, other: u64) -> Vec<PremiseFact> {
        vec![PremiseFact { entry: "test_a".to_owned(), red, other }]
    }

    type Row = (&'static str, Edit, Option<(&'static str, &'static str)>);
    type Edit = fn(&mut TaskContract, &mut BaselineExamFacts);

    fn none_collected(facts: &mut BaselineExamFacts) {
        facts.commands[0] = BaselineCommandFact { tests: None, collected: 0, ..command() };
    }

    /// A change, and the reason that must follow with a part of its text.
    const ROWS: &[Row] = &[
        ("sound", |_, _| {}, None),
        (
            "no environment",
            |_, f| f.unprepared = Some("setup 1 ended with exit 3".into()),
            Some(("environment_broken", "setup 1")),
        ),
        ("not started", |_, f| f.commands[0].exit = None, Some(("environment_broken", "cannot be started"))),
        (
            "a shell that finds no program",
            |_, f| {
                none_collected(f);
                f.commands[0].exit = Some(127);
            },
            Some(("environment_broken", "exit 127")),
        ),
        ("a test that ends with 127", |_, f| f.commands[0].exit = Some(127), None),
        ("a tool", |_, f| f.commands[0].missing_tool = Some("tsc".into()), Some(("environment_broken", "`tsc`"))),
        ("too slow", |_, f| f.commands[0] = BaselineCommandFact { exit: None, timed_out: true, ..command() }, None),
        ("none collected", |_, f| none_collected(f), Some(("environment_broken", "pytest finds no test"))),
        (
            "none collected, tests before code",
            |c, f| {
                none_collected(f);
                c.must_pass.push("test_a".into());
            },
            None,
        ),
        (
            "none collected, none there",
            |_, f| {
                none_collected(f);
                f.test_files = false;
            },
            None,
        ),
        (
            "no runner",
            |_, f| {
                none_collected(f);
                f.commands[0].runner = None;
            },
            None,
        ),
        ("must pass, red", |_, f| f.must_pass = premise(1, 1), None),
        ("must pass, green", |_, f| f.must_pass = premise(0, 1), Some(("contract_premise_false", "do not fail"))),
        ("must pass, nothing", |_, f| f.must_pass = premise(0, 0), Some(("contract_premise_false", "no test"))),
        ("must pass, nobody can tell", |_, f| (f.must_pass, f.all_named) = (premise(0, 0), false), None),
        ("may stay red, red", |_, f| f.may_stay_red = premise(2, 0), None),
        (
            "may stay red, green",
            |_, f| f.may_stay_red = premise(1, 1),
            Some(("contract_premise_false", "does not fail")),
        ),
        ("may stay red, nothing", |_, f| f.may_stay_red = premise(0, 0), Some(("contract_premise_false", "no test"))),
    ];

    #[test]
    fn each_fault_of_the_baseline_is_refused() {
        for (name, edit, expected) in ROWS {
            let (mut contract, mut facts) = (contract(), facts());
            edit(&mut contract, &mut facts);
            let refusals = judge_baseline_exam(&contract, &facts);
            match (expected, refusals.as_slice()) {
                (None, []) => {}
                (Some((reason, part)), [refusal]) => {
                    assert_eq!(refusal.reason.code(), *reason, "{name}");
                    assert!(refusal.text.contains(part), "{name}: {}", refusal.text);
                }
                _ => panic!("{name}: {refusals:?}"),
            }
        }
    }
}
