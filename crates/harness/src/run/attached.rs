//! A run that goes on elsewhere, seen by what it writes: its trace, its events and the notes of its requests and programs.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use contract::claim::NoteKind;
use contract::event_data::{EngineOutputData, EngineStartedData};
use contract::{Event, EventData, RunId, Stamp};
use evidence::names;

use crate::home::layout::Home;
use crate::home::replay::read_step;
use crate::home::watch::{LiveFact, LiveUsage, StepReport};
use crate::run::journal::{Journal, NotedProgram};

/// Bytes that one look reads of a file; more is read by the next one.
const MOST_BYTES: u64 = 4 << 20;

/// Reader of the growing files of a run.
#[derive(Debug)]
pub struct AttachedRun {
    started: Stamp,
    trace: GrowingFile,
    events: GrowingFile,
    journal: Journal,
    requests_made: u64,
    program: Option<SeenProgram>,
}

/// Something that the run wrote since the last look.
#[derive(Debug)]
pub enum AttachedFact {
    Step(StepReport),
    Live(LiveFact),
}

/// A program of setup or of an exam, as far as the events name it.
#[derive(Debug)]
struct SeenProgram {
    name: String,
    printed: u64,
}

/// A file that is read on from where the last look ended.
#[derive(Debug)]
struct GrowingFile {
    path: PathBuf,
    read: u64,
}

impl GrowingFile {
    fn new(folder: &Path, name: &str) -> Self {
        Self { path: folder.join(name), read: 0 }
    }

    /// The whole lines that are new.
    fn read_lines(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut file = match untrusted_fs::own_files::open_file(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read += u64::try_from(whole).unwrap_or_default();
        Ok(bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
    }
}

impl AttachedRun {
    /// Follows a run from its beginning.
    pub fn new(home: &Home, run_id: &RunId, started: Stamp) -> Self {
        let folder = home.active_run(run_id);
        Self {
            started,
            trace: GrowingFile::new(&folder, names::TRACE),
            events: GrowingFile::new(&folder, names::EVENTS),
            journal: Journal::of_run(home, run_id),
            requests_made: 0,
            program: None,
        }
    }

    /// Reads what is new: steps first, as events of a step come after its beginning.
    pub fn read_new(&mut self) -> io::Result<Vec<AttachedFact>> {
        let mut facts = Vec::new();
        for line in self.trace.read_lines()? {
            facts.extend(read_step(&line, self.started).map(AttachedFact::Step));
        }
        for line in self.events.read_lines()? {
            let Ok(event) = serde_json::from_slice::<Event>(&line) else { continue };
            facts.extend(self.fact_of(&event).map(AttachedFact::Live));
        }
        facts.extend(self.read_program().into_iter().map(AttachedFact::Live));
        Ok(facts)
    }

    /// The program that runs now, if it is another one, and the newest of the lines that were not shown yet.
    fn read_program(&mut self) -> Vec<LiveFact> {
        let Some((noted, written)) = self.journal.read_program() else {
            self.program = None;
            return Vec::new();
        };
        let NotedProgram { name, limit_seconds, ran_ms, printed, lines } = noted;
        let mut facts = Vec::new();
        let told = match &self.program {
            Some(seen) if seen.name == name && seen.printed <= printed => seen.printed,
            _ => {
                let began = since(self.started, written).map(|at| at.saturating_sub(Duration::from_millis(ran_ms)));
                let limit = Duration::from_secs(limit_seconds);
                facts.push(LiveFact::ProgramStarted { name: name.clone(), limit, began });
                0
            }
        };
        let new = usize::try_from(printed.saturating_sub(told)).unwrap_or(usize::MAX).min(lines.len());
        let first = lines.len() - new;
        facts.extend(lines.into_iter().skip(first).map(|line| LiveFact::Printed { line }));
        self.program = Some(SeenProgram { name, printed });
        facts
    }

    fn fact_of(&mut self, event: &Event) -> Option<LiveFact> {
        match event.read_data()? {
            EventData::EngineStarted(started) => Some(self.started_engine(event, started)),
            // A line of some format that is not read here says nothing to a person.
            EventData::EngineOutput(output) if output.text.starts_with('{') => None,
            EventData::EngineOutput(output) => Some(act(output)),
            EventData::ModelRequested(_) => {
                self.requests_made += 1;
                Some(LiveFact::ModelUsed(self.count_usage()))
            }
            EventData::ModelAnswered(_) | EventData::ModelRefused(_) => Some(LiveFact::ModelUsed(self.count_usage())),
            _ => None,
        }
    }

    fn started_engine(&self, event: &Event, started: EngineStartedData) -> LiveFact {
        let EngineStartedData { engine: name, wall_seconds: seconds } = started;
        let micros = |time: Stamp| time.timestamp().as_microsecond();
        let began = u64::try_from(micros(event.time).saturating_sub(micros(self.started))).ok();
        LiveFact::ProgramStarted { name, limit: Duration::from_secs(seconds), began: began.map(Duration::from_micros) }
    }

    fn count_usage(&self) -> LiveUsage {
        let mut used = LiveUsage { open: self.requests_made, ..LiveUsage::NONE };
        for record in self.journal.read_usage() {
            used.count_ended(record.tokens.total().unwrap_or_default(), record.cost_micros);
        }
        used
    }
}

/// Time of a run at which a file was written.
fn since(started: Stamp, written: SystemTime) -> Option<Duration> {
    let epoch = u64::try_from(started.timestamp().as_microsecond()).ok()?;
    written.duration_since(SystemTime::UNIX_EPOCH).ok()?.checked_sub(Duration::from_micros(epoch))
}

fn act(output: EngineOutputData) -> LiveFact {
    let text = match output.kind {
        Some(NoteKind::Command) => format!("runs {}", output.text),
        Some(NoteKind::Message) => format!("says {}", output.text),
        _ => output.text,
    };
    LiveFact::Acted { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_are_read_and_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut growing = GrowingFile::new(folder.path(), "a");
        let write = |text: &str| untrusted_fs::own_files::write_file(folder.path().join("a"), text).unwrap();
        assert!(growing.read_lines().unwrap().is_empty(), "it is not there yet");
        write("one\ntw");
        assert_eq!(growing.read_lines().unwrap(), [b"one".to_vec()]);
        write("one\ntwo\n\nthree\n");
        assert_eq!(growing.read_lines().unwrap(), [b"two".to_vec(), b"three".to_vec()]);
        assert!(growing.read_lines().unwrap().is_empty());
    }
}
