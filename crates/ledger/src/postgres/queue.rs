//! The queue. A run is claimed by one function of the schema; every other step is made by the entry that says so.

use std::time::Duration;

use contract::{RunId, Stage, Stamp};
use postgres::Row;
use serde_json::{Value, json};

use super::PostgresStore;
use super::column::{as_written, limit, number_column, signed_number, typed_column, typed_or_null, unreadable_column};
use crate::fault::StoreResult;
use crate::queue::{ClaimAsk, QueueState, QueueTurn, QueuedRun};

const FIND: &str = "SELECT * FROM cto.find_queue($1::TEXT::JSONB)";

impl PostgresStore {
    /// The server's clock; the caller's may be wrong.
    pub(crate) fn read_clock(&self, _now: Stamp) -> StoreResult<Stamp> {
        let text: String = self.ask_value("SELECT cto.queue_clock(0)", &[])?;
        text.parse().map_err(|_| unreadable_column("clock"))
    }

    /// Row of a run in the queue, in any state.
    pub(crate) fn read_queued(&self, run_id: &RunId) -> StoreResult<Option<QueuedRun>> {
        Ok(self.find_queued(&json!({"run_id": run_id}))?.pop())
    }

    /// Rows of the queue in the order in which they are taken; with `ended`, those that ended follow.
    pub(crate) fn list_queued(&self, ended: bool, most: usize) -> StoreResult<Vec<QueuedRun>> {
        let mut asked = json!({"limit": limit(most)});
        if ended {
            asked["ended"] = json!(true);
        }
        self.find_queued(&asked)
    }

    fn find_queued(&self, asked: &Value) -> StoreResult<Vec<QueuedRun>> {
        self.ask(FIND, &[&asked.to_string()])?.iter().map(from_row).collect()
    }

    /// One statement and no lock of the ledger: workers that claim at once each get another run. Where the answer is lost with the
    /// connection, the claim lapses and the run is queued again.
    pub(crate) fn claim_queued(&self, ask: &ClaimAsk) -> StoreResult<Option<QueuedRun>> {
        let asked = written_ask(ask).to_string();
        let rows = self.ask("SELECT * FROM cto.queue_claim($1::TEXT::JSONB)", &[&asked])?;
        rows.first().map(from_row).transpose()
    }

    /// The database has made the row with the entry; this compares it.
    pub(crate) fn insert_queued(&self, run: &QueuedRun) -> StoreResult<()> {
        let made = self.read_queued(&run.run_id)?;
        let (submitted_at, not_before) = (as_written(run.submitted_at), run.not_before.map(as_written));
        let same = made == Some(QueuedRun { submitted_at, not_before, ..run.clone() });
        if same { Ok(()) } else { Err(unreadable_column("the row of the queue")) }
    }

    /// Inserts the row of another ledger as it is.
    pub(crate) fn copy_queued(&self, run: &QueuedRun) -> StoreResult<()> {
        let row = serde_json::to_string(run).map_err(|_| unreadable_column("the row of the queue"))?;
        self.ask("SELECT cto.copy_queued($1::TEXT::JSON)", &[&row])?;
        Ok(())
    }

    /// The database has changed the row with the entry, or does so with the next.
    pub(crate) fn put_turn(&self, _run_id: &RunId, _turn: &QueueTurn, _started: Option<Stamp>) -> StoreResult<()> {
        Ok(())
    }

    /// A number that is another after the queue has changed. The server tells; nothing is asked of it.
    pub(crate) fn queue_mark(&self) -> StoreResult<u64> {
        let stirred = self.with_link(|link| {
            if !link.is_listening {
                link.run("LISTEN cto_queue")?;
                link.is_listening = true;
                // Something may have happened before.
                return Ok(true);
            }
            link.has_notice()
        })?;
        self.stirs.set(self.stirs.get() + u64::from(stirred));
        Ok(self.stirs.get())
    }

    /// The longest time for which a worker that found nothing need not ask again, unless the server tells of a change.
    pub(crate) fn queue_pause(&self, most: Duration) -> StoreResult<Duration> {
        let due: Option<f64> = self.ask_value("SELECT cto.queue_due()", &[])?;
        Ok(due.map_or(most, |seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default().min(most)))
    }

    /// Ends a claim early; the database takes no later end than the claim has.
    pub(crate) fn shorten_claim(&self, run_id: &RunId, turn: &QueueTurn) -> StoreResult<()> {
        let (epoch, until) = (signed_number(turn.epoch)?, turn.lease_until.map(|until| until.to_string()));
        self.ask("SELECT cto.queue_shorten($1, $2, $3)", &[&run_id.as_str(), &epoch, &until])?;
        Ok(())
    }
}

/// The question as the function reads it: a key that is not there asks for nothing.
fn written_ask(ask: &ClaimAsk) -> Value {
    let mut asked =
        json!({"labels": ask.labels, "lease_seconds": ask.lease.as_secs_f64(), "owner": ask.owner.to_string()});
    if let Some(engines) = &ask.engines {
        asked["engines"] = json!(engines);
    }
    if !ask.limits.engines.is_empty() {
        asked["engine_limits"] = json!(ask.limits.engines);
    }
    if let Some(most) = ask.limits.workspace {
        asked["workspace_limit"] = json!(most);
    }
    if let Some(most) = ask.limits.day {
        asked["day_limit"] = json!(most);
    }
    asked
}

fn from_row(row: &Row) -> StoreResult<QueuedRun> {
    let (stage, labels, state): (i16, String, String) = (row.try_get(5)?, row.try_get(11)?, row.try_get(12)?);
    let stage = u8::try_from(stage).ok().and_then(|stage| Stage::try_from(stage).ok());
    let state = QueueState::ALL.into_iter().find(|known| known.as_str() == state);
    Ok(QueuedRun {
        run_id: typed_column(row, 0, "run_id")?,
        seq: number_column(row, 1, "seq")?,
        submitted_at: typed_column(row, 2, "submitted_at")?,
        task_id: typed_column(row, 3, "task_id")?,
        engine: row.try_get(4)?,
        stage: stage.ok_or_else(|| unreadable_column("stage"))?,
        workspace: row.try_get(6)?,
        target_key: row.try_get(7)?,
        priority: row.try_get(8)?,
        after: typed_or_null(row, 9, "after_run")?,
        not_before: typed_or_null(row, 10, "not_before")?,
        labels: serde_json::from_str(&labels).map_err(|_| unreadable_column("labels"))?,
        state: state.ok_or_else(|| unreadable_column("state"))?,
        epoch: number_column(row, 13, "epoch")?,
        owner: typed_or_null(row, 14, "owner")?,
        lease_until: typed_or_null(row, 15, "lease_until")?,
        started_at: typed_or_null(row, 16, "started_at")?,
        stopping: row.try_get(17)?,
    })
}
