//! A terminal of our own: everything that a command writes to it, and what a person sees in the end.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::thread::{self, JoinHandle};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::World;

/// Wide enough for everything the program prints.
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// What came of a command on a terminal.
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
    bytes: JoinHandle<Vec<u8>>,
}

impl Showing {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Shown {
        let bytes = self.bytes.join().expect("what was shown");
        let code = self.child.wait().expect("the binary ends").code().unwrap_or(-1);
        Shown { code, bytes }
    }
}

impl World {
    /// Runs the binary to its end on a terminal.
    pub fn on_terminal<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Shown {
        self.start_on_terminal(args).finish()
    }

    /// Starts the binary on a terminal, which somebody looks at all the time.
    pub fn start_on_terminal<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Showing {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal of ours");
        tcsetwinsize(&master, SIZE).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let slave = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty());
        let slave: OwnedFd = slave.expect("the other end");
        let mut command = self.command(args);
        command.stdout(slave.try_clone().expect("a descriptor")).stderr(slave);
        let child = command.spawn().expect("the binary starts");
        // Our own copies of the other end must go, or the terminal never ends.
        drop(command);
        let bytes = thread::spawn(move || read(File::from(master)));
        Showing { child, bytes }
    }
}

/// A terminal that nobody has open any more ends with an error.
fn read(mut master: File) -> Vec<u8> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    bytes
}

impl Shown {
    /// How often something was drawn in the place of something else.
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
