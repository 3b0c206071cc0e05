//! A temporary ledger and short ways to fill it.

use std::path::PathBuf;

use ledger::{Ledger, RunSealed, RunStarted, Verdict};

pub(crate) const TIME: &str = "2026-03-01T10:00:00.000000Z";

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        World { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    pub(crate) fn open(&self) -> Ledger {
        Ledger::open(&self.path()).unwrap()
    }

    /// A connection that knows nothing of our rules, as somebody who edits the file would have.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
}

pub(crate) fn started(run_id: &str, second: u32) -> RunStarted {
    RunStarted {
        run_id: run_id.to_owned(),
        time: format!("2026-03-01T10:{:02}:{:02}.000000Z", second / 60, second % 60),
        task_id: "r1".to_owned(),
        engine: "fake".to_owned(),
        stage: 2,
        purpose: "governed".to_owned(),
        detail: serde_json::Value::Null,
    }
}

pub(crate) fn sealed(run_id: &str) -> RunSealed {
    RunSealed {
        run_id: run_id.to_owned(),
        time: "2026-03-01T11:00:00.000000Z".to_owned(),
        verdict: Verdict::Fail,
        finished_at: "2026-03-01T10:59:59.000000Z".to_owned(),
        duration_ms: 1200,
        reasons: vec!["no_diff".to_owned()],
        tests_passed: Some(3),
        tests_executed: Some(4),
        attestation_sha256: "ab".repeat(32),
        bundle: format!("harness-runs/{run_id}"),
    }
}
