//! The runs of a rung, newest first, a page at a time. Newest means last in the ledger: a clock
//! that was wrong hides no failure.

use std::collections::VecDeque;

use contract::{Purpose, Stage};
use evidence::stop;
use ledger::{EngineIdentity, Ledger, ReadLedgerError, RunRow, RunStatus, RungPart, RungRuns};

use super::count::counts_against;

/// Runs that are read from the ledger at first; each later page is twice as long as the one before.
pub(super) const PAGE: usize = 32;
const LARGEST_PAGE: usize = 1024;

/// Governed runs of an engine at a stage, newest first: those of an identity, and those
/// whose identity the ledger does not know.
#[derive(Clone)]
pub(super) struct RungWalk<'a> {
    ledger: &'a Ledger,
    lanes: [WalkLane<'a>; 2],
}

impl<'a> RungWalk<'a> {
    /// Walk over the runs of one identity, and of runs whose identity the ledger does not
    /// have.
    pub(super) fn new(ledger: &'a Ledger, engine: &'a str, stage: Stage, identity: &'a EngineIdentity) -> Self {
        let lane = |identity| WalkLane::new(engine, stage, identity, RungPart::All);
        Self { ledger, lanes: [lane(Some(identity)), lane(None)] }
    }

    /// Next older run; none at the end.
    pub(super) fn next_row(&mut self) -> Result<Option<RunRow>, ReadLedgerError> {
        for lane in &mut self.lanes {
            lane.fill(self.ledger)?;
        }
        let [known, unknown] = &mut self.lanes;
        let place = |lane: &WalkLane<'_>| lane.page.front().map(|row| row.seq);
        let newer = if place(known) >= place(unknown) { known } else { unknown };
        Ok(newer.page.pop_front())
    }

    /// Leaves out, from here on, passes and outages whose bundles were collected: they count
    /// for nothing, and there may be very many.
    pub(super) fn pass_over_collected(&mut self) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.runs.of == RungPart::All) {
            lane.runs.of = RungPart::Weighty;
            lane.page.retain(|row| row.collected_seq.is_none() || is_failure(row));
        }
    }

    /// The same walk from here on over the runs alone that may decide a rung whose evidence
    /// is whole: passes and failures, and no outages.
    pub(super) fn over_deciding(&self) -> Self {
        let mut walk = self.clone();
        for lane in &mut walk.lanes {
            lane.runs.of = RungPart::Deciding;
            let is_pass = |row: &RunRow| row.status == RunStatus::Pass && row.collected_seq.is_none();
            lane.page.retain(|row| is_pass(row) || is_failure(row));
        }
        walk
    }
}

/// Runs of one identity, or of none that the ledger knows.
#[derive(Clone)]
pub(super) struct WalkLane<'a> {
    runs: RungRuns<'a>,
    page: VecDeque<RunRow>,
    before: Option<u64>,
    next_page: usize,
    is_over: bool,
}

impl<'a> WalkLane<'a> {
    /// Walk over one part of a rung's runs.
    pub(super) fn new(engine: &'a str, stage: Stage, identity: Option<&'a EngineIdentity>, of: RungPart) -> Self {
        let is_defective = stop::has_defect("validation_counted");
        let purpose = if is_defective { Purpose::Validation } else { Purpose::Governed };
        let runs = RungRuns { engine, purpose, stage, identity, of };
        Self { runs, page: VecDeque::new(), before: None, next_page: PAGE, is_over: false }
    }

    /// Next older run of this part; none at the end.
    pub(super) fn next_row(&mut self, ledger: &Ledger) -> Result<Option<RunRow>, ReadLedgerError> {
        self.fill(ledger)?;
        Ok(self.page.pop_front())
    }

    fn fill(&mut self, ledger: &Ledger) -> Result<(), ReadLedgerError> {
        if self.is_over || !self.page.is_empty() {
            return Ok(());
        }
        self.page = ledger.rung_runs(&self.runs, self.before, self.next_page)?.into();
        self.is_over = self.page.len() < self.next_page;
        self.next_page = LARGEST_PAGE.min(self.next_page * 2);
        if let Some(row) = self.page.back() {
            self.before = Some(row.seq);
        }
        Ok(())
    }
}

/// True for a failure that may count against a rung, as the ledger's own lists of runs have it.
fn is_failure(row: &RunRow) -> bool {
    row.status == RunStatus::Fail || counts_against(row)
}
