//! Runs by the rung that they speak for.

use contract::{Purpose, Stage};
use serde_json::{Value, json};

use super::PostgresStore;
use super::column::limit;
use super::runs::written_model;
use super::schema::WITH_ENTRY_ORDER;
use crate::fault::StoreResult;
use crate::runs::{EngineIdentity, IdentifiedRun, RunRow, RungPart, RungRuns, TaskRuns};

impl PostgresStore {
    /// Runs of a rung, newest first: those that were started before this entry.
    pub(crate) fn rung_runs(&self, rung: &RungRuns<'_>, before: Option<u64>, most: usize) -> StoreResult<Vec<RunRow>> {
        let mut asked = of_stage(rung.engine, rung.purpose, rung.stage);
        match rung.identity {
            Some(identity) => {
                asked["source_id"] = json!(identity.source_id);
                asked["model"] = json!(written_model(identity));
            }
            None => asked["no_identity"] = json!(true),
        }
        match rung.of {
            RungPart::All => {}
            RungPart::Weighty => asked["weighing"] = json!(true),
            RungPart::Deciding => asked["deciding"] = json!(true),
            RungPart::Passes => asked["passes"] = json!(true),
        }
        self.latest_runs(asked, before, most)
    }

    /// Runs of a task, newest first: those that were started before this entry.
    pub(crate) fn task_runs(&self, task: TaskRuns<'_>, before: Option<u64>, most: usize) -> StoreResult<Vec<RunRow>> {
        let mut asked = json!({"task_id": task.task_id});
        if let Some(engine) = task.engine {
            asked["engine"] = json!(engine);
        }
        self.latest_runs(asked, before, most)
    }

    /// Passes at a stage, newest first.
    pub(crate) fn stage_passes(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        most: usize,
    ) -> StoreResult<Vec<RunRow>> {
        let mut asked = of_stage(engine, purpose, stage);
        asked["passes"] = json!(true);
        self.latest_runs(asked, None, most)
    }

    /// First identity of an engine at a stage that comes after this one.
    pub(crate) fn next_identity(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        after: Option<&EngineIdentity>,
    ) -> StoreResult<Option<EngineIdentity>> {
        let mut asked = of_stage(engine, purpose, stage);
        asked["order"] = json!("identity");
        asked["limit"] = json!(1);
        asked["identity_after"] = json!(after.map(|identity| identity.source_id.as_str()).unwrap_or_default());
        asked["model_after"] = json!(after.map(written_model).unwrap_or_default());
        Ok(self.find_runs(&asked)?.pop().and_then(|run| run.identity))
    }

    /// Newest identified run with the first model after that of this identity.
    pub(crate) fn next_model(
        &self,
        engine: &str,
        purpose: Purpose,
        after: Option<&EngineIdentity>,
    ) -> StoreResult<Option<IdentifiedRun>> {
        let identified = |key: &str, model: &str| json!({"engine": engine, "purpose": purpose.as_str(), "identified": true, "order": "model", key: model, "limit": 1});
        // No model is the empty text, which comes first.
        let next = match after {
            Some(last) => self.find_runs(&identified("after_model", &written_model(last)))?,
            None => self.find_runs(&identified("from_model", ""))?,
        };
        let Some(identity) = next.first().and_then(|run| run.identity.as_ref()) else { return Ok(None) };
        let newest = self.latest_runs(identified("of_model", &written_model(identity)), None, 1)?.pop();
        Ok(newest.and_then(|run| run.identity.map(|identity| IdentifiedRun { identity, seq: run.seq })))
    }

    /// Runs in the order of their entries, the last first. The functions of an older schema leave out conditions that
    /// they do not know, so everything is read from them and sorted here.
    fn latest_runs(&self, mut asked: Value, before: Option<u64>, most: usize) -> StoreResult<Vec<RunRow>> {
        if self.version >= WITH_ENTRY_ORDER {
            asked["order"] = json!("latest");
            asked["limit"] = json!(limit(most));
            if let Some(before) = before {
                asked["started_before"] = json!(before);
            }
            return self.find_runs(&asked);
        }
        asked["order"] = json!("seq");
        asked["limit"] = json!(limit(usize::MAX));
        let mut runs = self.find_runs(&asked)?;
        runs.retain(|run| before.is_none_or(|before| run.seq < before));
        runs.reverse();
        runs.truncate(most);
        Ok(runs)
    }

    /// Passes that wait for an operator's outcome, newest first.
    pub(crate) fn unanswered_runs(&self, most: usize) -> StoreResult<Vec<RunRow>> {
        self.find_runs(&json!({"unanswered": true, "order": "newest", "limit": limit(most)}))
    }
}

/// Runs of an engine at a stage.
fn of_stage(engine: &str, purpose: Purpose, stage: Stage) -> Value {
    json!({"engine": engine, "purpose": purpose.as_str(), "stage": stage.number()})
}
