//! Runs by the rung that they speak for.

use contract::{Purpose, Stage};
use serde_json::{Value, json};

use super::PostgresStore;
use super::column::limit;
use super::runs::written_model;
use crate::fault::StoreResult;
use crate::runs::{EngineIdentity, IdentifiedRun, RunPlace, RunRow, RungPart, RungRuns};

impl PostgresStore {
    /// Runs of a rung, newest first, a page at a time.
    pub(crate) fn rung_runs(
        &self,
        rung: &RungRuns<'_>,
        after: Option<RunPlace>,
        most: usize,
    ) -> StoreResult<Vec<RunRow>> {
        let mut asked = of_stage(rung.engine, rung.purpose, rung.stage);
        asked["limit"] = json!(limit(most));
        match rung.identity {
            Some(identity) => {
                asked["source_id"] = json!(identity.source_id);
                asked["model"] = json!(written_model(identity));
            }
            None => asked["no_identity"] = json!(true),
        }
        match rung.of {
            RungPart::All => {}
            RungPart::Weighty => asked["weighty"] = json!(true),
            RungPart::Passes => asked["passes"] = json!(true),
        }
        if let Some(RunPlace { started_at, seq }) = after {
            asked["before"] = json!(started_at);
            asked["before_seq"] = json!(seq);
        }
        self.find_runs(&asked)
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
        asked["limit"] = json!(limit(most));
        self.find_runs(&asked)
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
        let identified = |order: &str, key: &str, model: &str| {
            self.find_runs(&json!({
                "engine": engine, "purpose": purpose.as_str(), "identified": true, "order": order, key: model, "limit": 1,
            }))
        };
        // No model is the empty text, which comes first.
        let next = match after {
            Some(last) => identified("model", "after_model", &written_model(last))?,
            None => identified("model", "from_model", "")?,
        };
        let Some(identity) = next.first().and_then(|run| run.identity.as_ref()) else { return Ok(None) };
        let newest = identified("newest", "of_model", &written_model(identity))?.pop();
        Ok(newest.and_then(|run| run.identity.map(|identity| IdentifiedRun { identity, started_at: run.started_at })))
    }

    /// Passes that wait for an operator's outcome, newest first.
    pub(crate) fn unanswered_runs(&self, most: usize) -> StoreResult<Vec<RunRow>> {
        self.find_runs(&json!({"unanswered": true, "order": "newest", "limit": limit(most)}))
    }
}

/// Runs of an engine at a stage, newest first.
fn of_stage(engine: &str, purpose: Purpose, stage: Stage) -> Value {
    json!({"engine": engine, "purpose": purpose.as_str(), "stage": stage.number(), "order": "newest"})
}
