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
        if program("tmux", world.path()).arg("-V").output().is_err() {
            skip(test, "tmux is not installed");
            return None;
        }
        let number = std::sync::atomic::AtomicU32::new(0);
        let socket = (0..).map(|_| number.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let socket = socket.map(|number| world.path().join(format!("tmux-{number}"))).find(|path| !path.exists());
        let terminal = Self { socket: socket.expect("a free name") };
        // The shell outlives Ctrl-C, and the binary gets it as it is.
        let line = format!("trap : INT; {}; echo \"ended with $?\"; exec sleep 600", shell_line(&world.command(args)));
        let (columns, rows) = (columns.to_string(), ROWS.to_string());
        let here = world.here().display().to_string();
        terminal.ask(&["new-session", "-d", "-x", &columns, "-y", &rows, "-c", &here, "sh", "-c", &line]);
        Some(terminal)
    }

    fn command(&self) -> Command {
        let mut command = program("tmux", std::path::Path::new("/"));
        command.env("LC_ALL", "C.UTF-8").args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket);
        command
    }

    fn ask(&self, words: &[&str]) -> String {
        let output = self.command().args(words).output().expect("tmux starts");
        assert!(output.status.success(), "tmux {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
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
        let text = self.ask(&["capture-pane", "-p", "-J"]);
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
            assert!(began.elapsed() < crate::process::PATIENCE, "waited in vain for {what} on the screen: {lines:#?}");
            std::thread::sleep(LOOKING);
        }
    }

    /// Presses a key, by tmux's name for it.
    pub fn press(&self, key: &str) {
        self.ask(&["send-keys", key]);
    }

    pub fn resize(&self, columns: u16) {
        self.ask(&["resize-window", "-x", &columns.to_string(), "-y", &ROWS.to_string()]);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
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
