//! The real governed refresh: real passes of stage 5 looked at again, beside the prior
//! comparison of stage 6. It reads bundles, holds each verification on a copy of its
//! target's HEAD, seals one document, and changes nothing else.
//!
//! `facts.rs` has what is judged, `passes.rs`, `prior.rs` and `targets.rs` gather it,
//! `judge.rs` judges, `compose.rs` writes the document.

mod compose;
mod facts;
mod judge;
mod passes;
mod prior;
mod targets;

#[cfg(test)]
mod tests;

use std::fs::File;

use contract::decision::Profile;
use contract::stage6::refresh::{REFRESH_TASK, RefreshComparison, RefreshFault};
use contract::{CitedBundle, CollectionKind, Purpose, Reason, RunId, Stage, Stamp, Status};
use ledger::{EngineIdentity, ReadLedgerError, RunRow, RungPart, RungRuns};
use views::{RungIdentity, RungSource};

use crate::after::collection::{Collection, CollectionProblem, seal_collection};
use crate::gather::engine::equip;
use crate::gather::ladder::ask_rungs;
use crate::home::cause::ErrorCause;
use crate::home::clock::{ReadClockError, RunClock};
use crate::home::engines::FAKE;
use crate::home::token::canary;
use crate::home::watch::Watch;
use crate::run::about::DocumentSubject;
use crate::run::file::Stopped;
use crate::run::halt::{self, Halted};
use crate::run::harness::Harness;
use crate::run::scan::censor;
use crate::spine::GovernError;
use facts::{AdmissionFacts, PassFacts, RefreshFacts};
use passes::ReadPass;
use prior::FoundPrior;
use targets::{PassExam, TargetExaminer};

/// The engine that is refreshed where nobody names one and no comparison does.
const FIRST_ENGINE: &str = "case";

/// Runs to refresh.
#[derive(Debug, Clone, Copy)]
pub struct RefreshAsk<'a> {
    /// The engine; by default that of the runs, else that of the newest comparison.
    pub engine: Option<&'a str>,
    /// Passes of stage 5; by default the newest that count.
    pub runs: &'a [String],
    /// The sandbox that verifications are held in.
    pub profile: Profile,
}

/// A sealed refresh.
#[derive(Debug)]
pub struct Refreshed {
    pub comparison: RefreshComparison,
    pub run_id: RunId,
    /// Status of the sealed bundle.
    pub status: Status,
    /// Bundles that were read.
    pub bundles: Vec<CitedBundle>,
}

/// Reason for which nothing was refreshed.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    #[error("no run matches `{}`", contract::text::shown(.0))]
    Unknown(String),
    #[error("`{}` stands for {count} runs", contract::text::shown(.reference))]
    Ambiguous { reference: String, count: usize },
    #[error("{0} is not sealed")]
    Unsealed(RunId),
    #[error("{0} is named twice")]
    Twice(RunId),
    #[error("the ledger of this home cannot be read")]
    NoLedger,
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
    #[error(transparent)]
    Clock(#[from] ReadClockError),
    #[error(transparent)]
    Seal(#[from] GovernError),
    #[error("the kill switch is {0}")]
    Halted(Halted),
    #[error("interrupted by a signal")]
    Interrupted,
    #[error("{0}")]
    Failed(#[source] ErrorCause),
}

impl From<Stopped> for RefreshError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Cancelled => Self::Interrupted,
            other => Self::Failed(other.into()),
        }
    }
}

/// Refreshes, and seals what came of it, whatever that is.
pub fn refresh(harness: &Harness, ask: RefreshAsk<'_>, watch: Watch<'_>) -> Result<Refreshed, RefreshError> {
    if let Some(halted) = halt::look(&harness.switch) {
        return Err(RefreshError::Halted(halted));
    }
    let now = RunClock::start()?.started();
    let canary = canary().map_err(|error| RefreshError::Failed(error.into()))?;
    let gathered = ask_rungs(harness, |source| GatheredBundles::gather(harness, source, ask));
    let GatheredBundles { engine, passes, prior } = gathered.ok_or(RefreshError::NoLedger)??;
    let mut read = ReadPasses::default();
    passes.into_iter().for_each(|pass| read.add(pass));
    read.bundles.extend(prior.as_ref().map(FoundPrior::cite));
    let ReadPasses { facts, exams, bundles, held } = read;
    let examiner = TargetExaminer { harness, profile: ask.profile, watch, canary: &canary };
    let targets = examiner.validate_targets(&exams)?;
    let admission = find_admission(harness, &engine, &facts, now);
    let prior = prior.map(|found| found.facts);
    let judged = judge::judge_facts(RefreshFacts { engine, passes: facts, prior, admission, targets });
    let comparison = compose::compose_refresh(judged);
    // Programs of verifications may have read a decoy.
    let clean = censor(&canary).document(CollectionKind::Refresh.file(), &comparison);
    let comparison = clean.map_err(|error| RefreshError::Failed(error.into()))?.unwrap_or(comparison);
    let sealed = seal_refresh(harness, comparison, bundles);
    // Until the document cites them, nothing keeps the bundles from a collection.
    drop(held);
    sealed
}

/// Everything that was read of the passes, by kind.
#[derive(Debug, Default)]
struct ReadPasses {
    facts: Vec<PassFacts>,
    exams: Vec<PassExam>,
    bundles: Vec<CitedBundle>,
    held: Vec<File>,
}

impl ReadPasses {
    fn add(&mut self, pass: ReadPass) {
        let ReadPass { facts, exam, cited, held } = pass;
        self.facts.push(facts);
        self.exams.extend(exam);
        self.bundles.extend(cited);
        self.held.extend(held);
    }
}

/// Bundles that were found, each verified.
struct GatheredBundles {
    engine: String,
    passes: Vec<ReadPass>,
    prior: Option<FoundPrior>,
}

impl GatheredBundles {
    fn gather(harness: &Harness, source: &RungSource<'_>, ask: RefreshAsk<'_>) -> Result<Self, RefreshError> {
        let rows = find_rows(source, ask.runs)?;
        let (engine, prior) = find_subject(harness, source, ask.engine, &rows)?;
        let passes = if ask.runs.is_empty() {
            match find_identity(source, &engine, prior.as_ref())? {
                Some(identity) => {
                    let EngineIdentity { source_id, model } = &identity;
                    let identity = RungIdentity { engine: &engine, source_id, pair: model.as_ref() };
                    passes::read_counting(harness, source, identity)?
                }
                None => Vec::new(),
            }
        } else {
            passes::read_named(harness, source, &rows)?
        };
        Ok(Self { engine, passes, prior })
    }
}

fn find_rows(source: &RungSource<'_>, runs: &[String]) -> Result<Vec<RunRow>, RefreshError> {
    let mut rows: Vec<RunRow> = Vec::new();
    for reference in runs {
        let row = passes::find_row(source, reference)?;
        if rows.iter().any(|known| known.run_id == row.run_id) {
            return Err(RefreshError::Twice(row.run_id));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The engine to refresh and its newest comparison.
fn find_subject(
    harness: &Harness,
    source: &RungSource<'_>,
    asked: Option<&str>,
    rows: &[RunRow],
) -> Result<(String, Option<FoundPrior>), ReadLedgerError> {
    let prior_of = |engine: &str| prior::find_prior(source.ledger, source.bundles, source.keys, engine);
    if let Some(engine) = asked.or(rows.first().map(|row| row.engine.as_str())) {
        return Ok((engine.to_owned(), prior_of(engine)?));
    }
    let mut newest: Option<FoundPrior> = None;
    for engine in harness.engines.ids().iter().map(String::as_str).chain([FAKE]) {
        let Some(found) = prior_of(engine)? else { continue };
        if newest.as_ref().is_none_or(|known| known.started_at < found.started_at) {
            newest = Some(found);
        }
    }
    let engine = newest.as_ref().map_or(FIRST_ENGINE, |found| found.engine.as_str()).to_owned();
    Ok((engine, newest))
}

/// The identity that was compared; without a comparison, that of the newest run of stage 5.
fn find_identity(
    source: &RungSource<'_>,
    engine: &str,
    prior: Option<&FoundPrior>,
) -> Result<Option<EngineIdentity>, ReadLedgerError> {
    if let Some(prior) = prior {
        return Ok(Some(prior.facts.identity.clone()));
    }
    let (purpose, stage) = (Purpose::Governed, Stage::OWNED_REPOSITORY);
    let mut newest = None;
    for identity in source.ledger.rung_identities(engine, purpose, stage)? {
        let runs = RungRuns { engine, purpose, stage, identity: Some(&identity), of: RungPart::All };
        let started = source.ledger.rung_runs(&runs, None, 1)?.first().map(|row| row.started_at);
        newest = newest.max(started.map(|started| (started, identity)));
    }
    Ok(newest.map(|(_, identity)| identity))
}

/// The admission of the passes' source at stage 5, by its record alone: no program is looked for or started.
fn find_admission(harness: &Harness, engine: &str, passes: &[PassFacts], now: Stamp) -> AdmissionFacts {
    let Some(proven) = passes.iter().find_map(PassFacts::verified) else { return AdmissionFacts::Unknown };
    let source_id = proven.identity.source_id.as_str();
    let staleness = if engine == FAKE {
        let built_in = format!("{FAKE}@{}", harness.host.harness_version);
        (built_in != source_id).then(|| format!("the fake engine is {built_in} now, and the passes are of {source_id}"))
    } else {
        let admission = equip::admission(harness, engine, now);
        gate::engine::find_staleness(&admission, Stage::OWNED_REPOSITORY, now, source_id, proven.tree_sha256)
    };
    staleness.map_or(AdmissionFacts::Current, AdmissionFacts::Stale)
}

fn seal_refresh(
    harness: &Harness,
    comparison: RefreshComparison,
    bundles: Vec<CitedBundle>,
) -> Result<Refreshed, RefreshError> {
    let collection = Collection {
        name: REFRESH_TASK,
        title: "real governed refresh",
        brief: "Look again at real passes of stage 5 and at their targets, and change nothing.",
        success: "every subject holds, and two accepted passes show that it can be repeated",
        engine: &comparison.engine,
        stage: Stage::CANDIDATE_DEFAULT,
        purpose: Purpose::Validation,
        subject: DocumentSubject::of(CollectionKind::Refresh, bundles.clone()),
    };
    let sealed = seal_collection(harness, &collection, &comparison, find_problem(&comparison))?;
    let (run_id, status) = (sealed.report.run_id, sealed.report.status);
    Ok(Refreshed { comparison, run_id, status, bundles })
}

/// The worst rejection as the reason of the sealed bundle, with the words of all.
fn find_problem(comparison: &RefreshComparison) -> Option<CollectionProblem> {
    let worst = comparison.rejections.first()?;
    let texts: Vec<&str> = comparison.rejections.iter().map(|rejection| rejection.text.as_str()).collect();
    Some(CollectionProblem { reason: reason_of(worst.fault), text: texts.join("; ") })
}

const fn reason_of(fault: RefreshFault) -> Reason {
    match fault {
        RefreshFault::MissingOperatorOutcome => Reason::MissingOperatorOutcome,
        RefreshFault::NoComparison | RefreshFault::SecondOwnedPass => Reason::StageNotEarned,
        RefreshFault::SandboxUnavailable => Reason::SandboxUnavailable,
        RefreshFault::SecretShapedKey
        | RefreshFault::ForbiddenAction
        | RefreshFault::DefaultActivation
        | RefreshFault::CorePromotion
        | RefreshFault::TargetMutated
        | RefreshFault::MissingArtifact
        | RefreshFault::MissingApproval
        | RefreshFault::FailedFact
        | RefreshFault::OutcomeRejected
        | RefreshFault::StaleSourceAdmission => Reason::VerificationFailed,
    }
}
