//! Gathering the facts of a comparison from the ledger and its verified bundles. Nothing is
//! started.

use contract::engine::RungLack;
use contract::record::{FoundRecord, SourceAdmission};
use contract::stage6::comparison::{FAILURE_MATRIX, REPEATABILITY_REQUIRED, SourceFreshness};
use contract::{CitedBundle, Digest, Purpose, Reason, Stage, Stamp, Status, TaskId};
use cortex::{RecordSigners, load_source_admission};
use evidence::names;
use evidence::verify::VerifiedBundle;
use ledger::{EngineIdentity, ReadLedgerError, RunFilter, RunRow, RunStatus, RungPart, RungRuns};
use serde::Deserialize;
use untrusted_fs::own_files;
use views::{OwnedPasses, RungGap, RungIdentity, RungSource, asked_run};

use super::facts::{BundleFacts, ComparisonFacts, LaneFacts, MatrixFact, OwnedPass, SpoiledRun};
use super::{Candidate, CompareCandidateError};
use crate::after::stage6::commands::EngineCommands;
use crate::after::stage6::newest::{find_newest, find_newest_of};
use crate::gather::ladder::ask_rungs;
use crate::home::clock::RunClock;
use crate::home::engines::FAKE;
use crate::run::harness::Harness;

/// Engines that a candidate is compared with.
const OTHERS: [&str; 3] = [FAKE, "codex", "pi"];

/// Reason for which the row of a denied approval needs no bundle.
const NO_DENIAL: &str = "cases of the fake engine ask for no approval. Each pass of stage 5 here used a granted one. The approval gate \
                         refuses a denied request before an engine starts";

/// Gathers all facts of a comparison. Starts no program.
pub(super) fn gather_facts(harness: &Harness, candidate: &Candidate) -> Result<ComparisonFacts, CompareCandidateError> {
    let now = RunClock::start_clock()?.now();
    let gathered = ask_rungs(harness, |source| Gatherer { harness, source, candidate, now }.gather());
    Ok(gathered.ok_or(CompareCandidateError::NoLedger)??)
}

struct Gatherer<'a> {
    harness: &'a Harness,
    source: &'a RungSource<'a>,
    candidate: &'a Candidate,
    now: Stamp,
}

impl Gatherer<'_> {
    fn gather(&self) -> Result<ComparisonFacts, ReadLedgerError> {
        let Candidate { engine, source_id, model } = self.candidate;
        let identity = RungIdentity { engine, source_id, pair: model.as_ref() };
        let OwnedPasses { rows, spoiled, .. } = self.source.find_owned_passes(identity)?;
        let passes: Vec<OwnedPass> = rows
            .iter()
            .filter_map(|row| self.verify(row))
            .filter_map(|bundle| OwnedPass::read_bundle(&bundle))
            .collect();
        let mut all_spoiled = self.find_spoiled_below(identity)?;
        // With enough newer passes nothing rests on it.
        let spoiled = spoiled.filter(|_| (passes.len() as u64) < REPEATABILITY_REQUIRED);
        all_spoiled.extend(spoiled.map(|row| self.describe_spoiled(&row)));
        let matrix = self.gather_matrix()?;
        let mut lanes = vec![self.candidate_lane(&passes, &matrix)?];
        for other in OTHERS.into_iter().filter(|other| other != engine) {
            lanes.push(self.other_lane(other, &matrix)?);
        }
        let (freshness, admission) = self.judge_admission(&passes);
        let commands = EngineCommands::for_engine(&self.harness.engines, engine, model.as_ref());
        let (candidate, spoiled) = (self.candidate.clone(), all_spoiled);
        Ok(ComparisonFacts { candidate, lanes, passes, spoiled, commands, matrix, freshness, admission })
    }

    /// Runs below stage 5 whose bundles are gone or do not verify, where a rung lacks them.
    fn find_spoiled_below(&self, identity: RungIdentity<'_>) -> Result<Vec<SpoiledRun>, ReadLedgerError> {
        let mut found = Vec::new();
        for stage in below(Stage::OWNED_REPOSITORY) {
            let gap = self.source.find_rung(identity, stage)?.gap;
            let Some(RungGap::Lack { run_id, lack: RungLack::BundleMissing | RungLack::BundleDamaged }) = gap else {
                continue;
            };
            if let ledger::FoundRuns::One(row) = self.source.ledger.run_find(run_id.as_str())? {
                found.push(self.describe_spoiled(&row));
            }
        }
        Ok(found)
    }

    fn describe_spoiled(&self, row: &RunRow) -> SpoiledRun {
        let folder = self.source.bundles.bundle_dir(&row.run_id);
        let read = VerifiedBundle::verify_dir(&folder, self.source.keys, Some(&asked_run(row)));
        let why = read.err().map_or_else(|| "it was not there before".to_owned(), |error| error.to_string());
        SpoiledRun { run_id: row.run_id.clone(), why }
    }

    fn verify(&self, row: &RunRow) -> Option<VerifiedBundle> {
        row.attestation_sha256?;
        let folder = self.source.bundles.bundle_dir(&row.run_id);
        VerifiedBundle::verify_dir(&folder, self.source.keys, Some(&asked_run(row))).ok()
    }

    /// The accepted passes of stage 5 and the newest pass of each stage below, by the
    /// candidate's own identity; and its newest failure.
    fn candidate_lane(&self, passes: &[OwnedPass], matrix: &[MatrixFact]) -> Result<LaneFacts, ReadLedgerError> {
        let Candidate { engine, source_id, model } = self.candidate;
        let identity = EngineIdentity { source_id: source_id.clone(), model: model.clone() };
        let mut bundles: Vec<BundleFacts> = passes.iter().map(|pass| pass.bundle.clone()).collect();
        for stage in below(Stage::OWNED_REPOSITORY) {
            let newest = self.newest_pass(engine, Purpose::Governed, stage, Some(&identity))?;
            bundles.extend(newest.map(|(_, bundle)| bundle));
        }
        for stage in below(Stage::CANDIDATE_DEFAULT) {
            bundles.extend(self.newest_failure(engine, stage, &identity)?);
        }
        if engine == FAKE {
            bundles.extend(self.read_matrix(matrix)?);
        }
        let missing = format!("no verified governed pass of {engine} as {source_id}");
        Ok(LaneFacts { engine: engine.clone(), bundles, missing })
    }

    /// The newest pass of each stage, of whatever source and model; of the fake engine also
    /// the rows of the matrix.
    fn other_lane(&self, engine: &str, matrix: &[MatrixFact]) -> Result<LaneFacts, ReadLedgerError> {
        let purposes =
            if engine == FAKE { &[Purpose::Governed, Purpose::Validation][..] } else { &[Purpose::Governed] };
        let mut bundles = Vec::new();
        for stage in below(Stage::CANDIDATE_DEFAULT) {
            for purpose in purposes {
                bundles.extend(self.newest_of_any(engine, *purpose, stage)?);
            }
        }
        if engine == FAKE {
            bundles.extend(self.read_matrix(matrix)?);
        }
        Ok(LaneFacts { engine: engine.to_owned(), bundles, missing: self.describe_missing(engine) })
    }

    /// Bundles of the matrix, which show that failures are closed.
    fn read_matrix(&self, matrix: &[MatrixFact]) -> Result<Vec<BundleFacts>, ReadLedgerError> {
        let mut bundles = Vec::new();
        for cited in matrix.iter().filter_map(|row| row.bundle.as_ref()) {
            if let ledger::FoundRuns::One(row) = self.source.ledger.run_find(cited.run_id.as_str())? {
                bundles.extend(self.verify(&row).and_then(|bundle| BundleFacts::read_bundle(&bundle)));
            }
        }
        Ok(bundles)
    }

    fn describe_missing(&self, engine: &str) -> String {
        let admission = self.harness.engines.find_engine(engine).map(|_| self.admission_of(engine));
        match admission {
            _ if engine == FAKE => "no verified pass of fake in this ledger; cto matrix makes some".to_owned(),
            None => format!("engine {engine} is not known here"),
            Some(FoundRecord::Record { .. }) => {
                format!("{engine} is admitted, and no verified pass of it is in this ledger")
            }
            Some(_) => format!("{engine} is not admitted here, and no verified pass of it is in this ledger"),
        }
    }

    /// The newest pass of whatever identity, in the order of the ledger.
    fn newest_of_any(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
    ) -> Result<Option<BundleFacts>, ReadLedgerError> {
        let known = self.source.ledger.rung_identities(engine, purpose, stage)?.into_iter().map(Some);
        let mut newest: Option<(u64, BundleFacts)> = None;
        for identity in known.chain([None]) {
            let found = self.newest_pass(engine, purpose, stage, identity.as_ref())?;
            newest = newest.into_iter().chain(found).max_by_key(|(seq, _)| *seq);
        }
        Ok(newest.map(|(_, bundle)| bundle))
    }

    fn newest_pass(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        identity: Option<&EngineIdentity>,
    ) -> Result<Option<(u64, BundleFacts)>, ReadLedgerError> {
        let runs = RungRuns { engine, purpose, stage, identity, of: RungPart::Passes };
        find_newest(self.source.ledger, &runs, |row| Some((row.seq, self.read_facts(row)?)))
    }

    fn newest_failure(
        &self,
        engine: &str,
        stage: Stage,
        identity: &EngineIdentity,
    ) -> Result<Option<BundleFacts>, ReadLedgerError> {
        let (purpose, identity) = (Purpose::Governed, Some(identity));
        let runs = RungRuns { engine, purpose, stage, identity, of: RungPart::All };
        find_newest(self.source.ledger, &runs, |row| is_failure(row).then(|| self.read_facts(row)).flatten())
    }

    fn read_facts(&self, row: &RunRow) -> Option<BundleFacts> {
        self.verify(row).and_then(|bundle| BundleFacts::read_bundle(&bundle))
    }

    /// Each row of the fail-closed matrix with a bundle of this very build that shows it.
    fn gather_matrix(&self) -> Result<Vec<MatrixFact>, ReadLedgerError> {
        let mut rows = Vec::new();
        for (fixture, reason) in FAILURE_MATRIX {
            let bundle = match reason {
                Reason::ApprovalDenied => self.find_denial()?,
                _ => self.find_failure(fixture, *reason)?,
            };
            let rationale = (*reason == Reason::ApprovalDenied).then_some(NO_DENIAL);
            rows.push(MatrixFact { fixture, reason: *reason, bundle, rationale });
        }
        Ok(rows)
    }

    fn find_failure(&self, fixture: &str, reason: Reason) -> Result<Option<CitedBundle>, ReadLedgerError> {
        let Ok(task_id) = TaskId::try_from(format!("fail-{fixture}")) else { return Ok(None) };
        let filter = RunFilter { task_id: Some(task_id), engine: Some(FAKE.to_owned()), ..RunFilter::default() };
        self.find_closed(&filter, reason)
    }

    fn find_denial(&self) -> Result<Option<CitedBundle>, ReadLedgerError> {
        let engine = Some(self.candidate.engine.clone());
        let filter = RunFilter { status: Some(RunStatus::Blocked), engine, ..RunFilter::default() };
        self.find_closed(&filter, Reason::ApprovalDenied)
    }

    /// The newest run that this build closed for a reason.
    fn find_closed(&self, filter: &RunFilter, reason: Reason) -> Result<Option<CitedBundle>, ReadLedgerError> {
        find_newest_of(self.source.ledger, filter, |row| self.read_closed(row, reason))
    }

    fn read_closed(&self, row: &RunRow, reason: Reason) -> Option<CitedBundle> {
        let has_reason = row.reasons.iter().any(|found| found.known() == Some(reason));
        if !has_reason || !self.claims_this_build(row) {
            return None;
        }
        let bundle = self.verify(row)?;
        let report = bundle.report();
        let is_shown = report.host.harness_sha256 == self.harness.host.harness_sha256
            && report.status != Status::Pass
            && report.kind.is_none();
        let (run_id, attestation_sha256) = (report.run_id.clone(), bundle.attestation_sha256());
        is_shown.then_some(CitedBundle { run_id, attestation_sha256 })
    }

    /// True if a report says that this build made it. There may be many of earlier builds,
    /// and verifying one costs far more than to look: a report that is wrong about its
    /// build does not verify anyway.
    fn claims_this_build(&self, row: &RunRow) -> bool {
        #[derive(Deserialize)]
        struct Claimed {
            host: ClaimedHost,
        }
        #[derive(Deserialize)]
        struct ClaimedHost {
            harness_sha256: Digest,
        }
        let file = self.source.bundles.bundle_dir(&row.run_id).join(names::REPORT);
        let claimed = own_files::read_file(file).ok().and_then(|bytes| serde_json::from_slice::<Claimed>(&bytes).ok());
        claimed.is_some_and(|claimed| claimed.host.harness_sha256 == self.harness.host.harness_sha256)
    }

    fn admission_of(&self, engine: &str) -> FoundRecord<SourceAdmission> {
        let signers = RecordSigners::read_allowed(&self.harness.records, self.now);
        load_source_admission(&self.harness.records, engine, &signers)
    }

    /// The admission of the candidate's source beside the source that its passes were made by.
    fn judge_admission(&self, passes: &[OwnedPass]) -> (SourceFreshness, String) {
        let Candidate { engine, source_id, .. } = self.candidate;
        if engine == FAKE {
            return (SourceFreshness::Current, "the fake engine is part of the harness".to_owned());
        }
        let tree = passes.first().and_then(|pass| pass.engine.tree_sha256);
        let admission = self.admission_of(engine);
        let staleness = match passes {
            [] => Some("there is no accepted pass of stage 5 to compare its admission with".to_owned()),
            _ => gate::engine::find_staleness(&admission, Stage::OWNED_REPOSITORY, self.now, source_id, tree),
        };
        match staleness {
            None => (SourceFreshness::Current, format!("{source_id} is admitted now, and the passes are of it")),
            Some(why) => (SourceFreshness::Stale, why),
        }
    }
}

/// Stages that start an engine, below this one, highest first.
fn below(stage: Stage) -> impl Iterator<Item = Stage> {
    let lowest = Stage::ARTIFICIAL_FIXTURE.number();
    (lowest..stage.number()).rev().filter_map(|number| Stage::try_from(number).ok())
}

fn is_failure(row: &RunRow) -> bool {
    matches!(row.status, RunStatus::Fail | RunStatus::Blocked)
}
