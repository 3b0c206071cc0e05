//! Supervised programs: their environment, their limits, and `sandbox.json`, which says what held.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::decision::Profile;
use contract::task::Limits;
use contract::{RunId, TaskContract};
use sandbox::{Ended, How, LimitRule, Spec};
use schemars::JsonSchema;
use serde::Serialize;

use crate::run::{Harness, Run, Stopped};

/// The variable by which processes of a run are found when nobody supervises them any more.
pub(crate) const MARKER: &str = "CTO_RUN_ID";

/// Lies in `backend/` when the engine or a check was ended for time.
pub(crate) const TIMEOUT_MARKER: &str = "provider-timeout.txt";

/// Open files of one process.
const OPEN_FILES: u64 = 4096;

/// `sandbox.json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Sandbox of a run")]
pub struct SandboxDocument {
    pub schema_version: String,
    pub asked: Profile,
    /// What was applied, or `none` where nothing ran.
    pub applied: Profile,
    pub engine_ran: bool,
    pub kernel: String,
    /// The search path of everything that ran.
    pub path: Vec<String>,
    /// Names of the variables that were set; never their values.
    pub variables: Vec<String>,
    #[schemars(with = "Vec<LimitShape>")]
    pub limits: Vec<LimitRule>,
    pub wall_seconds: u64,
    /// Limits of the contract that this profile does not hold.
    pub not_enforced: Vec<String>,
    /// What would have recorded refused attempts; profile `none` has nothing.
    pub recorders: Vec<String>,
    pub refused_attempts: Vec<String>,
    pub leftover_processes: Vec<String>,
}

/// The shape of one limit, for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the shape of a type of another crate")]
struct LimitShape {
    kind: String,
    by: String,
    value: u64,
}

/// A private place for the state of one supervised program.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) home: PathBuf,
    pub(crate) tmp: PathBuf,
}

/// On whose terms programs are supervised, and where: all that a program's surroundings depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) harness: &'a Harness,
    pub(crate) contract: &'a TaskContract,
    pub(crate) run_id: &'a RunId,
    pub(crate) work: &'a Path,
}

impl Setting<'_> {
    /// Makes a folder of the work area.
    pub(crate) fn dir(&self, name: &str) -> Result<PathBuf, Stopped> {
        let path = self.work.join(name);
        fs::create_dir_all(&path).map_err(|error| Stopped::Io(path.clone(), error))?;
        Ok(path)
    }

    pub(crate) fn places(&self, name: &str) -> Result<Places, Stopped> {
        Ok(Places { home: self.dir(&format!("{name}/home"))?, tmp: self.dir(&format!("{name}/tmp"))? })
    }

    /// Where its programs are looked for.
    pub(crate) fn path(&self) -> Vec<PathBuf> {
        self.harness.tools.path(&self.contract.environment.path)
    }

    /// Starts empty; only what is declared here or in the contract passes.
    fn environment(&self, places: &Places) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        let path = self.path().iter().map(|dir| text(dir)).collect::<Vec<_>>().join(":");
        let mut variables = vec![
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), text(&places.home)),
            ("TMPDIR".to_owned(), text(&places.tmp)),
            ("XDG_CONFIG_HOME".to_owned(), text(&places.home.join(".config"))),
            ("XDG_CACHE_HOME".to_owned(), text(&places.home.join(".cache"))),
            ("XDG_DATA_HOME".to_owned(), text(&places.home.join(".local/share"))),
            ("CARGO_HOME".to_owned(), text(&places.home.join(".cargo"))),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TZ".to_owned(), "UTC".to_owned()),
            ("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()),
            // A committed bytecode file would win over the visible source; with a prefix of its own, python never looks at it.
            ("PYTHONPYCACHEPREFIX".to_owned(), text(&places.tmp.join("pycache"))),
        ];
        if let Some(rustup) = &self.harness.tools.rustup_home {
            variables.push(("RUSTUP_HOME".to_owned(), text(rustup)));
        }
        for (name, value) in &self.contract.environment.variables {
            variables.retain(|(known, _)| known != name);
            variables.push((name.clone(), value.clone()));
        }
        variables
    }

    /// A program to run in `cwd`, found on the search path; None when it is not there.
    pub(crate) fn spec(&self, argv: &[String], cwd: PathBuf, places: &Places, wall: Duration) -> Option<Spec> {
        let Limits { memory_bytes, disk_bytes, output_bytes, .. } = self.contract.limits;
        let program = sandbox::find_program(argv.first()?, &self.path(), &cwd)?;
        let mut full = vec![program.display().to_string()];
        full.extend(argv.iter().skip(1).cloned());
        let mut spec = Spec::new(full, cwd, wall, (MARKER.to_owned(), self.run_id.to_string()));
        spec.env = self.environment(places);
        spec.limits = sandbox::Limits {
            memory_bytes: Some(memory_bytes),
            file_bytes: Some(disk_bytes),
            open_files: Some(OPEN_FILES),
        };
        spec.output_bytes = output_bytes;
        Some(spec)
    }
}

/// The exit code as reports carry it: 124 for time, 128+n for a signal.
pub(crate) fn exit_code(ended: &Ended) -> Option<i32> {
    if ended.timed_out {
        return Some(124);
    }
    match &ended.how {
        How::Exited { code } => Some(*code),
        How::Signaled { signal } => Some(128 + signal),
        How::Unkillable | How::SupervisorLost => Some(137),
        How::SpawnFailed(_) => None,
    }
}

/// What `sandbox.json` says of this run.
pub(crate) fn document(run: &Run<'_>) -> SandboxDocument {
    let engine = &run.findings.engine;
    let places = Places { home: PathBuf::from("/"), tmp: PathBuf::from("/") };
    let mut variables: Vec<String> = run.setting().environment(&places).into_iter().map(|(name, _)| name).collect();
    variables.push(MARKER.to_owned());
    variables.sort();
    SandboxDocument {
        schema_version: contract::BUNDLE_VERSION.to_owned(),
        asked: run.ask.sandbox,
        applied: Profile::None,
        engine_ran: engine.started,
        kernel: run.harness.host.kernel.clone(),
        path: run.setting().path().iter().map(|dir| dir.display().to_string()).collect(),
        variables,
        limits: engine.limits.clone(),
        wall_seconds: wall(run).as_secs(),
        not_enforced: vec!["processes".to_owned(), "disk_bytes_of_the_tree".to_owned()],
        recorders: Vec::new(),
        refused_attempts: Vec::new(),
        leftover_processes: engine.leftovers.clone(),
    }
}

/// The smaller of the contract's limit and the one asked for.
pub(crate) fn wall(run: &Run<'_>) -> Duration {
    let contract = run.task.contract.limits.wall_seconds;
    Duration::from_secs(run.ask.timeout_seconds.map_or(contract, |asked| asked.min(contract)))
}
