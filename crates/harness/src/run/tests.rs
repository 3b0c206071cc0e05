//! A harness in a folder of its own, a contract, and ends of programs: facts for the tests of this folder and of those below it.

use std::path::Path;
use std::time::Duration;

use contract::{Digest, RunId, TaskContract};
use sandbox::{Ended, How, KeptOutput, Leftovers};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::home::host::Tools;
use crate::run::harness::Harness;

/// A harness whose home is gone with it.
pub(crate) struct Trial {
    pub(crate) harness: Harness,
    pub(crate) run_id: RunId,
    folder: TempDir,
}

impl Trial {
    /// Its own executable is one that supervises nothing.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home").into();
        let harness = Harness::open_home(&home, "/bin/sh".into(), Tools::default()).unwrap();
        let run_id = "20260101T000000Z-t-aaaa".to_owned().try_into().unwrap();
        Self { harness, run_id, folder }
    }

    /// A folder for everything but the home.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A contract with these keys beside the ones that it must have.
pub(crate) fn contract(more: Value) -> TaskContract {
    let mut text = json!({
        "schema_version": "1", "task_id": "t", "title": "t", "brief": "b", "risk_class": "low", "allowed_paths": ["**"],
        "mutation_mode": "copied-fixture", "verification_commands": [{"argv": ["pytest"]}],
    });
    let (Some(all), Value::Object(more)) = (text.as_object_mut(), more) else { unreachable!("both are objects") };
    all.extend(more);
    let read = |name: &str| Err(format!("it names the file {name}"));
    contract::case::load_contract("t", text.to_string().as_bytes(), &read).unwrap()
}

/// The end of a program that printed this and ended by itself.
pub(crate) fn ended(code: i32, stdout: &str) -> Ended {
    Ended {
        how: How::Exited { code },
        timed_out: false,
        cancelled: false,
        stopped: false,
        output_exceeded: false,
        disk_exceeded: false,
        output_open: false,
        leftovers: Leftovers::default(),
        swept: 0,
        elapsed: Duration::from_millis(10),
        cpu: None,
        limits: Vec::new(),
        limit_hits: Vec::new(),
        applied: None,
        inherited_fds: Vec::new(),
        stdout: kept(stdout),
        stderr: kept(""),
    }
}

pub(crate) fn kept(text: &str) -> KeptOutput {
    let sha256 = *Digest::of_bytes(text.as_bytes()).as_bytes();
    KeptOutput { head: text.as_bytes().to_vec(), tail: Vec::new(), total: text.len() as u64, sha256 }
}
