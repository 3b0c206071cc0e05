//! Login links of a console: the first ones, and more when the operator presses Enter.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes::{Console, LinkMaker, Role, ServeConsoleError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::output::Output;

/// Between two looks whether the server ends.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

/// Maker of links for the roles that a server admits.
pub(super) struct LoginLinks {
    maker: LinkMaker,
    origin: String,
    is_read_only: bool,
}

/// One link for each role.
pub(super) struct MadeLinks {
    /// An operator's link, or a reader's where only readers get in.
    pub(super) first: String,
    /// A reader's link beside the operator's.
    pub(super) read_only: Option<String>,
}

impl MadeLinks {
    /// The links as lines.
    pub(super) fn text(&self) -> String {
        let beside = self.read_only.as_ref().map_or_else(String::new, |link| format!("login-read-only {link}\n"));
        format!("login {}\n{beside}", self.first)
    }
}

impl LoginLinks {
    /// Links of a console; without `is_read_only` also for operators.
    pub(super) fn new(console: &Console, is_read_only: bool) -> Self {
        Self { maker: console.link_maker(), origin: console.origin(), is_read_only }
    }

    /// Highest role that gets in.
    pub(super) fn role(&self) -> Role {
        if self.is_read_only { Role::ReadOnly } else { Role::Operator }
    }

    /// New links; each works once and lapses soon.
    pub(super) fn make(&self) -> Result<MadeLinks, ServeConsoleError> {
        let link = |role| Ok(format!("{}{}", self.origin, self.maker.make_link(role)?.path));
        let read_only = (!self.is_read_only).then(|| link(Role::ReadOnly)).transpose()?;
        Ok(MadeLinks { first: link(self.role())?, read_only })
    }

    /// Prints new links whenever somebody presses Enter on the terminal of the server.
    pub(super) fn make_more_on_enter(self, output: Output, stop: &Arc<AtomicBool>) {
        if output.json || !output.terminal || !io::stdin().is_terminal() {
            return;
        }
        output.print_note("Enter prints new links\n");
        let stop = Arc::clone(stop);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                match read_enter() {
                    Some(true) => match self.make() {
                        Ok(links) => output.print(&links.text()),
                        Err(_) => return,
                    },
                    Some(false) => {}
                    None => return,
                }
            }
        });
    }
}

/// True if a line was read; none at the end of input. A server in the background reads
/// nothing: the terminal would stop it.
fn read_enter() -> Option<bool> {
    let stdin = io::stdin();
    let is_ready = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&LOOK)).is_ok_and(|ready| ready > 0);
    let is_foreground = rustix::termios::tcgetpgrp(&stdin).is_ok_and(|group| group == rustix::process::getpgrp());
    if !is_ready || !is_foreground {
        if is_ready {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        return Some(false);
    }
    let mut line = String::new();
    stdin.read_line(&mut line).ok().filter(|read| *read > 0).map(|_| true)
}
