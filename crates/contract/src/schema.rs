//! The published JSON Schemas, by name.

use serde_json::Value;

use crate::source::schema_for;

/// A published schema: its name and how to make it.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    pub name: &'static str,
    pub about: &'static str,
    make: fn() -> Value,
}

impl Published {
    /// Derives the schema. Slow compared with reading a small file: see the schemas made
    /// beforehand in `source/lean.rs`.
    pub fn schema(&self) -> Value {
        (self.make)()
    }
}

/// Every document this crate declares; other crates add their own to the list they print.
pub const PUBLISHED: &[Published] = &[
    published::<crate::task::TaskFile>("contract", "a task contract as a person writes it"),
    published::<crate::case::CaseFile>("case", "case.yaml of an evaluation case"),
    published::<crate::task::TaskContract>("task-contract", "task-contract.json: the resolved contract in a bundle"),
    published::<crate::decision::Decision>("eligibility-decision", "eligibility-decision.json"),
    published::<crate::report::Report>("report", "report.json"),
    published::<crate::event::Event>("event", "one line of events.normalized.jsonl"),
    published::<crate::model::UsageRecord>("model-usage", "one line of model-usage.jsonl"),
    published::<crate::record::ModelAdmission>("model-admission", "the admission of a model"),
    published::<crate::record::SourceAdmission>("source-admission", "the admission of an engine's source"),
    published::<crate::record::TargetAdmission>("target-admission", "the admission of a target repository"),
    published::<crate::engine::EngineDefinition>("engine", "an engine described in data"),
    published::<crate::record::ProviderDecision>("provider-decision", "decisions/provider.yaml"),
    published::<crate::statement::Statement>("statement", "the in-toto statement inside attestation.dsse.json"),
    published::<crate::statement::Envelope>("envelope", "attestation.dsse.json"),
    published::<crate::proof::NoTargetInspection>("stage2-no-target-inspection", "stage2-no-target-inspection.json"),
    published::<crate::proof::CopiedRepository>("stage3-copied-repo-proof", "stage3-copied-repo-proof.json"),
    published::<crate::proof::DisposableRepositoryProof>(
        "stage4-disposable-sandbox-proof",
        "stage4-disposable-sandbox-proof.json",
    ),
    published::<crate::proof::OwnedRepositoryProof>("stage5-owned-repo-proof", "stage5-owned-repo-proof.json"),
    published::<crate::proof::OwnedRepositoryProof>("stage6-owned-repo-proof", "stage6-owned-repo-proof.json"),
    published::<crate::stage6::comparison::CandidateComparison>(
        "stage6-candidate-default-comparison",
        "stage6-candidate-default-comparison.json: a candidate beside the other engines",
    ),
    published::<crate::stage6::refresh::RefreshComparison>(
        "stage6-real-governed-refresh-comparison",
        "stage6-real-governed-refresh-comparison.json",
    ),
    published::<crate::reverification::ReverificationStatement>(
        "reverification",
        "the in-toto statement of a verification that was repeated",
    ),
    published::<crate::reverification::CountersignatureStatement>(
        "countersignature",
        "the in-toto statement by which a second worker confirms a bundle",
    ),
    published::<crate::worker::WorkerRecord>("worker", "the admission or removal of a worker"),
    published::<crate::continuity::ContinuityRecord>("continuity", "the acceptance of a ledger up to an entry"),
    published::<crate::taken::TakenStatement>("patch-taken", "the in-toto statement of a patch that was taken"),
    published::<crate::approval::Plan>("plan", "exactly what a run would do; its digest is the request digest"),
    published::<crate::approval::Request>("request", "a plan that somebody asks to approve"),
    published::<crate::approval::Approval>("approval", "one person's approval of one request"),
    published::<crate::approval::Denial>("denial", "a request that was denied"),
    published::<crate::approval::Hold>("hold", "a request that waits"),
    published::<crate::approval::Revocation>("revocation", "an approval that was taken back"),
    published::<crate::approval::OutcomeStatement>("outcome", "the operator's answer to a run"),
    published::<crate::approval::RollbackStatement>("rollback", "a run whose change was taken back"),
    published::<crate::core_route::CorePromotionDecision>("core-promotion-decision", "decisions/core-promotion.yaml"),
    published::<crate::core_route::DecisionPacket>("decision-packet", "`cto packet promotion`"),
    published::<crate::core_route::GuardReport>("guard", "`cto guard`"),
    published::<crate::core_route::EndgoalAudit>("audit", "`cto audit`"),
    published::<crate::approval::ApprovalPolicy>("approval-policy", "how requests are to be approved"),
];

/// Declares a published schema.
pub const fn published<T: schemars::JsonSchema>(name: &'static str, about: &'static str) -> Published {
    Published { name, about, make: schema_for::<T> }
}
