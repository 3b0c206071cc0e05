//! The conversation of each agent as a person reads it: messages, calls of tools, requests, their times and their cost.

use serde_json::json;

use super::scene::{PAIR, Scene, ask, asking};

/// Output of an engine in its own format, and the entries that a person reads instead.
struct Spoken {
    speaks: &'static str,
    lines: &'static [&'static str],
    entries: &'static [&'static str],
}

const SPOKEN: &[Spoken] = &[
    Spoken {
        speaks: "codex",
        lines: &[
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"I look first."}}"#,
            r#"{"type":"item.started","item":{"type":"command_execution","command":"cat a.txt"}}"#,
        ],
        entries: &["says    I look first.", "runs    cat a.txt"],
    },
    Spoken {
        speaks: "claude",
        lines: &[
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look first."}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"cat a.txt"}},{"type":"tool_use","name":"Edit","input":{"file_path":"/w/a.py"}}]}}"#,
        ],
        entries: &["says    I look first.", "runs    cat a.txt", "edits   edit /w/a.py"],
    },
    Spoken {
        speaks: "pi",
        lines: &[
            r#"{"type":"agent_start"}"#,
            r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"I look first."}],"stopReason":"toolUse","usage":{"input":11,"output":7}}}"#,
            r#"{"type":"tool_execution_start","toolCallId":"c","toolName":"bash","args":{"command":"cat a.txt"}}"#,
            r#"{"type":"tool_execution_start","toolCallId":"d","toolName":"edit","args":{"path":"a.py"}}"#,
        ],
        entries: &[
            "turn    started",
            "says    I look first.",
            "usage   11 input, 7 output tokens",
            "runs    cat a.txt",
            "edits   edit a.py",
        ],
    },
    Spoken {
        speaks: "opencode",
        lines: &[
            r#"{"type":"text","part":{"type":"text","text":"I look first."}}"#,
            r#"{"type":"tool_use","part":{"type":"tool","callID":"c","tool":"bash","state":{"status":"completed","input":{"command":"cat a.txt"}}}}"#,
        ],
        entries: &["says    I look first.", "runs    cat a.txt"],
    },
];

#[test]
fn each_agent_is_told_with_messages_tools_times_and_cost() {
    testkit::each_row(SPOKEN.iter().map(|row| (row.speaks, row)), |row| {
        let mut scene = Scene::new();
        scene.config["models"][PAIR]["price"] = json!({"prompt": 1_000_000, "completion": 1_000_000});
        scene.settle();
        let print = |line: &&str| json!({"print": {"text": line}});
        let steps: Vec<_> = asking(&[ask("m", "hello")]).into_iter().chain(row.lines.iter().map(print)).collect();
        let fake = json!({"speaks": row.speaks, "steps": steps, "wire": "chat_completions"}).to_string();
        let case = scene.world.case("spoken", &[("fake", &fake)]);
        let _ = scene.run(&case, &[], 0);
        let text = scene.cto(&["logs", "@"]).expect(0).text();
        // 11 tokens and 7, at a dollar for a million.
        let request = "model   request 1 answered by m, 18 tokens, ";
        for expected in row.entries.iter().chain([&request]) {
            let entry = text.lines().find(|line| line.contains(expected));
            let entry = entry.unwrap_or_else(|| panic!("no `{expected}` in\n{text}"));
            let time = entry.split_whitespace().next().unwrap();
            assert!(time.starts_with("0:0"), "it has its time: {entry}");
            assert_eq!(entry.contains(", $0.000018"), *expected == request, "a request has its cost: {entry}");
        }
        assert!(row.lines.iter().all(|line| !text.contains(line)), "nothing of the format is left:\n{text}");
        let last = text.lines().last().unwrap();
        assert_eq!(last, "1 requests, 18 tokens, $0.000018+", "the question of the preflight came without its usage");
        let told = scene.cto(&["logs", "@", "--json"]).expect(0).json();
        assert_eq!((&told["requests"], &told["cost_micros"]), (&json!(1), &json!(18)));
        assert_eq!(told["is_partly_unpriced"], true);
    });
}
