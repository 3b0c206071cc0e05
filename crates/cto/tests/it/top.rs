//! `cto top` on a real terminal: what goes on, a resize, and a terminal that is given back as it was.

use testkit::{Tmux, World, content_digest};

use crate::world;

#[path = "../browser/payloads.rs"]
mod payloads;

/// A case whose engine says what it does, in words that would move a cursor, and then takes its time.
fn slow_case(world: &World, seconds: u64) {
    let act = r#"{"type":"item.started","item":{"type":"command_execution","command":"python3 -m pytest \u001b[2J\u001b[H\u202e -q"}}"#;
    let fake = format!(
        "{{speaks: codex, steps: [{{write: {{path: a.txt, text: \"two\\n\"}}}}, {{print: {{text: '{act}'}}}}, {{sleep: {{seconds: {seconds}}}}}]}}"
    );
    world.case("slow", &[("fake", &fake), ("verification_commands", "[[\"true\"]]")]);
}

#[test]
fn runs_acts_and_refusals_are_shown_at_every_width_and_the_terminal_is_given_back() {
    let test = "runs_acts_and_refusals_are_shown_at_every_width_and_the_terminal_is_given_back";
    let world = world();
    let _ = world.run("fail-no-diff", 1);
    let bundles = content_digest(&world.bundles(), &[]);
    slow_case(&world, 12);
    let run = world.start(["run", "./slow"]);
    let Some(terminal) = Tmux::start(test, &world, 90, ["top"]) else {
        let _ = World::finish(run);
        return;
    };
    let lines = terminal.wait_for("runs python3");
    let text = lines.join("\n");
    for word in ["cto top  2 runs, 1 running", "works", "made  fake  stage 2", "no_diff", "fail-no-diff", "q quits"] {
        assert!(text.contains(word), "no `{word}` in\n{text}");
    }
    for columns in [60, 120, 41] {
        terminal.resize(columns);
        terminal.wait_until(&format!("one picture for {columns} columns"), |lines| {
            lines.iter().all(|line| line.chars().count() <= usize::from(columns))
                && lines.iter().filter(|line| line.starts_with("cto top")).count() == 1
        });
    }
    terminal.press("q");
    let end = terminal.wait_for("ended with 0");
    assert!(!end.iter().any(|line| line.contains("cto top")), "the screen before is back: {end:#?}");
    terminal.press("x");
    assert_eq!(content_digest(&world.bundles(), &[]), bundles, "looking changed nothing");

    let Some(again) = Tmux::start(test, &world, 80, ["top"]) else { return };
    again.wait_for("q quits");
    again.press("C-c");
    let end = again.wait_for("ended with 0");
    assert!(!end.iter().any(|line| line.contains("q quits")), "{end:#?}");
    assert_eq!(World::finish(run).code, 0, "looking ended nothing");
}

/// A ledger that cannot be read for a moment is reported in the picture, and the picture goes on when it can be read again.
#[test]
fn a_look_that_fails_is_said_and_ends_nothing() {
    let test = "a_look_that_fails_is_said_and_ends_nothing";
    let world = world();
    let _ = world.run("fail-no-diff", 1);
    let Some(terminal) = Tmux::start(test, &world, 90, ["top"]) else { return };
    terminal.wait_for("1 runs, 0 running");
    let kept = world.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    // All files of it: with the last of them alone the database would put itself together again.
    let carry = |from: &std::path::Path, to: &std::path::Path| {
        for file in ["ledger.db-shm", "ledger.db-wal", "ledger.db"] {
            let _ = std::fs::remove_file(to.join(file));
            let _ = std::fs::rename(from.join(file), to.join(file));
        }
    };
    carry(&world.home(), &kept);
    std::fs::write(world.home().join("ledger.db"), b"this is no ledger").unwrap();
    let lines = terminal.wait_for("stale");
    assert!(lines.iter().any(|line| line.contains("runs, 0 running")), "the picture stays: {lines:#?}");
    carry(&kept, &world.home());
    terminal.wait_until("a good look", |lines| !lines.iter().any(|line| line.contains("stale")));
    terminal.wait_for("q quits");
    terminal.press("q");
    terminal.wait_for("ended with 0");
}

#[test]
fn without_a_terminal_the_command_for_programs_is_named() {
    let world = world();
    for words in [&["top"][..], &["top", "--json"]] {
        let told = world.cto(words).expect(2).told();
        assert!(told.contains("cto status --json"), "{told}");
    }
    assert!(!world.home().exists(), "nothing is made by looking");
}

/// All payloads where the terminal shows a text of others, and bytes that are no text in what an engine prints: none of them reaches the
/// terminal as it is.
#[test]
fn hostile_texts_move_nothing_on_the_terminal() {
    let world = world();
    let _ = world.run("fail-no-diff", 1);
    let odd = r#"{"steps": [{"run": {"argv": ["sh", "-c", "while :; do printf '\\377\\376 \\23331m odd\\n'; sleep 0.1; done"]}}]}"#;
    world.case("odd", &[("fake", odd)]);
    let run = world.start(["run", "./odd", "--json"]);
    let mut showing = world.start_at_terminal(["top"]);
    showing.wait_for_text("q quits", 1);
    showing.wait_for_text("works", 1);
    world.cto(["stop", "@", "--json"]);
    assert_eq!(World::finish(run).code, 130);
    // A line of the terminal has room for the beginnings of some.
    let texts: Vec<String> =
        payloads::payloads().into_iter().map(|(_, text)| text.chars().take(30).collect()).collect();
    for (number, some) in texts.chunks(3).enumerate() {
        let mark = format!("mark{number}x");
        let _ = world.cto(["halt", "--reason", &format!("{mark} {}", some.join(" "))]).expect(0);
        showing.wait_for_text(&mark, 1);
        let _ = world.cto(["resume"]).expect(0);
    }
    showing.type_text("q");
    let shown = showing.finish();
    assert_eq!(shown.code, 0);
    let text = String::from_utf8(shown.bytes).unwrap();
    assert!(text.contains("hostileRan"), "the control: the texts are on the screen");
    for bare in
        ["\u{7}", "\u{8}", "\u{9b}", "\u{b}", "\u{1b}]", "\u{1b}[31mred", "\u{1b}[5;1Hm", "\u{fffd}\u{fffd} \u{9b}"]
    {
        assert!(!text.contains(bare), "{bare:?}");
    }
    let hidden = |c: &char| matches!(*c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    assert_eq!(text.chars().find(hidden), None);
}
