//! One rung: the walk over its runs, newest first, until it is decided.

use contract::engine::{RungFact, RungLack};
use contract::{Digest, RunId, Stage};
use ledger::{Ledger, ReadLedgerError, RunRow, RunStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::count::{RungRun, Weighed, weigh_run};
use super::evidence::RunEvidence;
use super::gap::RungGap;
use super::other::find_other;
use super::terms::RungIdentity;
use super::walk::RungWalk;

/// State of a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RungStatus {
    NotStarted,
    Blocked,
    Validated,
    /// Proof exists for another identity.
    Stale,
}

impl RungStatus {
    /// Every value, in order.
    pub const ALL: [Self; 4] = [Self::Validated, Self::Blocked, Self::Stale, Self::NotStarted];

    /// Spelling in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Blocked => "blocked",
            Self::Validated => "validated",
            Self::Stale => "stale",
        }
    }

    /// Name of the status for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotStarted => "not started",
            other => other.as_str(),
        }
    }
}

/// A bundle that a rung rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RungProof {
    pub run_id: RunId,
    pub attestation_sha256: Option<Digest>,
}

/// One rung of a ladder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rung {
    pub stage: Stage,
    pub status: RungStatus,
    /// The part of its proof that is missing; `None` for a validated rung.
    #[serde(skip)]
    pub gap: Option<RungGap>,
    /// Newest first.
    pub bundles: Vec<RungProof>,
    /// Runs since the last demotion and the run that demoted it, newest first.
    pub runs: Vec<RungRun>,
    /// True if older ones are not listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub older_runs: bool,
    /// Runs whose bundles decided it, the failures among them that a bundle clears.
    #[serde(skip)]
    pub(super) rests_on: Vec<RunId>,
}

impl Rung {
    /// Rung without any run.
    pub(crate) fn not_started(stage: Stage) -> Self {
        Self::new(stage, RungStatus::NotStarted, Some(RungGap::NoPass))
    }

    /// Rung that a gap blocks.
    pub(super) fn blocked_by(stage: Stage, gap: RungGap) -> Self {
        Self::new(stage, RungStatus::Blocked, Some(gap))
    }

    fn new(stage: Stage, status: RungStatus, gap: Option<RungGap>) -> Self {
        Self { stage, status, gap, bundles: Vec::new(), runs: Vec::new(), older_runs: false, rests_on: Vec::new() }
    }

    /// The fact that gates see.
    pub fn into_fact(self) -> RungFact {
        let stage = self.stage;
        match (self.status, self.bundles.first(), self.gap) {
            (RungStatus::Validated, Some(proof), _) => RungFact::Validated { stage, run_id: proof.run_id.to_string() },
            (_, _, Some(gap)) => gap.into_fact(stage),
            (_, _, None) => RungFact::NotStarted { stage },
        }
    }
}

/// Terms of one walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) required: u32,
    /// Runs to list at most.
    pub(super) listed: usize,
    /// Runs to look at before older outages are passed over where no pass would count anyway.
    pub(super) searched: usize,
}

impl Terms {
    /// Terms of a ladder: a bounded list, and a bounded search where nothing is earned.
    pub(super) const fn bounded(required: u32, listed: usize) -> Self {
        Self { required, listed, searched: SEARCHED }
    }

    /// Terms of an explanation: every run.
    pub(super) const fn whole(required: u32) -> Self {
        Self { required, listed: usize::MAX, searched: usize::MAX }
    }
}

/// The runs of the first two pages.
const SEARCHED: usize = 96;

/// The rung of a stage below 6.
pub(super) fn compute_lower_rung(
    ledger: &Ledger,
    evidence: &impl RunEvidence,
    identity: RungIdentity<'_>,
    stage: Stage,
    terms: Terms,
) -> Result<Rung, ReadLedgerError> {
    let wanted = identity.of_engine();
    let mut walk = RungWalk::new(ledger, identity.engine, stage, &wanted);
    let take_row = |tally: &mut Tally, row: &RunRow| -> Result<(), ReadLedgerError> {
        if tally.is_decided() && row.status == RunStatus::Pass && terms.listed != usize::MAX {
            tally.list_told(row);
        } else {
            tally.take_run(row, weigh_run(evidence, row, &wanted)?);
        }
        Ok(())
    };
    let mut tally = tally_runs(&mut walk, terms, Tally::of_terms(terms), take_row)?;
    if !tally.is_decided() && tally.proofs.is_empty() && tally.other.is_none() {
        tally.other = find_other(ledger, evidence, identity, stage)?;
    }
    tally.older |= !tally.is_demoted && walk.next_row()?.is_some();
    Ok(tally.into_rung(stage))
}

/// Takes the runs of a walk until the rung is decided and enough of them are listed.
pub(super) fn tally_runs(
    walk: &mut RungWalk<'_>,
    terms: Terms,
    mut tally: Tally,
    take_row: impl Fn(&mut Tally, &RunRow) -> Result<(), ReadLedgerError>,
) -> Result<Tally, ReadLedgerError> {
    let mut looked_at: usize = 0;
    while tally.goes_on() {
        if tally.is_full() {
            walk.pass_over_collected();
        }
        if looked_at == terms.searched
            && let Some(unearned) = find_unearned(walk, &tally, &take_row)?
        {
            return Ok(unearned);
        }
        let Some(row) = walk.next_row()? else { break };
        take_row(&mut tally, &row)?;
        looked_at += 1;
    }
    Ok(tally)
}

/// The result of the older passes and failures, if it is nothing earned: then no outage between
/// them could change that, and there may be very many. A rung that they would earn rests on every
/// bundle since, so each of them is looked for.
fn find_unearned(
    walk: &RungWalk<'_>,
    tally: &Tally,
    take_row: &impl Fn(&mut Tally, &RunRow) -> Result<(), ReadLedgerError>,
) -> Result<Option<Tally>, ReadLedgerError> {
    let (mut walk, mut tally) = (walk.over_deciding(), tally.clone());
    while !tally.is_decided() {
        let Some(row) = walk.next_row()? else { break };
        take_row(&mut tally, &row)?;
    }
    tally.older = true;
    Ok((!tally.is_earned()).then_some(tally))
}

/// Interim result of a walk.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    required: u32,
    /// Runs to list at most.
    listed: usize,
    proofs: Vec<RungProof>,
    /// The newest pass without an outcome, where no pass that counts is newer.
    waiting: Option<RunId>,
    /// The newest pass that no other worker has verified again.
    uncountersigned: Option<RunId>,
    gap: Option<RungGap>,
    /// The newest pass of another identity.
    pub(super) other: Option<RungGap>,
    runs: Vec<RungRun>,
    pub(super) is_demoted: bool,
    pub(super) older: bool,
    pub(super) rests_on: Vec<RunId>,
}

impl Tally {
    /// Asks for at least one pass, and lists no more runs than asked.
    pub(super) fn of_terms(terms: Terms) -> Self {
        Self { required: terms.required.max(1), listed: terms.listed, ..Self::default() }
    }

    fn passes(&self) -> u32 {
        u32::try_from(self.proofs.len()).unwrap_or(u32::MAX)
    }

    /// True if no older run can change the result.
    pub(super) fn is_decided(&self) -> bool {
        self.is_demoted || self.waiting.is_some() || self.passes() >= self.required
    }

    /// True if passes earn the rung, or will with an outcome, as far as was looked.
    fn is_earned(&self) -> bool {
        self.waiting.is_some() || self.passes() >= self.required
    }

    /// True if no more runs are listed.
    fn is_full(&self) -> bool {
        self.runs.len() >= self.listed
    }

    /// Up to the last demotion, and no further than is listed once the rung is decided.
    fn goes_on(&self) -> bool {
        !(self.is_demoted || self.is_decided() && self.is_full())
    }

    /// Lists a run while there is room for it.
    pub(super) fn list_run(&mut self, run: RungRun) {
        match self.is_full() {
            true => self.older = true,
            false => self.runs.push(run),
        }
    }

    /// Lists a pass by the ledger's word: the rung does not rest on it.
    fn list_told(&mut self, row: &RunRow) {
        let RunRow { run_id, task_id, status, started_at, seq, .. } = row.clone();
        let why = Some("not verified here: newer runs decide".to_owned());
        let counts = super::RunCount::NotCounted;
        self.list_run(RungRun { run_id, task_id, status, started_at, seq, counts, why });
    }

    /// Adds the next older run.
    pub(super) fn take_run(&mut self, row: &RunRow, weighed: Weighed) {
        let run_id = || row.run_id.clone();
        self.list_run(weighed.list_row(row));
        if weighed.rests_on_bundle(row) {
            self.rests_on.push(run_id());
        }
        match weighed {
            Weighed::For(_) => {
                self.proofs.push(RungProof { run_id: run_id(), attestation_sha256: row.attestation_sha256 });
            }
            Weighed::Waiting if self.proofs.is_empty() && self.waiting.is_none() => self.waiting = Some(run_id()),
            Weighed::Against(lack) => {
                self.is_demoted = true;
                self.gap = Some(match lack {
                    Some(lack) => RungGap::Lack { run_id: run_id(), lack },
                    None => RungGap::NotPassed { run_id: run_id(), status: row.status, reasons: row.reasons.clone() },
                });
            }
            Weighed::Other(proven_for, why) if row.status == RunStatus::Pass && self.other.is_none() => {
                self.other = Some(RungGap::OtherIdentity { run_id: run_id(), proven_for, why });
            }
            Weighed::Uncountersigned if self.uncountersigned.is_none() => self.uncountersigned = Some(run_id()),
            Weighed::Waiting | Weighed::Uncountersigned | Weighed::Other(..) | Weighed::Nothing(_) => {}
        }
    }

    /// Final state of the rung.
    pub(super) fn into_rung(self, stage: Stage) -> Rung {
        let (passes, required) = (self.passes(), self.required);
        let newest = self.proofs.first().map(|proof| proof.run_id.clone());
        let lacking = self.uncountersigned.map(|run_id| RungGap::Lack { run_id, lack: RungLack::SingleWorkerEvidence });
        let (status, gap) = match (self.waiting, newest, self.gap.or(lacking), self.other) {
            (Some(run_id), ..) => {
                let lack = RungLack::MissingOperatorOutcome;
                (RungStatus::Blocked, Some(RungGap::Lack { run_id, lack }))
            }
            (None, Some(_), ..) if passes >= required => (RungStatus::Validated, None),
            (None, Some(run_id), ..) => {
                let lack = RungLack::MorePasses { passes, required };
                (RungStatus::Blocked, Some(RungGap::Lack { run_id, lack }))
            }
            (None, None, Some(gap), _) => (RungStatus::Blocked, Some(gap)),
            (None, None, None, Some(other)) => (RungStatus::Stale, Some(other)),
            (None, None, None, None) => (RungStatus::NotStarted, Some(RungGap::NoPass)),
        };
        let bundles = if status == RungStatus::Validated { self.proofs } else { Vec::new() };
        let (runs, older_runs, rests_on) = (self.runs, self.older, self.rests_on);
        Rung { bundles, runs, older_runs, rests_on, ..Rung::new(stage, status, gap) }
    }
}
