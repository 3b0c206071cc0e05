//! Notes of a run in a folder of their own, for the process that seals it if it dies: what it found so far, and the use of its model.
//!
//! They are no evidence and never part of a bundle. Recovery takes of them what the run's own events bear out. A note that
//! cannot be written is no reason to stop a run: recovery then knows only what the events say.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::SystemTime;

use contract::RunId;
use contract::decision::Inputs;
use contract::model::UsageRecord;
use contract::report::SecretHit;
use contract::sandbox::Posture;
use serde::{Deserialize, Serialize};
use untrusted_fs::own_files::{self, OwnOptions as _, OwnPath as _};

use crate::home::layout::Home;
use crate::run::file::RunFile;
use crate::run::notes::{StepFindings, StepNotes};

const FINDINGS: &str = "findings";
const INPUTS: &str = "inputs";
const LANDING: &str = "landing";
const ASIDE: &str = "new";
const PROGRAM_ASIDE: &str = "program-new";
const POSTURE: &str = "posture";
const PROGRAM: &str = "program";
const USAGE: &str = "usage";

/// The places of a run's notes.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    folder: PathBuf,
    run_id: RunId,
}

/// Findings of a run when it wrote this.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct NotedFindings {
    /// Events that stood in its chain.
    pub(crate) events: u64,
    /// Findings of each step, each apart from the others.
    pub(crate) findings: StepNotes,
    /// The engine's sandbox as it was probed before the engine started.
    pub(crate) posture: Option<Posture>,
    pub(crate) secrets: Vec<SecretHit>,
    pub(crate) patch_redacted: bool,
}

/// A program of setup or of an exam that runs now, for a display in another process. Its lines hold nothing with the shape of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotedProgram {
    pub(crate) name: String,
    pub(crate) limit_seconds: u64,
    /// Time that it had run when this was written.
    pub(crate) ran_ms: u64,
    /// Lines that it has printed.
    pub(crate) printed: u64,
    /// The newest of them.
    pub(crate) lines: Vec<String>,
}

impl Journal {
    /// Notes of one run.
    pub(crate) fn of_run(home: &Home, run_id: &RunId) -> Self {
        Self { folder: folder(home), run_id: run_id.clone() }
    }

    fn place(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{}.{what}", self.run_id))
    }

    fn make_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    /// Replaces a note.
    fn note(&self, what: &str, bytes: &[u8]) -> io::Result<()> {
        self.note_by(ASIDE, what, bytes)
    }

    fn note_by(&self, aside: &str, what: &str, bytes: &[u8]) -> io::Result<()> {
        self.make_folder()?;
        let aside = self.place(aside);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).own_open(&aside)?;
        file.write_all(bytes)?;
        fs::rename(aside, self.place(what))
    }

    /// Notes what the decision rests on as far as it was gathered.
    pub(crate) fn note_inputs(&self, inputs: &Inputs) -> io::Result<()> {
        self.note(INPUTS, &serde_json::to_vec(inputs)?)
    }

    /// Inputs of the decision, if they were noted and can be read.
    pub(crate) fn read_inputs(&self) -> Option<Inputs> {
        serde_json::from_slice(&own_files::read_file(self.place(INPUTS)).ok()?).ok()
    }

    /// Notes the sandbox of a setup or a check before its program starts, if none was noted.
    pub(crate) fn note_posture(&self, posture: &Posture) -> io::Result<()> {
        if self.place(POSTURE).own_exists() {
            return Ok(());
        }
        self.note(POSTURE, &serde_json::to_vec(posture)?)
    }

    /// Posture of the engine's sandbox, if it was noted and can be read.
    pub(crate) fn read_posture(&self) -> Option<Posture> {
        serde_json::from_slice(&own_files::read_file(self.place(POSTURE)).ok()?).ok()
    }

    /// Notes the program that runs now. Other notes are written by another thread, so that this one is made aside by itself.
    pub(crate) fn note_program(&self, program: &NotedProgram) -> io::Result<()> {
        self.note_by(PROGRAM_ASIDE, PROGRAM, &serde_json::to_vec(program)?)
    }

    /// The program that runs now, and when that was written.
    pub(crate) fn read_program(&self) -> Option<(NotedProgram, SystemTime)> {
        let mut file = own_files::open_file(self.place(PROGRAM)).ok()?;
        let written = file.metadata().ok()?.modified().ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        Some((serde_json::from_slice(&bytes).ok()?, written))
    }

    /// Removes the note of a program that has ended.
    pub(crate) fn remove_program(&self) {
        let _ = fs::remove_file(self.place(PROGRAM));
    }

    /// Notes a landing before it happens. Durable, unlike the other notes: what it tells of lies in somebody's repository.
    pub(crate) fn note_landing(&self, note: &[u8]) -> io::Result<()> {
        self.make_folder()?;
        let aside = self.place(ASIDE);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).own_open(&aside)?;
        file.write_all(note)?;
        file.sync_all()?;
        fs::rename(aside, self.place(LANDING))?;
        own_files::open_file(&self.folder)?.sync_all()
    }

    /// Note about a landing, if there is one.
    pub(crate) fn read_landing(&self) -> Option<Vec<u8>> {
        own_files::read_file(self.place(LANDING)).ok()
    }

    /// Adds the record of a request that has ended.
    pub(crate) fn note_usage(&self, record: &UsageRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.make_folder()?;
        OpenOptions::new().append(true).create(true).mode(0o600).own_open(self.place(USAGE))?.write_all(&line)
    }

    /// Findings of the finished steps, if they were noted and can be read.
    pub(crate) fn read_findings(&self) -> Option<NotedFindings> {
        serde_json::from_slice(&own_files::read_file(self.place(FINDINGS)).ok()?).ok()
    }

    /// The records that stand there whole.
    pub(crate) fn read_usage(&self) -> Vec<UsageRecord> {
        let bytes = own_files::read_file(self.place(USAGE)).unwrap_or_default();
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Removes the notes of a run that is sealed.
    pub(crate) fn remove_notes(&self) {
        for what in [FINDINGS, INPUTS, LANDING, ASIDE, POSTURE, PROGRAM, PROGRAM_ASIDE, USAGE] {
            let _ = fs::remove_file(self.place(what));
        }
        // Only the last one finds it empty.
        let _ = fs::remove_dir(&self.folder);
    }
}

fn folder(home: &Home) -> PathBuf {
    home.root().join("notes")
}

/// Runs whose notes tell of a landing.
pub(crate) fn noted_landings(home: &Home) -> Vec<RunId> {
    let names = own_files::read_dir(folder(home)).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| RunId::try_from(name.strip_suffix(".landing")?.to_owned()).ok()).collect()
}

/// Removes the notes of runs that are sealed.
pub(crate) fn sweep_journals(home: &Home) {
    for run_id in noted_runs(home) {
        if !home.active_run(&run_id).own_exists() {
            Journal::of_run(home, &run_id).remove_notes();
        }
    }
}

/// Runs that have notes.
pub(crate) fn noted_runs(home: &Home) -> BTreeSet<RunId> {
    let names = own_files::read_dir(folder(home)).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| RunId::try_from(name.rsplit_once('.')?.0.to_owned()).ok()).collect()
}

impl RunFile<'_> {
    /// Notes of this run.
    pub(crate) fn journal(&self) -> Journal {
        Journal::of_run(&self.harness().home, self.id())
    }

    /// Notes what the run has found so far, with what a step has found of its own.
    pub(crate) fn note_found(&mut self, found: &impl StepFindings) {
        self.notes_mut().keep_found(found);
        self.note_standing();
    }

    /// Notes what the run has found so far. What holds a secret is not noted: nobody who recovers the run would know it for one.
    pub(crate) fn note_standing(&mut self) {
        let mut findings = self.notes().clone();
        findings.keep_found(&self.standing);
        findings.keep_found(self.sandboxes());
        let noted = NotedFindings {
            events: self.draft.head().count,
            findings,
            posture: self.confinement().posture().cloned(),
            secrets: self.draft.censor().result(0).hits,
            patch_redacted: self.draft.censor().is_patch_redacted(),
        };
        if let Ok(bytes) = serde_json::to_vec(&noted)
            && self.draft.censor().is_clean(&bytes)
        {
            let _ = self.journal().note(FINDINGS, &bytes);
        }
    }
}
