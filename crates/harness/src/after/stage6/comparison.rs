//! The comparison of a candidate with the other engines: facts gathered from verified
//! bundles, a pure judgement, and the seal.

mod facts;
mod gather;
mod judge;
mod rows;
#[cfg(test)]
mod tests;

use contract::report::EngineFacts;
use contract::stage6::comparison::{COMPARISON_TASK, CandidateComparison, ComparisonSubject};
use contract::{CollectionKind, Digest, ModelPair, Purpose, Reason, Stage, Status};
use evidence::seal::Sealed;

use crate::after::collection::{CollectionDocument, CollectionProblem, seal_collection};
use crate::home::clock::ReadClockError;
use crate::home::layout::OpenHomeError;
use crate::run::about::DocumentSubject;
use crate::run::harness::Harness;
use crate::spine::GovernError;

/// The engine, source and model that are compared with others.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub engine: String,
    pub source_id: String,
    pub model: Option<ModelPair>,
}

/// Reason why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareCandidateError {
    #[error(transparent)]
    Clock(#[from] ReadClockError),
    #[error(transparent)]
    Home(#[from] OpenHomeError),
    #[error(transparent)]
    Ledger(#[from] ledger::ReadLedgerError),
    #[error("nothing was ever recorded in this home")]
    NoLedger,
    #[error(transparent)]
    Seal(#[from] GovernError),
}

/// Compares a candidate with the other engines and seals the document.
pub fn compare_candidate(
    harness: &Harness,
    candidate: &Candidate,
) -> Result<(CandidateComparison, Sealed), CompareCandidateError> {
    let facts = gather::gather_facts(harness, candidate)?;
    let comparison = judge::judge_comparison(&facts);
    let engine = facts.passes.first().map(|pass| pass.engine.clone());
    let subject = DocumentSubject {
        kind: CollectionKind::Comparison,
        bundles: comparison.bundles.clone(),
        engine: Some(engine.unwrap_or_else(|| unproven_engine(candidate))),
        model: candidate.model.clone(),
    };
    let collection = CollectionDocument {
        name: COMPARISON_TASK,
        title: "a candidate beside the other engines",
        brief: "Compare the verified bundles of an engine with those of the others, as stage 6 asks.",
        success: "the candidate matches or beats every lane, and nothing is missing",
        engine: &candidate.engine,
        stage: Stage::CANDIDATE_DEFAULT,
        purpose: Purpose::Governed,
        subject,
    };
    let sealed = seal_collection(harness, &collection, &comparison, describe_problem(&comparison))?;
    Ok((comparison, sealed))
}

/// Facts of an engine of which no pass of stage 5 says more.
fn unproven_engine(candidate: &Candidate) -> EngineFacts {
    EngineFacts {
        id: candidate.engine.clone(),
        version: "unknown".to_owned(),
        source_id: candidate.source_id.clone(),
        executable_sha256: Digest::ZERO,
        tree_sha256: None,
        interpreter_sha256: None,
        argv_sha256: None,
        process_started: false,
        exit_code: None,
        duration_ms: None,
        leftover_processes: Vec::new(),
        ended_by_harness: None,
        notes: Vec::new(),
    }
}

/// The blocker of a comparison that does not pass, with every subject that speaks against it.
fn describe_problem(comparison: &CandidateComparison) -> Option<CollectionProblem> {
    let against: Vec<_> = comparison.subjects.iter().filter(|one| one.verdict == comparison.status).collect();
    let reason = match comparison.status {
        Status::Pass => return None,
        Status::Fail => Reason::VerificationFailed,
        Status::Blocked => match against.first().map(|one| one.subject) {
            Some(ComparisonSubject::SourceAdmissionFreshness) => Reason::SourceNotAdmitted,
            _ => Reason::StageNotEarned,
        },
    };
    let texts: Vec<String> = against.iter().map(|one| format!("{}: {}", one.subject, one.text)).collect();
    Some(CollectionProblem { reason, text: texts.join("; ") })
}
