//! The runs of a rung, newest first, a page at a time.

use std::collections::VecDeque;

use contract::{Purpose, Stage};
use ledger::{EngineIdentity, Ledger, ReadLedgerError, RunPlace, RunRow, RunStatus, RungPart, RungRuns};

/// Runs that are read from the ledger at a time.
pub(super) const PAGE: usize = 32;

/// Governed runs of an engine at a stage, newest first: those of an identity, and those
/// whose identity the ledger does not know.
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
        let place = |lane: &WalkLane<'_>| lane.page.front().map(|row| (row.started_at, row.seq));
        let newer = if place(known) >= place(unknown) { known } else { unknown };
        Ok(newer.page.pop_front())
    }

    /// Leaves out, from here on, passes whose bundles were collected: they count for
    /// nothing, and there may be very many.
    pub(super) fn pass_over_collected(&mut self) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.runs.of == RungPart::All) {
            lane.runs.of = RungPart::Weighty;
            lane.page.retain(|row| row.status != RunStatus::Pass || row.collected_seq.is_none());
        }
    }
}

/// Runs of one identity, or of none that the ledger knows.
pub(super) struct WalkLane<'a> {
    runs: RungRuns<'a>,
    page: VecDeque<RunRow>,
    after: Option<RunPlace>,
    is_over: bool,
}

impl<'a> WalkLane<'a> {
    /// Walk over one part of a rung's runs.
    pub(super) fn new(engine: &'a str, stage: Stage, identity: Option<&'a EngineIdentity>, of: RungPart) -> Self {
        let runs = RungRuns { engine, purpose: Purpose::Governed, stage, identity, of };
        Self { runs, page: VecDeque::new(), after: None, is_over: false }
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
        self.page = ledger.rung_runs(&self.runs, self.after, PAGE)?.into();
        self.is_over = self.page.len() < PAGE;
        if let Some(row) = self.page.back() {
            self.after = Some(RunPlace { started_at: row.started_at, seq: row.seq });
        }
        Ok(())
    }
}
