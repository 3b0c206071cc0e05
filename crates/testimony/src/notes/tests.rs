//! Lines of the real agents, shortened in what is not read, and lines that mean harm.

use contract::claim::Speech;
use proptest::prelude::*;

use super::{MAX_NOTES, MAX_TEXT, Note, notes};

/// Notes of a line: `kind: text` for each note, nothing if it is skipped, `as it is` if it is not of the format.
fn check(speech: Speech, rows: &[(&str, &str)]) {
    for (line, wanted) in rows {
        let made = notes(speech, line.as_bytes()).map_or_else(|| "as it is".to_owned(), |notes| told(&notes));
        assert_eq!(made, *wanted, "{line}");
    }
}

fn told(notes: &[Note]) -> String {
    let kind = |note: &Note| serde_json::to_value(note.kind).unwrap().as_str().unwrap().to_owned();
    notes.iter().map(|note| format!("{}: {}", kind(note), note.text)).collect::<Vec<_>>().join(" | ")
}

#[test]
fn codex() {
    check(
        Speech::Codex,
        &[
            (r#"{"type":"thread.started","thread_id":"01a1dff3-b0e2-7ad1-8101-0daef8176be6"}"#, ""),
            (
                r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for `model-x` not found."}}"#,
                "error: Model metadata for `model-x` not found.",
            ),
            (r#"{"type":"turn.started"}"#, "turn: started"),
            (
                r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"I look first."}}"#,
                "message: I look first.",
            ),
            (
                r#"{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'cat strings.py; false'","aggregated_output":"","exit_code":null,"status":"in_progress"}}"#,
                "command: /bin/bash -lc 'cat strings.py; false'",
            ),
            (
                r#"{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'cat strings.py; false'","aggregated_output":"def slugify(t):\n","exit_code":1,"status":"failed"}}"#,
                "command: exit 1: /bin/bash -lc 'cat strings.py; false'",
            ),
            (
                r#"{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"true","aggregated_output":"","exit_code":0,"status":"completed"}}"#,
                "",
            ),
            (
                r#"{"type":"item.started","item":{"id":"item_3","type":"file_change","changes":[{"path":"/w/strings.py","kind":"update"}],"status":"in_progress"}}"#,
                "",
            ),
            (
                r#"{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"/w/strings.py","kind":"update"},{"path":"/w/new.py","kind":"add"}],"status":"completed"}}"#,
                "file_change: update /w/strings.py, add /w/new.py",
            ),
            (
                r#"{"type":"item.completed","item":{"id":"item_5","type":"file_change","changes":[{"path":"/w/a.py","kind":"update"}],"status":"failed"}}"#,
                "file_change: failed: update /w/a.py",
            ),
            (r#"{"type":"item.completed","item":{"id":"item_6","type":"reasoning","text":"hm"}}"#, ""),
            (r#"{"type":"item.completed","item":{"id":"item_7","type":"web_search","query":"q"}}"#, "tool: web_search"),
            (
                r#"{"type":"turn.completed","usage":{"input_tokens":33,"cached_input_tokens":2,"cache_write_input_tokens":0,"output_tokens":21,"reasoning_output_tokens":0}}"#,
                "usage: 33 input (2 cached), 21 output tokens",
            ),
            (
                r#"{"type":"error","message":"exceeded retry limit, last status: 429 Too Many Requests"}"#,
                "error: exceeded retry limit, last status: 429 Too Many Requests",
            ),
            (
                r#"{"type":"turn.failed","error":{"message":"unexpected status 403 Forbidden: scripted"}}"#,
                "error: unexpected status 403 Forbidden: scripted",
            ),
            ("Reading prompt from stdin...", "as it is"),
            (r#"{"type":"item.completed","item":{"type":"agent_message"}}"#, "as it is"),
        ],
    );
}

#[test]
fn pi() {
    check(
        Speech::Pi,
        &[
            (r#"{"type":"session","version":3,"id":"01a1","timestamp":"2026-11-15T16:04:16.103Z","cwd":"/w"}"#, ""),
            (r#"{"type":"agent_start"}"#, "turn: started"),
            (r#"{"type":"turn_start"}"#, ""),
            (
                r#"{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"fix it"}],"timestamp":1}}"#,
                "",
            ),
            (
                r#"{"type":"message_update","usage":{"input":11},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"I l"}}"#,
                "",
            ),
            (
                r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"I look first."},{"type":"toolCall","id":"call_1","name":"bash","arguments":{"command":"cat strings.py; false"}}],"api":"openai-completions","usage":{"input":11,"output":7,"cacheRead":0},"stopReason":"toolUse"}}"#,
                "message: I look first. | usage: 11 input, 7 output tokens",
            ),
            (
                r#"{"type":"tool_execution_start","toolCallId":"call_1","toolName":"bash","args":{"command":"cat strings.py; false"}}"#,
                "command: cat strings.py; false",
            ),
            (
                r#"{"type":"tool_execution_update","toolCallId":"call_1","toolName":"bash","args":{"command":"x"},"partialResult":{"content":[]}}"#,
                "",
            ),
            (
                r#"{"type":"tool_execution_end","toolCallId":"call_1","toolName":"bash","result":{"content":[{"type":"text","text":"def slugify(t):\n\nCommand exited with code 1"}],"details":{}},"isError":true}"#,
                "tool: bash failed: def slugify(t):␊␊Command exited with code 1",
            ),
            (
                r#"{"type":"tool_execution_start","toolCallId":"call_2","toolName":"read","args":{"path":"strings.py"}}"#,
                "tool: read strings.py",
            ),
            (
                r#"{"type":"tool_execution_end","toolCallId":"call_2","toolName":"read","result":{"content":[]},"isError":false}"#,
                "",
            ),
            (
                r#"{"type":"tool_execution_start","toolCallId":"call_3","toolName":"edit","args":{"path":"strings.py","edits":[{"oldText":"a","newText":"b"}]}}"#,
                "file_change: edit strings.py",
            ),
            (
                r#"{"type":"message_end","message":{"role":"assistant","content":[],"usage":{"input":0,"output":0},"stopReason":"error","errorMessage":"403: {\"message\":\"scripted\"}"}}"#,
                r#"error: 403: {"message":"scripted"}"#,
            ),
            (
                r#"{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"429: no"}"#,
                "error: attempt 1 of 3 in 2000 ms: 429: no",
            ),
            (r#"{"type":"agent_end","messages":[{"role":"assistant","stopReason":"stop"}]}"#, ""),
            (r#"{"type":"agent_settled"}"#, "turn: settled"),
            (r#"{"type":"something_new","text":"x"}"#, "as it is"),
            // Cut: what streams is still known by its beginning, what speaks is shown.
            (r#"{"type":"message_update","usage":{"inp"#, ""),
            (r#"{"type":"message_end","message":{"role":"assi"#, "as it is"),
        ],
    );
}

#[test]
fn claude() {
    check(
        Speech::Claude,
        &[
            (
                r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"9a","tools":["Task","Bash"],"mcp_servers":[],"model":"model-x","permissionMode":"bypassPermissions"}"#,
                "turn: started with model-x",
            ),
            (
                r#"{"type":"assistant","message":{"id":"m","type":"message","role":"assistant","model":"model-x","content":[{"type":"text","text":"I look first."}],"usage":{"input_tokens":11}},"parent_tool_use_id":null}"#,
                "message: I look first.",
            ),
            (
                r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"cat strings.py; false","description":"look"}}]}}"#,
                "command: cat strings.py; false",
            ),
            (
                r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"Exit code 1\ndef slugify(t):","is_error":true,"tool_use_id":"toolu_1"}]},"tool_use_result":"Error: Exit code 1"}"#,
                "tool: failed: Exit code 1␊def slugify(t):",
            ),
            (
                r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_3","name":"Write","input":{"file_path":"new.txt","content":"x"}},{"type":"tool_use","id":"toolu_4","name":"Read","input":{"file_path":"/w/a"}}]}}"#,
                "file_change: write new.txt | tool: read /w/a",
            ),
            (
                r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_3","type":"tool_result","content":"File created successfully at: new.txt"}]}}"#,
                "",
            ),
            (r#"{"type":"user","message":{"role":"user","content":"a prompt"}}"#, ""),
            (r#"{"type":"stream_event","event":{"type":"content_block_delta"}}"#, ""),
            (
                r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":607,"error_status":401,"error":"authentication_failed"}"#,
                "error: attempt 1 of 10 in 607 ms: authentication_failed (HTTP 401)",
            ),
            (
                r#"{"duration_api_ms":276,"stop_reason":"end_turn","usage":{"input_tokens":44,"output_tokens":28},"is_error":false,"num_turns":4,"subtype":"success","result":"Done. All tests pass.","type":"result","duration_ms":1221}"#,
                "usage: 4 turns, 44 input, 28 output tokens",
            ),
            (
                r#"{"duration_api_ms":0,"usage":{},"is_error":true,"num_turns":1,"subtype":"success","api_error_status":403,"result":"API Error: 403 scripted","type":"result"}"#,
                "error: API Error: 403 scripted",
            ),
            (r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#, "error: error_max_turns"),
            (
                r#"{"type":"system","subtype":"task_started","task_id":"a17","tool_use_id":"toolu_1","description":"look","subagent_type":"general-purpose","is_backgrounded":true}"#,
                "tool: task look",
            ),
            (
                r#"{"type":"system","subtype":"task_notification","task_id":"a17","tool_use_id":"toolu_1","status":"completed","output_file":"/tmp/x"}"#,
                "tool: task completed",
            ),
            (r#"{"type":"system","subtype":"background_tasks_changed","tasks":[]}"#, ""),
            (r#"{"type":"system","subtype":"something_new"}"#, "as it is"),
        ],
    );
}

#[test]
fn opencode() {
    check(
        Speech::Opencode,
        &[
            (r#"{"type":"step_start","timestamp":1,"sessionID":"s","part":{"type":"step-start"}}"#, ""),
            (
                r#"{"type":"tool_use","part":{"type":"tool","callID":"c","tool":"edit","state":{"status":"completed","input":{"filePath":"/w/a.py","oldString":"a"},"output":""}}}"#,
                "file_change: edit /w/a.py",
            ),
            (
                r#"{"type":"tool_use","part":{"type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{"command":"pytest"},"error":"denied"}}}"#,
                "command: pytest | tool: bash failed: denied",
            ),
            (r#"{"type":"text","part":{"type":"text","text":"The bug is fixed."}}"#, "message: The bug is fixed."),
            (
                r#"{"type":"step_finish","part":{"type":"step-finish","reason":"stop","cost":0,"tokens":{"input":5,"output":6}}}"#,
                "usage: 5 input, 6 output tokens",
            ),
            (r#"{"type":"error","error":{"name":"APIError","data":{"message":"403"}}}"#, "error: APIError 403"),
        ],
    );
}

/// Formats without a reader are shown as they are.
#[test]
fn others() {
    for speech in [Speech::Fake, Speech::Gemini, Speech::Aider, Speech::Case, Speech::Plain] {
        check(speech, &[(r#"{"type":"turn.started"}"#, "as it is")]);
    }
}

/// The bounds that hold for any line.
fn bounded(line: &[u8]) {
    for speech in Speech::ALL {
        let made = notes(speech, line).unwrap_or_default();
        assert!(made.len() <= MAX_NOTES);
        for note in made {
            assert!(note.text.chars().count() <= MAX_TEXT && !note.text.contains(char::is_control), "{note:?}");
        }
    }
}

#[test]
fn a_note_is_short_whatever_is_said() {
    let long = "\u{1b}[2J\u{202e}x".repeat(20_000);
    let message = serde_json::json!({"type": "item.completed", "item": {"type": "agent_message", "text": long}});
    assert_eq!(notes(Speech::Codex, message.to_string().as_bytes()).unwrap()[0].text.chars().count(), MAX_TEXT);
    let block = serde_json::json!({"type": "text", "text": long});
    let many = serde_json::json!({"type": "assistant", "message": {"content": vec![block; 50]}});
    assert_eq!(notes(Speech::Claude, many.to_string().as_bytes()).unwrap().len(), MAX_NOTES);
    let deep = format!(r#"{{"type":"assistant","message":{{"content":{}"#, "[".repeat(100_000));
    for line in [message.to_string(), many.to_string(), deep] {
        bounded(line.as_bytes());
    }
}

proptest! {
    #[test]
    fn any_bytes(line in proptest::collection::vec(any::<u8>(), 0..400)) {
        bounded(&line);
    }

    #[test]
    fn almost_an_event(
        kind in proptest::sample::select(vec![
            "item.completed", "item.started", "turn.failed", "message_end", "tool_execution_start", "auto_retry_start",
            "assistant", "user", "system", "result", "tool_use", "step_finish", "error",
        ]),
        field in proptest::sample::select(vec!["item", "message", "args", "part", "error", "subtype", "usage"]),
        value in proptest::sample::select(vec![
            "null", "1e999", "{}", "[]", "\"\\ud800\"", "{\"type\":\"error\"}", "{\"content\":[{\"type\":\"text\"}]}",
            "{\"role\":\"assistant\",\"content\":\"x\"}", "{\"tool\":\"bash\",\"state\":{}}", "{\"path\":1}",
        ]),
    ) {
        bounded(format!("{{\"type\":\"{kind}\",\"{field}\":{value}}}").as_bytes());
    }
}
