//! Every reason with the place where its remedy is pasted, or with why nothing is pasted.

#![expect(clippy::panic, reason = "a test that cannot go on must stop")]

use std::path::Path;

use contract::Reason;
use contract::remedy::Remedy;

use super::{PrintedRemedy, Shell};
use crate::matrix::reasons_of_rows;

/// Proof that a remedy works.
#[derive(Clone, Copy)]
enum Proof {
    /// A row of the fail-closed matrix ends with the reason and pastes what it printed.
    Matrix,
    /// A test of this path pastes it in the state that prints it.
    Test(&'static str),
    /// There is no command in it; the words say why there is none.
    Words(&'static str),
}

use Proof::{Matrix, Test, Words};

const APPROVALS: Proof = Test("approvals::remedies::every_remedy_of_an_approval_leads_to_a_run");
const MODEL: Proof = Test("model::advice::what_is_printed_about_a_model_can_be_pasted");
const OWN: Proof = Test("agents::own::an_admitted_engine_works_on_a_copy_of_ones_own_repository");

const GENERAL_TEST: Proof = Test("advice::reasons::general_remedies_can_be_pasted");

const PROOFS: &[(Reason, Proof)] = &[
    (Reason::SecretLeak, Words("a secret is rotated where it was issued")),
    (Reason::CanaryTouched, Words("nothing is to be run before a person knows why")),
    (Reason::SandboxViolation, Matrix),
    (Reason::ForbiddenActionAttempted, Matrix),
    (Reason::SourceRepositoryMutated, Matrix),
    (Reason::ForbiddenPathChange, Matrix),
    (Reason::ProtectedFileChanged, Matrix),
    (Reason::DisallowedFileChange, Matrix),
    (Reason::BuildProductInPatch, Matrix),
    (Reason::PatchNotReproducible, GENERAL_TEST),
    (Reason::NoDiff, Matrix),
    (Reason::VerificationWeakened, Matrix),
    (Reason::VerificationFailed, Matrix),
    (Reason::EngineFailed, Matrix),
    (Reason::LifecycleTimeoutAfterValidPatch, Matrix),
    (Reason::AgentProtocol, Test("case::ends::the_end_is_judged_by_what_is_said_and_seen")),
    (Reason::ModelFallbackBlocked, Words("the engine is configured in its own way, or another record is written")),
    (Reason::HostedToolRefused, Words("the engine is configured in its own way")),
    (Reason::ModelEvidenceMissing, MODEL),
    (Reason::MissingRequiredEvent, Matrix),
    (Reason::DirtyEndingTree, Matrix),
    (Reason::ArtifactWriteFailure, Words("the trace names the path that a person has to mend")),
    (Reason::ClaimContradicted, Matrix),
    (Reason::HarnessInterrupted, Words("the command is the one that was typed")),
    (Reason::ReviewerRejected, Matrix),
    (Reason::Timeout, Words("the limit stands in the contract")),
    (Reason::BudgetExceeded, Words("the limit stands in the contract")),
    (Reason::Halted, Test("advice::every_remedy_of_a_refused_run_can_be_pasted")),
    (Reason::ContractInvalid, Words("the command is the one that was typed")),
    (Reason::GateMissing, GENERAL_TEST),
    (Reason::StageNotEarned, Words("the run of the stage below is the person's to choose")),
    (Reason::MissingTestCommand, Words("the command stands in the contract")),
    (Reason::SourceNotAdmitted, OWN),
    (Reason::ExecutableDigestMismatch, Words("which build is meant is the person's to say")),
    (Reason::LicenseUnresolved, Words("the note stands in the admission")),
    (Reason::ModelNotAdmitted, MODEL),
    (Reason::ProviderAuthUnavailable, Words("the credential lies where the configuration says")),
    (Reason::LocalProviderConfigMissing, Words("the endpoint stands in the configuration")),
    (Reason::ProviderResponseShape, Words("the setting is the server's")),
    (Reason::EnvironmentBroken, Matrix),
    (Reason::ContractPremiseFalse, Matrix),
    (Reason::EngineCopyMissing, OWN),
    (Reason::SourceMissing, Words("the repository is the person's to name")),
    (Reason::ToolMissing, Test("advice::a_program_that_the_sandbox_does_not_show_is_shown_by_the_remedy")),
    (Reason::TargetNotAdmitted, GENERAL_TEST),
    (Reason::UnownedRepository, Words("the statement stands in the contract")),
    (Reason::CriticalRepository, Words("the repository is the person's to name")),
    (Reason::ApprovalMissing, APPROVALS),
    (Reason::ApprovalExpired, APPROVALS),
    (Reason::ApprovalConsumed, APPROVALS),
    (Reason::ApprovalMismatch, APPROVALS),
    (Reason::ApprovalNotComparable, APPROVALS),
    (Reason::ApprovalRevoked, APPROVALS),
    (Reason::ApprovalHeld, APPROVALS),
    (Reason::ApprovalNotYetValid, Words("time passes by itself")),
    (Reason::LedgerContinuityUnknown, APPROVALS),
    (Reason::ApprovalDenied, APPROVALS),
    (Reason::SandboxUnavailable, Test("strict::unavailable::nothing_is_started_without_the_sandbox")),
    (Reason::DirtyStartingTree, Matrix),
    (Reason::ProviderUnavailable, Words("what is missing is named, and installed by its own manager")),
    (Reason::MissingOperatorOutcome, Test("refreshed::remedies::answer_and_go_on")),
];

/// The file of a test, by its path of modules.
fn source_of(path: &str) -> (String, &str) {
    let (modules, name) = path.rsplit_once("::").unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/{}.rs", modules.replace("::", "/")));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    (text, name)
}

#[test]
fn every_remedy_is_pasted_or_says_why_not() {
    let listed: Vec<Reason> = PROOFS.iter().map(|(reason, _)| *reason).collect();
    assert_eq!(listed, Reason::ALL, "each reason once, in the order of severity");
    let rows = reasons_of_rows();
    let mut wrong = Vec::new();
    for (reason, proof) in PROOFS {
        let has_command = Remedy::parse_text(reason.remedy()).command.is_some();
        let is_good = match proof {
            Matrix => has_command && rows.contains(reason),
            Words(why) => !has_command && !why.is_empty(),
            Test(path) => {
                let (text, name) = source_of(path);
                has_command && text.contains(&format!("fn {name}(")) && text.contains("paste")
            }
        };
        wrong.extend((!is_good).then(|| reason.code()));
    }
    assert!(wrong.is_empty(), "no proof: {wrong:?}");
}

/// Reasons whose runs print a remedy of their own: the general one, as `cto explain` and the pages have it, is pasted for a failed run.
const GENERAL: [Reason; 3] = [Reason::PatchNotReproducible, Reason::GateMissing, Reason::TargetNotAdmitted];

#[test]
fn general_remedies_can_be_pasted() {
    let world = crate::world();
    let _ = world.cto(["init", "."]).expect(0);
    world.repository("source", &[("a.txt", "one\n")]);
    let (report, _) = world.run("fail-critical-risk", 3);
    let run = report["run_id"].as_str().unwrap();
    let shell = Shell { cto: &|words| world.cto(words), repository: &world.here() };
    for reason in GENERAL {
        let remedy = contract::remedy::fill_places(reason.remedy(), run, "fail-critical-risk");
        assert!(shell.paste(&PrintedRemedy { reason: reason.code().to_owned(), remedy }).is_some(), "{reason}");
    }
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(world.here().join(folder)).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names(".").iter().filter(|name| name.contains(run)).count(), 1, "an archive to report");
    assert_eq!(names("admissions/target").len(), 1, "a draft to fill in");
}
