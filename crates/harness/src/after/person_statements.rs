//! Statements of people about a sealed run: its outcome, and the rollback of what it
//! landed. Each is a document of its own about the bundle's attestation, beside the bundle
//! and in the ledger; the bundle is never touched.

use std::io;
use std::path::PathBuf;

use contract::approval::{
    OutcomeSchema, OutcomeSource, OutcomeStatement, OutcomeVerdict, RollbackAct, RollbackSchema, RollbackStatement,
};
use contract::{CollectionKind, Digest, Report, RunId, Stage, Stamp, Status, canonical_bytes};
use evidence::stop;
use evidence::verify::VerifiedBundle;
use ledger::{AppendEntryError, EntryKind};
use serde::Serialize;
use serde_json::json;

use crate::after::take::Begun;
use crate::home::clock::{ReadClockError, RunClock};
use crate::home::scratch::Work;
use crate::home::token::random_suffix;
use crate::run::harness::Harness;
use crate::run::stated::{StateError, state_document};

/// Begins the name of a folder under `work/`.
pub(crate) const STATEMENT: &str = "statement";

/// A signature of a document's canonical bytes, and the key that made it.
#[derive(Debug, Clone, Copy)]
pub struct PersonSignature<'a> {
    pub armour: &'a str,
    pub key_fingerprint: &'a str,
}

/// Failure to record a statement.
#[derive(Debug, thiserror::Error)]
pub enum RecordStatementError {
    #[error(transparent)]
    Clock(#[from] ReadClockError),
    #[error("cannot write the statement: {0}")]
    Io(#[from] io::Error),
    #[error("cannot write the statement: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("cannot write the statement: {0}")]
    State(#[source] crate::home::cause::ErrorCause),
    #[error(transparent)]
    Ledger(#[from] AppendEntryError),
}

/// Reason why nobody can accept or reject this; none if somebody can. A run delivers
/// something if it passed and started an engine; of the documents about other bundles only
/// a comparison has an outcome of its own.
pub fn find_outcome_problem(report: &Report) -> Option<String> {
    match (report.kind, report.status) {
        (Some(kind), _) if kind != CollectionKind::Comparison => {
            Some(format!("it is a {kind}, and only runs and comparisons of a candidate have an outcome"))
        }
        (_, Status::Fail | Status::Blocked) => {
            Some(format!("it is {}: it delivered nothing that could be accepted or rejected", report.status))
        }
        (None, Status::Pass) if report.stage == Stage::GATED_ENGINE => {
            Some("stage 1 starts no engine: there is nothing to accept or reject".to_owned())
        }
        (_, Status::Pass) => None,
    }
}

/// The outcome of a run, ready to be signed.
pub fn draft_outcome(
    bundle: &VerifiedBundle,
    verdict: OutcomeVerdict,
    reason: &str,
    key_fingerprint: Option<String>,
) -> Result<OutcomeStatement, RecordStatementError> {
    let report = bundle.report();
    Ok(OutcomeStatement {
        schema: OutcomeSchema::V1,
        attestation_sha256: bundle.attestation_sha256(),
        run_id: report.run_id.clone(),
        task_id: report.task_id.clone(),
        work_id: report.work_id.clone(),
        operator_outcome: verdict,
        reason: reason.to_owned(),
        source: if key_fingerprint.is_some() { OutcomeSource::Operator } else { OutcomeSource::Environment },
        key_fingerprint,
        recorded_at: RunClock::start_clock()?.now(),
    })
}

/// Records an outcome; returns the file of the statement. An unsigned one is marked as such
/// by its source.
pub fn record_outcome(
    harness: &Harness,
    outcome: &OutcomeStatement,
    signature: Option<PersonSignature<'_>>,
) -> Result<PathBuf, RecordStatementError> {
    let recording = Recording { harness, run_id: &outcome.run_id, time: outcome.recorded_at, signature };
    let facts = json!({"operator_outcome": outcome.operator_outcome, "source": outcome.source});
    recording.record(EntryKind::OutcomeRecorded, "outcome", outcome, outcome.attestation_sha256, facts)
}

/// The rollback of a run, ready to be signed.
pub fn draft_rollback(
    bundle: &VerifiedBundle,
    repository: &str,
    act: RollbackAct,
    reason: &str,
    key_fingerprint: String,
) -> Result<RollbackStatement, RecordStatementError> {
    let report: &Report = bundle.report();
    Ok(RollbackStatement {
        schema: RollbackSchema::V1,
        attestation_sha256: bundle.attestation_sha256(),
        run_id: report.run_id.clone(),
        task_id: report.task_id.clone(),
        work_id: report.work_id.clone(),
        repository: repository.to_owned(),
        branch: report.result_branch.clone().unwrap_or_default(),
        commit: report.target_commit.clone().unwrap_or_default(),
        act,
        reason: reason.to_owned(),
        key_fingerprint,
        recorded_at: RunClock::start_clock()?.now(),
    })
}

/// Records a rollback; gives the file of the statement.
pub fn record_rollback(
    harness: &Harness,
    rollback: &RollbackStatement,
    signature: PersonSignature<'_>,
) -> Result<PathBuf, RecordStatementError> {
    let signature = Some(signature);
    let recording = Recording { harness, run_id: &rollback.run_id, time: rollback.recorded_at, signature };
    let facts = json!({"act": rollback.act, "branch": rollback.branch, "commit": rollback.commit});
    recording.record(EntryKind::ChangeRolledBack, "rollback", rollback, rollback.attestation_sha256, facts)
}

struct Recording<'a> {
    harness: &'a Harness,
    run_id: &'a RunId,
    time: Stamp,
    signature: Option<PersonSignature<'a>>,
}

impl Recording<'_> {
    /// The file first, then the ledger, which has the document and its signature too: it is
    /// the authority.
    fn record(
        &self,
        kind: EntryKind,
        what: &str,
        document: &impl Serialize,
        attestation_sha256: Digest,
        facts: serde_json::Value,
    ) -> Result<PathBuf, RecordStatementError> {
        let bytes = canonical_bytes(document)?;
        let name = format!("{what}-{}-{}.json", self.time.compact(), random_suffix()?);
        let armour = self.signature.map(|signature| signature.armour);
        // If this is interrupted: a document that the ledger does not have does not count.
        let work = Work::make_area(&self.harness.home, STATEMENT)?;
        let begun =
            Begun { run_id: self.run_id.clone(), repository: PathBuf::new(), branch: String::new(), rolled_back: None };
        begun.write_note(work.path())?;
        stop::pass_place("statement.begun");
        let stated = state_document(self.harness, self.run_id, &name, &bytes, armour);
        let stated = stated.map_err(|error: StateError| RecordStatementError::State(error.into()))?;
        stop::pass_place("statement.written");
        let mut body = json!({
            "attestation_sha256": attestation_sha256,
            "document": String::from_utf8_lossy(&bytes),
            "key_fingerprint": self.signature.map(|signature| signature.key_fingerprint),
            "signature": armour,
            "statement": stated.name,
            "statement_sha256": stated.statement_sha256,
        });
        if let (Some(body), serde_json::Value::Object(facts)) = (body.as_object_mut(), facts) {
            body.extend(facts);
        }
        self.harness.ledger().append(kind, Some(self.run_id), self.time, &body)?;
        stop::pass_place("statement.recorded");
        Ok(stated.path)
    }
}
