//! A plan and an approval to begin with.

use crate::approval::*;
use crate::digest::Digest;
use crate::time::Stamp;

/// A plan of stage 5.
pub(crate) fn plan() -> Plan {
    let contract = r#"
schema_version: "1"
task_id: CTO-143
title: link checker timeout
brief: b
risk_class: low
allowed_paths: [packages/link-checker/src/**, packages/link-checker/config/timeouts.toml]
forbidden_paths: ["secrets/", "/.github/"]
mutation_mode: owned-noncritical-repo
verification_commands: ["uv run pytest -q packages/link-checker"]
success_criteria: [slow hosts end in a timeout]
rollback_expectation: the branch can be deleted
"#;
    let contract = crate::case::load_contract("t.yaml", contract.as_bytes(), &|_| Err("none".to_owned())).unwrap();
    let digest = |text: &str| Digest::of_bytes(text.as_bytes());
    Plan {
        schema: PlanSchema::V1,
        stage: crate::Stage::try_from(5).unwrap(),
        mutation_mode: crate::MutationMode::OwnedNoncriticalRepo,
        work_id: None,
        contract_digest: contract.digest().unwrap(),
        limits: contract.limits.clone(),
        contract,
        repository: PlannedRepository {
            kind: RepositoryKind::Admitted,
            name: "site-tools".to_owned(),
            path: Some("/srv/site-tools".to_owned()),
            identity: digest("site-tools"),
            owner: "op1".to_owned(),
            risk_classification: "low_risk_noncritical".to_owned(),
            head_commit: "5e0a77c05e0a77c05e0a77c05e0a77c05e0a77c0".to_owned(),
            head_tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904".to_owned(),
            clean: true,
            checked_out: Some("main".to_owned()),
            allowed_paths: vec!["packages/".to_owned()],
            forbidden_paths: vec!["packages/site-generator/".to_owned()],
            forbidden_actions: crate::task::ForbiddenAction::ALL.to_vec(),
        },
        continues: None,
        branch: PlannedBranch { policy: "cto/CTO-143/<request>".to_owned(), name: "cto/CTO-143/<request>".to_owned() },
        engine: PlannedEngine {
            id: "case".to_owned(),
            source_id: "case@7959ac9+69590970aaaa".to_owned(),
            tree_sha256: digest("case"),
            argv_template: vec!["ca".to_owned(), "run".to_owned(), "{task}".to_owned()],
        },
        model: Some("qwen-local/qwen3.6-35b-a3b".parse().unwrap()),
        sandbox: PlannedSandbox {
            profile: crate::decision::Profile::Strict,
            mounts: vec![PlannedMount {
                source: "/opt/uv".to_owned(),
                target: "/opt/uv".to_owned(),
                tree_sha256: digest("uv"),
            }],
        },
        records: vec![PlannedRecord {
            kind: RecordKind::TargetAdmission,
            file: "site-tools.yaml".to_owned(),
            sha256: digest("record"),
            status: "admitted".to_owned(),
            approval_source: "op1".to_owned(),
            review_trigger: "a new maintainer".to_owned(),
            signed_by: Some("SHA256:24d4b96f58".to_owned()),
        }],
        settings: vec![PlannedSetting {
            name: "engines.case.stage".to_owned(),
            value: "5".to_owned(),
            source: "harness.yaml".to_owned(),
        }],
        marks: vec![PlannedMark {
            kind: MarkKind::Irreversible,
            what: "database migrations".to_owned(),
            example: "packages/link-checker/src/migrations/0001.sql".to_owned(),
            files: 3,
        }],
        evidence: vec![EvidencePointer {
            path: "20261115T003955Z-CTO-143-u1ks/stage4-disposable-sandbox-proof.json".to_owned(),
            sha256: digest("proof"),
        }],
        harness: crate::statement::SignedHarness { version: "0.1.0".to_owned(), executable_sha256: digest("cto") },
        ledger_id: "ledger-1".to_owned(),
        instance_id: digest("instance"),
        requester_fingerprint: "SHA256:requester".to_owned(),
        policy_digest: digest("policy"),
        packet_renderer: PACKET_RENDERER_VERSION.to_owned(),
        nonce: "89abcdef0123456789abcdef01234567".to_owned().try_into().unwrap(),
    }
}

pub(super) fn stamp(text: &str) -> Stamp {
    text.parse().unwrap()
}

/// An approval of the plan, by its own words.
pub(super) fn approval(plan: &Plan) -> Approval {
    Approval {
        schema: ApprovalSchema::V1,
        request_digest: plan.digest().unwrap(),
        ledger_id: plan.ledger_id.clone(),
        key_fingerprint: "SHA256:approver".to_owned(),
        sentence: approval_sentence(plan),
        scope: plan.stage.allowed_mutation_scope().to_owned(),
        mutation_mode: plan.mutation_mode,
        approval_source: "op1".to_owned(),
        execution_scope: ExecutionScope::OneRun,
        packet_digest: Digest::of_bytes(render_packet(plan).unwrap().as_bytes()),
        policy_digest: plan.policy_digest,
        signed_via: SignedVia::Terminal,
        granted_at: stamp("2026-11-15T01:35:00Z"),
        not_before: stamp("2026-11-15T01:35:00Z"),
        expires_at: stamp("2026-11-15T09:35:00Z"),
        nonce: "0123456789abcdef0123456789abcdef".to_owned().try_into().unwrap(),
        break_glass_reason: None,
    }
}
