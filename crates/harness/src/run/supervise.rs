//! Supervised programs: their environment, their limits, and the sandbox around them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::decision::Profile;
use contract::task::Limits;
use contract::{RunId, TaskContract};
use sandbox::{Confined, Ended, HostMount, How, LimitKind, SandboxStage, Space, Spec, SuperviseError, Supervisor};
use untrusted_fs::own_files::OwnPath as _;

use crate::home::placement::HostPlaces;
use crate::run::bytecode::{PREFIX_VARIABLE, bytecode_mounts, runs_python};
use crate::run::file::{RunFile, Stopped};
use crate::run::harness::Harness;
use crate::run::journal::Journal;
use crate::run::program_view::ProgramView;

/// Variable by which processes of a run are found if they lost their supervisor.
pub(crate) const MARKER: &str = "CTO_RUN_MARK";

/// Lies in `backend/` when the engine or a check was ended for time.
pub(crate) const TIMEOUT_MARKER: &str = "provider-timeout.txt";

/// An empty file takes space too: so much of the kernel's memory, where it lies in memory.
const INODE_BYTES: u64 = 1024;
const INODES_MIN: u64 = 1024;
const INODES_MAX: u64 = 1 << 20;

/// Open files of one process.
const OPEN_FILES: u64 = 4096;

/// On whose terms programs are supervised, and where: all that a program's surroundings
/// depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SupervisionTerms<'a> {
    pub(crate) harness: &'a Harness,
    /// Contract whose environment and limits hold.
    pub(crate) contract: &'a TaskContract,
    pub(crate) run_id: &'a RunId,
    /// Work area of the run.
    pub(crate) work: &'a Path,
    /// Profile of every sandbox of this run.
    pub(crate) profile: Profile,
    /// Content of the decoys in every sandbox of this run.
    pub(crate) canary: &'a str,
}

impl SupervisionTerms<'_> {
    /// Makes a folder of the work area.
    pub(crate) fn dir(&self, name: &str) -> Result<PathBuf, Stopped> {
        let path = self.work.join(name);
        fs::create_dir_all(&path).map_err(|error| Stopped::Io(path.clone(), error))?;
        Ok(path)
    }

    /// A place to run programs in: `root` is the tree, `name` the part of the work area
    /// that is theirs.
    pub(crate) fn make_mounts(&self, name: &str, root: PathBuf) -> Result<ProgramView, Stopped> {
        if self.profile == Profile::None {
            return Ok(ProgramView::on_host(
                root,
                self.dir(&format!("{name}/home"))?,
                self.dir(&format!("{name}/tmp"))?,
            ));
        }
        Ok(ProgramView::confined(root, HostPlaces::new(&self.harness.tools, &self.contract.environment)))
    }

    /// Search path of its programs.
    pub(crate) fn path(&self) -> Vec<PathBuf> {
        self.harness.tools.search_path(&self.contract.environment.path, self.profile)
    }

    /// Starts empty; only what is declared here or in the contract passes.
    fn environment(&self, program_view: &ProgramView) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        let path = self.path().iter().map(|dir| text(&program_view.seen(dir))).collect::<Vec<_>>().join(":");
        let mut variables = vec![
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), text(&program_view.home)),
            ("TMPDIR".to_owned(), text(&program_view.tmp)),
            ("XDG_CONFIG_HOME".to_owned(), text(&program_view.home.join(".config"))),
            ("XDG_CACHE_HOME".to_owned(), text(&program_view.home.join(".cache"))),
            ("XDG_DATA_HOME".to_owned(), text(&program_view.home.join(".local/share"))),
            ("CARGO_HOME".to_owned(), text(&program_view.home.join(".cargo"))),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TZ".to_owned(), "UTC".to_owned()),
            ("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()),
            // A committed bytecode file would win over the visible source; with a prefix of
            // its own, python never looks at it.
            (PREFIX_VARIABLE.to_owned(), text(&bytecode_prefix(program_view))),
        ];
        if let Some(rustup) = &self.harness.tools.rustup_home {
            variables.push(("RUSTUP_HOME".to_owned(), text(&program_view.seen(rustup))));
        }
        for (name, value) in &self.contract.environment.variables {
            variables.retain(|(known, _)| known != name);
            variables.push((name.clone(), value.clone()));
        }
        variables
    }

    /// The names of the variables that every program gets.
    pub(crate) fn variables(&self) -> Vec<String> {
        let nowhere = ProgramView::on_host(PathBuf::from("/"), PathBuf::from("/"), PathBuf::from("/"));
        let names = self.environment(&nowhere).into_iter().map(|(name, _)| name);
        let mut names: Vec<String> = names.chain([MARKER.to_owned()]).collect();
        names.sort();
        names
    }

    /// A program to run in the tree, or `below` it, found on the search path; None when it
    /// is not there.
    pub(crate) fn spec(
        &self,
        argv: &[String],
        below: Option<&str>,
        program_view: &ProgramView,
        wall: Duration,
    ) -> Option<Spec> {
        let Limits { memory_bytes, disk_bytes, output_bytes, processes, .. } = self.contract.limits;
        let cwd = below.map_or_else(|| program_view.tree().to_owned(), |below| program_view.tree().join(below));
        let program = program_view.find_program(argv.first()?, &self.path(), &cwd)?;
        let mut full = vec![program.display().to_string()];
        full.extend(argv.iter().skip(1).cloned());
        let mut spec = Spec::new(full, cwd, wall, (MARKER.to_owned(), self.run_id.mark()));
        spec.env = self.environment(program_view);
        spec.limits = sandbox::ProcessLimits {
            memory_bytes: Some(memory_bytes),
            file_bytes: Some(disk_bytes),
            open_files: Some(OPEN_FILES),
        };
        spec.output_bytes = output_bytes;
        let space = space(&self.contract.limits);
        spec.confinement = program_view.confinement(space, processes, self.canary);
        if let Some(confinement) = &mut spec.confinement {
            confinement.mounts.extend(self.library_bytecode(&program, program_view));
        }
        spec.watched = Some(program_view.watched(space));
        Some(spec)
    }
}

impl SupervisionTerms<'_> {
    /// Bytecode of the libraries outside of the tree, where the program is Python and the contract wants no other place for
    /// bytecode.
    fn library_bytecode(&self, program: &Path, program_view: &ProgramView) -> Vec<HostMount> {
        let prefix = bytecode_prefix(program_view);
        let is_chosen = self.contract.environment.variables.contains_key(PREFIX_VARIABLE);
        if is_chosen || !runs_python(program) || program_view.has_mount_near(&prefix) {
            return Vec::new();
        }
        bytecode_mounts(&self.work.join("bytecode"), &program_view.shown_installations(), &prefix)
    }

    /// Runs a program, in its sandbox where the profile has one.
    pub(crate) fn run_program(
        &self,
        stage: SandboxStage,
        spec: Spec,
        watch: &mut sandbox::SupervisorWatch<'_>,
    ) -> Result<Ended, Stopped> {
        if spec.confinement.is_none() {
            return Ok(stage.run_program(&spec, watch)?);
        }
        Ok(self.confine_program(stage, spec)?.start_program(watch)?)
    }

    /// Builds a sandbox and notes it before anything runs in it, for a recovery if the run
    /// dies there.
    pub(crate) fn confine_program(&self, stage: SandboxStage, spec: Spec) -> Result<Confined, Stopped> {
        let confined = stage.confine_spec(spec)?;
        // Only a run that goes on has notes; a sealed one is looked at again without any.
        if self.harness.home.active_run(self.run_id).own_exists() {
            let _ = Journal::of_run(&self.harness.home, self.run_id).note_posture(&confined.applied().posture);
        }
        Ok(confined)
    }
}

/// Folder in which Python looks for all bytecode: its own, so that what lies in the tree never counts.
fn bytecode_prefix(program_view: &ProgramView) -> PathBuf {
    program_view.tmp.join("pycache")
}

/// A stage for a program of this profile, ready before the program is known.
pub(crate) fn prepare_stage(supervisor: &Supervisor, profile: Profile) -> Result<SandboxStage, SuperviseError> {
    if profile == Profile::None { supervisor.prepare() } else { supervisor.prepare_confined() }
}

/// Space that a program may use in its tree, and the same again in its private places.
pub(crate) fn space(limits: &Limits) -> Space {
    Space { bytes: limits.disk_bytes, inodes: (limits.disk_bytes / INODE_BYTES).clamp(INODES_MIN, INODES_MAX) }
}

/// The exit code as reports carry it: 124 for time, 128+n for a signal.
pub(crate) fn exit_code(ended: &Ended) -> Option<i32> {
    if ended.timed_out {
        return Some(124);
    }
    match &ended.how {
        How::Exited { code } => Some(*code),
        How::Signaled { signal } => Some(128 + signal),
        How::SupervisorLost => Some(137),
        How::SpawnFailed(_) => None,
    }
}

/// The limits that ended a program or made it fail, in words; `None` where it ended well or
/// no limit is known to be the cause.
pub(crate) fn limits_exceeded(ended: &Ended, limits: &Limits) -> Option<String> {
    if exit_code(ended) == Some(0) && !ended.disk_exceeded && !ended.output_exceeded {
        return None;
    }
    let mut texts = Vec::new();
    if ended.output_exceeded {
        texts.push(format!("printed more than {} bytes (limits.output_bytes)", limits.output_bytes));
    }
    for hit in &ended.limit_hits {
        texts.push(match hit {
            LimitKind::Memory => {
                format!("used more than {} bytes of memory (limits.memory_bytes)", limits.memory_bytes)
            }
            LimitKind::Processes => format!("started more than {} processes (limits.processes)", limits.processes),
            LimitKind::Disk => format!("wrote more than {} bytes (limits.disk_bytes)", limits.disk_bytes),
            LimitKind::Inodes => format!("made more than {} files (limits.disk_bytes)", space(limits).inodes),
            LimitKind::FileSize | LimitKind::OpenFiles | LimitKind::CoreSize => continue,
        });
    }
    (!texts.is_empty()).then(|| texts.join(" and "))
}

/// The smaller of the contract's limit and the one asked for.
pub(crate) fn wall_limit(run: &RunFile<'_>) -> Duration {
    let contract = run.task().contract.limits.wall_seconds;
    Duration::from_secs(run.ask().timeout_seconds.map_or(contract, |asked| asked.min(contract)))
}
