//! Facts of verified bundles that a comparison is judged by.

use std::collections::BTreeSet;

use contract::proof::OwnedRepositoryProof;
use contract::report::EngineFacts;
use contract::stage6::comparison::SourceFreshness;
use contract::{CitedBundle, EventKind, Reason, RunId, Status, TaskId};
use evidence::verify::VerifiedBundle;
use evidence::{chain, names};
use serde_json::Value;

use super::Candidate;
use crate::after::stage6::commands::EngineCommands;
use crate::after::stage6::secret_fields::find_secret_fields;

/// More than any file that is read here has.
const LARGEST: u64 = 256 << 20;

/// Facts of one verified bundle.
#[derive(Debug, Clone)]
pub(super) struct BundleFacts {
    pub(super) cited: CitedBundle,
    pub(super) case_id: TaskId,
    pub(super) status: Status,
    pub(super) reasons: Vec<Reason>,
    /// Keys of its report.
    pub(super) keys: BTreeSet<String>,
    pub(super) events: Vec<EventKind>,
    /// Files for which the report has digest and times.
    pub(super) files: BTreeSet<String>,
    pub(super) allowed_writes_passed: bool,
    pub(super) forbidden_paths_passed: bool,
    pub(super) forbidden_actions: Vec<String>,
    pub(super) changed_files: Vec<String>,
    pub(super) target_commit: Option<String>,
    /// True if the report claims that a default was activated.
    pub(super) activates: bool,
    /// True if it claims a promotion.
    pub(super) promotes: bool,
    /// Fields of its report and of its proof in the shape of a secret.
    pub(super) secret_fields: BTreeSet<String>,
}

/// An accepted pass of stage 5 by the candidate.
#[derive(Debug, Clone)]
pub(super) struct OwnedPass {
    pub(super) bundle: BundleFacts,
    pub(super) engine: EngineFacts,
    pub(super) proof: Option<OwnedRepositoryProof>,
}

/// Bundles of one engine; the reason where there are none.
#[derive(Debug, Clone)]
pub(super) struct LaneFacts {
    pub(super) engine: String,
    pub(super) bundles: Vec<BundleFacts>,
    pub(super) missing: String,
}

/// A row of the fail-closed matrix with the bundle that shows it, or a reason why it needs
/// none.
#[derive(Debug, Clone)]
pub(super) struct MatrixFact {
    pub(super) fixture: &'static str,
    pub(super) reason: Reason,
    pub(super) bundle: Option<CitedBundle>,
    pub(super) rationale: Option<&'static str>,
}

/// A run whose bundle is gone or does not verify, and behind which no older pass counts.
#[derive(Debug, Clone)]
pub(super) struct SpoiledRun {
    pub(super) run_id: RunId,
    pub(super) why: String,
}

/// Everything that a comparison is a function of.
#[derive(Debug, Clone)]
pub(super) struct ComparisonFacts {
    pub(super) candidate: Candidate,
    /// The candidate first.
    pub(super) lanes: Vec<LaneFacts>,
    pub(super) passes: Vec<OwnedPass>,
    /// Runs of the candidate that are known by the ledger alone, lowest stage first.
    pub(super) spoiled: Vec<SpoiledRun>,
    pub(super) commands: EngineCommands,
    pub(super) matrix: Vec<MatrixFact>,
    pub(super) freshness: SourceFreshness,
    /// Sentence about the admission.
    pub(super) admission: String,
}

impl BundleFacts {
    /// Reads what the report does not type; none where a file is gone since the bundle was
    /// verified.
    pub(super) fn read_bundle(bundle: &VerifiedBundle) -> Option<Self> {
        let report = bundle.report();
        let file = |name: &str| bundle.read_within(name, LARGEST).ok();
        let written: Value = serde_json::from_slice(&file(names::REPORT)?).ok()?;
        let events = chain::read_chain(&file(names::EVENTS)?, Some(&report.run_id)).events;
        let is_indexed = |name: &&String| report.freshness.contains_key(*name);
        let files = report.artifact_paths.keys().filter(is_indexed).cloned();
        Some(Self {
            cited: CitedBundle { run_id: report.run_id.clone(), attestation_sha256: bundle.attestation_sha256() },
            case_id: report.case_id.clone(),
            status: report.status,
            reasons: report.blocker_reasons.clone(),
            keys: written.as_object()?.keys().cloned().collect(),
            events: events.iter().map(|event| event.kind).collect(),
            files: files.collect(),
            allowed_writes_passed: report.allowed_writes_passed,
            forbidden_paths_passed: report.forbidden_paths_passed,
            forbidden_actions: report.forbidden_actions_attempted.clone(),
            changed_files: report.changed_files.clone(),
            target_commit: report.target_commit.clone(),
            activates: written["runtime_default_activation"] != Value::Bool(false),
            promotes: written["core_promotion_status"] != "not-promoted",
            secret_fields: find_secret_fields(&written, &serde_json::to_value(report).ok()?),
        })
    }
}

impl OwnedPass {
    /// Reads the stage 5 proof of a verified bundle; none if it cannot be read.
    pub(super) fn read_bundle(bundle: &VerifiedBundle) -> Option<Self> {
        let mut facts = BundleFacts::read_bundle(bundle)?;
        let written = bundle.read_within(names::STAGE_5, LARGEST).ok();
        let written: Option<Value> = written.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let proof: Option<OwnedRepositoryProof> =
            written.as_ref().and_then(|written| serde_json::from_value(written.clone()).ok());
        if let (Some(written), Some(proof)) = (&written, &proof) {
            facts.secret_fields.extend(find_secret_fields(written, &serde_json::to_value(proof).ok()?));
        }
        Some(Self { bundle: facts, engine: bundle.report().engine.clone(), proof })
    }
}
