//! The real governed refresh: real passes of stage 5 looked at again, beside the prior
//! comparison of stage 6. It reads bundles, holds each verification on a copy of its
//! target's HEAD, seals one document, and changes nothing else.
//!
//! `facts.rs` has what is judged, `passes.rs`, `prior.rs` and `targets.rs` gather it,
//! `judge.rs` judges by the subjects of `subjects.rs`, `compose.rs` writes the document.

mod compose;
mod facts;
mod judge;
mod passes;
mod prior;
mod subjects;
mod targets;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::fs::File;

use contract::decision::Profile;
use contract::stage6::refresh::{REFRESH_TASK, RefreshComparison, RefreshFault};
use contract::{CitedBundle, CollectionKind, Purpose, Reason, RunId, Stage, Stamp, Status};
use ledger::{EngineIdentity, ReadLedgerError, RunRow, RungPart, RungRuns};
use views::{RungIdentity, RungSource};

use crate::after::collection::{CollectionDocument, CollectionProblem, seal_collection};
use crate::after::stage6::commands::EngineCommands;
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
use facts::{AdmissionFacts, PassFacts, PriorFacts, RefreshFacts};
use passes::ReadPass;
use prior::{FoundPrior, NewestComparison};
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
    #[error("no run matches `{}`", contract::text::show_controls(.0))]
    Unknown(String),
    #[error("`{}` stands for {count} runs", contract::text::show_controls(.reference))]
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

/// Refreshes, and seals the result, whatever it is.
pub fn refresh(harness: &Harness, ask: RefreshAsk<'_>, watch: Watch<'_>) -> Result<Refreshed, RefreshError> {
    if let Some(halted) = halt::look_for_halt(&harness.switch) {
        return Err(RefreshError::Halted(halted));
    }
    let now = RunClock::start_clock()?.started();
    let canary = canary().map_err(|error| RefreshError::Failed(error.into()))?;
    let gathered = ask_rungs(harness, |source| GatheredBundles::gather(harness, source, ask));
    let GatheredBundles { engine, passes, prior } = gathered.ok_or(RefreshError::NoLedger)??;
    let mut read = ReadPasses::default();
    passes.into_iter().for_each(|pass| read.add(pass));
    let (prior, damaged_prior) = match prior {
        Some(NewestComparison::Verified(found)) => (Some(*found), None),
        Some(NewestComparison::Damaged(damaged)) => (None, Some(damaged)),
        None => (None, None),
    };
    read.bundles.extend(prior.as_ref().map(FoundPrior::cite));
    let ReadPasses { facts, exams, bundles, held } = read;
    let examiner = TargetExaminer { harness, profile: ask.profile, watch, canary: &canary };
    let targets = examiner.validate_targets(&exams)?;
    let admission = find_admission(harness, &engine, &facts, now);
    let prior = prior.map(|found| found.facts);
    let commands = name_commands(harness, &engine, &facts, prior.as_ref());
    let judged =
        judge::judge_facts(RefreshFacts { engine, commands, passes: facts, prior, damaged_prior, admission, targets });
    let comparison = compose::compose_refresh(judged);
    // Programs of verifications may have read a decoy.
    let clean = censor(&canary).censor_document(CollectionKind::Refresh.file(), &comparison);
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
    prior: Option<NewestComparison>,
}

impl GatheredBundles {
    fn gather(harness: &Harness, source: &RungSource<'_>, ask: RefreshAsk<'_>) -> Result<Self, RefreshError> {
        let rows = find_rows(source, ask.runs)?;
        let engine = choose_engine(harness, source, ask.engine, &rows)?;
        let identity = if rows.is_empty() { find_identity(source, &engine)? } else { None };
        let passes = match &identity {
            Some(EngineIdentity { source_id, model }) => {
                let identity = RungIdentity { engine: &engine, source_id, pair: model.as_ref() };
                passes::read_counting(harness, source, identity)?
            }
            None => passes::read_named(harness, source, &rows)?,
        };
        let proven = passes.iter().find_map(|pass| Some(pass.facts.verified()?.identity.clone()));
        let prior = prior::find_prior(source, &engine, proven.or(identity).as_ref())?;
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

/// The engine that was named, that of the runs, or that of the newest comparison.
fn choose_engine(
    harness: &Harness,
    source: &RungSource<'_>,
    asked: Option<&str>,
    rows: &[RunRow],
) -> Result<String, ReadLedgerError> {
    if let Some(engine) = asked.or(rows.first().map(|row| row.engine.as_str())) {
        return Ok(engine.to_owned());
    }
    let mut newest = (None, FIRST_ENGINE.to_owned());
    for engine in harness.engines.ids().iter().map(String::as_str).chain([FAKE]) {
        let seq = prior::find_prior(source, engine, None)?.map(|found| found.seq());
        if seq > newest.0 {
            newest = (seq, engine.to_owned());
        }
    }
    Ok(newest.1)
}

/// The identity of the newest pass of stage 5 that counts; without one that of the newest run there, else that of the newest comparison.
fn find_identity(source: &RungSource<'_>, engine: &str) -> Result<Option<EngineIdentity>, ReadLedgerError> {
    let (purpose, stage) = (Purpose::Governed, Stage::OWNED_REPOSITORY);
    let mut known = Vec::new();
    for identity in source.ledger.rung_identities(engine, purpose, stage)? {
        let runs = RungRuns { engine, purpose, stage, identity: Some(&identity), of: RungPart::All };
        let newest = source.ledger.rung_runs(&runs, None, 1)?;
        known.extend(newest.first().map(|row| (row.seq, identity.clone())));
    }
    known.sort_by_key(|(seq, _)| Reverse(*seq));
    let mut counting: Option<(u64, &EngineIdentity)> = None;
    for (seq, identity) in &known {
        if counting.as_ref().is_some_and(|(newest, _)| newest >= seq) {
            break;
        }
        let pass = passes::find_counting(source, engine, identity)?.map(|seq| (seq, identity));
        counting = counting.into_iter().chain(pass).max_by_key(|(seq, _)| *seq);
    }
    let newest = counting.map(|(_, identity)| identity).or(known.first().map(|(_, identity)| identity));
    match newest {
        Some(identity) => Ok(Some(identity.clone())),
        None => Ok(prior::find_prior(source, engine, None)?.and_then(NewestComparison::into_identity)),
    }
}

/// Commands of remedies, with the model of the passes, else that of the comparison.
fn name_commands(harness: &Harness, engine: &str, passes: &[PassFacts], prior: Option<&PriorFacts>) -> EngineCommands {
    let proven = passes.iter().find_map(PassFacts::verified).map(|facts| &facts.identity);
    let model = proven.or(prior.map(|prior| &prior.identity)).and_then(|identity| identity.model.as_ref());
    EngineCommands::for_engine(&harness.engines, engine, model)
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
    let collection = CollectionDocument {
        name: REFRESH_TASK,
        title: "real governed refresh",
        brief: "Look again at real passes of stage 5 and at their targets, and change nothing.",
        success: "every subject holds, and two accepted passes show that it can be repeated",
        engine: &comparison.engine,
        stage: Stage::CANDIDATE_DEFAULT,
        purpose: Purpose::Validation,
        subject: DocumentSubject::of_kind(CollectionKind::Refresh, bundles.clone()),
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
