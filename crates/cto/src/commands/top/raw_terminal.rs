//! A terminal whose keys come one by one and whose screen is given back as it was.

use std::io::{self, Write as _};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// The other screen, without a cursor and without wrapping; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Size of a terminal that does not tell its own.
const USUAL: (usize, usize) = (80, 24);

/// The terminal in raw mode, until this value is dropped or the program panics.
pub(super) struct RawTerminal {
    before: Termios,
    drawn: (Vec<String>, (usize, usize)),
}

impl RawTerminal {
    /// Switches the terminal over. It is restored on drop and on a panic.
    pub(super) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        // Signals stay: Ctrl-C ends the command as it ends any other.
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        give_back_on_panic(before.clone());
        let terminal = Self { before, drawn: (Vec::new(), (0, 0)) };
        write_all(ENTER)?;
        Ok(terminal)
    }

    /// Columns and rows as they are now.
    pub(super) fn size(&self) -> (usize, usize) {
        let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or(USUAL, |size| (usize::from(size.ws_col), usize::from(size.ws_row)))
    }

    /// Puts lines on the whole screen, if anything differs from the picture before.
    pub(super) fn draw_lines(&mut self, lines: &[String]) -> io::Result<()> {
        let now = (lines.to_vec(), self.size());
        if self.drawn == now {
            return Ok(());
        }
        let mut text = String::from(if self.drawn.1 == now.1 { "\x1b[H" } else { "\x1b[2J\x1b[H" });
        for (number, line) in lines.iter().enumerate() {
            text.push_str(if number > 0 { "\r\n" } else { "" });
            text.push_str(line);
            text.push_str("\x1b[0m\x1b[K");
        }
        text.push_str("\x1b[J");
        self.drawn = now;
        write_all(&text)
    }

    /// One key, or none within the time. A signal ends the wait.
    pub(super) fn wait_for_key(&self, within: Duration) -> io::Result<Option<u8>> {
        let stdin = io::stdin();
        let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
        let within = Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
        match poll(&mut asked, Some(&within)) {
            Ok(0) | Err(Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut key = [0];
        match rustix::io::read(&stdin, &mut key) {
            // A terminal that went away ends the command.
            Ok(0) => Ok(Some(b'q')),
            Ok(_) => Ok(Some(key[0])),
            Err(Errno::INTR | Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        give_back(&self.before);
    }
}

fn give_back(before: &Termios) {
    // A terminal that is gone needs nothing back.
    let _ = write_all(LEAVE);
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
}

/// A shipped program ends at a panic without dropping anything.
fn give_back_on_panic(before: Termios) {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back(&before);
        say(panic);
    }));
}

fn write_all(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
