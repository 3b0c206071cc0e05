//! Output of a program of setup or of an exam while it runs: for the display of this process, and as a note for `cto attach` in another.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sandbox::Line;
use untrusted_fs::own_files::OwnPath as _;

use crate::home::watch::{LONGEST_LINE, LiveFact, Watch, WatchRun};
use crate::run::journal::{Journal, NotedProgram};
use crate::run::scan::redact_shapes;
use crate::run::supervise::SupervisionTerms;

/// Lines of output that are noted: the newest.
const NOTED_LINES: usize = 3;

/// Between two notes.
const PAUSE: Duration = Duration::from_millis(250);

/// A program whose output somebody may look at.
pub(crate) struct FollowedProgram<'a> {
    /// Absent if nobody looks on in this process.
    observer: Option<&'a dyn WatchRun>,
    /// Absent if no run goes on, as when a sealed one is verified again.
    note: Option<RefCell<ProgramNote>>,
}

impl<'a> FollowedProgram<'a> {
    /// Announces a program that is about to start.
    pub(crate) fn announce_program(
        setting: &SupervisionTerms<'_>,
        watch: Watch<'a>,
        name: &str,
        limit: Duration,
    ) -> Self {
        let observer = Some(watch.observer).filter(|observer| observer.is_live());
        if let Some(observer) = observer {
            observer.live(&LiveFact::ProgramStarted { name: name.to_owned(), limit, began: None });
        }
        let home = &setting.harness.home;
        let is_going_on = home.active_run(setting.run_id).own_exists();
        let note = is_going_on.then(|| ProgramNote::begin(Journal::of_run(home, setting.run_id), name, limit));
        Self { observer, note: note.map(RefCell::new) }
    }

    /// Runs `start` with a watch that hears every line.
    pub(crate) fn run_heard<T>(
        &self,
        watch: Watch<'_>,
        start: impl FnOnce(&mut sandbox::SupervisorWatch<'_>) -> T,
    ) -> T {
        let mut on_line = |line: Line<'_>| self.hear_line(line.bytes);
        let mut on_tick = || self.note_now();
        let is_heard = self.observer.is_some() || self.note.is_some();
        let mut watch = sandbox::SupervisorWatch {
            cancel: Some(watch.cancel),
            stop: None,
            on_line: is_heard.then_some(&mut on_line as &mut dyn FnMut(Line<'_>)),
            on_tick: self.note.is_some().then_some(&mut on_tick as &mut dyn FnMut()),
        };
        start(&mut watch)
    }

    fn hear_line(&self, line: &[u8]) {
        let line = &line[..line.len().min(LONGEST_LINE)];
        if let Some(note) = &self.note {
            note.borrow_mut().keep_line(line);
        }
        if let Some(observer) = self.observer {
            observer.live(&LiveFact::Printed { line: String::from_utf8_lossy(line).into_owned() });
        }
    }

    fn note_now(&self) {
        if let Some(note) = &self.note {
            note.borrow_mut().write_if_due();
        }
    }
}

/// The newest lines of a program, written down by the clock and only if there are new ones.
struct ProgramNote {
    journal: Journal,
    name: String,
    limit: Duration,
    began: Instant,
    tail: VecDeque<Vec<u8>>,
    printed: u64,
    written: Instant,
    has_new: bool,
}

impl ProgramNote {
    fn begin(journal: Journal, name: &str, limit: Duration) -> Self {
        let now = Instant::now();
        let tail = VecDeque::with_capacity(NOTED_LINES);
        let (name, printed) = (name.to_owned(), 0);
        let mut note = Self { journal, name, limit, began: now, tail, printed, written: now, has_new: false };
        note.write();
        note
    }

    fn keep_line(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        // A flood of lines makes no new memory.
        let mut kept = if self.tail.len() < NOTED_LINES { None } else { self.tail.pop_front() }.unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(line);
        self.tail.push_back(kept);
        self.printed += 1;
        self.has_new = true;
    }

    fn write_if_due(&mut self) {
        if self.has_new && self.written.elapsed() >= PAUSE {
            self.write();
        }
    }

    /// A note that cannot be written is no reason to stop a run.
    fn write(&mut self) {
        (self.has_new, self.written) = (false, Instant::now());
        let clean = |line: &Vec<u8>| redact_shapes(&String::from_utf8_lossy(line));
        let noted = NotedProgram {
            name: self.name.clone(),
            limit_seconds: self.limit.as_secs(),
            ran_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            printed: self.printed,
            lines: self.tail.iter().map(clean).collect(),
        };
        let _ = self.journal.note_program(&noted);
    }
}

impl Drop for ProgramNote {
    fn drop(&mut self) {
        self.journal.remove_program();
    }
}

#[cfg(test)]
mod tests {
    use contract::RunId;

    use super::*;
    use crate::home::layout::Home;

    #[test]
    fn a_note_has_the_newest_lines_without_secrets_and_goes_with_its_program() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::create_folders(&folder.path().to_owned().into()).unwrap();
        let run_id = RunId::try_from("20261115T003955Z-made-b9tc".to_owned()).unwrap();
        let journal = Journal::of_run(&home, &run_id);
        let mut note = ProgramNote::begin(journal.clone(), "setup 1", Duration::from_secs(60));
        assert_eq!(journal.read_program().unwrap().0.lines, Vec::<String>::new(), "it is told before it prints");
        let key = ["AKIA", "Z7QXM3LKJ2PDW5RT"].concat();
        for line in ["one", "two", "  ", "three", &format!("token {key}")] {
            note.keep_line(line.as_bytes());
        }
        note.write();
        let (noted, _) = journal.read_program().unwrap();
        assert_eq!((noted.name.as_str(), noted.limit_seconds, noted.printed), ("setup 1", 60, 4));
        assert_eq!((noted.lines.len(), noted.lines[0].as_str()), (3, "two"));
        assert!(noted.lines[2].starts_with("token ") && !noted.lines[2].contains(&key), "{noted:?}");
        drop(note);
        assert!(journal.read_program().is_none());
    }
}
