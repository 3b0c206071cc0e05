//! Sealing: digests, report, statement, signature, fsync, rename. In that order, so that
//! what stands under `harness-runs/` is always whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use contract::report::{Freshness, Report};
use contract::statement::{
    Predicate, STATEMENT_TYPE, SealedBy, SignedCheck, SignedEngine, SignedEvents, SignedHarness, SignedLedger,
    SignedModel, SignedSandbox, Statement, Subject, SubjectDigest,
};
use contract::{BUNDLE_VERSION, Digest, EventKind, RunId, Stage, canonical_bytes, canonical_digest};

use crate::artifact::{Draft, WriteArtifactError};
use crate::key::HarnessKey;
use crate::render::RenderSources;
use crate::{dsse, names, render, stop};

/// Error of sealing a bundle. The draft stays in `active/` for a recovery.
#[derive(Debug, thiserror::Error)]
pub enum SealBundleError {
    #[error(transparent)]
    Write(#[from] WriteArtifactError),
    #[error("cannot encode the report: {0}")]
    Encode(#[from] serde_json::Error),
    /// The last event is not `run.completed`.
    #[error("the last event is not run.completed")]
    NotCompleted,
    #[error("cannot read {0} of the bundle to be sealed: {1}")]
    Read(&'static str, #[source] io::Error),
    #[error("cannot make {0} durable: {1}")]
    Sync(PathBuf, #[source] io::Error),
}

/// Signing key, and the position of the ledger when the run started.
#[derive(Debug)]
pub struct Signing<'a> {
    pub key: &'a HarnessKey,
    pub ledger: SignedLedger,
    pub sealed_by: SealedBy,
}

/// A bundle under `harness-runs/`.
#[derive(Debug)]
pub struct Sealed {
    pub dir: PathBuf,
    pub report: Report,
    /// The exact bytes of `report.json`.
    pub report_bytes: Vec<u8>,
    pub attestation_sha256: Digest,
    pub files: usize,
}

/// Seals a draft whose last event is `run.completed`. `publish` moves the finished folder
/// to its final place and returns that.
pub fn seal_draft(
    mut draft: Draft,
    mut report: Report,
    signing: Signing<'_>,
    publish: impl FnOnce(&Path, &RunId) -> Result<PathBuf, SealBundleError>,
) -> Result<Sealed, SealBundleError> {
    if draft.events_seen().last() != Some(&EventKind::RunCompleted) {
        return Err(SealBundleError::NotCompleted);
    }
    draft.close_logs();
    stop::pass_place("seal.logs_closed");
    let finished = report.run_finished_at;
    draft.write_clean(names::REPORT_MD, render_report(&report, &draft)?.as_bytes(), finished)?;
    stop::pass_place("seal.report_md_written");
    let report_bytes = complete_report(&mut report, &draft)?;
    draft.write_clean(names::REPORT, &report_bytes, finished)?;
    stop::pass_place("seal.report_written");
    let key = signing.key;
    let statement = statement(&report, &draft, signing)?;
    let attestation = dsse::sign_statement(&statement, key)?;
    draft.write_clean(names::ATTESTATION, &attestation, finished)?;
    stop::pass_place("seal.attestation_written");
    make_durable(&draft)?;
    stop::pass_place("seal.flushed");
    let dir = publish(draft.dir(), draft.run_id())?;
    stop::pass_place("seal.durable");
    let files = draft.files().len();
    Ok(Sealed { dir, report, report_bytes, attestation_sha256: Digest::of_bytes(&attestation), files })
}

/// `report.md` from what the bundle holds, not from what it was made of: its files are free of secrets already.
fn render_report(report: &Report, draft: &Draft) -> Result<String, SealBundleError> {
    let read = |name| fs::read(draft.dir().join(name)).map_err(|error| SealBundleError::Read(name, error));
    let (contract, patch) = (read(names::CONTRACT)?, read(names::PATCH)?);
    Ok(render::report_md(report, &RenderSources { contract: &contract, patch: &patch }))
}

/// Fills in the index of artifacts; the entry of the report itself is computed with that entry empty.
fn complete_report(report: &mut Report, draft: &Draft) -> Result<Vec<u8>, serde_json::Error> {
    let names = || draft.files().keys().cloned().chain([names::REPORT.to_owned(), names::ATTESTATION.to_owned()]);
    report.artifact_paths = names().map(|name| (name.clone(), name)).collect();
    report.artifact_digests =
        draft.files().iter().map(|(name, written)| (name.clone(), written.sha256.to_string())).collect();
    report.artifact_digests.insert(names::REPORT.to_owned(), String::new());
    report.freshness = freshness(report, draft);
    let mut bytes = canonical_bytes(report)?;
    let own = Digest::of_bytes(&bytes).to_string();
    let place = place_of_own(&bytes);
    if let Some(at) = place {
        bytes.splice(at..at, own.bytes());
    }
    report.artifact_digests.insert(names::REPORT.to_owned(), own);
    if place.is_some() { Ok(bytes) } else { canonical_bytes(report) }
}

/// Offset at which the report's own digest goes; none unless its empty entry occurs exactly
/// once. Quotes within texts are escaped, so only a key can look like one.
fn place_of_own(bytes: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(bytes).ok()?;
    let entry = format!("\"{}\":\"\"", names::REPORT);
    let mut places = text.match_indices(&entry);
    let (Some((at, _)), None) = (places.next(), places.next()) else { return None };
    Some(at + entry.len() - 1)
}

fn freshness(report: &Report, draft: &Draft) -> BTreeMap<String, Freshness> {
    let finished = report.run_finished_at;
    let payload = draft.files().iter().map(|(name, written)| (name.clone(), written.written_at));
    let last = [names::REPORT, names::ATTESTATION].map(|name| (name.to_owned(), finished));
    payload.chain(last).map(|(name, written_at)| (name, Freshness { written_at, checked_at: finished })).collect()
}

fn statement(report: &Report, draft: &Draft, signing: Signing<'_>) -> Result<Statement, serde_json::Error> {
    let subject = draft
        .files()
        .iter()
        .map(|(name, written)| Subject { name: name.clone(), digest: SubjectDigest { sha256: written.sha256 } });
    let predicate = predicate(report, draft, signing)?;
    Ok(Statement {
        kind: STATEMENT_TYPE.to_owned(),
        subject: subject.collect(),
        predicate_type: predicate.predicate_type().to_owned(),
        predicate,
    })
}

fn predicate(report: &Report, draft: &Draft, signing: Signing<'_>) -> Result<Predicate, serde_json::Error> {
    let head = draft.head();
    // Keys of later versions stand only in statements that say something by them.
    let is_changing = report.stage >= Stage::DISPOSABLE_REPOSITORY;
    let facts = signed_facts(report);
    let patch = draft.files().get(names::PATCH).map_or(Digest::of_bytes(b""), |written| written.sha256);
    Ok(Predicate {
        schema_version: BUNDLE_VERSION.to_owned(),
        run_id: report.run_id.clone(),
        task_id: report.task_id.clone(),
        stage: report.stage,
        purpose: report.purpose,
        contract_digest: report.contract_digest,
        request_digest: report.request_digest,
        decision_id: report.decision_id,
        approval_digest: report.approval_digest,
        harness: facts.harness,
        baseline_commit: report.baseline_commit.clone(),
        baseline_tree: report.baseline_tree.clone(),
        result_tree: report.result_tree.clone(),
        patch_sha256: patch,
        engine: facts.engine,
        model: facts.model,
        sandbox: facts.sandbox,
        verification: signed_checks(report)?,
        verdict: report.status,
        blockers: report.blocker_reasons.clone(),
        coverage: report.coverage.clone(),
        events: SignedEvents { head: head.digest, count: head.count },
        ledger: signing.ledger,
        key: signing.key.public().key_id(),
        started_at: report.run_started_at,
        finished_at: report.run_finished_at,
        sealed_by: signing.sealed_by,
        work_id: report.work_id.clone(),
        allowed_mutation_scope: is_changing.then(|| report.allowed_mutation_scope.clone()),
        branch_policy: is_changing.then(|| report.branch_policy.clone()),
        disposable_repository_dir: report.disposable_repository_dir.clone(),
        target_repository_admission_status: report.target_repository_admission_status,
        target_commit: report.target_commit.clone(),
        operator_outcome: is_changing.then_some(report.operator_outcome),
        kind: report.kind,
        bundles: report.bundles.clone(),
        subject_model: report.subject_model.clone(),
    })
}

/// Signed facts about harness, engine, model and sandbox. Sealing writes them; `verify`
/// derives them from the report again and compares.
pub(crate) struct SignedFacts {
    pub(crate) harness: SignedHarness,
    pub(crate) engine: SignedEngine,
    pub(crate) model: SignedModel,
    pub(crate) sandbox: SignedSandbox,
}

/// Derives the signed facts from a report.
pub(crate) fn signed_facts(report: &Report) -> SignedFacts {
    SignedFacts {
        harness: SignedHarness::of_host(&report.host),
        engine: SignedEngine {
            id: report.engine.id.clone(),
            source_id: report.engine.source_id.clone(),
            tree_sha256: report.engine.tree_sha256.unwrap_or(report.engine.executable_sha256),
            argv_sha256: report.engine.argv_sha256,
            process_started: report.engine.process_started,
        },
        model: report.model.as_ref().map_or_else(SignedModel::default, |model| SignedModel {
            requested: model.requested.as_ref().map(ToString::to_string),
            asked: model.used.asked(),
            answered: model.used.answered_by(),
            refused: model.used.refused,
        }),
        sandbox: SignedSandbox {
            asked: report.sandbox.asked,
            applied: report.sandbox.profile,
            probe_sha256: report.sandbox.probe_sha256,
        },
    }
}

/// Signed part of the verification passes. Sealing writes it; `verify` derives it from the
/// report again and compares.
pub(crate) fn signed_checks(report: &Report) -> Result<Vec<SignedCheck>, serde_json::Error> {
    let passes = report.verification.passes.iter();
    passes
        .map(|pass| {
            let argv_sha256 = canonical_digest(&pass.argv)?;
            Ok(SignedCheck {
                kind: pass.kind,
                argv_sha256,
                exit: pass.exit,
                tests: pass.tests.clone(),
                result: pass.result,
            })
        })
        .collect()
}

/// Makes every file and directory of the draft durable before its name is.
///
/// If the machine has little unwritten data, one flush of the file system costs less than one for each file, and does more. With much
/// unwritten data, it would wait for everybody else's data.
fn make_durable(draft: &Draft) -> Result<(), SealBundleError> {
    let failed = |name: &str| {
        let path = draft.dir().join(name);
        move |error| SealBundleError::Sync(path, error)
    };
    if waiting_to_be_written().is_some_and(|bytes| bytes < LITTLE) {
        // The descriptor is older than every file of the draft, so that it receives every error.
        return rustix::fs::syncfs(draft.lock()).map_err(|error| failed("")(error.into()));
    }
    for name in draft.files().keys() {
        sync_path(&draft.dir().join(name))?;
    }
    for name in draft.directories().iter().rev() {
        sync_path(&draft.dir().join(name))?;
    }
    draft.lock().sync_all().map_err(failed(""))
}

/// Unwritten bytes in the kernel below which one flush of the whole file system is used
/// instead of one per file. Above it, the flush would have to write too much for other
/// programs.
const LITTLE: u64 = 16 << 20;

/// Bytes that the kernel holds and has not written yet.
fn waiting_to_be_written() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kilobytes = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    Some((kilobytes("Dirty:")? + kilobytes("Writeback:")?) * 1024)
}

fn sync_path(path: &Path) -> Result<(), SealBundleError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|error| SealBundleError::Sync(path.to_owned(), error))
}
