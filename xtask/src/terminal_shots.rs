//! `cargo xtask shots terminal [DIR]`: pictures of the terminal for the docs, drawn from what the program itself writes into a real one
//! (tmux). Times and ids differ from run to run, so nothing compares the pictures.

mod svg;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::ChoreResult;
use crate::process::{command_output, program, repository_root, target};
use crate::tools::need;

/// One picture: its file, what it shows, the words behind `cto`, and the text on the screen that it waits for.
struct TerminalShot {
    file: &'static str,
    label: &'static str,
    words: &'static [&'static str],
    awaited: &'static str,
}

/// Printed behind every command, so that its end is seen.
const ENDED: &str = "ended-here";

const SHOTS: [TerminalShot; 3] = [
    TerminalShot {
        file: "demo.svg",
        label: "Terminal output of cto demo: a good run passes, a cheat is refused, tampering is found",
        words: &["demo"],
        awaited: ENDED,
    },
    TerminalShot {
        file: "terminal-live.svg",
        label: "A run on the terminal while its checks run: steps, clock, limit and the last lines of output",
        words: &["run", "./greeting"],
        awaited: "test 7 of 9",
    },
    TerminalShot {
        file: "terminal-fail.svg",
        label: "A run that fails: the engine edited its own exam, so the verdict names the files and the fix",
        words: &["run", "cheat-shell-edits-test"],
        awaited: ENDED,
    },
];

const COLUMNS: &str = "100";
const ROWS: &str = "40";
/// Longest wait for a picture.
const PATIENCE: Duration = Duration::from_secs(120);

/// Draws the pictures of the terminal for the docs.
pub(crate) fn draw_shots(folder: Option<&Path>) -> ChoreResult {
    need("tmux", "tmux")?;
    crate::test::build_plain_program()?;
    let images = repository_root().join("docs/images");
    let folder = folder.unwrap_or(&images);
    let place = std::env::temp_dir().join(format!("cto-shots-{}", std::process::id()));
    let made = prepare(&place).and_then(|()| SHOTS.iter().try_for_each(|shot| take_shot(shot, &place, folder)));
    let _ = fs::remove_dir_all(&place);
    made
}

/// A folder to work in, with a case whose checks take their time.
fn prepare(place: &Path) -> ChoreResult {
    let case = place.join("work/greeting");
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", case.display());
    fs::create_dir_all(case.join("files")).map_err(fail)?;
    fs::write(case.join("files/greeting.txt"), "hello\n").map_err(fail)?;
    let check = "grep -qx 'Hello!' greeting.txt || exit 1; for n in 1 2 3 4 5 6 7 8 9; do echo \"test $n of 9 ... ok\"; sleep 0.6; done";
    let contract = json!({
        "schema_version": "1", "task_id": "greeting", "title": "Greet with a capital", "brief": "Write Hello!",
        "risk_class": "low", "allowed_paths": ["greeting.txt"], "mutation_mode": "copied-fixture",
        "verification_commands": [["sh", "-c", check]],
        "fake": {"steps": [{"write": {"path": "greeting.txt", "text": "Hello!\n"}}]},
    });
    fs::write(case.join("case.yaml"), contract.to_string()).map_err(fail)
}

fn take_shot(shot: &TerminalShot, place: &Path, folder: &Path) -> ChoreResult {
    let terminal = Terminal { socket: place.join("tmux") };
    let home = place.join("home");
    let binary = target().join("debug/cto");
    let line = format!(
        "env -i PATH=/usr/bin:/bin TERM=tmux-256color LANG=C.UTF-8 HOME={0} CTO_HOME={0}/cto {1} {2}; echo {ENDED}; exec sleep 600",
        home.display(),
        binary.display(),
        shot.words.join(" ")
    );
    let work = place.join("work").display().to_string();
    terminal.ask(&["new-session", "-d", "-x", COLUMNS, "-y", ROWS, "-c", &work, "sh", "-c", &line])?;
    let screen = terminal.wait_for(shot.awaited)?;
    let lines: Vec<&str> = screen.lines().take_while(|line| !line.contains(ENDED)).map(str::trim_end).collect();
    let typed = format!("$ cto {}", shot.words.join(" "));
    let picture = svg::draw_screen(shot.label, &typed, &lines);
    let file = folder.join(shot.file);
    fs::write(&file, picture).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    println!("{}", file.display());
    Ok(())
}

/// A tmux server of our own, which ends with this value.
struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = program("tmux", ["-u", "-f", "/dev/null", "-S"]);
        command.arg(&self.socket).args(words).env("LC_ALL", "C.UTF-8");
        command
    }

    fn ask(&self, words: &[&str]) -> ChoreResult<String> {
        command_output(&mut self.command(words))
    }

    /// The screen with its colours, as soon as it shows this.
    fn wait_for(&self, text: &str) -> ChoreResult<String> {
        let began = Instant::now();
        loop {
            let screen = self.ask(&["capture-pane", "-p", "-e"])?;
            if screen.contains(text) {
                return Ok(screen);
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("the screen never showed `{text}`:\n{screen}"));
            }
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}
