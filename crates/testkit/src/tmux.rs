//! A real terminal: tmux draws what the binary writes, and is asked what a person sees.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{World, program, search_bytes, skip};

/// Between two looks at a screen; each starts a process.
const LOOKING: Duration = Duration::from_millis(30);

/// Rows of every terminal here.
const ROWS: u16 = 30;

/// Name of the one session of a server, and of its pane.
const SESSION: &str = "test";
const PANE: &str = "test:0.0";

/// Times that tmux is asked before a test fails by it.
const TRIES: usize = 3;

/// Beginning of the line that tells the exit code of the binary.
const END: &str = "ended with";

/// A terminal with one command in it. It ends with this value.
#[derive(Debug)]
pub struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Starts the binary in a terminal of this many columns; skips the test where there is no tmux.
    pub fn start<S: AsRef<OsStr>>(
        test: &str,
        world: &World,
        columns: u16,
        args: impl IntoIterator<Item = S>,
    ) -> Option<Self> {
        Self::start_command(test, world, columns, &world.command(args))
    }

    /// The same for a command that a test has changed, such as its environment.
    pub fn start_command(test: &str, world: &World, columns: u16, command: &Command) -> Option<Self> {
        if program("tmux", world.path()).arg("-V").output().is_err() {
            skip(test, "tmux is not installed");
            return None;
        }
        // The shell outlives Ctrl-C, and the binary gets it as it is.
        let line = format!("trap : INT; {}; echo \"{END} $?\"; exec sleep 600", shell_line(command));
        let (columns, rows) = (columns.to_string(), ROWS.to_string());
        let here = world.here().display().to_string();
        let words = ["new-session", "-d", "-s", SESSION, "-x", &columns, "-y", &rows, "-c", &here, "sh", "-c", &line];
        // A pane whose program is gone stays to be read, so that a test names the end and not the lost server.
        let keep = [";", "set-option", "-g", "exit-empty", "off", ";", "set-option", "-g", "remain-on-exit", "on"];
        let mut refusals = Vec::new();
        // A server that did not come up has started nothing: the next one gets a socket of its own.
        for _ in 0..TRIES {
            let terminal = Self { socket: free_socket(world) };
            match terminal.try_ask(&[&words[..], &keep].concat()) {
                Ok(_) => return Some(terminal),
                Err(refusal) => refusals.push(refusal),
            }
        }
        panic!("tmux does not start:\n{}", refusals.join("\n"))
    }

    fn command(&self) -> Command {
        let mut command = program("tmux", std::path::Path::new("/"));
        command.env("LC_ALL", "C.UTF-8").args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket);
        command
    }

    fn try_ask(&self, words: &[&str]) -> Result<String, String> {
        let output = match self.command().args(words).output() {
            Ok(output) => output,
            Err(error) => return Err(format!("tmux {words:?} cannot be started: {error}")),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("tmux {words:?}: {}: {}", output.status, said.trim_end()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn ask(&self, words: &[&str]) -> String {
        self.try_ask(words).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Asks for something that changes nothing. A client that is lost on a busy machine is started again.
    fn look(&self, words: &[&str]) -> String {
        let mut refusals = Vec::new();
        for _ in 0..TRIES {
            match self.try_ask(words) {
                Ok(text) => return text,
                Err(refusal) => refusals.push(refusal),
            }
            std::thread::sleep(LOOKING);
        }
        panic!("{}", refusals.join("\n"))
    }

    /// Lines on the screen. A screen can be read while it is half drawn, so two readings in a row must agree.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.read_lines();
        for _ in 0..50 {
            std::thread::sleep(Duration::from_millis(4));
            let again = self.read_lines();
            if again == lines {
                break;
            }
            lines = again;
        }
        lines
    }

    /// Lines as they are at this moment; those that the terminal had to wrap are one line here, so that they are too long.
    fn read_lines(&self) -> Vec<String> {
        let text = self.look(&["capture-pane", "-p", "-J", "-t", PANE]);
        search_bytes("on a screen", text.as_bytes());
        text.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
    }

    /// Waits until a line of the screen holds this, and gives the screen.
    pub fn wait_for(&self, text: &str) -> Vec<String> {
        self.wait_until(&format!("`{text}`"), |lines| lines.iter().any(|line| line.contains(text)))
    }

    /// Waits until the screen is as a test wants it, and gives it.
    pub fn wait_until(&self, what: &str, is_shown: impl Fn(&[String]) -> bool) -> Vec<String> {
        let began = Instant::now();
        loop {
            let mut lines = self.read_lines();
            // Only a screen that looks right is read until it stands still.
            if is_shown(&lines) {
                lines = self.lines();
                if is_shown(&lines) {
                    return lines;
                }
            }
            // What is drawn last stands below the end; a screen that is read again has it.
            let is_over = |lines: &[String]| lines.iter().any(|line| line.starts_with(END));
            if is_over(&lines) {
                lines = self.lines();
                assert!(is_shown(&lines), "the program ended without {what} on the screen: {lines:#?}");
                return lines;
            }
            assert!(began.elapsed() < crate::process::PATIENCE, "waited in vain for {what} on the screen: {lines:#?}");
            std::thread::sleep(LOOKING);
        }
    }

    /// Presses a key, by tmux's name for it.
    pub fn press(&self, key: &str) {
        self.ask(&["send-keys", "-t", PANE, key]);
    }

    /// Changes the width of the window.
    pub fn resize(&self, columns: u16) {
        self.ask(&["resize-window", "-t", PANE, "-x", &columns.to_string(), "-y", &ROWS.to_string()]);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
}

/// A socket that no earlier terminal of the world has.
fn free_socket(world: &World) -> PathBuf {
    let mut sockets = (0..).map(|number: u32| world.path().join(format!("tmux-{number}")));
    sockets.find(|path| !path.exists()).expect("a free name")
}

/// A command as a shell reads it, with its environment and nothing else of it.
fn shell_line(command: &Command) -> String {
    let quote = |text: &OsStr| format!("'{}'", text.to_string_lossy().replace('\'', "'\\''"));
    let mut words = vec!["env".to_owned(), "-i".to_owned(), "TERM=tmux-256color".to_owned()];
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        if name != "TERM" && name != "LC_ALL" && name != "LANG" && name != "COLUMNS" {
            words.push(format!("{}={}", name.to_string_lossy(), quote(value)));
        }
    }
    words.push("LC_ALL=C.UTF-8".to_owned());
    words.push(quote(command.get_program()));
    words.extend(command.get_args().map(quote));
    words.join(" ")
}
