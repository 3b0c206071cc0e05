//! Case's envelope.

use contract::claim::Speech;

use super::{check, extract, failing, good, idle};

fn envelope(json: &str) -> String {
    format!("implement: running\n<<<AGENT_RESULT\n{json}\nAGENT_RESULT>>>\nphase done\n")
}

fn artifacts(json: &str) -> String {
    envelope(&format!("{{\"status\":\"completed\",\n \"artifacts\":{{{json}}}}}"))
}

const WHOLE: &str = r#"{"status":"completed","summary":"All tests pass. I opened a pull request.",
 "artifacts":{"commit":"1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d","filesChanged":["src/app.py","test/test_app.py"],"testsPassed":true,
  "screenshotUrls":[],"evidenceMarkers":["tested"],"prUrl":"https://example.com/pull/1","prNumber":1},
 "error":null,"rubric":null,"findings":{"critical":0,"warnings":1,"info":0,"details":[]}}"#;

#[test]
fn whole() {
    check(
        Speech::Case,
        envelope(WHOLE),
        &good(),
        &[
            "status success true: supported",
            "artifacts.testsPassed tests true: supported",
            "artifacts.commit commit 1a2b3c4: supported",
            "artifacts.filesChanged changed [src/app.py test/test_app.py]: supported",
            "artifacts.prUrl other prUrl: https://example.com/pull/1: unverifiable",
            "artifacts.prNumber other prNumber: 1: unverifiable",
            "artifacts.evidenceMarkers other evidenceMarkers: [\"tested\"]: unverifiable",
            "findings other findings: {\"critical\":0,\"warnings\":1,\"info\":0,\"details\":[]}: unverifiable",
            "tests_pass tests true: supported (prose)",
            "pull_request other I opened a pull request.: unverifiable (prose)",
        ],
    );
}

#[test]
fn fields() {
    for (json, seen, wanted) in [
        (
            r#""commit":"9fceb02d0ae598e95dc970b74767f19372d61af8""#,
            good(),
            "! artifacts.commit commit 9fceb02: contradicted",
        ),
        (r#""commit":"abc""#, good(), "! artifacts.commit commit abc: contradicted"),
        (r#""commit":" 1a2b3c4 ""#, good(), "artifacts.commit commit 1a2b3c4: supported"),
        (r#""commit":"""#, good(), ""),
        (r#""commit":7"#, good(), ""),
        (
            r#""filesChanged":["src/app.py","/w/x/test/test_app.py"]"#,
            good(),
            "artifacts.filesChanged changed [src/app.py /w/x/test/test_app.py]: supported",
        ),
        (r#""filesChanged":["src/app.py"]"#, good(), "! artifacts.filesChanged changed [src/app.py]: contradicted"),
        (r#""filesChanged":["none.py"]"#, idle(), "! artifacts.filesChanged changed [none.py]: contradicted"),
        (r#""filesChanged":[]"#, good(), ""),
        (r#""filesChanged":["src/app.py",{"path":"b"}]"#, good(), ""),
        (r#""filesChanged":"src/app.py""#, good(), ""),
        (r#""testsPassed":true"#, failing(), "! artifacts.testsPassed tests true: contradicted"),
        (r#""testsPassed":"True""#, failing(), "! artifacts.testsPassed tests true: contradicted"),
        (r#""testsPassed":"false""#, failing(), "artifacts.testsPassed tests false: supported"),
        (r#""testsPassed":false"#, good(), "artifacts.testsPassed tests false: unverifiable"),
        (r#""testsPassed":12"#, failing(), "artifacts.testsPassed other testsPassed: 12: unverifiable"),
        (r#""testsPassed":"12 of 12""#, failing(), "artifacts.testsPassed other testsPassed: 12 of 12: unverifiable"),
        (r#""testsPassed":null"#, failing(), ""),
        (r#""prNumber":1e400"#, good(), "broken"),
        (
            r#""screenshotUrls":["https://example.com/a.png"]"#,
            good(),
            "artifacts.screenshotUrls other screenshotUrls: [\"https://example.com/a.png\"]: unverifiable",
        ),
        (r#""tested":true"#, good(), ""),
    ] {
        let verdict = if seen.tests_passed == Some(true) {
            "status success true: supported"
        } else {
            "! status success true: contradicted"
        };
        let wanted = match wanted {
            "" => vec![verdict],
            "broken" => vec![],
            field => vec![verdict, field],
        };
        check(Speech::Case, artifacts(json), &seen, &wanted);
    }
}

#[test]
fn statuses() {
    for (json, seen, wanted) in [
        (r#"{"status":"failed","error":"no"}"#, good(), vec!["status success false: unverifiable"]),
        (r#"{"status":"blocked"}"#, idle(), vec!["status success false: supported"]),
        (r#"{"status":"completed"}"#, idle(), vec!["! status success true: contradicted"]),
        (
            r#"{"status":"completed","rubric":{"score":5}}"#,
            good(),
            vec!["status success true: supported", "rubric other rubric: {\"score\":5}: unverifiable"],
        ),
        (r#"{"status":"done","artifacts":{"testsPassed":true}}"#, failing(), vec![]),
        (r#"{"artifacts":{"testsPassed":true}}"#, failing(), vec![]),
        (r#"{"status":true}"#, failing(), vec![]),
        (r#"["completed"]"#, failing(), vec![]),
        (r#"{"status":"completed",}"#, failing(), vec![]),
        ("", failing(), vec![]),
    ] {
        check(Speech::Case, envelope(json), &seen, &wanted);
    }
}

#[test]
fn which_block_counts() {
    let claim = r#"{"status":"completed"}"#;
    let failed = r#"{"status":"failed"}"#;
    let supported = ["status success true: supported"];
    for (output, wanted) in [
        (envelope(failed) + &envelope(claim), &supported[..]),
        (envelope(claim) + &envelope("{broken"), &[]),
        (envelope(claim) + "<<<AGENT_RESULT\n{\"status\":", &[]),
        (envelope(claim) + "AGENT_RESULT>>>\n", &supported),
        (format!("AGENT_RESULT>>>\n{claim}\n<<<AGENT_RESULT\n"), &[]),
        (format!("<<<AGENT_RESULT\n<<<AGENT_RESULT\n{claim}\nAGENT_RESULT>>>"), &supported),
        (format!("  <<<AGENT_RESULT\r\n{claim}\r\n  AGENT_RESULT>>>\r\n"), &supported),
        (format!("<<<AGENT_RESULT {claim} AGENT_RESULT>>>"), &[]),
        (format!("say <<<AGENT_RESULT\n{claim}\nAGENT_RESULT>>>"), &[]),
        (r#"{"text":"<<<AGENT_RESULT\n{\"status\":\"completed\"}\nAGENT_RESULT>>>"}"#.to_owned(), &[]),
        (claim.to_owned(), &[]),
    ] {
        check(Speech::Case, output, &good(), wanted);
    }
}

#[test]
fn stderr_is_read_where_stdout_has_no_envelope() {
    let (yes, no) = (envelope(r#"{"status":"completed"}"#), envelope("{"));
    assert_eq!(extract(Speech::Case, b"", yes.as_bytes(), b"").len(), 1);
    assert_eq!(extract(Speech::Case, no.as_bytes(), yes.as_bytes(), b""), []);
}

/// The end of a phase in the event log.
fn phase(name: &str, result: &str) -> String {
    let line =
        |event: &str| format!(r#"{{"event":"{event}","phase":"{name}","outcome":"completed","result":{result}}}"#);
    format!("{}\n{}\n", line("phase_start"), line("phase_end"))
}

/// A later phase that fills the form and leaves it empty does not take back what an earlier one said.
#[test]
fn what_was_made_is_claimed_by_any_phase() {
    const LIE: &str =
        r#"{"status":"completed","artifacts":{"commit":"9fceb02","testsPassed":true,"filesChanged":["none.py"]}}"#;
    const EMPTY: &str = r#"{"status":"completed","artifacts":{"commit":null,"testsPassed":null,"filesChanged":[]}}"#;
    const DOUBT: &str =
        r#"{"status":"failed","artifacts":{"testsPassed":false,"filesChanged":["src/app.py","test/test_app.py"]}}"#;
    let told = |stdout: &str, log: &str| -> Vec<String> {
        let judged = super::judge_all(extract(Speech::Case, stdout.as_bytes(), b"", log.as_bytes()), &failing());
        judged.iter().map(|it| format!("{}{}", if it.blocks() { "! " } else { "" }, it.claim.found_in)).collect()
    };
    let lies = ["! status", "! artifacts.testsPassed", "! artifacts.commit", "! artifacts.filesChanged"];
    assert_eq!(told(&envelope(LIE), ""), lies);
    assert_eq!(told(&(envelope(LIE) + &envelope(EMPTY)), ""), lies);
    assert_eq!(told("", &(phase("implement", LIE) + &phase("close", EMPTY))), lies);
    // A list is corrected by a later one; a good word about tests is not taken back by a bad one.
    let corrected =
        ["status", "! artifacts.testsPassed", "! artifacts.commit", "artifacts.testsPassed", "artifacts.filesChanged"];
    assert_eq!(told("", &(phase("implement", LIE) + &phase("verify", DOUBT))), corrected);
    // Ends that nothing started are not to be trusted.
    assert_eq!(told("", phase("implement", LIE).split_once('\n').unwrap().1), Vec::<String>::new());
}

/// The retrospective's result is a constant, a scout has seen nothing, and the pipeline has the last word.
#[test]
fn only_phases_that_work_on_the_change_claim_success() {
    const GOOD: &str = r#"{"status":"completed"}"#;
    const FAILED: &str = r#"{"status":"failed","error":"no"}"#;
    const CONSTANT: &str = r#"{"status":"completed","summary":"Retrospective complete"}"#;
    let end = |outcome: &str| format!("{{\"event\":\"pipeline_end\",\"outcome\":\"{outcome}\"}}\n");
    let retrospective = phase("retrospective", CONSTANT);
    for (stdout, log, expected) in [
        ("", phase("implement", FAILED) + &retrospective, "status success false: supported"),
        ("", retrospective.clone(), ""),
        ("", phase("scout", GOOD), ""),
        ("", phase("implement", GOOD) + &retrospective, "! status success true: contradicted"),
        ("", phase("implement", FAILED) + &retrospective + &end("failed"), "status success false: supported"),
        // A reviewer that the pipeline did not accept has not said that all is well.
        ("", phase("review", GOOD) + &retrospective + &end("failed"), "pipeline_end success false: supported"),
        ("", end("completed"), "! pipeline_end success true: contradicted"),
        (CONSTANT, String::new(), ""),
        (CONSTANT, phase("implement", FAILED), "status success false: supported"),
        // A block of nobody's does not speak over the log.
        (GOOD, phase("implement", FAILED), "status success false: supported"),
        (GOOD, String::new(), "! status success true: contradicted"),
    ] {
        let printed = if stdout.is_empty() { String::new() } else { envelope(stdout) };
        let judged = super::judge_all(extract(Speech::Case, printed.as_bytes(), b"", log.as_bytes()), &failing());
        let told: Vec<String> = judged.iter().map(super::line).collect();
        assert_eq!(told.join("; "), expected, "{stdout} {log}");
    }
}
