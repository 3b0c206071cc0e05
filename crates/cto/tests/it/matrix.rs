//! The fail-closed matrix: every row through the real binary, each checked in full by one function.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod check;
mod made;

use std::collections::BTreeSet;

use contract::Reason;
use serde_json::json;

use self::check::{Row, Seen, check};
use crate::world;

/// One test a row. `made` rows are cases of their own (see `made`), all others the built-in case of that name.
macro_rules! rows {
    ($($test:ident: $row:expr,)*) => {
        $(#[test]
        fn $test() {
            check(&$row);
        })*

        const ROWS: &[Row] = &[$($row,)*];
    };
}

rows! {
    no_diff: Row {
        reasons: &[("no_diff", "git.diff.checked"), ("claim_contradicted", "run.completed")],
        fools_naive: true,
        evidence: |seen| {
            assert_eq!(seen.report["claims"][0]["verdict"], "contradicted");
            assert_eq!(seen.text("patch.diff"), "");
            assert_eq!(seen.report["changed_files"], json!([]));
        },
        ..Row::fails("fail-no-diff")
    },
    disallowed_file: Row {
        reasons: &[("disallowed_file_change", "git.diff.checked")],
        fools_naive: true,
        evidence: |seen| {
            assert_eq!(seen.report["changed_files"], json!(["NOTES.md", "greet.sh"]));
            assert_eq!(seen.report["allowed_writes_passed"], false);
            assert!(seen.text("patch.diff").contains("+Fixed the greeting."));
        },
        ..Row::fails("fail-disallowed-file")
    },
    build_product: Row {
        reasons: &[("build_product_in_patch", "git.diff.checked")],
        fools_naive: true,
        evidence: |seen| {
            assert_eq!(seen.report["changed_files"], json!(["greet.sh", "lib/greet.o"]));
            assert_eq!(seen.report["allowed_writes_passed"], false);
            assert!(seen.blocker(0).contains("`lib/greet.o` (an ELF file)"), "{}", seen.blocker(0));
        },
        ..Row::fails("fail-build-product")
    },
    failed_tests: Row {
        reasons: &[("verification_failed", "verification.completed")],
        evidence: |seen| {
            let pass = &seen.report["verification"]["passes"][0];
            assert_eq!((&pass["argv"], &pass["exit"]), (&json!(["sh", "test.sh"]), &json!(1)));
            assert!(seen.text("test.log").contains("Hello, Ada"), "the output of the exam");
            assert_eq!(seen.report["tests_passed"], false);
        },
        ..Row::fails("fail-failed-tests")
    },
    missing_test_command: Row {
        reasons: &[("missing_test_command", "verification.completed")],
        markers: &["fake-gate.log"],
        evidence: |seen| {
            assert_eq!(seen.text("test.log"), "No verification command is given; nothing was run.\n");
            nothing_ran(seen);
        },
        ..Row::blocked("fail-missing-test-command")
    },
    missing_event: Row {
        reasons: &[("missing_required_event", "run.completed")],
        fools_naive: true,
        evidence: |seen| {
            assert_eq!(seen.report["missing_events"], json!(["approval.granted"]));
            assert_eq!(seen.report["required_events_passed"], false);
        },
        ..Row::fails("fail-missing-event")
    },
    reviewer_reject: Row {
        reasons: &[("reviewer_rejected", "verification.completed")],
        fools_naive: true,
        evidence: |seen| assert!(seen.text("backend/stdout.log").contains(r#""review":"rejected""#)),
        ..Row::blocked("fail-reviewer-reject")
    },
    timeout: Row {
        reasons: &[("timeout", "run.completed")],
        markers: &["provider-timeout.txt"],
        evidence: |seen| {
            assert_eq!(seen.step("timeout")["at"], "engine");
            assert_eq!(seen.report["backend_exit_code"], 124);
        },
        ..Row::blocked("fail-timeout")
    },
    verification_timeout: Row {
        reasons: &[("verification_failed", "verification.completed")],
        markers: &["provider-timeout.txt"],
        evidence: |seen| {
            assert_eq!(seen.step("timeout")["at"], "exam 1");
            assert_eq!(seen.report["verification"]["passes"][0]["timed_out"], true);
            assert_eq!(seen.report["backend_exit_code"], 0);
            assert!(seen.blocker(0).contains("the baseline does not"), "{}", seen.blocker(0));
        },
        ..Row::fails("fail-verification-timeout")
    },
    lifecycle_timeout: Row {
        reasons: &[("lifecycle_timeout_after_valid_patch", "run.completed")],
        markers: &["provider-timeout.txt"],
        evidence: |seen| {
            assert_eq!(seen.report["failure_reason"], "fake engine failed with exit code 124");
            assert_eq!(seen.report["verification"]["result"], "pass");
        },
        ..Row::fails("fail-lifecycle-timeout")
    },
    dirty_starting_tree: Row {
        reasons: &[("dirty_starting_tree", "task.contract.created")],
        markers: &["fake-gate.log"],
        evidence: |seen| {
            assert_eq!(seen.step("preflight.target")["dirty_paths"], json!(["greet.sh"]));
            nothing_ran(seen);
        },
        ..Row::blocked("fail-dirty-starting-tree")
    },
    dirty_ending_tree: Row {
        reasons: &[("dirty_ending_tree", "run.completed")],
        fools_naive: true,
        evidence: |seen| assert_eq!(seen.report["dirty_paths"], json!(["greet.tmp"])),
        ..Row::fails("fail-dirty-ending-tree")
    },
    dirty_ending_tree_nested: Row {
        reasons: &[("dirty_ending_tree", "run.completed")],
        fools_naive: true,
        evidence: |seen| assert_eq!(seen.report["dirty_paths"], json!(["vendor/helper"])),
        ..Row::fails("fail-dirty-ending-tree-nested")
    },
    artifact_write_failure: Row {
        reasons: &[("artifact_write_failure", "run.completed")],
        fools_naive: true,
        evidence: |seen| {
            assert_eq!(seen.step("artifact.failed")["path"], "backend/stdout.log");
            assert!(!seen.text("backend/stdout.log").contains("not the harness's"));
        },
        ..Row::fails("fail-artifact-write-failure")
    },
    provider_unavailable: Row {
        reasons: &[("provider_unavailable", "run.completed")],
        markers: &["provider-unavailable.txt", "fake-gate.log"],
        evidence: provider_unavailable_evidence,
        ..Row::blocked("fail-provider-unavailable")
    },
    critical_risk: Row {
        reasons: &[("gate_missing", "backend.gate.blocked")],
        markers: &["fake-gate.log"],
        evidence: nothing_ran,
        ..Row::blocked("fail-critical-risk")
    },
    no_allowed_paths: Row {
        reasons: &[("gate_missing", "backend.gate.blocked")],
        markers: &["fake-gate.log"],
        evidence: nothing_ran,
        ..Row::blocked("fail-no-allowed-paths")
    },
    no_forbidden_actions: Row {
        reasons: &[("gate_missing", "backend.gate.blocked")],
        markers: &["fake-gate.log"],
        evidence: nothing_ran,
        ..Row::blocked("fail-no-forbidden-actions")
    },
    engine_failed: Row {
        reasons: &[("engine_failed", "engine.exited")],
        evidence: |seen| {
            assert_eq!(seen.report["failure_reason"], "fake engine failed with exit code 3");
            assert_eq!(seen.report["backend_exit_code"], 3);
            assert_eq!(seen.report["tests_passed"], true, "patch and tests are good, and it fails all the same");
        },
        ..Row::fails("fail-engine-failed")
    },
    forbidden_path: Row {
        reasons: &[("forbidden_path_change", "git.diff.checked")],
        fools_naive: true,
        evidence: |seen| {
            assert_eq!(seen.report["forbidden_paths_passed"], false);
            assert!(seen.text("patch.diff").contains("+debug = on"));
        },
        ..Row::fails("fail-forbidden-path")
    },
    protected_file: Row {
        reasons: &[("protected_file_changed", "git.diff.checked")],
        fools_naive: true,
        evidence: |seen| {
            assert_eq!(seen.report["changed_files"], json!(["greet.sh", "test.sh"]));
            assert_eq!(seen.passes("change"), ["pass"], "exam and change are both run");
        },
        ..Row::fails("fail-protected-file")
    },
    cheat_edits_tests: Row {
        reasons: &[
            ("forbidden_path_change", "git.diff.checked"),
            ("protected_file_changed", "git.diff.checked"),
            ("verification_failed", "verification.completed"),
            ("claim_contradicted", "run.completed"),
        ],
        fools_naive: true,
        evidence: |seen| {
            assert_eq!((seen.passes("exam"), seen.passes("change")), (vec!["fail".into()], vec!["pass".into()]));
            let claims = seen.report["claims"].as_array().unwrap();
            let tests = claims.iter().find(|claim| claim["about"] == "tests_passed").unwrap();
            assert_eq!((&tests["said"], &tests["verdict"]), (&json!(true), &json!("contradicted")));
        },
        ..Row::fails("fail-cheat-edits-tests")
    },
    symlink_escape: Row {
        reasons: &[("disallowed_file_change", "git.diff.checked")],
        fools_naive: true,
        evidence: |seen| assert!(seen.blocker(0).contains("`data/shared` is a link that leaves the repository")),
        ..Row::fails("fail-symlink-escape")
    },
    output_budget: Row {
        reasons: &[("budget_exceeded", "run.completed")],
        fools_naive: true,
        evidence: |seen| assert_eq!(seen.event("engine.exited")["stopped_by"], "output limit"),
        ..Row::blocked("fail-output-budget")
    },

    python_case: Row { evidence: |seen| all_three_kinds(seen, 3, true), ..Row::passes("r1-string-slugify") },
    python_package_case: Row { evidence: |seen| all_three_kinds(seen, 3, true), ..Row::passes("r1-src-string-slugify") },
    python_tests_too_case: Row { evidence: |seen| all_three_kinds(seen, 3, true), ..Row::passes("r1-slugify-punctuation") },
    node_case: Row { evidence: |seen| all_three_kinds(seen, 3, true), ..Row::passes("node-package-parse-duration") },
    rust_case: Row { evidence: |seen| all_three_kinds(seen, 3, true), ..Row::passes("rust-crate-off-by-one") },
    shell_case: Row { evidence: |seen| all_three_kinds(seen, 2, false), ..Row::passes("shell-script-rotate-logs") },

    made_interrupted: made::INTERRUPTED,
    made_killed_before_the_engine: made::KILLED_BEFORE,
    made_killed_after_the_engine: made::KILLED_AFTER,
    made_source_mutated: made::SOURCE_MUTATED,
    made_source_unowned: made::SOURCE_UNOWNED,
    made_source_dirty: made::SOURCE_DIRTY,
    made_source_missing: made::SOURCE_MISSING,
    made_source_good: made::SOURCE_GOOD,
    made_program_missing: made::PROGRAM_MISSING,
    made_oversize: made::OVERSIZE,
    made_sandbox_landlock: made::SANDBOX_LANDLOCK,
    made_violation: made::VIOLATION,
    made_forbidden_action: made::FORBIDDEN_ACTION,
    made_setup_fails: made::SETUP_FAILS,
    made_premise_false: made::PREMISE_FALSE,
    made_environment_setup: made::ENVIRONMENT_SETUP,
    made_stage_1: made::STAGE_1,
    made_stage_4: made::STAGE_4,
    made_stage_4_of_a_fixture: made::STAGE_4_OF_A_FIXTURE,
    made_stage_5: made::STAGE_5,
    made_stage_6: made::STAGE_6,
    made_approval_required: made::APPROVAL_REQUIRED,
    made_no_test_rationale: made::NO_TEST_RATIONALE,
    made_contract_without_verification: made::CONTRACT_WITHOUT_VERIFICATION,
    made_weak_exam: made::WEAK_EXAM,
    made_expected_artifact: made::EXPECTED_ARTIFACT,
}

fn nothing_ran(seen: &Seen) {
    assert_eq!(seen.report["engine"]["process_started"], false);
    assert_eq!(seen.report["backend_exit_code"], json!(null));
    assert_eq!(seen.text("patch.diff"), "");
    assert_eq!(seen.report["changed_files"], json!([]));
}

fn provider_unavailable_evidence(seen: &Seen) {
    nothing_ran(seen);
    assert_eq!(seen.report["failure_reason"], "provider unavailable", "the operator's exact words");
}

/// A built-in case proves with exam, control and blind checks in a sandbox, so that nothing is missing; a shell script names
/// no tests that could be compared.
fn all_three_kinds(seen: &Seen, blind: usize, names_tests: bool) {
    // Where the patch changes files of the exam, the control is held on what is delivered too.
    let controls = 1 + seen.passes("change").len();
    assert_eq!((seen.passes("exam"), seen.passes("control")), (vec!["pass".into()], vec!["pass".into(); controls]));
    assert_eq!(seen.passes("blind"), vec!["pass"; blind]);
    let expected = if names_tests { vec![] } else { vec![json!("tests_not_compared")] };
    // Whether an own group can be made is the machine's to say.
    let coverage = seen.report["coverage"].as_array().unwrap().iter();
    let coverage: Vec<_> = coverage.filter(|code| **code != "limits_by_rlimit").cloned().collect();
    assert_eq!(coverage, expected);
}

/// Reasons whose rows paste what they print.
pub(crate) fn reasons_of_rows() -> BTreeSet<Reason> {
    ROWS.iter().flat_map(|row| row.reasons).map(|(code, _)| Reason::from_code(code).unwrap()).collect()
}

/// Reasons that no case leads to: the kill switch has tests of its own.
const ELSEWHERE: &[Reason] = &[Reason::Halted, Reason::ContractPremiseFalse];

/// Reasons that nothing in this build can give, and what they wait for.
const NOT_YET: &[(&str, &[Reason])] = &[
    ("a scan of the evidence", &[Reason::SecretLeak, Reason::CanaryTouched]),
    ("a queue", &[Reason::ContractInvalid]),
    (
        "approvals",
        &[
            Reason::ApprovalExpired,
            Reason::ApprovalConsumed,
            Reason::ApprovalMismatch,
            Reason::ApprovalNotComparable,
            Reason::ApprovalRevoked,
            Reason::ApprovalHeld,
            Reason::ApprovalNotYetValid,
            Reason::LedgerContinuityUnknown,
            Reason::ApprovalDenied,
        ],
    ),
    ("stages 4 to 6", &[Reason::CriticalRepository, Reason::MissingOperatorOutcome]),
    (
        "engines that are not built in",
        &[
            Reason::AgentProtocol,
            Reason::SourceNotAdmitted,
            Reason::EngineCopyMissing,
            Reason::ExecutableDigestMismatch,
            Reason::LicenseUnresolved,
        ],
    ),
    (
        "a model",
        &[
            Reason::ModelFallbackBlocked,
            Reason::HostedToolRefused,
            Reason::ModelEvidenceMissing,
            Reason::ModelNotAdmitted,
            Reason::ProviderAuthUnavailable,
            Reason::LocalProviderConfigMissing,
            Reason::ProviderResponseShape,
        ],
    ),
    ("a fault in git or in us: no input leads there", &[Reason::PatchNotReproducible]),
];

#[test]
fn every_reason_has_a_row_or_waits_for_something() {
    let mut rows: BTreeSet<Reason> = ELSEWHERE.iter().copied().collect();
    rows.extend(reasons_of_rows());
    let waiting: BTreeSet<Reason> = NOT_YET.iter().flat_map(|(_, reasons)| *reasons).copied().collect();
    assert_eq!(rows.intersection(&waiting).collect::<Vec<_>>(), Vec::<&Reason>::new(), "it has a row after all");
    let both: BTreeSet<Reason> = rows.union(&waiting).copied().collect();
    assert_eq!(both, Reason::ALL.iter().copied().collect());
}

/// The rows' cases are copies of the built-in ones; `cto matrix` runs those themselves, and they end alike.
#[test]
fn every_built_in_case_has_a_row_and_ends_as_the_row_says() {
    let world = world();
    let matrix = world.cto(["matrix", "--json"]).expect(0).json();
    let ended = |row: &serde_json::Value| (row["case_id"].clone(), row["status"].clone(), row["reasons"].clone());
    let found: BTreeSet<String> =
        matrix["cases"].as_array().unwrap().iter().map(|row| format!("{:?}", ended(row))).collect();
    let builtin = ROWS.iter().filter(|row| fixtures::find(row.name).is_some());
    let expected: BTreeSet<String> =
        builtin.map(|row| format!("{:?}", (json!(row.name), json!(row.status), json!(row.codes())))).collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), fixtures::builtin().len());
}
