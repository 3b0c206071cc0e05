//! Streams as the agents print them, honest and lying.

use contract::claim::Speech;

use super::{check, failing, good, idle};

const CODEX: &str = r#"{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"All tests pass already?"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Done. I'll look at the tests next."}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"bash -lc 'pytest -q'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"bash -lc 'pytest -q'","aggregated_output":"12 passed in 0.04s\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"/w/repo/src/app.py","kind":"update"},{"path":"/w/repo/test/test_app.py","kind":"add"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"item_4","type":"file_change","changes":[{"path":"/w/repo/src/app.py","kind":"update"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"item_5","type":"file_change","changes":[{"path":"/w/repo/src/broken.py","kind":"update"}],"status":"failed"}}
{"type":"item.completed","item":{"id":"item_6","type":"agent_message","text":"Fixed the greeting in `src/app.py`.\n\nAll tests pass."}}
{"type":"turn.completed","usage":{"input_tokens":24763,"cached_input_tokens":24448,"output_tokens":122,"reasoning_output_tokens":0}}
"#;

#[test]
fn codex() {
    let touched = "[/w/repo/src/app.py /w/repo/test/test_app.py]";
    check(
        Speech::Codex,
        CODEX,
        &good(),
        &[
            "turn.completed success true: supported",
            &format!("file_change.changes touched {touched}: supported"),
            "tests_pass tests true: supported (prose)",
            "done success true: supported (prose)",
        ],
    );
    check(
        Speech::Codex,
        CODEX,
        &failing(),
        &[
            "! turn.completed success true: contradicted",
            &format!("file_change.changes touched {touched}: supported"),
            "tests_pass tests true: contradicted (prose)",
            "done success true: contradicted (prose)",
        ],
    );
    check(
        Speech::Codex,
        CODEX,
        &idle(),
        &[
            "! turn.completed success true: contradicted",
            &format!("file_change.changes touched {touched}: unverifiable"),
            "tests_pass tests true: unverifiable (prose)",
            "done success true: contradicted (prose)",
        ],
    );
}

#[test]
fn codex_ends() {
    let failed = r#"{"type":"turn.failed","error":{"message":"unexpected status 403"}}"#;
    let error = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
    let completed = r#"{"type":"turn.completed","usage":{"input_tokens":1}}"#;
    let item_error = r#"{"type":"item.completed","item":{"id":"i","type":"error","message":"a hint"}}"#;
    let started = r#"{"type":"item.started","item":{"id":"i","type":"agent_message","text":"Done."}}"#;
    for (lines, seen, wanted) in [
        (vec![failed], failing(), vec!["turn.failed success false: supported"]),
        (vec![failed], good(), vec!["turn.failed success false: unverifiable"]),
        (vec![error], idle(), vec!["error success false: supported"]),
        (vec![error, completed], good(), vec!["turn.completed success true: supported"]),
        (vec![completed, failed], good(), vec!["turn.failed success false: unverifiable"]),
        (vec![item_error, completed], good(), vec!["turn.completed success true: supported"]),
        (vec![started], good(), vec![]),
        (vec!["{\"type\":\"turn.started\"}"], good(), vec![]),
    ] {
        check(Speech::Codex, lines.join("\n"), &seen, &wanted);
    }
}

const PI: &str = r#"{"type":"session","version":3,"id":"6d1c","timestamp":"2026-11-03T10:00:00.000Z","cwd":"/w/repo"}
{"type":"agent_start"}
{"type":"message_end","message":{"role":"user","content":"Make sure that all tests pass."}}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Done soon."},{"type":"toolCall","id":"c1","name":"edit","arguments":{"path":"src/app.py"}}],"stopReason":"toolUse"}}
{"type":"tool_execution_start","toolCallId":"c0","toolName":"read","args":{"path":"README.md"}}
{"type":"tool_execution_start","toolCallId":"c1","toolName":"edit","args":{"path":"src/app.py","edits":[{"oldText":"a","newText":"b"}]}}
{"type":"tool_execution_end","toolCallId":"c1","toolName":"edit","result":{"content":[]},"isError":false}
{"type":"tool_execution_start","toolCallId":"c2","toolName":"write","args":{"path":"/etc/none","content":"x"}}
{"type":"tool_execution_end","toolCallId":"c2","toolName":"write","result":{"content":[]},"isError":true}
{"type":"tool_execution_start","toolCallId":"c3","toolName":"write","args":{"path":"./test/../test/test_app.py","content":"x"}}
{"type":"tool_execution_end","toolCallId":"c3","toolName":"write","result":{"content":[]},"isError":false}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"thinking","thinking":"I failed"},{"type":"text","text":"I fixed the bug. 12 passed."}],"stopReason":"stop"}}
{"type":"turn_end","message":{"role":"assistant","content":[]},"toolResults":[]}
{"type":"agent_end","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[],"stopReason":"stop"}],"willRetry":false}
{"type":"agent_settled"}
"#;

#[test]
fn pi() {
    for (seen, success, prose) in [(good(), "supported", "supported"), (failing(), "contradicted", "contradicted")] {
        let mark = if success == "contradicted" { "! " } else { "" };
        check(
            Speech::Pi,
            PI,
            &seen,
            &[
                &format!("{mark}agent_settled success true: {success}"),
                "tool_execution_start.args.path touched [src/app.py ./test/../test/test_app.py]: supported",
                &format!("tests_counted tests true: {prose} (prose)"),
                &format!("done success true: {prose} (prose)"),
            ],
        );
    }
}

#[test]
fn pi_ends() {
    let start = r#"{"type":"agent_start"}"#;
    let fine = r#"{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"stop"}}"#;
    let error = r#"{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"403 Forbidden"}}"#;
    let again = r#"{"type":"agent_end","messages":[{"role":"assistant","stopReason":"error"}],"willRetry":true}"#;
    let broke = r#"{"type":"agent_end","messages":[{"role":"assistant","stopReason":"error","errorMessage":"500"}]}"#;
    let aborted = r#"{"type":"agent_end","messages":[{"role":"assistant","stopReason":"aborted"}]}"#;
    let odd = r#"{"type":"agent_end","messages":"none"}"#;
    let more = r#"{"type":"agent_end","messages":[{"role":"assistant","stopReason":"stop"}],"willRetry":true}"#;
    let settled = r#"{"type":"agent_settled"}"#;
    let user =
        r#"{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"All tests pass."}]}}"#;
    for (lines, seen, wanted) in [
        (vec![start, error, settled], idle(), vec!["stopReason success false: supported"]),
        (vec![start, broke, settled], good(), vec!["stopReason success false: unverifiable"]),
        (vec![start, aborted], failing(), vec!["stopReason success false: supported"]),
        (vec![start, fine], good(), vec![]),
        (vec![start, error, again, start, fine], good(), vec![]),
        (vec![start, fine, more], good(), vec![]),
        (vec![start, fine, settled, start], good(), vec![]),
        (vec![start, user], good(), vec![]),
        (vec![start, error, again, start, fine, settled], good(), vec!["agent_settled success true: supported"]),
        (vec![start, fine, odd], good(), vec!["agent_end success true: supported"]),
        (vec![start, fine, settled], idle(), vec!["! agent_settled success true: contradicted"]),
    ] {
        check(Speech::Pi, lines.join("\n"), &seen, &wanted);
    }
}

const CLAUDE: &str = r#"{"type":"system","subtype":"init","cwd":"/w/repo","session_id":"s","tools":["Edit"],"model":"m"}
{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"All tests pass."},{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/w/repo/src/app.py","old_string":"a","new_string":"b"}}]}}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"ok"}]}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"/w/repo/test/test_app.py","content":"x"}},{"type":"tool_use","id":"t3","name":"Read","input":{"file_path":"/w/repo/README.md"}},{"type":"tool_use","id":"t4","name":"NotebookEdit","input":{"notebook_path":"/w/repo/n.ipynb"}},{"type":"tool_use","id":"t5","name":"MultiEdit","input":{"file_path":"/w/repo/src/app.py","edits":[]}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t4","is_error":true,"content":"no such notebook"}]}}
{"type":"user","message":{"role":"user","content":"a string instead of blocks"}}
{"type":"result","subtype":"success","is_error":false,"num_turns":4,"result":"I've implemented the greeting and committed it as 1a2b3c4.","total_cost_usd":0.01,"usage":{}}
"#;

#[test]
fn claude() {
    for (seen, verdict, done) in [(good(), "supported", ""), (failing(), "contradicted", "! ")] {
        check(
            Speech::Claude,
            CLAUDE,
            &seen,
            &[
                &format!("{done}result.subtype success true: {verdict}"),
                "tool_use.input.file_path touched [/w/repo/src/app.py /w/repo/test/test_app.py]: supported",
                "committed commit 1a2b3c4: supported (prose)",
                &format!("done success true: {verdict} (prose)"),
            ],
        );
    }
}

#[test]
fn claude_ends() {
    for (fields, seen, wanted) in [
        (
            r#""subtype":"success","is_error":true,"api_error_status":403,"result":"API Error: 403""#,
            idle(),
            vec!["result.subtype success false: supported"],
        ),
        (r#""subtype":"error_max_turns","is_error":false"#, good(), vec!["result.subtype success false: unverifiable"]),
        (r#""subtype":"success""#, idle(), vec!["! result.subtype success true: contradicted"]),
        (r#""is_error":true"#, failing(), vec!["result.subtype success false: supported"]),
        (r#""result":"All tests pass.""#, failing(), vec!["tests_pass tests true: contradicted (prose)"]),
        (r#""subtype":"success","result":{"text":"All tests pass."}"#, failing(), vec![]),
    ] {
        check(Speech::Claude, format!("{{\"type\":\"result\",{fields}}}\n"), &seen, &wanted);
    }
}

#[test]
fn claude_notebooks() {
    let edit = r#"{"type":"tool_use","id":"t","name":"NotebookEdit","input":{"notebook_path":"/w/n.ipynb"}}"#;
    let turn = format!(r#"{{"type":"assistant","message":{{"content":[{edit}]}}}}"#);
    check(Speech::Claude, turn, &good(), &["tool_use.input.file_path touched [/w/n.ipynb]: unverifiable"]);
}

const OPENCODE: &str = r#"{"type":"step_start","timestamp":1778479990756,"sessionID":"ses_1","part":{"type":"step-start"}}
{"type":"tool_use","timestamp":1778479990757,"sessionID":"ses_1","part":{"type":"tool","callID":"c1","tool":"edit","state":{"status":"completed","input":{"filePath":"/w/repo/src/app.py","oldString":"a","newString":"b"},"output":""}}}
{"type":"tool_use","timestamp":1778479990758,"sessionID":"ses_1","part":{"type":"tool","callID":"c2","tool":"write","state":{"status":"error","input":{"filePath":"/w/repo/no.py"},"error":"denied"}}}
{"type":"tool_use","timestamp":1778479990759,"sessionID":"ses_1","part":{"type":"tool","callID":"c3","tool":"bash","state":{"status":"completed","input":{"command":"pytest"},"output":"12 passed"}}}
{"type":"step_finish","timestamp":1778479990760,"sessionID":"ses_1","part":{"type":"step-finish","reason":"tool-calls","cost":0}}
{"type":"step_start","timestamp":1778479990761,"sessionID":"ses_1","part":{"type":"step-start"}}
{"type":"text","timestamp":1778479990762,"sessionID":"ses_1","part":{"type":"text","text":"The bug is fixed. I opened a pull request."}}
{"type":"step_finish","timestamp":1778479990763,"sessionID":"ses_1","part":{"type":"step-finish","reason":"stop","cost":0}}
"#;

#[test]
fn opencode() {
    for (seen, verdict, mark) in [(good(), "supported", ""), (failing(), "contradicted", "! ")] {
        check(
            Speech::Opencode,
            OPENCODE,
            &seen,
            &[
                &format!("{mark}step_finish.reason success true: {verdict}"),
                "tool_use.state.input.filePath touched [/w/repo/src/app.py]: supported",
                "pull_request other I opened a pull request.: unverifiable (prose)",
                &format!("done success true: {verdict} (prose)"),
            ],
        );
    }
}

#[test]
fn opencode_ends() {
    let finish = |reason: &str| format!(r#"{{"type":"step_finish","part":{{"reason":"{reason}"}}}}"#);
    let start = r#"{"type":"step_start","part":{}}"#.to_owned();
    let error = r#"{"type":"error","error":{"name":"APIError","data":{"message":"403"}}}"#.to_owned();
    for (lines, seen, wanted) in [
        (vec![error.clone()], idle(), vec!["error success false: supported"]),
        (vec![finish("stop"), error.clone()], good(), vec!["error success false: unverifiable"]),
        (vec![error, start.clone(), finish("stop")], good(), vec!["step_finish.reason success true: supported"]),
        (vec![finish("tool-calls")], failing(), vec![]),
        (vec![finish("length")], failing(), vec![]),
        (vec![finish("stop"), start], failing(), vec![]),
        (vec![finish("error")], failing(), vec!["step_finish.reason success false: supported"]),
        (vec![finish("stop")], idle(), vec!["! step_finish.reason success true: contradicted"]),
    ] {
        check(Speech::Opencode, lines.join("\n"), &seen, &wanted);
    }
}

const GEMINI: &str = r#"YOLO mode is enabled. All tool calls will be automatically approved.
{"type":"init","timestamp":"2026-11-03T10:00:00.000Z","session_id":"s","model":"m"}
{"type":"message","timestamp":"t","role":"user","content":"Fixed? Make all tests pass. 99 passed"}
{"type":"message","timestamp":"t","role":"assistant","content":"All tests pass.","delta":true}
{"type":"tool_use","timestamp":"t","tool_name":"replace","tool_id":"r1","parameters":{"file_path":"/w/repo/src/app.py","old_string":"a","new_string":"b"}}
{"type":"tool_result","timestamp":"t","tool_id":"r1","status":"success","output":"ok"}
{"type":"tool_use","timestamp":"t","tool_name":"write_file","tool_id":"r2","parameters":{"file_path":"/w/repo/test/test_app.py","content":"x"}}
{"type":"tool_result","timestamp":"t","tool_id":"r2","status":"success"}
{"type":"tool_use","timestamp":"t","tool_name":"write_file","tool_id":"r3","parameters":{"file_path":"/root/x","content":"x"}}
{"type":"tool_result","timestamp":"t","tool_id":"r3","status":"error","error":{"type":"E","message":"outside"}}
{"type":"tool_use","timestamp":"t","tool_name":"run_shell_command","tool_id":"r4","parameters":{"command":"pytest"}}
{"type":"message","timestamp":"t","role":"assistant","content":"The bug has ","delta":true}
{"type":"message","timestamp":"t","role":"assistant","content":"been fixed.","delta":true}
{"type":"error","timestamp":"t","severity":"warning","message":"loop detected"}
{"type":"result","timestamp":"t","status":"success","stats":{"total_tokens":1}}
"#;

#[test]
fn gemini() {
    for (seen, verdict, mark) in [(good(), "supported", ""), (failing(), "contradicted", "! ")] {
        check(
            Speech::Gemini,
            GEMINI,
            &seen,
            &[
                &format!("{mark}result.status success true: {verdict}"),
                "tool_use.parameters.file_path touched [/w/repo/src/app.py /w/repo/test/test_app.py]: supported",
                &format!("done success true: {verdict} (prose)"),
            ],
        );
    }
    let error = r#"{"type":"result","status":"error","error":{"type":"FatalTurnLimitedError","message":"m"}}"#;
    let whole = r#"{"type":"message","role":"assistant","content":"I could not fix the bug."}"#;
    check(Speech::Gemini, error, &idle(), &["result.status success false: supported"]);
    check(Speech::Gemini, whole, &failing(), &["not_done success false: supported (prose)"]);
    check(Speech::Gemini, r#"{"type":"message","role":"user","content":"All tests pass."}"#, &idle(), &[]);
    check(Speech::Gemini, r#"{"type":"result","status":"odd"}"#, &idle(), &[]);
    check(Speech::Gemini, r#"{"type":"error","severity":"error","message":"m"}"#, &idle(), &[]);
}

/// Aider has no fields: all it prints is prose, its own fixed lines too.
#[test]
fn aider() {
    let honest = "Aider v0.86.2\nModel: m\n\nI changed the greeting.\n\nApplied edit to src/app.py\nApplied edit to \
                  src/app.py\nApplied edit to test/test_app.py\nCommit 1a2b3c4 fix: greet with a comma\nYou can use /undo to undo\n";
    check(
        Speech::Aider,
        honest,
        &good(),
        &[
            "aider_commit commit 1a2b3c4: supported (prose)",
            "aider_edit touched [src/app.py test/test_app.py]: supported (prose)",
        ],
    );
    let lying = "Applied edit to src/none.py\r\nCommit 9fceb02 fix: nothing\r\nAll tests pass. I implemented it.\r\n";
    check(
        Speech::Aider,
        lying,
        &failing(),
        &[
            "tests_pass tests true: contradicted (prose)",
            "aider_commit commit 9fceb02: contradicted (prose)",
            "aider_edit touched [src/none.py]: unverifiable (prose)",
            "done success true: contradicted (prose)",
        ],
    );
    let fixed = r#"{"type":"text","part":{"text":"Applied edit to src/none.py\nCommit 9fceb02 fix: nothing"}}"#;
    check(Speech::Opencode, fixed, &failing(), &[]);
}
