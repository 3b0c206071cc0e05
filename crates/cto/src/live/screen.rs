//! The part of the terminal that is redrawn in place: it is wiped and written again on time, whatever happens or does not.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::columns::{strip_escapes, text_width};
use super::frame::FrameStyle;
use crate::config::terminal_size;
use crate::output::Paint;

/// Between two pictures.
const REDRAW: Duration = Duration::from_millis(250);

/// Something that can be drawn at any moment.
pub(crate) trait DrawLines: Send {
    fn draw(&self, style: FrameStyle) -> Vec<String>;
}

/// A block at the end of the terminal that a thread redraws until it is closed.
pub(crate) struct LiveScreen<T: DrawLines + 'static> {
    shared: Arc<SharedScreen<T>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct SharedScreen<T> {
    subject: Mutex<T>,
    drawn: Mutex<DrawnBlock>,
    is_over: Mutex<bool>,
    over: Condvar,
    paint: Paint,
    cancel: Arc<AtomicBool>,
}

/// The lines that were drawn last, and the width of the terminal then.
#[derive(Default)]
struct DrawnBlock {
    lines: Vec<String>,
    columns: usize,
}

impl DrawnBlock {
    /// Lines that the block takes on a terminal of this width: a narrower one has wrapped what was drawn before.
    fn height(&self, columns: usize) -> usize {
        let width = |line: &String| text_width(&strip_escapes(line));
        self.lines.iter().map(|line| width(line).div_ceil(columns.max(1)).max(1)).sum()
    }
}

impl<T: DrawLines + 'static> LiveScreen<T> {
    /// Draws at once, and then on time. `cancel` tells that the end was asked for.
    pub(crate) fn open_screen(subject: T, paint: Paint, cancel: Arc<AtomicBool>) -> Self {
        let shared = Arc::new(SharedScreen {
            subject: Mutex::new(subject),
            drawn: Mutex::default(),
            is_over: Mutex::new(false),
            over: Condvar::new(),
            paint,
            cancel,
        });
        let drawing = Arc::clone(&shared);
        let thread = std::thread::spawn(move || drawing.redraw_until_over());
        Self { shared, thread: Mutex::new(Some(thread)) }
    }

    /// The subject, to change what is drawn next.
    pub(crate) fn subject(&self) -> MutexGuard<'_, T> {
        hold(&self.shared.subject)
    }

    /// Draws now, for a subject whose pictures are as many as its changes.
    pub(crate) fn redraw(&self) {
        self.shared.redraw();
    }

    /// Wipes the block, so that the result stands alone.
    pub(crate) fn close_screen(&self) {
        *hold(&self.shared.is_over) = true;
        self.shared.over.notify_all();
        if let Some(thread) = hold(&self.thread).take() {
            // A thread that panicked draws no more, which is what is wanted.
            let _ = thread.join();
        }
        self.shared.show(&[], terminal_size());
    }
}

impl<T: DrawLines + 'static> Drop for LiveScreen<T> {
    fn drop(&mut self) {
        self.close_screen();
    }
}

impl<T: DrawLines> SharedScreen<T> {
    fn redraw_until_over(&self) {
        let mut is_over = hold(&self.is_over);
        while !*is_over {
            drop(is_over);
            self.redraw();
            let waited = self.over.wait_timeout_while(hold(&self.is_over), REDRAW, |is_over| !*is_over);
            is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn redraw(&self) {
        let (columns, rows) = terminal_size();
        let is_stopping = self.cancel.load(Ordering::Relaxed);
        let style = FrameStyle { width: columns, paint: self.paint, is_stopping };
        let mut lines = hold(&self.subject).draw(style);
        // A block that is higher than the terminal could not be wiped again.
        lines.truncate(rows.saturating_sub(1).max(1));
        self.show(&lines, (columns, rows));
    }

    fn show(&self, lines: &[String], (columns, rows): (usize, usize)) {
        let mut drawn = hold(&self.drawn);
        if drawn.lines == lines && drawn.columns == columns {
            return;
        }
        let mut text = wipe(drawn.height(columns).min(rows.saturating_sub(1).max(1)));
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        *drawn = DrawnBlock { lines: lines.to_vec(), columns };
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes());
        let _ = stderr.flush();
    }
}

/// Goes to the beginning of the block and clears from there. A terminal echoes `^C` into the line of the cursor, which therefore
/// need not be at its beginning.
fn wipe(height: usize) -> String {
    if height == 0 { String::new() } else { format!("\r\x1b[{height}A\x1b[J") }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
