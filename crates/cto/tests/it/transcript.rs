//! `cto logs`: the conversation of each agent as text, and every other log.

use std::fs;

use testkit::World;

use crate::world;

/// A run whose engine speaks like this and prints these lines.
fn run_speaking(world: &World, speaks: &str, lines: &[&str]) -> std::path::PathBuf {
    let print = |line: &&str| serde_json::json!({"print": {"text": line}});
    let steps: Vec<_> =
        lines.iter().map(print).chain([serde_json::json!({"write": {"path": "a.txt", "text": "two\n"}})]).collect();
    let fake = serde_json::json!({"speaks": speaks, "steps": steps}).to_string();
    world.case("spoken", &[("fake", &fake)]);
    world.run("./spoken", 0).1
}

/// Speech, a line of the agent's, and the entry that it makes.
const SPOKEN: &[(&str, &str, &str)] = &[
    (
        "codex",
        r#"{"type":"item.completed","item":{"type":"agent_message","text":"I look first."}}"#,
        "says    I look first.",
    ),
    (
        "codex",
        r#"{"type":"item.started","item":{"type":"command_execution","command":"cat a.txt"}}"#,
        "runs    cat a.txt",
    ),
    (
        "claude",
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Edit","input":{"file_path":"/w/a.py"}}]}}"#,
        "edits   edit /w/a.py",
    ),
    ("pi", r#"{"type":"agent_start"}"#, "turn    started"),
    (
        "opencode",
        r#"{"type":"tool_use","part":{"type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{"command":"pytest"},"error":"denied"}}}"#,
        "runs    pytest",
    ),
];

#[test]
fn the_conversation_of_each_agent_is_text_with_times() {
    for (speaks, line, expected) in SPOKEN {
        let world = world();
        run_speaking(&world, speaks, &[line]);
        let text = world.cto(["logs", "@"]).expect(0).text();
        let entry = text.lines().find(|line| line.contains(expected));
        let entry = entry.unwrap_or_else(|| panic!("{speaks}: no `{expected}` in\n{text}"));
        assert!(entry.trim_start().starts_with("0:0"), "it has its time: {entry}");
        assert!(!text.contains(line), "{speaks}: nothing of the format is left:\n{text}");
        let raw = world.cto(["logs", "@", "--raw"]).expect(0).text();
        assert!(raw.contains(line), "control: --raw has the line as it was: {raw}");
    }
}

#[test]
fn a_long_message_is_shown_whole_and_its_control_characters_are_words() {
    let world = world();
    let long = format!("{}\u{1b}[2J last words", "many words ".repeat(200));
    let line =
        serde_json::json!({"type": "item.completed", "item": {"type": "agent_message", "text": long}}).to_string();
    run_speaking(&world, "codex", &[&line]);
    let text = world.cto(["logs", "@"]).expect(0).text();
    assert!(text.contains("last words") && !text.contains('\u{1b}'), "{text}");
    let json = world.cto(["logs", "@", "--json"]).expect(0).json();
    let entry = json["entries"].as_array().unwrap().iter().find(|entry| entry["word"] == "says").unwrap();
    assert_eq!(entry["text"].as_str().unwrap(), long);
    assert_eq!((&json["requests"], &json["cost_micros"]), (&0.into(), &0.into()), "no model was asked");
}

#[test]
fn every_other_log_is_there() {
    let world = world();
    let bundle = run_speaking(&world, "plain", &["a line"]);
    let read = |name: &str| fs::read_to_string(bundle.join(name)).unwrap();
    let logs = |flag: &str| world.cto(["logs", "@", flag]).expect(0);
    assert_eq!(logs("--checks").text(), read("test.log"));
    assert_eq!(logs("--verification").text(), read("test.log"), "the name it had before");
    assert_eq!(logs("--trace").text(), read("trace.jsonl"));
    assert_eq!(world.cto(["logs", "@", "--events", "--raw"]).expect(0).text(), read("events.normalized.jsonl"));
    let events = logs("--events").text();
    assert!(events.lines().any(|line| line.contains("engine.exited") && line.contains("exit_code 0")), "{events}");
    let others = events.lines().filter(|line| !line.contains("engine.output"));
    assert!(others.clone().count() > 5 && others.clone().all(|line| !line.contains('{')), "events are words: {events}");
    assert!(logs("--refusals").stderr.contains("nothing was refused"));
    assert!(logs("--setup").stderr.contains("has no setup"));
    let _ = world.cto(["logs", "@", "--events", "--setup"]).expect(2);
}

#[test]
fn refusals_name_what_was_tried() {
    let world = world();
    let steps = "{steps: [{write: {path: a.txt, text: \"two\\n\"}}, {run: {argv: [git, push, origin, main]}}]}";
    world.case("pushes", &[("fake", steps)]);
    let _ = world.cto(["run", "./pushes"]).expect(1);
    let text = world.cto(["logs", "@", "--refusals"]).expect(0).text();
    assert!(text.starts_with("counts  engine  ") && text.contains("x  execution git push origin main"), "{text}");
    let json = world.cto(["logs", "@", "--refusals", "--json"]).expect(0).json();
    assert_eq!(json["refusals"][0]["counts"], true);
}
