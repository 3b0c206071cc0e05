//! Gaps in the proof that a bundle gives: a closed list that a policy can require to be
//! empty.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! coverage {
    ($($variant:ident $code:literal $sentence:literal,)*) => {
        /// A thing this bundle does not prove.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Coverage {
            $(#[doc = $sentence] $variant,)*
        }

        impl Coverage {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Stable code in reports, statements and policies.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Explanation of the gap for people.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

coverage! {
    SandboxNone "sandbox_none" "The engine and the verification ran without a kernel sandbox.",
    SandboxLandlock "sandbox_landlock" "The sandbox was Landlock and seccomp, without namespaces.",
    ExamInProcess "exam_in_process" "Code of the patch may share a process with the test runner; no blind check stands beside it.",
    ExamWithoutControl "exam_without_control" "No altered exam was run that must fail.",
    TestsNotCompared "tests_not_compared" "Tests were not compared by name with those of the baseline.",
    ExamChangeNotControlled "exam_change_not_controlled" "The patch changes files of the exam, and no control shows that they check as much as before.",
    KnownFailures "known_failures" "Tests fail that failed in the baseline, and the contract says that they may.",
    FlakyTests "flaky_tests" "Some tests failed and then passed when they ran again; they also fail now and then on the baseline.",
    ProductNotRebuilt "product_not_rebuilt" "The patch carries a product of a build that the contract names and nothing here made again.",
    ChangeNotExercised "change_not_exercised" "The exam passes with a changed file replaced by what cannot compile: nothing here read that change.",
    NoVerification "no_verification" "Nothing was verified; the contract says why.",
    EngineEndedByHarness "engine_ended_by_harness" "The engine did not end itself; the harness ended it, and the report says why.",
    EngineWithoutBridge "engine_without_bridge" "The engine's model traffic did not cross the bridge.",
    ModelScripted "model_scripted" "A scripted model answered.",
    ModelUnpriced "model_unpriced" "The model has no price.",
    ModelUsageUnknown "model_usage_unknown" "The model did not say what it used.",
    HostedToolsAllowed "hosted_tools_allowed" "Tools hosted by the provider were allowed.",
    CustomCa "custom_ca" "A certificate authority of the operator's own was trusted.",
    RecordsUnsigned "records_unsigned" "Records relied on were not signed.",
    SourceNotAdmitted "source_not_admitted" "The engine's source is not admitted.",
    SoloOperator "solo_operator" "One person asked for the run and approved it, which the policy allows.",
    BreakGlass "break_glass" "The run was approved past the policy, in an emergency.",
    SingleWorkerEvidence "single_worker_evidence" "One worker ran and verified it; another worker's re-verification stands beside the bundle, not in it.",
    ApprovalKeyUnprotected "approval_key_unprotected" "The approving key has no passphrase.",
    SetupWithNetwork "setup_with_network" "Setup could reach the network.",
    SourceWorktreeNotCompared "source_worktree_not_compared" "The source was taken from a commit; its work tree was not looked at, before the run or after it.",
    ContentNotInGit "content_not_in_git" "Some content of the repository is not in its git objects and was absent.",
    ActionsNotObserved "actions_not_observed" "Forbidden actions were not observed while the engine ran.",
    LimitsByRlimit "limits_by_rlimit" "Limits rest on rlimits, not on a cgroup.",
    RecorderMissing "recorder_missing" "A recorder of refused attempts was missing.",
    RecorderFull "recorder_full" "A recorder met more than it could list. It dropped only harmless actions, which cannot be judged again.",
    TargetRedacted "target_redacted" "The target's path is redacted.",
    PatchRedacted "patch_redacted" "The patch is redacted.",
    SecretAllowed "secret_allowed" "The patch holds what looks like a secret, and the contract allows it.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_code_is_the_serde_name() {
        for coverage in Coverage::ALL {
            assert_eq!(serde_json::to_value(coverage).unwrap(), coverage.code());
        }
    }
}
