//! Output that means harm: nothing panics, everything stays bounded, prose stays prose.

use contract::claim::{Claim, ClaimSource, Saying, Speech};
use proptest::prelude::*;

use super::super::MAX_TEXT;
use super::super::said::{MAX_CLAIMS, MAX_FILES};
use super::super::stream::{CappedList, MAX_PROSE};
use super::{check, extract, good, judge_all};

/// The bounds that hold for any output.
fn bounded(speech: Speech, stdout: &[u8], stderr: &[u8]) -> Vec<Claim> {
    let claims = extract(speech, stdout, stderr, stderr);
    assert!(claims.len() <= MAX_CLAIMS, "{} claims", claims.len());
    for claim in &claims {
        let texts: &[String] = match &claim.saying {
            Saying::Success(_) | Saying::TestsPassed(_) => &[],
            Saying::Commit(text) | Saying::Other(text) => std::slice::from_ref(text),
            Saying::FilesChanged(files) | Saying::FilesTouched(files) => files,
        };
        assert!(texts.len() <= MAX_FILES);
        for text in texts {
            assert!(text.chars().count() <= MAX_TEXT && !text.contains(char::is_control), "{text:?}");
        }
    }
    let judged = judge_all(claims.clone(), &good());
    assert_eq!(judged.len(), claims.len());
    assert!(
        judged.iter().all(|judged| judged.seen.chars().count() <= MAX_TEXT && !judged.seen.contains(char::is_control))
    );
    claims
}

/// Pieces of every format, so that random output gets past the first brace.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\n",
        "\\u0000",
        "\\ud800",
        "null",
        "true",
        "1e9",
        "\"type\":",
        "\"item\":",
        "\"message\":",
        "\"content\":",
        "\"part\":",
        "\"claims\":",
        "\"result\"",
        "\"item.completed\"",
        "\"file_change\"",
        "\"changes\":",
        "\"path\":",
        "\"agent_message\"",
        "\"text\":",
        "\"turn.completed\"",
        "\"message_end\"",
        "\"stopReason\":",
        "\"role\":\"assistant\"",
        "\"agent_end\"",
        "\"tool_use\"",
        "\"step_finish\"",
        "\"status\":",
        "\"completed\"",
        "<<<AGENT_RESULT\n",
        "\nAGENT_RESULT>>>\n",
        "\"artifacts\":",
        "\"filesChanged\":",
        "\"commit\":",
        "\n{\"event\":\"phase_start\",\"phase\":\"a\"}\n",
        "\n{\"event\":\"phase_end\",\"phase\":\"a\",\"result\":{\"status\":\"completed\",\"artifacts\":{\"commit\":\"x\"}}}\n",
        "\"All tests pass. \"",
        "Commit 1a2b3c4 x\n",
        "Applied edit to ../\u{202e}a\n",
        "Committed as 9fceb02",
        "é…",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn bytes(stdout in proptest::collection::vec(any::<u8>(), 0..600), stderr in pieces()) {
        for speech in Speech::ALL {
            bounded(speech, &stdout, &stderr);
        }
    }

    #[test]
    fn almost_a_stream(stdout in pieces(), stderr in proptest::collection::vec(any::<u8>(), 0..60)) {
        for speech in Speech::ALL {
            bounded(speech, &stdout, &stderr);
        }
    }

    #[test]
    fn prose_is_never_a_field(message in "\\PC{0,200}") {
        for (speech, line) in [
            (Speech::Fake, serde_json::json!({"type": "result", "claims": {"message": message}})),
            (Speech::Codex, serde_json::json!({"type": "item.completed", "item": {"type": "agent_message", "text": message}})),
            (Speech::Claude, serde_json::json!({"type": "result", "result": message})),
            (Speech::Gemini, serde_json::json!({"type": "message", "role": "assistant", "content": message})),
            (Speech::Aider, serde_json::json!(message)),
        ] {
            let line = format!("{line}\n{{\"type\":\"step\",\"n\":1,\"do\":\"print\"}}\n");
            assert!(bounded(speech, line.as_bytes(), b"").iter().all(|claim| claim.source == ClaimSource::Prose));
        }
    }
}

/// A line that holds every sentence of the table is prose in each format that has a message.
#[test]
fn sentences_are_prose_in_every_format() {
    let message = "Done. All tests pass. 12 passed. Committed as 1a2b3c4. I opened a pull request.\\nI could not fix it. 3 tests failed";
    for (speech, line) in [
        (Speech::Fake, format!(r#"{{"type":"result","claims":{{"message":"{message}"}}}}"#)),
        (Speech::Codex, format!(r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{message}"}}}}"#)),
        (
            Speech::Pi,
            format!(
                r#"{{"type":"message_end","message":{{"role":"assistant","content":[{{"type":"text","text":"{message}"}}]}}}}"#
            ),
        ),
        (Speech::Claude, format!(r#"{{"type":"result","result":"{message}"}}"#)),
        (Speech::Opencode, format!(r#"{{"type":"text","part":{{"text":"{message}"}}}}"#)),
        (Speech::Gemini, format!(r#"{{"type":"message","role":"assistant","content":"{message}"}}"#)),
        (Speech::Aider, message.replace("\\n", "\n")),
    ] {
        let claims = bounded(speech, line.as_bytes(), b"");
        assert!(claims.iter().all(|claim| claim.source == ClaimSource::Prose), "{speech:?} {claims:?}");
        let names: Vec<&str> = claims.iter().map(|claim| claim.found_in.as_str()).collect();
        assert_eq!(names, ["tests_pass", "tests_fail", "committed", "pull_request", "done", "not_done"], "{speech:?}");
    }
}

#[test]
fn broken_lines_are_passed_over() {
    let completed = "{\"type\":\"turn.completed\"}";
    for noise in [
        "not json",
        "{\"type\":",
        "[\"turn.failed\"]",
        "{\"type\":\"turn.failed\"",
        "{\"type\":\"turn.failed\"} trailing",
        "{\"type\":7}",
        "{\"type\":\"turn.failed\",\"type\":\"turn.failed\"}",
        "\u{feff}{\"type\":\"turn.failed\"}",
        "\0",
        "null",
    ] {
        let wanted = ["turn.completed success true: supported"];
        check(Speech::Codex, format!("{noise}\n{completed}\r\n{noise}"), &good(), &wanted);
        check(Speech::Codex, format!("  {completed}\n"), &good(), &wanted);
        check(Speech::Codex, [b"\xff\xfe{\n", completed.as_bytes(), b"\n\xff"].concat(), &good(), &wanted);
    }
}

#[test]
fn long_and_deep_lines() {
    let long = "a".repeat(10 * 1024 * 1024);
    let deep = "[".repeat(1_000_000);
    let lines = [
        format!(r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{long}. All tests pass."}}}}"#),
        format!(r#"{{"type":"turn.failed","x":{deep}}}"#),
        format!(r#"{{"type":"turn.completed","x":"{long}"}}"#),
    ];
    check(
        Speech::Codex,
        lines.join("\n"),
        &good(),
        &["turn.completed success true: supported", "tests_pass tests true: supported (prose)"],
    );
    let nested = format!(r#"{{"status":"completed","rubric":{deep}{}}}"#, "]".repeat(deep.len()));
    check(Speech::Case, format!("<<<AGENT_RESULT\n{nested}\nAGENT_RESULT>>>\n"), &good(), &[]);
    let big = format!(r#"{{"status":"completed","summary":"{long}"}}"#);
    check(Speech::Case, format!("<<<AGENT_RESULT\n{big}\nAGENT_RESULT>>>\n"), &good(), &[]);
    for speech in Speech::ALL {
        bounded(speech, long.as_bytes(), deep.as_bytes());
    }
}

#[test]
fn lists_are_cut() {
    let change = |number: usize| format!(r#"{{"path":"f{number}"}}"#);
    let changes: Vec<String> = (0..3 * MAX_FILES).map(change).collect();
    let item =
        format!(r#"{{"type":"item.completed","item":{{"type":"file_change","changes":[{}]}}}}"#, changes.join(","));
    let claims = bounded(Speech::Codex, format!("{item}\n{item}").as_bytes(), b"");
    assert!(
        matches!(&*claims, [Claim { saying: Saying::FilesTouched(files), .. }] if files.len() == MAX_FILES && files[1] == "f1")
    );

    let names: Vec<String> = (0..2 * MAX_FILES).map(|number| format!("\"f{}\"", number / 2)).collect();
    let result =
        |names: &[String]| format!(r#"{{"type":"result","claims":{{"files_changed":[{}]}}}}"#, names.join(","));
    let claims = bounded(Speech::Fake, result(&names).as_bytes(), b"");
    let mut seen = good();
    seen.changed_files = (0..MAX_FILES + 5).map(|number| format!("f{number}")).collect();
    let judged = judge_all(claims, &seen);
    assert_eq!(judged[0].seen, "the list is too long to be compared as a whole");
    assert!(!judged[0].blocks());
}

#[test]
fn claims_are_cut_and_counted_once() {
    let lines: String = (0..1_000).map(|number| format!("Commit a{number:07} x\nCommit a{number:07} x\n")).collect();
    let claims = bounded(Speech::Aider, (lines + "Applied edit to a").as_bytes(), b"");
    assert_eq!(claims.len(), MAX_CLAIMS);
}

#[test]
fn long_lists_are_not_held() {
    let list = format!("[{}]", vec!["1"; 3 * MAX_FILES].join(","));
    assert_eq!(serde_json::from_str::<CappedList<u8>>(&list).unwrap().0.len(), MAX_FILES);
    assert!(serde_json::from_str::<CappedList<u8>>(&list.replace(']', "")).is_err());
}

#[test]
fn only_the_end_of_a_message_is_read() {
    for (rest, wanted) in [("", 1), (" x".repeat(MAX_PROSE / 2).as_str(), 0)] {
        let line = serde_json::json!({"type": "result", "result": format!("All tests pass.{rest}")}).to_string();
        assert_eq!(bounded(Speech::Claude, line.as_bytes(), b"").len(), wanted);
    }
}

#[test]
fn texts_are_cut() {
    for (said, wanted) in [
        ("a".repeat(MAX_TEXT), "a".repeat(MAX_TEXT)),
        ("a".repeat(MAX_TEXT + 1), "a".repeat(MAX_TEXT - 1) + "…"),
        ("é".repeat(10 * MAX_TEXT), "é".repeat(MAX_TEXT - 1) + "…"),
        ("\u{202e}".repeat(MAX_TEXT), "\\u{202e}".repeat(MAX_TEXT).chars().take(MAX_TEXT - 1).chain(['…']).collect()),
    ] {
        let line = serde_json::json!({"type": "result", "claims": {"commit": said}}).to_string();
        assert_eq!(bounded(Speech::Fake, line.as_bytes(), b"")[0].saying, Saying::Commit(wanted));
    }
}

#[test]
fn control_characters_are_shown() {
    let line = r#"{"type":"result","claims":{"commit":"\u001b[2J\u202e","files_changed":["a\nb\u0000"]}}"#;
    let claims = bounded(Speech::Fake, line.as_bytes(), b"");
    assert_eq!(claims[0].saying, Saying::Commit("␛[2J\\u{202e}".into()));
    assert_eq!(claims[1].saying, Saying::FilesChanged(vec!["a␊b␀".into()]));
}
