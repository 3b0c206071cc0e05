//! Several runs at once: a row for each lane, in the order in which they were asked for,
//! and the steps of the one that runs alone.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use contract::Status;
use contract::text::show_controls;
use harness::{LiveFact, StepReport, WatchRun};

use super::TimedBoard;
use super::board::clock_text;
use super::columns::{cut_end, text_width};
use super::frame::{FrameStyle, draw_steps};
use super::screen::{DrawLines, LiveScreen};
use crate::output::{Output, duration_text};

/// Lanes that are drawn; of more, those that run.
const MOST_ROWS: usize = 12;

/// Columns of a lane's name at most.
const NAME: usize = 20;

/// The lanes of one command.
pub(crate) struct LaneBoard {
    title: String,
    started: Instant,
    lanes: Vec<BoardLane>,
}

struct BoardLane {
    name: String,
    state: LaneState,
}

enum LaneState {
    Waiting,
    Running(Box<TimedBoard>),
    Ended { status: Status, took_ms: Option<u64> },
}

impl LaneBoard {
    /// Board on which every lane waits.
    pub(crate) fn new(title: String, names: Vec<String>) -> Self {
        let lanes = names.into_iter().map(|name| BoardLane { name: show_controls(&name), state: LaneState::Waiting });
        Self { title, started: Instant::now(), lanes: lanes.collect() }
    }

    fn running(&self) -> Vec<(usize, &TimedBoard)> {
        let lanes = self.lanes.iter().enumerate();
        lanes
            .filter_map(
                |(at, lane)| if let LaneState::Running(board) = &lane.state { Some((at, &**board)) } else { None },
            )
            .collect()
    }

    fn row(&self, lane: &BoardLane, style: FrameStyle, name_width: usize) -> String {
        let paint = style.paint;
        let name = cut_end(&lane.name, name_width);
        let pad = " ".repeat(name_width.saturating_sub(text_width(&name)) + 2);
        let (word, painted, act, time) = match &lane.state {
            LaneState::Waiting => ("waiting", paint.dim("waiting"), String::new(), String::new()),
            LaneState::Running(board) => {
                let step = board.board.current().map(|step| step.last.step.name()).unwrap_or_default();
                let act = board.board.current_act().map(|act| format!("{step}: {act}"));
                ("running", paint.running(), act.unwrap_or_else(|| step.to_owned()), clock_text(board.now()))
            }
            LaneState::Ended { status, took_ms } => (
                status.as_str(),
                paint.paint_status(*status),
                String::new(),
                took_ms.map(duration_text).unwrap_or_default(),
            ),
        };
        let taken = 2 + name_width + 2 + word.len().max(7) + 2;
        let room = FrameStyle { width: style.width.saturating_sub(taken), ..style };
        let (act, right) = room.two_columns(&act, &time);
        let gap = " ".repeat(7_usize.saturating_sub(word.len()) + 2);
        format!("  {name}{pad}{painted}{gap}{act}{right}").trim_end().to_owned()
    }
}

impl DrawLines for LaneBoard {
    fn draw(&self, style: FrameStyle) -> Vec<String> {
        let (running, total) = (self.running(), self.lanes.len());
        let ended = self.lanes.iter().filter(|lane| matches!(lane.state, LaneState::Ended { .. })).count();
        let word = if style.is_stopping { style.paint.stopping() } else { style.paint.running() };
        let word_width = if style.is_stopping { 8 } else { 7 };
        let head = FrameStyle { width: style.width.saturating_sub(word_width + 2), ..style };
        let title = format!("{}  {ended} of {total} lanes done", self.title);
        let (title, right) = head.two_columns(&title, &clock_text(self.started.elapsed()));
        let mut lines = vec![format!("{word}  {title}{right}")];
        let names = self.lanes.iter().map(|lane| text_width(&lane.name)).max().unwrap_or_default();
        let width = names.min(NAME).min(style.width / 3);
        let is_shown = |lane: &&BoardLane| total <= MOST_ROWS || matches!(lane.state, LaneState::Running(_));
        lines.extend(self.lanes.iter().filter(is_shown).map(|lane| self.row(lane, style, width)));
        if let [(at, board)] = running.as_slice() {
            lines.push(style.paint.dim(&cut_end(&format!("lane {} of {total}", at + 1), style.width)));
            lines.extend(draw_steps(&board.board, style, board.now()));
        }
        lines
    }
}

/// Display of several lanes, or of nothing.
pub(crate) struct LaneDisplay {
    screen: Option<LiveScreen<LaneBoard>>,
}

impl LaneDisplay {
    /// Opens a display; without progress nothing is drawn.
    pub(crate) fn open_display(output: Output, title: String, names: Vec<String>, cancel: &Arc<AtomicBool>) -> Self {
        let open = || LiveScreen::open_screen(LaneBoard::new(title, names), output.paint_errors, Arc::clone(cancel));
        Self { screen: output.progress.then(open) }
    }

    /// The observer of one lane.
    pub(crate) fn lane(&self, at: usize) -> LaneObserver<'_> {
        LaneObserver { screen: self.screen.as_ref(), at }
    }

    /// Ends the display, the last picture stays.
    pub(crate) fn close_display(&self) {
        if let Some(screen) = &self.screen {
            screen.close_screen();
        }
    }
}

/// Watches one lane.
pub(crate) struct LaneObserver<'a> {
    screen: Option<&'a LiveScreen<LaneBoard>>,
    at: usize,
}

impl LaneObserver<'_> {
    fn change(&self, change: impl FnOnce(&mut TimedBoard)) {
        let Some(screen) = self.screen else { return };
        let mut lanes = screen.subject();
        let Some(lane) = lanes.lanes.get_mut(self.at) else { return };
        if matches!(lane.state, LaneState::Waiting) {
            lane.state = LaneState::Running(Box::new(TimedBoard::starting(lane.name.clone())));
        }
        if let LaneState::Running(board) = &mut lane.state {
            change(board);
        }
    }

    /// Notes the end of a lane.
    pub(crate) fn end_lane(&self, status: Status, took_ms: Option<u64>) {
        let Some(screen) = self.screen else { return };
        if let Some(lane) = screen.subject().lanes.get_mut(self.at) {
            lane.state = LaneState::Ended { status, took_ms };
        }
    }
}

impl WatchRun for LaneObserver<'_> {
    fn step(&self, told: &StepReport) {
        self.change(|board| board.hear_step(told));
    }

    fn live(&self, fact: &LiveFact) {
        self.change(|board| board.hear_fact(fact));
    }

    fn is_live(&self) -> bool {
        self.screen.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use harness::{Step, StepState};

    use super::*;
    use crate::output::Paint;

    #[test]
    fn a_lane_is_a_row_that_fits_and_never_moves() {
        let names = ["fake", "codex", "pi", "an-engine-with-a-very-long-name"].map(str::to_owned).to_vec();
        let mut lanes = LaneBoard::new("r1-slugify".to_owned(), names);
        let mut board = TimedBoard::starting("codex".to_owned());
        board.hear_step(&StepReport {
            step: Step::Engine,
            state: StepState::Began,
            detail: String::new(),
            at: Duration::ZERO,
        });
        board.hear_fact(&LiveFact::Acted { text: "edit src/a/very/long/path/of/a/file/strings.py".to_owned() });
        lanes.lanes[0].state = LaneState::Ended { status: Status::Pass, took_ms: Some(310) };
        lanes.lanes[1].state = LaneState::Running(Box::new(board));
        for width in [60, 80, 100, 160] {
            let paint = Paint { color: false, unicode: true, links: false };
            let lines = lanes.draw(FrameStyle { width, paint, is_stopping: false });
            assert!(lines.iter().all(|line| text_width(line) <= width), "{width}: {lines:#?}");
            let starts =
                ["running  r1-slugify  1 of 4 lanes done", "  fake", "  codex", "  pi", "  an-engine", "lane 2 of 4"];
            for (line, start) in lines.iter().zip(starts) {
                assert!(line.starts_with(start), "{width}: {lines:#?}");
            }
            assert!(lines[1].contains("pass") && lines[1].ends_with("310 ms"), "{lines:#?}");
        }
    }
}
