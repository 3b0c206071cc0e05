//! A terminal of our own: everything that a command writes to it, and what a person sees in the end.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{World, search_bytes};

/// Wide enough for everything the program prints.
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// Result of a command on a terminal.
#[derive(Debug)]
pub struct Shown {
    pub code: i32,
    /// Every byte, in order, of stdout and stderr alike.
    pub bytes: Vec<u8>,
}

/// A command that goes on on a terminal.
#[derive(Debug)]
pub struct Showing {
    child: Child,
    /// Everything that was shown until now.
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    keyboard: File,
}

impl Showing {
    /// Process id of the program.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Shown {
        self.reader.join().expect("the end of the terminal");
        let code = self.child.wait().expect("the binary ends").code().unwrap_or(-1);
        let bytes = std::mem::take(&mut *self.bytes.lock().expect("what was shown"));
        search_bytes("on a terminal", &bytes);
        Shown { code, bytes }
    }

    /// Waits until this was shown so many times.
    pub fn wait_for_text(&self, text: &str, times: usize) {
        let shown = || String::from_utf8_lossy(&self.bytes.lock().expect("what was shown")).matches(text).count();
        let began = Instant::now();
        while shown() < times {
            let all = || String::from_utf8_lossy(&self.bytes.lock().expect("what was shown")).into_owned();
            assert!(began.elapsed() < crate::process::PATIENCE, "waited in vain for {text}: {}", all());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Types, as a person does; what a control character means is the terminal's to say.
    pub fn type_text(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("a keyboard");
    }

    /// Sends SIGINT to the command alone.
    pub fn interrupt(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("its number");
        kill_process(pid, Signal::INT).expect("a signal");
    }
}

impl World {
    /// Runs the binary to its end on a terminal.
    pub fn on_terminal<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Shown {
        self.start_on_terminal(args).finish()
    }

    /// Runs the binary to its end on a terminal of this many columns.
    pub fn on_terminal_of<S: AsRef<OsStr>>(&self, columns: u16, args: impl IntoIterator<Item = S>) -> Shown {
        show_command(self.command(args).into_command(), Winsize { ws_col: columns, ..SIZE }, false).finish()
    }

    /// Starts the binary on a terminal, which somebody looks at all the time and nobody types at.
    pub fn start_on_terminal<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Showing {
        show_command(self.command(args).into_command(), SIZE, false)
    }

    /// The same, at a terminal that somebody types at.
    pub fn start_at_terminal<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Showing {
        show_command(self.command(args).into_command(), SIZE, true)
    }
}

fn show_command(mut command: Command, size: Winsize, typed_at: bool) -> Showing {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal of ours");
    tcsetwinsize(&master, size).expect("a size");
    let name = ptsname(&master, Vec::new()).expect("a name");
    let slave = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty());
    let slave: OwnedFd = slave.expect("the other end");
    if typed_at {
        command.stdin(slave.try_clone().expect("a descriptor"));
    }
    command.stdout(slave.try_clone().expect("a descriptor")).stderr(slave);
    let child = command.spawn().expect("the binary starts");
    // Our own copies of the other end must go, or the terminal never ends.
    drop(command);
    let master = File::from(master);
    let keyboard = master.try_clone().expect("a descriptor");
    let bytes = Arc::default();
    let reader = thread::spawn({
        let bytes = Arc::clone(&bytes);
        move || read(master, &bytes)
    });
    Showing { child, bytes, reader, keyboard }
}

/// A terminal that nobody has open any more ends with an error.
fn read(mut master: File, bytes: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        bytes.lock().expect("what was shown").extend_from_slice(&buffer[..count]);
    }
}

impl Shown {
    /// Number of drawings that replaced another.
    pub fn redrawn(&self) -> usize {
        self.bytes.windows(2).filter(|pair| pair == b"[J").count()
    }

    /// The lines that are left to see, as far as this program moves the cursor: up, and clear what is below.
    pub fn screen(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        let (mut lines, mut row) = (vec![String::new()], 0_usize);
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            match character {
                '\u{1b}' => {
                    let sequence: String =
                        std::iter::from_fn(|| rest.next_if(|it| !it.is_ascii_alphabetic())).collect();
                    let number = sequence.trim_start_matches('[').parse().unwrap_or(1);
                    match rest.next() {
                        Some('A') => row = row.saturating_sub(number),
                        Some('J') => {
                            lines.truncate(row + 1);
                            lines[row].clear();
                        }
                        _ => {}
                    }
                }
                '\r' => {}
                '\n' => {
                    row += 1;
                    if lines.len() <= row {
                        lines.push(String::new());
                    }
                }
                other => lines[row].push(other),
            }
        }
        lines
    }
}
