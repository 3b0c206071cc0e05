//! Every fail-closed reason in one table: code, status, event, sentence, remedy.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::EventKind;
use crate::status::Status;

/// Status that a reason gives a run: `fail` or `blocked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    Fail,
    Blocked,
    /// Blocked before the engine started, fail after.
    ByEngineStart,
}

macro_rules! reasons {
    ($($variant:ident $code:literal $weight:ident $event:ident $sentence:literal $remedy:literal,)*) => {
        /// Cause of a run that did not pass. Declaration order is order of severity among
        /// reasons of one status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(title = "reason")]
        pub enum Reason {
            $(#[doc = $sentence] $variant,)*
        }

        impl Reason {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Stable code in reports, decisions and on the command line.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            const fn weight(self) -> Weight {
                match self { $(Self::$variant => Weight::$weight,)* }
            }

            /// The event whose `data.reason` carries this code.
            pub const fn event(self) -> EventKind {
                match self { $(Self::$variant => EventKind::$event,)* }
            }

            /// One sentence for people that states the problem.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }

            /// General remedy for people; a blocker names the exact command if there is
            /// one.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* }
            }
        }
    };
}

reasons! {
    SecretLeak "secret_leak" Fail SecretScanCompleted
        "The evidence contained a secret, which was redacted."
        "rotate the secret before the next run",
    CanaryTouched "canary_touched" Fail SecretScanCompleted
        "A program read a decoy secret."
        "do not run this engine again before you know why it read the decoy",
    SandboxViolation "sandbox_violation" Fail SandboxRefused
        "The engine tried to reach something that the policy forbids."
        "look at the refused attempts: cto logs RUN --refusals",
    ForbiddenActionAttempted "forbidden_action_attempted" Fail SandboxRefused
        "The engine tried a forbidden action."
        "look at the attempt: cto logs RUN --refusals",
    SourceRepositoryMutated "source_repository_mutated" Fail RunCompleted
        "The source repository changed during the run."
        "see what changed: git status (in the source repository)",
    ForbiddenPathChange "forbidden_path_change" Fail GitDiffChecked
        "A forbidden path changed."
        "see it: cto diff RUN",
    ProtectedFileChanged "protected_file_changed" Fail GitDiffChecked
        "A protected file of the exam changed."
        "see it: cto diff RUN --protected",
    DisallowedFileChange "disallowed_file_change" Fail GitDiffChecked
        "A path outside the allowed paths changed."
        "check the change before you widen allowed_paths: cto diff RUN --outside",
    BuildProductInPatch "build_product_in_patch" Fail GitDiffChecked
        "The patch contains a build product."
        "check the file before you name it in allowed_paths: cto diff RUN",
    PatchNotReproducible "patch_not_reproducible" Fail GitDiffChecked
        "The patch does not reproduce the same result."
        "report it, with the bundle: cto export RUN",
    NoDiff "no_diff" Fail GitDiffChecked
        "Nothing changed, and the contract requires a change."
        "set diff_required: false, or see what the engine said: cto logs RUN",
    VerificationWeakened "verification_weakened" Fail VerificationCompleted
        "The exam proves less than it did on the baseline."
        "see the verification: cto logs RUN --checks",
    VerificationFailed "verification_failed" Fail VerificationCompleted
        "The verification fails on baseline + patch."
        "see its output: cto logs RUN --checks",
    EngineFailed "engine_failed" Fail EngineExited
        "The engine failed."
        "see its output: cto logs RUN",
    LifecycleTimeoutAfterValidPatch "lifecycle_timeout_after_valid_patch" Fail RunCompleted
        "The patch is good, but the engine did not end in time."
        "raise limits.wall_seconds, or find out why the engine lingers: cto logs RUN",
    AgentProtocol "agent_protocol" Fail RunCompleted
        "The engine violated its result protocol."
        "see its output: cto logs RUN",
    ModelFallbackBlocked "model_fallback_blocked" Fail ModelRefused
        "A model other than the admitted one was requested, or answered."
        "admit that model, or configure the engine without a fallback",
    HostedToolRefused "hosted_tool_refused" Fail ModelRefused
        "The engine asked the provider to run a tool."
        "switch the engine's hosted tools off",
    ModelEvidenceMissing "model_evidence_missing" Fail RunCompleted
        "The admitted model answered no request."
        "see the model requests: cto logs RUN",
    MissingRequiredEvent "missing_required_event" Fail RunCompleted
        "A required event is absent or out of order."
        "see the events: cto logs RUN --events",
    DirtyEndingTree "dirty_ending_tree" Fail RunCompleted
        "The engine left state behind that the patch cannot carry."
        "see the paths: cto show RUN -v",
    ArtifactWriteFailure "artifact_write_failure" Fail RunCompleted
        "An artifact could not be written."
        "free disk space, or fix the path that trace.jsonl names",
    ClaimContradicted "claim_contradicted" Fail RunCompleted
        "A claim of the engine is false."
        "see the claims: cto show RUN -v",
    HarnessInterrupted "harness_interrupted" ByEngineStart RunCompleted
        "The harness was interrupted."
        "run it again",
    ReviewerRejected "reviewer_rejected" Blocked VerificationCompleted
        "The engine's own reviewer rejected the change."
        "see what it said: cto logs RUN",
    Timeout "timeout" Blocked RunCompleted
        "A time limit was reached."
        "raise limits.wall_seconds or the command's timeout_seconds, or make the task smaller",
    BudgetExceeded "budget_exceeded" Blocked RunCompleted
        "A limit of the contract was reached."
        "raise the limit in the contract, or make the task smaller",
    Halted "halted" Blocked RunCompleted
        "The kill switch is set."
        "cto resume",
    ContractInvalid "contract_invalid" Blocked TaskContractCreated
        "The accepted task changed before it ran."
        "submit it again",
    GateMissing "gate_missing" Blocked BackendGateBlocked
        "A gate is not open."
        "see the missing gates: cto decide TASK",
    StageNotEarned "stage_not_earned" Blocked BackendGateBlocked
        "The stage is not earned."
        "run the stage below it first",
    MissingTestCommand "missing_test_command" Blocked VerificationCompleted
        "The contract has no verification command."
        "add verification_commands, or say why there is none with no_test_rationale",
    SourceNotAdmitted "source_not_admitted" Blocked BackendGateBlocked
        "The engine's source is not admitted."
        "draft its admission: cto admit source ENGINE",
    ExecutableDigestMismatch "executable_digest_mismatch" Blocked BackendGateBlocked
        "The engine is not the admitted build."
        "admit this build, or install the admitted one",
    LicenseUnresolved "license_unresolved" Blocked BackendGateBlocked
        "The engine's licence note is unresolved for this mode."
        "resolve the licence note in its admission",
    ModelNotAdmitted "model_not_admitted" Blocked BackendGateBlocked
        "The model is not admitted."
        "draft its admission: cto admit model PROVIDER/MODEL",
    ProviderAuthUnavailable "provider_auth_unavailable" Blocked BackendGateBlocked
        "The provider's credential is not available."
        "configure the credential source of its class",
    LocalProviderConfigMissing "local_provider_config_missing" Blocked BackendGateBlocked
        "The local provider's endpoint is not configured."
        "configure its endpoint",
    ProviderResponseShape "provider_response_shape" Blocked BackendGateBlocked
        "The model's answers have no content."
        "use a model or a server setting that answers with content",
    EnvironmentBroken "environment_broken" Blocked BackendGateBlocked
        "The contract's commands cannot be run on the baseline."
        "see what failed in the contract's environment: cto logs RUN --verification",
    ContractPremiseFalse "contract_premise_false" Blocked BackendGateBlocked
        "The contract makes a false statement about the baseline's tests."
        "correct must_pass or may_stay_red by the tests' names: cto logs RUN --verification",
    EngineCopyMissing "engine_copy_missing" Blocked BackendGateBlocked
        "The harness's own copy of the admitted engine is gone."
        "admit it again: cto admit source ENGINE --replace",
    SourceMissing "source_missing" Blocked BackendGateBlocked
        "The source repository is missing or unreadable."
        "fix what is named, or name another repository with --repo DIR",
    ToolMissing "tool_missing" Blocked BackendGateBlocked
        "A program that the contract needs is missing."
        "install it, or show it to the sandbox: cto environment suggest",
    TargetNotAdmitted "target_not_admitted" Blocked BackendGateBlocked
        "The target repository is not admitted."
        "draft its admission: cto admit target DIR",
    UnownedRepository "unowned_repository" Blocked BackendGateBlocked
        "Nothing states that you own the repository."
        "set source_owner, with source_classification: owned_local, in the contract",
    CriticalRepository "critical_repository" Blocked BackendGateBlocked
        "The repository is not classified low-risk and noncritical."
        "choose another repository",
    ApprovalMissing "approval_missing" Blocked BackendGateBlocked
        "A signed approval is required."
        "ask for an approval: cto request TASK",
    ApprovalExpired "approval_expired" Blocked BackendGateBlocked
        "The approval has expired."
        "approve the request again: cto approve REQUEST",
    ApprovalConsumed "approval_consumed" Blocked BackendGateBlocked
        "The approval was used by another run."
        "request a new approval: cto request TASK",
    ApprovalMismatch "approval_mismatch" Blocked BackendGateBlocked
        "The approval is for another plan."
        "request a new approval: cto request TASK",
    ApprovalNotComparable "approval_not_comparable" Blocked BackendGateBlocked
        "The plan was requested by an incompatible version of the program."
        "request a new approval: cto request TASK",
    ApprovalRevoked "approval_revoked" Blocked BackendGateBlocked
        "The approval was revoked."
        "request a new approval: cto request TASK",
    ApprovalHeld "approval_held" Blocked BackendGateBlocked
        "The request is held."
        "release the request: cto hold REQUEST --release --reason \"...\"",
    ApprovalNotYetValid "approval_not_yet_valid" Blocked BackendGateBlocked
        "The approval is not valid yet."
        "wait until its not_before",
    LedgerContinuityUnknown "ledger_continuity_unknown" Blocked BackendGateBlocked
        "The home or its ledger was copied or restored."
        "end every other copy before you type: cto ledger continue --reason \"...\"",
    ApprovalDenied "approval_denied" Blocked ApprovalDenied
        "The approval was denied."
        "request approval of another plan: cto request TASK",
    SandboxUnavailable "sandbox_unavailable" Blocked BackendGateBlocked
        "The requested sandbox cannot be applied."
        "see what is missing: cto doctor",
    DirtyStartingTree "dirty_starting_tree" Blocked TaskContractCreated
        "The work tree is not clean at the start."
        "commit or stash what is there: git stash -u",
    ProviderUnavailable "provider_unavailable" Blocked RunCompleted
        "Something that the run needs is missing."
        "install the program that the text names",
    MissingOperatorOutcome "missing_operator_outcome" Blocked RunCompleted
        "The operator has not accepted or rejected the run."
        "record the operator's outcome: cto outcome RUN accept --reason \"...\"",
}

impl Reason {
    /// Status that this reason alone gives the run. Some reasons block before the engine
    /// starts and fail afterwards.
    pub fn status_of(self, engine_started: bool) -> Status {
        match self.weight() {
            Weight::Fail => Status::Fail,
            Weight::Blocked => Status::Blocked,
            Weight::ByEngineStart if engine_started => Status::Fail,
            Weight::ByEngineStart => Status::Blocked,
        }
    }

    /// Sorts reasons worst first: failures before blocks, then by severity.
    pub fn rank(self, engine_started: bool) -> (u8, Self) {
        (u8::from(self.status_of(engine_started) != Status::Fail), self)
    }

    /// Finds the reason of a code; none for a code of another version.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.code() == code)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// The status that a list of reasons makes.
pub fn verdict(reasons: impl IntoIterator<Item = Reason>, engine_started: bool) -> Status {
    reasons.into_iter().map(|reason| reason.status_of(engine_started)).max().unwrap_or(Status::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remedy::is_one_act;

    #[test]
    fn the_written_code_is_the_serde_name() {
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.code());
            assert_eq!(Reason::from_code(reason.code()), Some(*reason));
            assert_eq!(reason.to_string(), reason.code());
        }
    }

    #[test]
    fn a_remedy_is_one_act() {
        let several: Vec<&str> = Reason::ALL.iter().map(|it| it.remedy()).filter(|it| !is_one_act(it)).collect();
        assert!(several.is_empty(), "{several:?}");
    }

    #[test]
    fn any_failure_makes_the_run_fail() {
        use Reason::{HarnessInterrupted, NoDiff, Timeout};
        assert_eq!(verdict([], true), Status::Pass);
        assert_eq!(verdict([Timeout], true), Status::Blocked);
        assert_eq!(verdict([Timeout, NoDiff], true), Status::Fail);
        assert_eq!(verdict([HarnessInterrupted], false), Status::Blocked);
        assert_eq!(verdict([HarnessInterrupted], true), Status::Fail);
    }

    #[test]
    fn overlapping_path_reasons_rank_forbidden_protected_disallowed() {
        let mut reasons = vec![
            Reason::Timeout,
            Reason::DisallowedFileChange,
            Reason::ProtectedFileChanged,
            Reason::ForbiddenPathChange,
        ];
        reasons.sort_by_key(|reason| reason.rank(true));
        insta::assert_debug_snapshot!(reasons, @"
        [
            ForbiddenPathChange,
            ProtectedFileChanged,
            DisallowedFileChange,
            Timeout,
        ]
        ");
    }
}
