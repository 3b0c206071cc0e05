//! Runs on a real terminal: every phase at every width, Ctrl-C at each phase, a resize, lanes, and a run that was started elsewhere.

use testkit::{Tmux, World};

use crate::world;

mod steps;

/// Widths that people have.
const WIDTHS: [u16; 4] = [60, 80, 100, 160];

/// Phase, and the words on the screen by which it is known.
const PHASES: [(&str, &str); 3] = [("setup", "setup 1"), ("engine", "runs python3"), ("verify", "• verify")];

/// A case of which setup, engine and check take this many seconds and say something meanwhile.
fn slow_case(world: &World, [in_setup, in_engine, in_check]: [u32; 3]) {
    let setup = "environment";
    let environment = format!(
        r#"{{setup: [[sh, -c, "echo fetching 1 of 2; sleep {}; echo fetching 2 of 2; sleep {}"]]}}"#,
        in_setup.min(3),
        in_setup.saturating_sub(3)
    );
    let act = r#"{"type":"item.started","item":{"type":"command_execution","command":"python3 -m pytest -q tests/test_of_a_name_that_is_long.py"}}"#;
    let fake = format!(
        "{{speaks: codex, steps: [{{write: {{path: a.txt, text: \"two\\n\"}}}}, {{print: {{text: '{act}'}}}}, {{sleep: {{seconds: {in_engine}}}}}]}}"
    );
    // Only the result takes its time: the baseline's exam is over before.
    let check = format!(r#"[[sh, -c, "echo looks at a.txt; grep -qx two a.txt || exit 1; sleep {in_check}"]]"#);
    world.case("slow", &[(setup, &environment), ("fake", &fake), ("verification_commands", &check)]);
}

fn assert_fits(lines: &[String], columns: u16) {
    for line in lines {
        assert!(line.chars().count() <= usize::from(columns), "{columns} columns: {line}\n{}", lines.join("\n"));
    }
}

/// The screen with every clock, duration and id by its form. Spaces between columns are two: another duration moves them.
fn mask_screen(lines: &[String]) -> String {
    lines.iter().map(|line| mask_line(line)).collect::<Vec<_>>().join("\n")
}

fn mask_line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let columns = line.trim_start().split("  ").map(str::trim).filter(|column| !column.is_empty());
    let masked = columns.map(|column| {
        let words: Vec<&str> = column.split(' ').collect();
        let is_number = |word: &str| word.chars().all(|it| it.is_ascii_digit() || it == '.' || it == ':');
        let is_suffix = words.len() == 1 && column.len() == 4 && column.chars().all(|it| it.is_ascii_alphanumeric());
        match words.as_slice() {
            [_] if is_suffix
                && !matches!(column, "fake" | "made" | "held" | "slow" | "seal" | "diff" | "pass" | "fail") =>
            {
                "ID".to_owned()
            }
            [clock] if clock.contains(':') && is_number(clock) => "0:00".to_owned(),
            [clock, "of", limit] if clock.contains(':') && is_number(clock) => format!("0:00 of {limit}"),
            [number, "ms" | "s"] if is_number(number) => "TIME".to_owned(),
            [head @ .., "baseline", _] => format!("{} baseline COMMIT", head.join(" ")),
            _ => column.to_owned(),
        }
    });
    format!("{}{}", " ".repeat(indent), masked.collect::<Vec<_>>().join("  "))
}

/// Waits until the clock of the headline has moved, and gives the screen.
fn wait_for_clock(terminal: &Tmux, first: &[String]) -> Vec<String> {
    terminal.wait_until("a clock that moves", |lines| {
        lines.first().is_some_and(|head| head.starts_with("running") && *head != first[0])
    })
}

#[test]
fn every_phase_fits_every_width_and_its_clock_moves() {
    let test = "every_phase_fits_every_width_and_its_clock_moves";
    for columns in WIDTHS {
        let world = world();
        slow_case(&world, [5; 3]);
        let Some(terminal) = Tmux::start(test, &world, columns, ["run", "./slow"]) else { return };
        for (phase, word) in PHASES {
            let first = terminal.wait_for(word);
            assert_fits(&first, columns);
            assert!(first[0].starts_with("running  made  fake  stage 2"), "{phase}: {first:#?}");
            let text = first.join("\n");
            for step in ["gates", "workspace", "engine", "diff", "verify", "seal"] {
                assert!(text.contains(step), "{phase} at {columns}: no `{step}` in\n{text}");
            }
            let later = wait_for_clock(&terminal, &first);
            assert_fits(&later, columns);
            assert_eq!(mask_screen(&first[..1]), mask_screen(&later[..1]), "{phase}: only the clock differs");
            let program = mask_screen(&later);
            assert!(program.contains(word) && program.contains("0:00 of "), "{phase} at {columns}: {program}");
        }
        let end = terminal.wait_for("ended with 0");
        assert_fits(&end, columns);
        assert!(end[0].starts_with("pass  made  fake  stage 2"), "progress is gone: {end:#?}");
        assert!(!end.iter().any(|line| line.contains("running")), "{end:#?}");
    }
}

#[test]
fn setup_and_engine_and_check_say_what_they_do() {
    let test = "setup_and_engine_and_check_say_what_they_do";
    let world = world();
    slow_case(&world, [5; 3]);
    let Some(terminal) = Tmux::start(test, &world, 80, ["run", "./slow"]) else { return };
    let setup = terminal.wait_for("fetching 1 of 2").join("\n");
    assert!(setup.contains("• gates      setup 1"), "{setup}");
    let engine = terminal.wait_for("runs python3").join("\n");
    assert!(engine.contains("✓ gates") && engine.contains("✓ workspace"), "{engine}");
    assert!(engine.contains(" of 30:00"), "the limit of the engine: {engine}");
    let verify = terminal.wait_for("looks at a.txt").join("\n");
    assert!(verify.contains("• verify     exam 1"), "{verify}");
    terminal.wait_for("ended with 0");
}

#[test]
fn ctrl_c_is_answered_at_once_in_each_phase() {
    let test = "ctrl_c_is_answered_at_once_in_each_phase";
    // Only the phase itself takes its time, and so much that no key is pressed too late.
    let phases = PHASES.into_iter().zip([[100, 0, 0], [0, 100, 0], [0, 0, 100]]);
    for (columns, ((phase, word), seconds)) in
        WIDTHS.into_iter().flat_map(|it| phases.clone().map(move |phase| (it, phase)))
    {
        let world = world();
        slow_case(&world, seconds);
        let Some(terminal) = Tmux::start(test, &world, columns, ["run", "./slow"]) else { return };
        terminal.wait_for(word);
        terminal.press("C-c");
        let end = terminal.wait_for("ended with 130");
        assert_fits(&end, columns);
        let verdicts =
            end.iter().filter(|line| line.starts_with("fail  made") || line.starts_with("blocked  made")).count();
        assert_eq!(verdicts, 1, "{phase}: {end:#?}");
        assert!(!end.iter().any(|line| line.contains("• ")), "{phase}: nothing of the progress is left: {end:#?}");
        assert!(end.iter().any(|line| line.contains("harness_interrupted")), "{phase}: {end:#?}");
    }
}

#[test]
fn a_resize_leaves_one_picture() {
    let world = world();
    slow_case(&world, [5; 3]);
    let Some(terminal) = Tmux::start("a_resize_leaves_one_picture", &world, 100, ["run", "./slow"]) else { return };
    terminal.wait_for("runs python3");
    for columns in [60, 120, 61] {
        terminal.resize(columns);
        // The clock stands at the right edge of the width for which a picture was drawn.
        let lines = terminal.wait_until(&format!("a picture for {columns} columns"), |lines| {
            lines.first().is_some_and(|head| head.chars().count() == usize::from(columns))
                && lines.iter().filter(|line| line.starts_with("running")).count() == 1
        });
        assert_fits(&lines, columns);
    }
    terminal.wait_for("ended with 0");
}

#[test]
fn four_lanes_are_four_rows_at_every_width() {
    let test = "four_lanes_are_four_rows_at_every_width";
    let world = world();
    let fake = "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {sleep: {seconds: 4}}]}";
    world.case("race", &[("fake", fake)]);
    for columns in WIDTHS {
        let words = ["repeat", "./race", "-n", "4", "--jobs", "2"];
        let Some(terminal) = Tmux::start(test, &world, columns, words) else { return };
        let lines = terminal.wait_until("four rows in order, two of them waiting", |lines| {
            let rows = lines.iter().skip(1).zip(["run 1", "run 2", "run 3", "run 4"]);
            lines.first().is_some_and(|head| head.starts_with("running  made  fake  0 of 4 lanes done"))
                && rows.filter(|(line, name)| line.trim_start().starts_with(name)).count() == 4
                && lines.iter().filter(|line| line.contains("waiting")).count() == 2
                && lines.iter().any(|line| line.contains("engine"))
        });
        assert_fits(&lines, columns);
        terminal.press("C-c");
        terminal.wait_for("ended with 130");
    }
}

#[test]
fn a_race_of_four_lanes_fits_every_width() {
    let test = "a_race_of_four_lanes_fits_every_width";
    let world = world();
    let fake = "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {sleep: {seconds: 4}}]}";
    world.case("race", &[("fake", fake)]);
    for columns in WIDTHS {
        let words = ["race", "./race", "--engines", "fake,fake,fake,fake"];
        let Some(terminal) = Tmux::start(test, &world, columns, words) else { return };
        assert_fits(&terminal.wait_for("lane 1 of 4"), columns);
        assert_fits(&terminal.wait_for("lane 2 of 4"), columns);
        let lines = terminal.wait_until("the lane that is done and the steps of the lane that runs", |lines| {
            lines.get(1).is_some_and(|line| line.contains("pass"))
                && lines.iter().any(|line| line == "lane 2 of 4")
                && lines.iter().any(|line| line.contains("• engine"))
        });
        assert_fits(&lines, columns);
        terminal.press("C-c");
        let end = terminal.wait_for("ended with 130");
        assert_fits(&end, columns);
        assert!(!end.iter().any(|line| line.contains("• ")), "nothing of the progress is left: {end:#?}");
    }
}

/// Longer than the silence that a terminal leaves unsaid.
const SILENCE: u32 = 40;

#[test]
fn a_silent_engine_is_seen_to_be_silent() {
    let test = "a_silent_engine_is_seen_to_be_silent";
    let world = world();
    slow_case(&world, [0, SILENCE, 0]);
    let Some(terminal) = Tmux::start(test, &world, 60, ["run", "./slow"]) else { return };
    let early = terminal.wait_for("runs python3").join("\n");
    assert!(!early.contains("quiet for"), "control: {early}");
    assert_fits(&terminal.wait_for("quiet for 0:3"), 60);
    terminal.press("C-c");
    terminal.wait_for("ended with 130");
}

#[test]
fn a_run_that_was_started_elsewhere_is_attached_to() {
    let test = "a_run_that_was_started_elsewhere_is_attached_to";
    let world = world();
    slow_case(&world, [5; 3]);
    let elsewhere = world.start(["run", "./slow"]);
    testkit::wait_for("a run", || {
        (world.cto(["runs"]).code == 0 && world.cto(["runs"]).text().contains("running")).then_some(())
    });
    let Some(left) = Tmux::start(test, &world, 80, ["attach", "@"]) else {
        let _ = World::finish(elsewhere);
        return;
    };
    left.wait_for("running  made  fake  stage 2");
    left.press("C-c");
    let gone = left.wait_for("ended with 130").join("\n");
    assert!(gone.contains("goes on") && gone.contains("cto attach"), "{gone}");
    let Some(terminal) = Tmux::start(test, &world, 80, ["attach", "@"]) else {
        let _ = World::finish(elsewhere);
        return;
    };
    let engine = terminal.wait_for("runs python3");
    assert_fits(&engine, 80);
    let end = terminal.wait_for("ended with 0");
    assert!(end[0].starts_with("pass  made  fake  stage 2"), "{end:#?}");
    assert_eq!(World::finish(elsewhere).code, 0, "looking ended nothing");
    let sealed = world.cto(["attach", "@"]).expect(0);
    assert_eq!(sealed.text(), world.cto(["show", "@"]).expect(0).text(), "a sealed run is shown");
}

/// The lines that setup and checks print, and how long their program has run already when somebody comes to look.
#[test]
fn an_attached_terminal_shows_what_setup_and_checks_print() {
    let test = "an_attached_terminal_shows_what_setup_and_checks_print";
    let world = world();
    let environment = r#"{setup: [[sh, -c, "echo fetching 1 of 2; sleep 6; echo fetching 2 of 2; sleep 3"]]}"#;
    let fake = r#"{steps: [{write: {path: a.txt, text: "two\n"}}]}"#;
    let check = r#"[[sh, -c, "grep -qx two a.txt || exit 1; echo looks at a.txt; sleep 4"]]"#;
    world.case("slow", &[("environment", environment), ("fake", fake), ("verification_commands", check)]);
    let elsewhere = world.start(["run", "./slow"]);
    testkit::wait_for("a run", || world.cto(["runs"]).told().contains("running").then_some(()));
    let Some(terminal) = Tmux::start(test, &world, 80, ["attach", "@"]) else {
        let _ = World::finish(elsewhere);
        return;
    };
    let setup = terminal.wait_for("fetching 1 of 2").join("\n");
    assert!(setup.contains("• gates      setup 1") && setup.contains(" of 5:00"), "{setup}");
    let later = terminal.wait_for("fetching 2 of 2").join("\n");
    assert_eq!(later.matches("fetching 1 of 2").count(), 1, "each line once: {later}");
    let program_row = later.lines().find(|line| line.contains("setup 1")).unwrap();
    assert!(!program_row.contains("0:00 of"), "the clock of the program is the program's: {program_row}");
    let check = terminal.wait_for("looks at a.txt").join("\n");
    assert!(check.contains("• verify     exam 1") && !check.contains("fetching"), "{check}");
    let _ = terminal.wait_for("ended with 0");
    assert_eq!(World::finish(elsewhere).code, 0);
    let notes = world.home().join("notes");
    assert!(!notes.exists(), "nothing is left of what was noted: {notes:?}");
}

#[test]
fn plain_is_a_line_a_fact_on_a_terminal_too() {
    let world = world();
    let shown = world.on_terminal(["run", "shell-script-rotate-logs", "--plain"]);
    let text = String::from_utf8_lossy(&shown.bytes).into_owned();
    assert_eq!((shown.code, shown.redrawn()), (0, 0), "{text}");
    assert!(!text.contains('\u{1b}'), "no escape sequence: {text}");
    assert!(text.contains(" gates done ") && text.contains("\npass 2"), "{text}");
    let people = world.on_terminal(["show", "@"]);
    assert!(people.screen()[0].starts_with("pass  "), "control: aligned without it: {:?}", people.screen());
}

#[test]
fn ids_lead_to_bundles_where_the_terminal_follows_links() {
    let world = world();
    let (_, bundle) = world.run("shell-script-rotate-logs", 0);
    let shown = |force: &str| {
        let mut command = world.command(["show", "@"]);
        command.env("FORCE_HYPERLINK", force);
        let mut terminal = testkit::program("script", &world.here());
        let words: Vec<String> = [command.get_program()]
            .into_iter()
            .chain(command.get_args())
            .map(|word| format!("'{}'", word.to_string_lossy()))
            .collect();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                terminal.env(name, value);
            }
        }
        let output = terminal.args(["-qec", &words.join(" "), "/dev/null"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let link = format!("\u{1b}]8;;file://{}\u{1b}\\", bundle.display());
    assert!(shown("1").contains(&link), "{}", shown("1"));
    assert!(!shown("0").contains("\u{1b}]8"), "control");
}
