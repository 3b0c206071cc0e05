//! Each step of a run as the current one: its picture at every width, and Ctrl-C in it. The build with stop points holds a run in steps
//! that are too short to be looked at.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;

use testkit::{Tmux, World, stoppable, wait_for};

use super::{WIDTHS, assert_fits, mask_screen};

/// A run that is held at a place of one of its steps.
struct HeldRun {
    release: std::path::PathBuf,
    terminal: Tmux,
}

impl HeldRun {
    /// Starts a run and waits until it stands at the place.
    fn start(test: &str, world: &World, columns: u16, place: &str) -> Option<Self> {
        world.case("held", &[]);
        let release = world.path().join(format!("{place}-{columns}"));
        let mut command = world.command(["run", "./held"]);
        command.env("CTO_STOP_AT", place).env("CTO_STOP_DO", format!("wait:{}", release.display()));
        let terminal = Tmux::start_command(test, world, columns, &command)?;
        let here = release.with_file_name(format!("{place}-{columns}.here"));
        wait_for(place, || here.exists().then_some(()));
        Some(Self { release, terminal })
    }

    /// The picture at a width, once it is drawn for it: the clock stands at the right edge.
    fn picture(&self, columns: u16, word: &str) -> Vec<String> {
        self.terminal.resize(columns);
        self.terminal.wait_until(&format!("{word} at {columns} columns"), |lines| {
            let head = lines.first().filter(|head| head.starts_with(word));
            head.is_some_and(|head| head.chars().count() == usize::from(columns))
                && lines.iter().all(|line| line.chars().count() <= usize::from(columns))
                && lines.iter().filter(|line| line.starts_with(word)).count() == 1
        })
    }

    /// Pictures at every width, one text; widths with the same picture share one.
    fn pictures(&self, word: &str) -> String {
        let mut shown: Vec<(Vec<String>, String)> = Vec::new();
        for columns in WIDTHS {
            let picture = mask_screen(&self.picture(columns, word));
            match shown.last_mut().filter(|(_, last)| *last == picture) {
                Some((widths, _)) => widths.push(columns.to_string()),
                None => shown.push((vec![columns.to_string()], picture)),
            }
        }
        let texts = shown.into_iter().map(|(widths, text)| format!("{}:\n{text}\n", widths.join(", ")));
        texts.collect()
    }

    fn release(&self) {
        fs::write(&self.release, "").unwrap();
    }
}

/// Holds a run at a place of a step: its pictures at every width while it runs and while it stops, and what is left in the end.
/// None where there is no such build, or no tmux.
fn draw_held_step(test: &str, place: &str) -> Option<String> {
    let binary = stoppable(test)?;
    let world = World::new(binary.to_str().unwrap());
    let run = HeldRun::start(test, &world, 80, place)?;
    let running = run.pictures("running");
    run.terminal.press("C-c");
    let stopping = run.pictures("stopping");
    run.terminal.resize(100);
    run.release();
    let end = run.terminal.wait_for("ended with");
    assert_fits(&end, 100);
    let left: Vec<&String> = end.iter().filter(|line| line.contains("• ") || line.starts_with("stopping")).collect();
    assert!(left.is_empty(), "nothing of the progress is left: {end:#?}");
    let verdict = mask_screen(&end[..1]);
    let code = end.iter().find(|line| line.starts_with("ended with")).unwrap();
    Some(format!("{running}after Ctrl-C\n{stopping}{verdict}\n{code}\n"))
}

#[test]
fn gates() {
    let Some(shown) = draw_held_step("terminal::steps::gates", "work.made") else { return };
    insta::assert_snapshot!(shown, @r"
    60, 80, 100, 160:
    running  made  fake  stage 2  ID  0:00
      • gates  0:00
        workspace
        engine
        diff
        verify
        seal
    after Ctrl-C
    60, 80, 100, 160:
    stopping  made  fake  stage 2  ID  0:00
      • gates  0:00
        workspace
        engine
        diff
        verify
        seal
    ends the programs and seals the run as interrupted
    blocked  made  fake  stage 2  TIME
    ended with 130
    ");
}

#[test]
fn workspace() {
    let Some(shown) = draw_held_step("terminal::steps::workspace", "workspace.announced") else { return };
    insta::assert_snapshot!(shown, @r"
    60:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      • workspace  0:00
        engine
        diff
        verify
        seal
    80, 100, 160:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      • workspace  0:00
        engine
        diff
        verify
        seal
    after Ctrl-C
    60:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      • workspace  0:00
        engine
        diff
        verify
        seal
    ends the programs and seals the run as interrupted
    80, 100, 160:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      • workspace  0:00
        engine
        diff
        verify
        seal
    ends the programs and seals the run as interrupted
    blocked  made  fake  stage 2  TIME
    ended with 130
    ");
}

#[test]
fn engine() {
    let Some(shown) = draw_held_step("terminal::steps::engine", "engine.starting") else { return };
    insta::assert_snapshot!(shown, @r"
    60:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      ✓ workspace  1 file from baseline COMMIT
      • engine  0:00
        diff
        verify
        seal
    80, 100, 160:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      ✓ workspace  1 file from baseline COMMIT  TIME
      • engine  0:00
        diff
        verify
        seal
    after Ctrl-C
    60:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      ✓ workspace  1 file from baseline COMMIT
      • engine  0:00
        diff
        verify
        seal
    ends the programs and seals the run as interrupted
    80, 100, 160:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      ✓ workspace  1 file from baseline COMMIT  TIME
      • engine  0:00
        diff
        verify
        seal
    ends the programs and seals the run as interrupted
    fail  made  fake  stage 2  TIME
    ended with 130
    ");
}

#[test]
fn diff() {
    let Some(shown) = draw_held_step("terminal::steps::diff", "result.taken") else { return };
    insta::assert_snapshot!(shown, @r"
    60:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      ✓ workspace  1 file from baseline COMMIT
      ✓ engine  exit 0
      • diff  0:00
        verify
        seal
    80, 100, 160:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      ✓ workspace  1 file from baseline COMMIT  TIME
      ✓ engine  exit 0  TIME
      • diff  0:00
        verify
        seal
    after Ctrl-C
    60:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      ✓ workspace  1 file from baseline COMMIT
      ✓ engine  exit 0
      • diff  0:00
        verify
        seal
    ends the programs and seals the run as interrupted
    80, 100, 160:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      ✓ workspace  1 file from baseline COMMIT  TIME
      ✓ engine  exit 0  TIME
      • diff  0:00
        verify
        seal
    ends the programs and seals the run as interrupted
    fail  made  fake  stage 2  TIME
    ended with 130
    ");
}

#[test]
fn verify() {
    let Some(shown) = draw_held_step("terminal::steps::verify", "exam.held") else { return };
    insta::assert_snapshot!(shown, @r"
    60:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      ✓ workspace  1 file from baseline COMMIT
      ✓ engine  exit 0
      • diff
      • verify  exam 1  0:00 of 5:00
        seal
    80, 100, 160:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      ✓ workspace  1 file from baseline COMMIT  TIME
      ✓ engine  exit 0  TIME
      • diff
      • verify  exam 1  0:00 of 5:00
        seal
    after Ctrl-C
    60:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      ✓ workspace  1 file from baseline COMMIT
      ✓ engine  exit 0
      • diff
      • verify  exam 1  0:00 of 5:00
        seal
    ends the programs and seals the run as interrupted
    80, 100, 160:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      ✓ workspace  1 file from baseline COMMIT  TIME
      ✓ engine  exit 0  TIME
      • diff
      • verify  exam 1  0:00 of 5:00
        seal
    ends the programs and seals the run as interrupted
    fail  made  fake  stage 2  TIME
    ended with 130
    ");
}

#[test]
fn seal() {
    let Some(shown) = draw_held_step("terminal::steps::seal", "run.completed") else { return };
    insta::assert_snapshot!(shown, @r"
    60:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      ✓ workspace  1 file from baseline COMMIT
      ✓ engine  exit 0
      ✓ diff  1 file
      ✓ verify  1 of 1 checks hold
      • seal  0:00
    80, 100, 160:
    running  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      ✓ workspace  1 file from baseline COMMIT  TIME
      ✓ engine  exit 0  TIME
      ✓ diff  1 file  TIME
      ✓ verify  1 of 1 checks hold  TIME
      • seal  0:00
    after Ctrl-C
    60:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14
      ✓ workspace  1 file from baseline COMMIT
      ✓ engine  exit 0
      ✓ diff  1 file
      ✓ verify  1 of 1 checks hold
      • seal  0:00
    the run is over already; it is sealed as it ended
    80, 100, 160:
    stopping  made  fake  stage 2  ID  0:00
      ✓ gates  14 of 14  TIME
      ✓ workspace  1 file from baseline COMMIT  TIME
      ✓ engine  exit 0  TIME
      ✓ diff  1 file  TIME
      ✓ verify  1 of 1 checks hold  TIME
      • seal  0:00
    the run is over already; it is sealed as it ended
    pass  made  fake  stage 2  TIME
    ended with 0
    ");
}
