//! Ends as the program tells of them, and what they count as.

use super::*;

const ITSELF: EndedHow = EndedHow { by_itself: true, is_close_out_forbidden: false };
const FORBIDDEN: EndedHow = EndedHow { is_close_out_forbidden: true, ..ITSELF };
const CUT_OFF: EndedHow = EndedHow { by_itself: false, is_close_out_forbidden: true };

fn block(json: &str) -> String {
    format!("words\n<<<AGENT_RESULT\n{json}\nAGENT_RESULT>>>\n")
}

const FINISHED: &str = r#"{"level":"info","msg":"pipeline finished","outcome":"completed"}"#;
const FAILED: &str = r#"{"msg":"pipeline finished","outcome":"failed","failedAgent":"verifier"}"#;
const END_FAILED: &str = r#"{"event":"pipeline_end","outcome":"failed"}"#;

#[test]
fn the_end_is_read_from_words_and_not_from_the_exit() {
    let good = block(r#"{"status":"completed"}"#);
    let rows = [
        // stdout, stderr, events; is the protocol broken; has the work failed
        (good.clone(), "", "", false, None),
        (good.clone(), FINISHED, "", false, None),
        (String::new(), FINISHED, "", false, None),
        (String::new(), "", "", true, None),
        (block("{"), FINISHED, "", true, None),
        (block(r#"{"status":"done"}"#), "", "", true, None),
        (block(r#"{"summary":"x"}"#), "", "", true, None),
        (format!("{good}<<<AGENT_RESULT\n{{}}\n"), "", "", true, None),
        (format!("{}{good}", block("{")), "", "", false, None),
        (block(r#"{"status":"failed"}"#), "", "", false, Some("says that it failed")),
        (format!("{}{good}", block(r#"{"status":"failed"}"#)), "", "", false, None),
        (good.clone(), FAILED, "", false, Some("at the verifier")),
        (good.clone(), FINISHED, END_FAILED, false, Some("pipeline failed")),
        (good.clone(), FAILED, r#"{"event":"pipeline_end","outcome":"completed"}"#, false, Some("at the verifier")),
        ("implementer failed: AGENT_RESULT start delimiter not found".to_owned(), FAILED, "", true, Some("verifier")),
        ("AGENT_RESULT start delimiter not found".to_owned(), FINISHED, "", false, None),
    ];
    for (stdout, stderr, events, broken, failed) in rows {
        let ending = Ending::read(stdout.as_bytes(), stderr.as_bytes(), events.as_bytes());
        let told = format!("{stdout}|{stderr}|{events}: {ending:?}");
        assert_eq!(ending.broken_protocol(ITSELF).is_some(), broken, "{told}");
        match failed {
            None => assert_eq!(ending.failed(ITSELF), None, "{told}"),
            Some(words) => assert!(ending.failed(ITSELF).is_some_and(|text| text.contains(words)), "{told}"),
        }
    }
}

/// A phase as the event log has it.
fn phase(name: &str, outcome: &str, result: &str) -> String {
    let start = format!(r#"{{"event":"phase_start","phase":"{name}","agent":"{name}er"}}"#);
    let end = r#"{"event":"phase_end","phase":"NAME","agent":"NAMEer","outcome":"OUTCOME","result":RESULT}"#;
    let end = end.replace("NAME", name).replace("OUTCOME", outcome).replace("RESULT", result);
    format!("{start}\n{end}\n")
}

/// The outcome of a phase stays, whatever later ones, the pipeline or the output say.
#[test]
fn an_earlier_phase_does_not_vanish() {
    const GOOD: &str = r#"{"status":"completed"}"#;
    const UNREAD: &str = r#"{"status":"failed","error":"AGENT_RESULT start delimiter not found"}"#;
    const SERVER: &str = r#"{"status":"failed","summary":"","error":"500 status code"}"#;
    let critical = r#"{"status":"completed","findings":{"critical":2}}"#;
    let (stdout, end) = (block(GOOD), "{\"event\":\"pipeline_end\",\"outcome\":\"completed\"}");
    for (log, broken, rejected, failed) in [
        (phase("verify", "completed", GOOD), false, None, None),
        (phase("verify", "failed", GOOD), false, None, Some("verifyer")),
        (phase("verify", "completed", r#"{"status":"blocked"}"#), false, None, Some("verifyer")),
        (phase("review", "failed", critical), false, Some("2 critical findings"), None),
        (phase("review", "completed", critical), false, Some("2 critical findings"), None),
        (phase("review", "failed", GOOD), false, Some("rejected the change"), None),
        (phase("review", "failed", r#"{"status":"blocked"}"#), false, Some("rejected the change"), None),
        (phase("review", "failed", r#"{"status":"failed","summary":"no"}"#), false, Some("rejected the change"), None),
        (
            phase("review", "failed", r#"{"status":"failed","error":"timed out","summary":""}"#),
            false,
            None,
            Some("reviewer"),
        ),
        (phase("review", "failed", UNREAD) + &phase("review", "completed", GOOD), false, None, None),
        (phase("verify", "failed", SERVER), true, None, Some("verifyer")),
        (
            phase("verify", "failed", r#"{"status":"failed","summary":"a wrong status code"}"#),
            false,
            None,
            Some("verifyer"),
        ),
        (
            phase("verify", "failed", r#"{"status":"failed","class":"agent-protocol-error"}"#),
            true,
            None,
            Some("verifyer"),
        ),
        (phase("implement", "failed", UNREAD), true, None, Some("implementer")),
        (phase("implement", "failed", UNREAD) + &phase("implement", "completed", GOOD), false, None, None),
        (phase("verify", "failed", GOOD) + &phase("close", "completed", GOOD), false, None, Some("verifyer")),
        (phase("scout", "failed", UNREAD), false, None, None),
        (phase("retrospective", "failed", UNREAD), false, None, None),
        (phase("verify", "completed", "7"), false, None, None),
    ] {
        let ending = Ending::read(stdout.as_bytes(), FINISHED.as_bytes(), format!("{log}{end}").as_bytes());
        let told = format!("{log}: {ending:?}");
        assert_eq!(ending.broken_protocol(ITSELF).is_some(), broken, "{told}");
        for (said, expected) in [(ending.rejected(), rejected), (ending.failed(ITSELF), failed)] {
            assert_eq!(said.is_some(), expected.is_some(), "{told}");
            assert!(said.unwrap_or_default().contains(expected.unwrap_or_default()), "{told}");
        }
    }
}

#[test]
fn the_last_review_counts() {
    let review = |critical: &str| block(&format!(r#"{{"status":"completed","findings":{{"critical":{critical}}}}}"#));
    let retrospective = block(r#"{"status":"completed"}"#);
    for (stdout, expected) in [
        (review("2"), 2),
        (format!("{}{retrospective}", review("1")), 1),
        (format!("{}{}", review("1"), review("0")), 0),
        (review("\"many\""), 0),
        (review("-1"), 0),
        (retrospective, 0),
    ] {
        assert_eq!(Ending::read(stdout.as_bytes(), b"", b"").critical, expected, "{stdout}");
    }
}

/// Ends that no exit code tells, as the table of docs/engines/case.md has them.
#[test]
fn an_end_counts_as_its_log_says() {
    const GOOD: &str = r#"{"status":"completed"}"#;
    const BLOCKED: &str = r#"{"status":"blocked"}"#;
    const EXHAUSTED: &str = "{\"event\":\"revision_budget_exhausted\"}\n";
    let end = |agent: &str| match agent {
        "" => "{\"event\":\"pipeline_end\",\"outcome\":\"completed\"}\n".to_owned(),
        agent => format!("{{\"event\":\"pipeline_end\",\"outcome\":\"failed\",\"failedAgent\":\"{agent}\"}}\n"),
    };
    let reviewed = phase("implement", "completed", GOOD) + &phase("review", "completed", GOOD);
    let closing = |result: &str| reviewed.clone() + &phase("close", "failed", result) + &end("closer");
    let again = phase("implement", "failed", r#"{"status":"failed","error":"AGENT_RESULT JSON parse error"}"#);
    let rejected = "the engine's own reviewer rejected the change";
    let rows = [
        ("a hard rubric fail", reviewed.clone() + &end("reviewer"), ITSELF, rejected, "at the reviewer", ""),
        ("the same, cut off", reviewed.clone() + &end("reviewer"), CUT_OFF, rejected, "at the reviewer", ""),
        ("rejected, then cut off", phase("review", "failed", BLOCKED), CUT_OFF, rejected, "", ""),
        ("at work, then cut off", phase("implement", "completed", GOOD), CUT_OFF, "", "", ""),
        ("a close-out that failed", closing(BLOCKED), ITSELF, "", "at the closer", ""),
        ("one that the contract forbids", closing(BLOCKED), FORBIDDEN, "", "", CLOSE_OUT),
        ("the same, cut off", closing(BLOCKED), CUT_OFF, "", "", CLOSE_OUT),
        (
            "a close-out after a failure that was passed over",
            phase("verify", "failed", BLOCKED) + &closing(BLOCKED),
            FORBIDDEN,
            "",
            "at the closer",
            "",
        ),
        (
            "a verifier that is never satisfied",
            phase("verify", "failed", BLOCKED) + EXHAUSTED + &reviewed + &end(""),
            ITSELF,
            "",
            "",
            BUDGET,
        ),
        ("a try that was given up", again + &reviewed + &end("reviewer"), ITSELF, rejected, "at the reviewer", ""),
    ];
    for (name, log, how, rejected, failed, note) in rows {
        let printed = b"implementer failed: AGENT_RESULT JSON parse error";
        let ending = Ending::read(printed, b"", log.as_bytes());
        assert_eq!(ending.broken_protocol(how), None, "{name}: {ending:?}");
        assert_eq!(ending.rejected().unwrap_or_default(), rejected, "{name}: {ending:?}");
        let said = ending.failed(how);
        assert_eq!(said.is_some(), !failed.is_empty(), "{name}: {said:?}");
        assert!(said.unwrap_or_default().ends_with(failed), "{name}");
        assert_eq!(ending.notes(how).join(" "), note, "{name}");
    }
}

/// A program that was ended has not broken a protocol by what it had not yet said.
#[test]
fn a_program_that_was_cut_off_owes_no_envelope() {
    for stdout in [String::new(), block("{"), block(r#"{"status":"failed"}"#)] {
        let ending = Ending::read(stdout.as_bytes(), b"", b"");
        assert_eq!((ending.broken_protocol(CUT_OFF), ending.failed(CUT_OFF)), (None, None), "{stdout}");
        assert!(ending.broken_protocol(ITSELF).is_some() || ending.failed(ITSELF).is_some(), "{stdout}");
    }
}
