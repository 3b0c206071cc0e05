//! Rows that no built-in case has: interruptions, repositories, stages, contracts of their own.

use std::fs;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{World, contract_text, wait_for};

use super::check::{Drove, Row};
use super::nothing_ran;

const SLEEPS: &str = "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {spawn: {argv: [sleep, \"600\"], detach: true}}, {sleep: {seconds: 600}}]}";

pub(super) const INTERRUPTED: Row = Row {
    reasons: &[("harness_interrupted", "run.completed")],
    exit: 130,
    set: |world| of_case(world, &[("fake", SLEEPS)], &[]),
    drive: |world, args| {
        let (child, run_id) = start_until(world, args, engine_sleeps);
        signal(&child, Signal::INT);
        let ran = World::finish(child);
        assert_eq!(ran.json()["run_id"], run_id, "the report is printed all the same");
        Drove { exit: ran.code, run_id }
    },
    evidence: |seen| {
        assert_eq!(seen.blocker(0), "the run was interrupted: interrupted by a signal");
        assert_eq!(seen.event("engine.exited")["stopped_by"], "operator");
        assert!(seen.text("backend/recovered/backend/stdout.log").contains("sleep"));
    },
    ..Row::fails("interrupted")
};

pub(super) const KILLED_AFTER: Row = Row {
    reasons: &[("harness_interrupted", "run.completed")],
    exit: -1,
    set: |world| of_case(world, &[("fake", SLEEPS)], &[]),
    drive: |world, args| kill_and_recover(world, args, engine_sleeps),
    evidence: |seen| {
        assert_eq!(seen.blocker(0), "the run was interrupted: the harness process was killed");
        assert_eq!(seen.report["engine"]["process_started"], true);
    },
    ..Row::fails("killed-after")
};

/// Phase B reads the source to its end, and this one has almost none.
pub(super) const KILLED_BEFORE: Row = Row {
    reasons: &[("harness_interrupted", "run.completed")],
    exit: -1,
    set: |world| {
        let source = world.repository("source", &[("a.txt", "one\n"), (".gitignore", "big\n")]);
        fs::File::create(source.join("big")).unwrap().set_len(1 << 40).unwrap();
        of_case(world, &[], &["--repo", "../source"])
    },
    drive: |world, args| kill_and_recover(world, args, |_| true),
    evidence: |seen| {
        nothing_ran(seen);
        assert_eq!(seen.blocker(0), "the run was interrupted: the harness process was killed");
    },
    ..Row::blocked("killed-before")
};

pub(super) const SOURCE_GOOD: Row = Row {
    set: |world| of_repository(world, &[], &[]),
    evidence: |seen| {
        assert_eq!((&seen.report["source_repository_mutated"], &seen.report["stage"]), (&json!(false), &json!(3)));
        let step = seen.step("source.compared");
        assert_eq!(step["before"], step["after"]);
    },
    ..Row::passes("source-good")
};

pub(super) const SOURCE_MUTATED: Row = Row {
    reasons: &[("source_repository_mutated", "run.completed")],
    changes_source: true,
    set: |world| {
        let steps = format!(
            "{{steps: [{{write: {{path: a.txt, text: \"two\\n\"}}}}, {{write: {{path: {}, text: \"mine\\n\"}}}}]}}",
            world.path().join("source/b.txt").display()
        );
        of_repository(world, &[("fake", steps.as_str())], &["--stage", "2", "--sandbox", "none"])
    },
    evidence: |seen| {
        assert_eq!(seen.report["source_repository_mutated"], true);
        let step = seen.step("source.compared");
        assert_ne!(step["before"], step["after"]);
        assert_eq!(seen.report["changed_files"], json!(["a.txt"]), "the copy is judged as ever");
    },
    ..Row::fails("source-mutated")
};

pub(super) const SOURCE_UNOWNED: Row = Row {
    reasons: &[("unowned_repository", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_repository(world, &[("source_owner", "")], &[]),
    evidence: nothing_ran,
    ..Row::blocked("source-unowned")
};

pub(super) const SOURCE_DIRTY: Row = Row {
    reasons: &[("dirty_starting_tree", "task.contract.created")],
    markers: &["fake-gate.log"],
    set: |world| {
        let args = of_repository(world, &[], &[]);
        fs::write(world.path().join("source/unfinished.txt"), "mine\n").unwrap();
        args
    },
    evidence: |seen| {
        nothing_ran(seen);
        assert_eq!(seen.step("preflight.target")["dirty_paths"], json!(["unfinished.txt"]));
    },
    ..Row::blocked("source-dirty")
};

/// `broken_sources` has every way in which a repository can be unreadable.
pub(super) const SOURCE_MISSING: Row = Row {
    reasons: &[("source_missing", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[], &["--repo", "../nowhere"]),
    evidence: |seen| {
        nothing_ran(seen);
        assert!(seen.blocker(0).contains("there is nothing at this path"), "{}", seen.blocker(0));
    },
    ..Row::blocked("source-missing")
};

pub(super) const PROGRAM_MISSING: Row = Row {
    reasons: &[("tool_missing", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[("verification_commands", "[[no-such-program]]")], &[]),
    evidence: |seen| {
        nothing_ran(seen);
        assert!(seen.text("backend/fake-gate.log").contains("`no-such-program`"));
    },
    ..Row::blocked("program-missing")
};

/// Refused by the sizes of its files: nothing of it is compared.
pub(super) const OVERSIZE: Row = Row {
    reasons: &[("budget_exceeded", "run.completed")],
    set: |world| {
        let steps = "{steps: [{run: {argv: [truncate, -s, 70M, big.bin]}}]}";
        of_case(world, &[("fake", steps), ("allowed_paths", "[big.bin]")], &[])
    },
    evidence: |seen| {
        assert!(seen.blocker(0).contains("the 1 changed files have 73400320 bytes"), "{}", seen.blocker(0));
        assert_eq!(seen.text("patch.diff"), "");
        assert!(seen.text("test.log").contains("too large for a patch"));
    },
    ..Row::blocked("oversize")
};

pub(super) const SANDBOX_LANDLOCK: Row = Row {
    reasons: &[("sandbox_unavailable", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[], &["--sandbox", "landlock"]),
    evidence: |seen| {
        nothing_ran(seen);
        assert_eq!(seen.report["sandbox"]["asked"], "landlock");
    },
    ..Row::blocked("sandbox-landlock")
};

pub(super) const ENVIRONMENT_SETUP: Row = Row {
    reasons: &[("sandbox_unavailable", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[("environment", "{setup: [{argv: [touch, made]}]}")], &["--sandbox", "none"]),
    evidence: |seen| {
        nothing_ran(seen);
        assert!(seen.blocker(0).contains("environment.setup"));
    },
    ..Row::blocked("environment-setup")
};

pub(super) const SETUP_FAILS: Row = Row {
    reasons: &[("environment_broken", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[("environment", "{setup: [{argv: [sh, -c, 'echo no luck; exit 4']}]}")], &[]),
    evidence: |seen| {
        assert_eq!(seen.report["engine"]["process_started"], false);
        assert!(seen.blocker(0).contains("setup 1") && seen.blocker(0).contains("exit 4"), "{}", seen.blocker(0));
        assert!(seen.text("setup.log").contains("no luck"));
        assert!(!seen.text("test.log").contains("sandbox could not be built"), "{}", seen.text("test.log"));
    },
    ..Row::blocked("setup-fails")
};

/// A contract that declares a green test as failing.
pub(super) const PREMISE_FALSE: Row = Row {
    reasons: &[("contract_premise_false", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| {
        let command = r#"[["python3", "-m", "unittest", "-v"]]"#;
        let args = of_case(world, &[("verification_commands", command), ("must_pass", "[test_a]")], &[]);
        let test = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n";
        world.write("made/files/test_a.py", test);
        args
    },
    evidence: |seen| {
        assert_eq!(seen.report["engine"]["process_started"], false);
        assert_eq!(seen.event("backend.gate.blocked")["gate"], "baseline_exam");
        assert!(seen.text("test.log").contains("test_a (test_a.A.test_a) ... ok"), "{}", seen.text("test.log"));
    },
    ..Row::blocked("premise-false")
};

/// Steps of an engine that looks for a way out.
pub(super) const VIOLATION: Row = Row {
    reasons: &[("sandbox_violation", "sandbox.refused")],
    set: |world| {
        let steps = r#"{steps: [{write: {path: a.txt, text: "two\n"}}, {run: {argv: [sh, -c, "unshare -r true; cat ~/.ssh/id_ed25519 >/dev/null; true"]}}]}"#;
        of_case(world, &[("fake", steps)], &[])
    },
    evidence: |seen| {
        let violations = seen.report["sandbox"]["violations"].as_array().unwrap();
        assert!(violations.len() >= 2, "{violations:?}");
        assert!(violations.iter().any(|text| text.as_str().unwrap().contains("id_ed25519")), "{violations:?}");
    },
    ..Row::fails("violation")
};

pub(super) const FORBIDDEN_ACTION: Row = Row {
    reasons: &[("forbidden_action_attempted", "sandbox.refused")],
    set: |world| {
        let steps = r#"{steps: [{write: {path: a.txt, text: "two\n"}}, {run: {argv: [sh, -c, "git push https://example.org/x HEAD; true"]}}]}"#;
        of_case(world, &[("fake", steps)], &[])
    },
    evidence: |seen| {
        let attempted = seen.report["forbidden_actions_attempted"].as_array().unwrap();
        assert!(attempted.iter().any(|text| text.as_str().unwrap().contains("git push")), "{attempted:?}");
    },
    ..Row::fails("forbidden-action")
};

pub(super) const STAGE_1: Row = Row {
    set: |world| of_case(world, &[], &["--stage", "1"]),
    evidence: |seen| {
        nothing_ran(seen);
        assert_eq!(seen.report["stage"], 1);
        assert!(seen.events.iter().all(|event| event["type"] != "engine.started"));
    },
    ..Row::passes("stage-1")
};

pub(super) const STAGE_4_OF_A_FIXTURE: Row = Row {
    reasons: &[("gate_missing", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[], &["--stage", "4"]),
    evidence: nothing_ran,
    ..Row::blocked("stage-4-of-a-fixture")
};

pub(super) const STAGE_4: Row = Row {
    reasons: &[("approval_missing", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[("mutation_mode", "sandbox-repo")], &["--stage", "4"]),
    evidence: nothing_ran,
    ..Row::blocked("stage-4")
};

pub(super) const STAGE_5: Row = Row {
    reasons: &[("target_not_admitted", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[("mutation_mode", "owned-noncritical-repo")], &["--stage", "5"]),
    evidence: nothing_ran,
    ..Row::blocked("stage-5")
};

pub(super) const STAGE_6: Row = Row {
    reasons: &[("stage_not_earned", "backend.gate.blocked"), ("target_not_admitted", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[("mutation_mode", "candidate-default")], &["--stage", "6"]),
    evidence: nothing_ran,
    ..Row::blocked("stage-6")
};

pub(super) const APPROVAL_REQUIRED: Row = Row {
    reasons: &[("approval_missing", "backend.gate.blocked")],
    markers: &["fake-gate.log"],
    set: |world| of_case(world, &[("approval_required", "true")], &[]),
    evidence: nothing_ran,
    ..Row::blocked("approval-required")
};

pub(super) const NO_TEST_RATIONALE: Row = Row {
    set: |world| of_case(world, &[("verification_commands", ""), ("no_test_rationale", "it is only a word")], &[]),
    evidence: |seen| {
        let coverage = seen.report["coverage"].as_array().unwrap();
        assert!(coverage.contains(&json!("no_verification")), "{coverage:?}");
        assert_eq!(seen.text("test.log"), "No verification: it is only a word\n");
        assert_eq!(seen.report["tests_passed"], json!(null));
    },
    ..Row::passes("no-test-rationale")
};

/// A contract on its own says nothing to the fake engine either.
pub(super) const CONTRACT_WITHOUT_VERIFICATION: Row = Row {
    reasons: &[("missing_test_command", "verification.completed"), ("provider_unavailable", "run.completed")],
    markers: &["provider-unavailable.txt", "fake-gate.log"],
    set: |world| {
        world.repository("source", &[("a.txt", "one\n")]);
        world.write("task.yaml", contract_text(&[("verification_commands", "")]));
        vec!["task.yaml".to_owned(), "--repo".to_owned(), "../source".to_owned()]
    },
    evidence: |seen| {
        nothing_ran(seen);
        assert_eq!(seen.text("test.log"), "No verification command is given; nothing was run.\n");
    },
    ..Row::blocked("contract-without-verification")
};

/// The altered exam must fail; this one never fails.
pub(super) const WEAK_EXAM: Row = Row {
    reasons: &[("verification_weakened", "verification.completed")],
    set: |world| {
        let args =
            of_case(world, &[("verification_commands", "[[\"true\"]]"), ("control_patch", "control.patch")], &[]);
        world.write("made/control.patch", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+three\n");
        args
    },
    evidence: |seen| {
        assert_eq!((seen.passes("exam"), seen.passes("control")), (vec!["pass".into()], vec!["fail".into()]));
    },
    ..Row::fails("weak-exam")
};

pub(super) const EXPECTED_ARTIFACT: Row = Row {
    reasons: &[("artifact_write_failure", "run.completed")],
    set: |world| of_case(world, &[("evidence_expectations", "[backend/plan.md]")], &[]),
    evidence: |seen| assert!(seen.blocker(0).contains("`backend/plan.md` is expected by the contract")),
    ..Row::fails("expected-artifact")
};

fn of_case(world: &World, changes: &[(&str, &str)], more: &[&str]) -> Vec<String> {
    world.case("made", changes);
    ["./made"].iter().chain(more).map(|&arg| arg.to_owned()).collect()
}

fn of_repository(world: &World, changes: &[(&str, &str)], more: &[&str]) -> Vec<String> {
    world.repository("source", &[("a.txt", "one\n")]);
    of_case(world, changes, &[&["--repo", "../source"], more].concat())
}

/// Starts a run and waits until what it has recorded is so.
fn start_until(world: &World, args: &[String], so: fn(&str) -> bool) -> (Child, String) {
    let child = world.start(["run", "--json"].iter().copied().chain(args.iter().map(String::as_str)));
    let run_id = wait_for("the run", || {
        let active = fs::read_dir(world.home().join("active")).ok()?.flatten().next()?;
        let events = fs::read_to_string(active.path().join("events.normalized.jsonl")).ok()?;
        (events.contains("run.started") && so(&events)).then(|| active.file_name().into_string().expect("UTF-8"))
    });
    (child, run_id)
}

fn engine_sleeps(events: &str) -> bool {
    events.contains(r#"\"do\":\"sleep\""#)
}

fn kill_and_recover(world: &World, args: &[String], so: fn(&str) -> bool) -> Drove {
    let (child, run_id) = start_until(world, args, so);
    signal(&child, Signal::KILL);
    let exit = World::finish(child).code;
    let recovered: Value = world.cto(["recover", "--json"]).expect(0).json();
    assert_eq!(recovered["sealed"][0]["run_id"], run_id, "{recovered}");
    Drove { exit, run_id }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}
