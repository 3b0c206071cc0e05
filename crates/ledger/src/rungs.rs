//! Runs by their task, and by the rung that they speak for: engine, purpose, stage and identity, each list a
//! range of one index. Newest means last in the ledger, whatever the clocks said.

use contract::{Purpose, Stage};

use crate::read::ReadLedgerError;
use crate::runs::{EngineIdentity, IdentifiedRun, RunRow, RungRuns, TaskRuns};
use crate::store::Ledger;

impl Ledger {
    /// Runs of a rung, newest first: all, or those started before this entry.
    pub fn rung_runs(
        &self,
        rung: &RungRuns<'_>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RunRow>, ReadLedgerError> {
        Ok(self.store.rung_runs(rung, before, limit)?)
    }

    /// Runs of a task, newest first: all, or those started before this entry.
    pub fn task_runs(
        &self,
        task: TaskRuns<'_>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RunRow>, ReadLedgerError> {
        Ok(self.store.task_runs(task, before, limit)?)
    }

    /// Identities under which an engine was run at a stage, in the order of their names.
    /// Each costs one look-up, however many runs it has.
    pub fn rung_identities(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
    ) -> Result<Vec<EngineIdentity>, ReadLedgerError> {
        let mut found: Vec<EngineIdentity> = Vec::new();
        while let Some(next) = self.store.next_identity(engine, purpose, stage, found.last())? {
            found.push(next);
        }
        Ok(found)
    }

    /// Passes of an engine at a stage whose bundles were not collected, of any identity,
    /// newest first.
    pub fn stage_passes(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        limit: usize,
    ) -> Result<Vec<RunRow>, ReadLedgerError> {
        Ok(self.store.stage_passes(engine, purpose, stage, limit)?)
    }

    /// The newest run of an engine with each model, by runs whose engine was identified, in
    /// the order of the models' names. Each costs two look-ups, however many runs it has.
    pub fn engine_models(&self, engine: &str, purpose: Purpose) -> Result<Vec<IdentifiedRun>, ReadLedgerError> {
        let mut found: Vec<IdentifiedRun> = Vec::new();
        while let Some(next) = self.store.next_model(engine, purpose, found.last().map(|last| &last.identity))? {
            found.push(next);
        }
        Ok(found)
    }

    /// Governed passes from stage 5 on without a signed outcome, newest first.
    pub fn runs_unanswered(&self, limit: usize) -> Result<Vec<RunRow>, ReadLedgerError> {
        Ok(self.store.unanswered_runs(limit)?)
    }
}
