//! Bundles and outcomes that support rungs, each examined anew.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::approval::{OutcomeSchema, OutcomeStatement, OutcomeVerdict};
use contract::report::Report;
use contract::{CollectionKind, Coverage, Digest, FIRST_FIXTURE_SET, FIXTURE_SET, Purpose, Stage, Status, TaskId};
use evidence::signer_key::SignerKey;
use evidence::sshsig::verify_signature;
use evidence::verify::VerifiedBundle;
use evidence::{PublicKey, names};
use ledger::{Bundles, EngineIdentity, Entry, EntryKind, Ledger, ReadLedgerError, RunRow};
use untrusted_fs::own_files::OwnPath as _;

use super::terms::{RungTerms, bundle_schema};
use super::workers::may_sign;
use crate::find::asked_run;
use crate::verify::{LARGEST_ATTESTATION, VerifyMemo};

/// A ledger, its bundles, and the keys and terms that count.
#[derive(Debug, Clone, Copy)]
pub struct RungSource<'a> {
    pub ledger: &'a Ledger,
    pub bundles: &'a Bundles,
    pub keys: &'a [PublicKey],
    pub memo: &'a VerifyMemo,
    /// This home as leases name their owner, where others share the ledger.
    pub shared_as: Option<Digest>,
    pub terms: RungTerms<'a>,
}

/// Facts of a verified bundle that a rung asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenRun {
    pub engine: String,
    pub identity: EngineIdentity,
    pub schema: String,
    pub fixture_set: String,
    pub status: Status,
    pub stage: Stage,
    pub purpose: Purpose,
    pub is_negative_fixture: bool,
    pub is_break_glass: bool,
    /// True if its source was taken from a commit, whatever the work tree contained.
    pub is_from_commit: bool,
    /// True if it began with the patch of another run, so that its patch is not its engine's alone.
    pub is_continued: bool,
    pub is_unverified: bool,
    /// True if a worker took it from a shared queue.
    pub is_of_one_worker: bool,
    /// Fingerprint of the key that signed the bundle; empty where only a report was read.
    pub signer: String,
    pub case_id: TaskId,
    pub target_commit: Option<String>,
    /// Set of a document about other bundles.
    pub kind: Option<CollectionKind>,
}

impl ProvenRun {
    /// Facts of a verified report that rungs need.
    pub fn of_report(report: &Report) -> Self {
        let has = |coverage: Coverage| report.coverage.contains(&coverage);
        Self {
            engine: report.backend.clone(),
            identity: EngineIdentity {
                source_id: report.engine.source_id.clone(),
                model: report.identity_model().cloned(),
            },
            schema: report.schema_version.split('.').next().unwrap_or_default().to_owned(),
            fixture_set: report.fixture_set.clone().unwrap_or_else(|| FIRST_FIXTURE_SET.to_owned()),
            status: report.status,
            stage: report.stage,
            purpose: report.purpose,
            is_negative_fixture: report.expected_status.is_some(),
            is_break_glass: has(Coverage::BreakGlass),
            is_from_commit: has(Coverage::SourceWorktreeNotCompared),
            is_continued: report.continues.is_some(),
            is_unverified: has(Coverage::NoVerification) && report.stage > Stage::GATED_ENGINE,
            is_of_one_worker: has(Coverage::SingleWorkerEvidence),
            signer: String::new(),
            case_id: report.case_id.clone(),
            target_commit: report.target_commit.clone(),
            kind: report.kind,
        }
    }

    /// The same of a verified bundle, with its signer.
    fn of_bundle(bundle: &VerifiedBundle) -> Self {
        Self { signer: bundle.signer().to_owned(), ..Self::of_report(bundle.report()) }
    }

    /// True if the ledger's row says the same.
    pub(super) fn is_of(&self, row: &RunRow) -> bool {
        let Self { engine, status, stage, purpose, .. } = self;
        let is_told = row.identity.as_ref().is_none_or(|identity| *identity == self.identity);
        let is_same = *engine == row.engine && *stage == row.stage && *purpose == row.purpose;
        is_told && is_same && row.status == (*status).into()
    }

    /// The identity that it proves something for, in the words of [`super::RungGap`], where
    /// it is another one.
    pub(super) fn other_identity(&self, wanted: &EngineIdentity) -> Option<(String, String)> {
        let EngineIdentity { source_id, model } = &self.identity;
        if self.schema != bundle_schema() {
            let schema = format!("bundles of format {}", self.schema);
            return Some((schema.clone(), schema));
        }
        if self.fixture_set != FIXTURE_SET {
            let fixtures = format!("fixture set {}", self.fixture_set);
            return Some((fixtures.clone(), fixtures));
        }
        if *source_id != wanted.source_id {
            return Some((source_id.clone(), format!("another source, {source_id}")));
        }
        if *model == wanted.model {
            return None;
        }
        let model = model.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
        Some((format!("model {model}"), format!("another model, {model}")))
    }
}

/// State of a sealed run's bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BundleState {
    Proven(Arc<ProvenRun>),
    /// The bundle exists and does not verify as the run that the ledger knows.
    Damaged,
    /// A collection of this home recorded its removal.
    Collected,
    /// The bundle is in another home that shares the ledger.
    Elsewhere,
    Missing,
}

/// Looks at what a run left.
pub(super) trait RunEvidence {
    /// True if the folder of a run's bundle is here.
    fn has_bundle(&self, row: &RunRow) -> bool;
    /// Names of the runs whose folders are here now.
    fn list_bundles(&self) -> BTreeSet<String>;
    /// The bundle, verified.
    fn look_at_bundle(&self, row: &RunRow) -> Result<BundleState, ReadLedgerError>;
    /// Absence of a bundle whose folder is not here.
    fn look_for_bundle(&self, row: &RunRow) -> Result<BundleState, ReadLedgerError>;
    /// The last outcome by a key that may sign one.
    fn signed_outcome(&self, row: &RunRow) -> Result<Option<OutcomeVerdict>, ReadLedgerError>;
    /// The evidence of machines that a pass lacks.
    fn find_worker_lack(&self, row: &RunRow, proven: &ProvenRun) -> Result<Option<WorkerLack>, ReadLedgerError>;
}

/// Evidence of machines that a pass in a fleet lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerLack {
    /// The key that signed the bundle was not an admitted worker's when the run was sealed.
    NotAdmitted,
    /// No other worker has verified the bundle again.
    NotCountersigned,
}

impl RunEvidence for RungSource<'_> {
    fn has_bundle(&self, row: &RunRow) -> bool {
        self.bundles.bundle_dir(&row.run_id).own_is_dir()
    }

    fn list_bundles(&self) -> BTreeSet<String> {
        // A folder that cannot be listed may still be asked for each bundle.
        self.bundles.list_names().unwrap_or_default()
    }

    fn look_at_bundle(&self, row: &RunRow) -> Result<BundleState, ReadLedgerError> {
        if row.collected_seq.is_some() {
            return Ok(BundleState::Collected);
        }
        match self.recall_proof(row) {
            Some(proven) if proven.is_of(row) => Ok(BundleState::Proven(proven)),
            _ if self.has_bundle(row) => Ok(BundleState::Damaged),
            _ => match self.look_for_bundle(row)? {
                BundleState::Elsewhere => Ok(self.fetch_proof(row).map_or(BundleState::Elsewhere, BundleState::Proven)),
                state => Ok(state),
            },
        }
    }

    /// The ledger is asked once more after the folder was looked for: a collection is
    /// recorded before it begins.
    fn look_for_bundle(&self, row: &RunRow) -> Result<BundleState, ReadLedgerError> {
        if self.is_elsewhere(row) {
            return Ok(BundleState::Elsewhere);
        }
        let is_collected = row.collected_seq.is_some() || self.ledger.run_collection(&row.run_id)?.is_some();
        Ok(if is_collected { BundleState::Collected } else { BundleState::Missing })
    }

    fn signed_outcome(&self, row: &RunRow) -> Result<Option<OutcomeVerdict>, ReadLedgerError> {
        Ok(self.find_outcome(row)?.map(|outcome| outcome.verdict))
    }

    fn find_worker_lack(&self, row: &RunRow, proven: &ProvenRun) -> Result<Option<WorkerLack>, ReadLedgerError> {
        let workers = self.terms.workers;
        let is_ruled =
            proven.is_of_one_worker || self.is_elsewhere(row) || self.shared_as.is_some() && workers.rules_run(row);
        // A document about other bundles rests on what counts by itself, and is no run that could be verified again.
        if !is_ruled || proven.kind.is_some() && !self.is_elsewhere(row) {
            return Ok(None);
        }
        if !workers.admits_key(&proven.signer, row.sealed_seq.unwrap_or(row.seq)) {
            return Ok(Some(WorkerLack::NotAdmitted));
        }
        let is_countersigned = workers.is_countersigned(self.ledger, row, &proven.signer)?;
        Ok((!is_countersigned).then_some(WorkerLack::NotCountersigned))
    }
}

/// An outcome that counts: its verdict, and the digest of the signed document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedOutcome {
    pub verdict: OutcomeVerdict,
    pub sha256: Digest,
}

impl RungSource<'_> {
    /// The last outcome of a run by a key that may sign one.
    pub fn find_outcome(&self, row: &RunRow) -> Result<Option<CountedOutcome>, ReadLedgerError> {
        let entries = self.ledger.run_entries(&row.run_id)?;
        let outcomes = entries.iter().rev().filter(|entry| entry.is_kind(EntryKind::OutcomeRecorded));
        for entry in outcomes {
            if let Some((outcome, key)) = read_outcome(row, entry)
                && may_sign(self.ledger, self.terms.standing, OutcomeSchema::NAMESPACE, &key, entry)?
            {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    /// Facts of a bundle that verifies, remembered while its attestation is the same.
    fn recall_proof(&self, row: &RunRow) -> Option<Arc<ProvenRun>> {
        let sealed = row.attestation_sha256?;
        let folder = self.bundles.bundle_dir(&row.run_id);
        let bytes = untrusted_fs::read_plain(&folder, names::ATTESTATION.as_bytes(), LARGEST_ATTESTATION)?;
        if Digest::of_bytes(&bytes) != sealed {
            return None;
        }
        let known = self.memo.recall_proven(row.run_id.as_str(), sealed);
        known.or_else(|| {
            let bundle = bind_run(self.bundles, self.keys, row)?;
            Some(self.memo.keep_proven(row.run_id.as_str(), sealed, ProvenRun::of_bundle(&bundle)))
        })
    }

    /// True of a run that another home sealed.
    fn is_elsewhere(&self, row: &RunRow) -> bool {
        self.shared_as.is_some_and(|here| row.owner.is_some_and(|owner| owner != here))
    }

    /// Facts of a bundle that another home has handed in, if an admitted worker signed it.
    fn fetch_proof(&self, row: &RunRow) -> Option<Arc<ProvenRun>> {
        let (sealed, keys) = (row.attestation_sha256?, self.terms.workers.all_keys());
        if keys.is_empty() {
            return None;
        }
        let known = self.memo.recall_proven(row.run_id.as_str(), sealed);
        let fetch = || {
            // A store that does not answer proves nothing.
            let kept = self.bundles.fetch_bundle(&row.run_id, sealed).ok()??;
            let bundle = VerifiedBundle::verify_dir(&kept.dir, &keys, Some(&asked_run(row))).ok()?;
            Some(self.memo.keep_proven(row.run_id.as_str(), sealed, ProvenRun::of_bundle(&bundle)))
        };
        known.or_else(fetch).filter(|proven| proven.is_of(row))
    }
}

/// The outcome of an entry, and the key that signed it, if it is about this very attestation.
fn read_outcome(row: &RunRow, entry: &Entry) -> Option<(CountedOutcome, SignerKey)> {
    let text = |name: &str| entry.body.get(name)?.as_str();
    let (document, armour) = (text("document")?, text("signature")?);
    let signature = verify_signature(armour, document.as_bytes(), OutcomeSchema::NAMESPACE).ok()?;
    let outcome: OutcomeStatement = serde_json::from_str(document).ok()?;
    let is_about = outcome.run_id == row.run_id && Some(outcome.attestation_sha256) == row.attestation_sha256;
    let is_by = outcome.key_fingerprint == Some(signature.fingerprint());
    let counted = CountedOutcome { verdict: outcome.operator_outcome, sha256: Digest::of_bytes(document.as_bytes()) };
    (is_about && is_by).then(|| (counted, signature.key().clone()))
}

/// The report of a bundle of this home that verifies as the ledger knows it.
pub fn verify_run(bundles: &Bundles, keys: &[PublicKey], row: &RunRow) -> Option<Report> {
    bind_run(bundles, keys, row).map(VerifiedBundle::into_report)
}

fn bind_run(bundles: &Bundles, keys: &[PublicKey], row: &RunRow) -> Option<VerifiedBundle> {
    // An unsealed run proves nothing, whatever lies in the place of its bundle.
    row.attestation_sha256?;
    let bundle = bundles.bundle_dir(&row.run_id);
    VerifiedBundle::verify_dir(&bundle, keys, Some(&asked_run(row))).ok()
}
