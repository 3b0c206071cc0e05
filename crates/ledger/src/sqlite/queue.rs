//! The table of queued runs. Steps are made by the pure rules, inside of one immediate transaction; only the choice of the next run is SQL.

use std::time::Duration;

use contract::{RunId, Stamp};
use rusqlite::types::Value as Cell;
use rusqlite::{OptionalExtension as _, Row, params};
use serde_json::json;

use super::SqliteStore;
use super::column::{limit, typed_column, typed_or_null, unreadable_column};
use super::schema::WITH_QUEUE;
use crate::fault::StoreResult;
use crate::queue::{ClaimAsk, QueueState, QueueTurn, QueuedRun};

/// The longest wait of a worker for a queue in a file.
const FILE_PAUSE: Duration = Duration::from_secs(1);

/// The lease of a started run is that of a live run.
const COLUMNS: &str = "q.run_id, q.seq, q.submitted_at, q.task_id, q.engine, q.stage, q.workspace, q.target_key, q.priority, \
     q.after_run, q.not_before, q.labels, q.state, coalesce(l.epoch, q.epoch), coalesce(l.owner, q.owner), \
     coalesce(l.lease_until, q.lease_until), q.started_at, q.stopping";
const FROM: &str = "FROM queue q LEFT JOIN leases l ON l.run_id = q.run_id";

/// Runs whose turn it can be, the next one first: ?1 the time, ?2 engines, ?3 labels, ?4 limits of engines, ?5 of a workspace, ?6 of a day, ?7 the day.
const NEXT: &str = "WHERE q.state = 'queued' AND (q.not_before IS NULL OR q.not_before <= ?1)
     AND (?2 IS NULL OR q.engine IN (SELECT value FROM json_each(?2)))
     AND NOT EXISTS (SELECT 1 FROM json_each(q.labels) w WHERE w.value NOT IN (SELECT value FROM json_each(?3)))
     AND NOT EXISTS (SELECT 1 FROM queue b WHERE b.run_id = q.after_run AND b.state IN ('queued', 'claimed', 'started'))
     AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = q.after_run AND r.sealed_seq IS NULL)
     AND NOT EXISTS (SELECT 1 FROM queue t WHERE t.target_key = q.target_key AND t.state IN ('claimed', 'started'))
     AND coalesce((SELECT count(*) FROM queue e WHERE e.engine = q.engine AND e.state IN ('claimed', 'started'))
         < (SELECT value FROM json_each(?4) WHERE key = q.engine), 1)
     AND coalesce((SELECT count(*) FROM queue s WHERE s.workspace = q.workspace AND s.state IN ('claimed', 'started')) < ?5, 1)
     AND coalesce((SELECT count(*) FROM queue d WHERE d.started_at >= ?7 OR d.state = 'claimed') < ?6, 1)
     ORDER BY q.priority DESC, q.seq LIMIT 1";

impl SqliteStore {
    /// Time that leases are compared with: the caller's, since a file has no clock.
    pub(crate) fn read_clock(&self, now: Stamp) -> StoreResult<Stamp> {
        Ok(now)
    }

    /// Row of a run in the queue, in any state.
    pub(crate) fn read_queued(&self, run_id: &RunId) -> StoreResult<Option<QueuedRun>> {
        if self.version < WITH_QUEUE {
            return Ok(None);
        }
        let sql = format!("SELECT {COLUMNS} {FROM} WHERE q.run_id = ?1");
        Ok(self.connection.prepare_cached(&sql)?.query_row([run_id.as_str()], from_row).optional()?)
    }

    /// Rows of the queue in the order in which they are taken; with `ended`, those that ended follow.
    pub(crate) fn list_queued(&self, ended: bool, most: usize) -> StoreResult<Vec<QueuedRun>> {
        if self.version < WITH_QUEUE {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {COLUMNS} {FROM} WHERE ?1 OR q.state IN ('queued', 'claimed', 'started') \
             ORDER BY q.state IN ('sealed', 'cancelled'), CASE WHEN q.state IN ('sealed', 'cancelled') THEN -q.seq END, \
             q.state = 'queued', q.priority DESC, q.seq LIMIT ?2"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_map(params![ended, limit(most)], from_row)?.collect::<Result<_, _>>()?)
    }

    /// One worker at a time: the lock for writing is held from the lapse to the claim.
    pub(crate) fn claim_queued(&self, ask: &ClaimAsk) -> StoreResult<Option<QueuedRun>> {
        self.change_in_turn(|| {
            let now = ask.now.to_string();
            let lapsed = "UPDATE queue SET state = 'queued', owner = NULL, lease_until = NULL \
                          WHERE state = 'claimed' AND lease_until <= ?1";
            self.connection.prepare_cached(lapsed)?.execute([&now])?;
            let Some(run) = self.next_queued(ask, &now)? else { return Ok(None) };
            let Some(turn) = run.turn().claim_run(ask.owner, ask.now.after(ask.lease)) else { return Ok(None) };
            self.put_turn(&run.run_id, &turn, None)?;
            self.read_queued(&run.run_id)
        })
    }

    fn next_queued(&self, ask: &ClaimAsk, now: &str) -> StoreResult<Option<QueuedRun>> {
        let engines = ask.engines.as_ref().map(|engines| json!(engines).to_string());
        let limits = &ask.limits;
        let values = params![
            now,
            engines,
            json!(ask.labels).to_string(),
            json!(limits.engines).to_string(),
            limits.workspace,
            limits.day,
            now.get(..10),
        ];
        let sql = format!("SELECT {COLUMNS} {FROM} {NEXT}");
        Ok(self.connection.prepare_cached(&sql)?.query_row(values, from_row).optional()?)
    }

    /// Inserts the row of a submitted run.
    pub(crate) fn insert_queued(&self, run: &QueuedRun) -> StoreResult<()> {
        let sql = "INSERT INTO queue (run_id, seq, submitted_at, task_id, engine, stage, workspace, target_key, priority, after_run, \
                   not_before, labels, state, epoch, stopping) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0)";
        let values = params![
            run.run_id.as_str(),
            run.seq,
            run.submitted_at.to_string(),
            run.task_id.as_str(),
            run.engine,
            u8::from(run.stage),
            run.workspace,
            run.target_key,
            run.priority,
            run.after.as_ref().map(RunId::as_str),
            run.not_before.map(|time| time.to_string()),
            json!(run.labels).to_string(),
            run.state.as_str(),
            run.epoch,
        ];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// Inserts the row of another ledger as it is.
    pub(crate) fn copy_queued(&self, run: &QueuedRun) -> StoreResult<()> {
        self.insert_queued(run)?;
        self.put_turn(&run.run_id, &run.turn(), run.started_at)
    }

    /// Writes what a step changed; `started` once, by the step that starts the run.
    pub(crate) fn put_turn(&self, run_id: &RunId, turn: &QueueTurn, started: Option<Stamp>) -> StoreResult<()> {
        let sql = "UPDATE queue SET state = ?2, epoch = ?3, owner = ?4, lease_until = ?5, stopping = ?6, \
                   started_at = coalesce(?7, started_at) WHERE run_id = ?1";
        let text = |time: Stamp| time.to_string();
        let values: [Cell; 7] = [
            run_id.to_string().into(),
            turn.state.as_str().to_owned().into(),
            i64::try_from(turn.epoch).unwrap_or(i64::MAX).into(),
            turn.owner.map(|owner| owner.to_string()).into(),
            turn.lease_until.map(text).into(),
            i64::from(turn.stopping).into(),
            started.map(text).into(),
        ];
        self.connection.prepare_cached(sql)?.execute(rusqlite::params_from_iter(values))?;
        Ok(())
    }

    /// A number that is another after somebody else has changed the file.
    pub(crate) fn queue_mark(&self) -> StoreResult<u64> {
        Ok(self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
    }

    /// A file says only that it was changed, and not that a time has come.
    pub(crate) fn queue_pause(&self, most: Duration) -> StoreResult<Duration> {
        Ok(most.min(FILE_PAUSE))
    }

    /// Writes the earlier end of a claim, as every other step of it.
    pub(crate) fn shorten_claim(&self, run_id: &RunId, turn: &QueueTurn) -> StoreResult<()> {
        self.put_turn(run_id, turn, None)
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<QueuedRun> {
    let (stage, labels, state): (u8, String, String) = (row.get(5)?, row.get(11)?, row.get(12)?);
    Ok(QueuedRun {
        run_id: typed_column(row, 0, "run_id")?,
        seq: row.get(1)?,
        submitted_at: typed_column(row, 2, "submitted_at")?,
        task_id: typed_column(row, 3, "task_id")?,
        engine: row.get(4)?,
        stage: stage.try_into().map_err(|_| unreadable_column(5, "stage"))?,
        workspace: row.get(6)?,
        target_key: row.get(7)?,
        priority: row.get(8)?,
        after: typed_or_null(row, 9, "after_run")?,
        not_before: typed_or_null(row, 10, "not_before")?,
        labels: serde_json::from_str(&labels).map_err(|_| unreadable_column(11, "labels"))?,
        state: QueueState::ALL
            .into_iter()
            .find(|known| known.as_str() == state)
            .ok_or_else(|| unreadable_column(12, "state"))?,
        epoch: row.get(13)?,
        owner: typed_or_null(row, 14, "owner")?,
        lease_until: typed_or_null(row, 15, "lease_until")?,
        started_at: typed_or_null(row, 16, "started_at")?,
        stopping: row.get(17)?,
    })
}
