//! Claims of engines, in the words of each, through the real binary: true claims are supported, false ones block the run,
//! and prose never does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use serde_json::{Value, json};

use crate::world;

/// Words with which one engine says that it is done.
struct Words {
    speaks: &'static str,
    lines: &'static [&'static str],
    /// Claims in it that the harness can judge: what they are about, and whether they are structured.
    claims: &'static [(&'static str, bool)],
}

const ALL: &[Words] = &[
    Words {
        speaks: "codex",
        lines: &[
            r#"{"type":"thread.started","thread_id":"t"}"#,
            r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Done. All tests pass."}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}"#,
        ],
        claims: &[("success", true), ("tests_passed", false)],
    },
    Words {
        speaks: "pi",
        lines: &[
            r#"{"type":"agent_start"}"#,
            r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"All tests pass."}],"stopReason":"stop"}}"#,
            r#"{"type":"agent_end","messages":[{"role":"assistant","content":[{"type":"text","text":"All tests pass."}],"stopReason":"stop"}]}"#,
            r#"{"type":"agent_settled"}"#,
        ],
        claims: &[("success", true), ("tests_passed", false)],
    },
    Words {
        speaks: "claude",
        lines: &[
            r#"{"type":"system","subtype":"init"}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"All tests pass.","num_turns":2}"#,
        ],
        claims: &[("success", true), ("tests_passed", false)],
    },
    Words {
        speaks: "case",
        lines: &[
            "<<<AGENT_RESULT",
            r#"{"status":"completed","summary":"done","artifacts":{"filesChanged":["a.txt"],"testsPassed":true}}"#,
            "AGENT_RESULT>>>",
        ],
        claims: &[("success", true), ("tests_passed", true), ("files_changed", true)],
    },
    Words { speaks: "aider", lines: &["Applied edit to a.txt", "All tests pass."], claims: &[("tests_passed", false)] },
];

fn run(words: &Words, text: &str, code: i32) -> Value {
    let world = world();
    let mut steps = vec![json!({"write": {"path": "a.txt", "text": text}})];
    steps.push(json!({"print": {"text": words.lines.join("\n")}}));
    let fake = json!({"speaks": words.speaks, "steps": steps}).to_string();
    let case = world.case("case", &[("fake", &fake)]);
    world.run(case.to_str().unwrap(), code).0
}

/// The verdict on each expected claim.
fn verdicts<'a>(report: &'a Value, words: &Words) -> Vec<&'a str> {
    let claims = report["claims"].as_array().unwrap();
    let of = |about: &str, structured: bool| {
        let source = if structured { "structured" } else { "prose" };
        let found = claims.iter().find(|claim| claim["about"] == about && claim["source"] == source);
        found.and_then(|claim| claim["verdict"].as_str()).unwrap_or("not found")
    };
    words.claims.iter().map(|(about, structured)| of(about, *structured)).collect()
}

#[test]
fn true_claims_are_supported_in_every_format() {
    for words in ALL {
        let report = run(words, "two\n", 0);
        let expected = vec!["supported"; words.claims.len()];
        assert_eq!(verdicts(&report, words), expected, "{}: {}", words.speaks, report["claims"]);
    }
}

#[test]
fn false_claims_are_contradicted_and_only_structured_ones_block() {
    for words in ALL {
        let report = run(words, "three\n", 1);
        for ((about, structured), verdict) in words.claims.iter().zip(verdicts(&report, words)) {
            let expected = if *about == "files_changed" { "supported" } else { "contradicted" };
            assert_eq!(verdict, expected, "{} {about} {structured}: {}", words.speaks, report["claims"]);
        }
        let structured = words.claims.iter().any(|(about, structured)| *structured && *about != "files_changed");
        let reasons = if structured {
            json!(["verification_failed", "claim_contradicted"])
        } else {
            json!(["verification_failed"])
        };
        assert_eq!(report["blocker_reasons"], reasons, "{}", words.speaks);
    }
}

/// An engine that says that it failed claims no success, in every reader.
#[test]
fn an_admitted_failure_is_shown_as_one() {
    let world = world();
    let envelope = "<<<AGENT_RESULT\n{\"status\":\"failed\",\"summary\":\"no\",\"artifacts\":{\"testsPassed\":false}}\nAGENT_RESULT>>>";
    let fake = json!({"speaks": "case", "steps": [
        {"write": {"path": "a.txt", "text": "three\n"}}, {"print": {"text": envelope}},
    ]});
    let case = world.case("case", &[("fake", &fake.to_string())]);
    let _ = world.run(case.to_str().unwrap(), 1);
    let shown = world.cto(["show", "@"]).expect(0).text();
    assert!(shown.contains("claim failure supported ") && shown.contains("claim tests_failed supported "), "{shown}");
    assert!(!shown.contains("claim success ") && !shown.contains("claim tests_passed "), "{shown}");
    // Control: an engine that says that it is done.
    let done = run(&ALL[3], "two\n", 0);
    assert_eq!(done["claims"][0]["about"], "success");
}

#[test]
fn prose_alone_never_blocks() {
    let text = "I committed it as deadbeefdeadbeefdeadbeefdeadbeefdeadbeef and changed other.txt. All 99 tests pass.";
    let words = Words { speaks: "aider", lines: &[], claims: &[] };
    let world = world();
    let fake = json!({"speaks": words.speaks, "steps": [
        {"write": {"path": "a.txt", "text": "two\n"}}, {"print": {"text": text}},
    ]});
    let case = world.case("case", &[("fake", &fake.to_string())]);
    let (report, _) = world.run(case.to_str().unwrap(), 0);
    assert_eq!(report["blocker_reasons"], json!([]));
}

/// Commits and file lists, which only a look at the workspace can judge.
#[test]
fn commits_and_files_are_looked_up() {
    let made_up = "0123456789012345678901234567890123456789";
    let rows = [
        (json!({"status": "success", "commit": made_up}), "commit", "contradicted"),
        (json!({"status": "success", "files_changed": ["a.txt"]}), "files_changed", "supported"),
        (json!({"status": "success", "files_changed": ["a.txt", "b.txt"]}), "files_changed", "contradicted"),
        (json!({"status": "success", "files_changed": []}), "files_changed", "contradicted"),
    ];
    for (claims, about, verdict) in rows {
        let world = world();
        let fake = json!({"steps": [{"write": {"path": "a.txt", "text": "two\n"}}], "claims": claims});
        let case = world.case("case", &[("fake", &fake.to_string())]);
        let code = i32::from(verdict == "contradicted");
        let (report, bundle) = world.run(case.to_str().unwrap(), code);
        let found = report["claims"].as_array().unwrap().iter().find(|claim| claim["about"] == about).unwrap();
        assert_eq!(found["verdict"], verdict, "{found}");
        let reasons = if code == 1 { json!(["claim_contradicted"]) } else { json!([]) };
        assert_eq!(report["blocker_reasons"], reasons);
        let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
    }
}

/// A commit the engine really made, at a time and by an author that are always the same.
#[test]
fn a_commit_that_was_made_is_found() {
    let run = |commit: &str, code| {
        let world = world();
        let fake = json!({
            "steps": [{"write": {"path": "a.txt", "text": "two\n"}}, {"commit": {"message": "two"}}],
            "claims": {"status": "success", "commit": commit},
        });
        let case = world.case("case", &[("fake", &fake.to_string())]);
        world.run(case.to_str().unwrap(), code).0
    };
    let seen = |report: &Value| report["claims"][1]["seen"].as_str().unwrap_or_default().to_owned();
    let lie = run("0123456", 1);
    assert!(!seen(&lie).is_empty(), "{}", lie["claims"]);
    for id in [MADE, &MADE[..8]] {
        let honest = run(id, 0);
        assert_eq!(honest["claims"][1]["verdict"], "supported", "{}", honest["claims"]);
    }
}

/// The id that follows from the fixed baseline, author and time.
const MADE: &str = "acbab691a42d7f8601befa97d5278a82b7728825";
