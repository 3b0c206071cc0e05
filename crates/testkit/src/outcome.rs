//! The outcome of a run in a few lines, for a test that fails: a whole report hides what differs.

use std::fmt::Write as _;

use serde_json::Value;

/// Lines of plain text that are shown of a long output.
const MOST_LINES: usize = 40;
/// Characters of one line.
const MOST_CHARACTERS: usize = 400;

/// Status, blockers, failed checks and the bundle's place of a report or of a document that holds reports; other documents and
/// text in their first lines.
pub fn outcome(printed: &[u8]) -> String {
    match serde_json::from_slice::<Value>(printed) {
        Ok(document) => outcome_of(&document),
        Err(_) => first_lines(&String::from_utf8_lossy(printed)),
    }
}

/// The same of a document.
pub fn outcome_of(document: &Value) -> String {
    if let Value::Array(documents) = document
        && documents.iter().any(is_report)
    {
        return documents.iter().map(outcome_of).collect::<Vec<_>>().join("\n");
    }
    if !is_report(document) {
        return first_lines(&format!("{document:#}"));
    }
    let mut text = format!("status {}, reasons {}\n", document["status"], document["blocker_reasons"]);
    for blocker in listed(&document["blockers"]) {
        let _ = writeln!(text, "  {}: {}", word(&blocker["reason"]), cut(word(&blocker["text"])));
    }
    for pass in listed(&document["verification"]["passes"]).iter().filter(|pass| pass["result"] != "pass") {
        let _ = writeln!(text, "  check {} {}: exit {}, {}", pass["name"], pass["argv"], pass["exit"], pass["result"]);
    }
    for key in ["coverage", "changed_files", "artifacts_dir"] {
        if !document[key].is_null() {
            let _ = writeln!(text, "  {key} {}", cut(&document[key].to_string()));
        }
    }
    text
}

fn is_report(document: &Value) -> bool {
    document.get("blocker_reasons").is_some() && document.get("status").is_some()
}

fn listed(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn first_lines(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().take(MOST_LINES).map(cut).collect();
    let more = text.lines().count().saturating_sub(MOST_LINES);
    if more > 0 {
        lines.push(format!("... {more} more lines"));
    }
    lines.join("\n")
}

fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(MOST_CHARACTERS).collect();
    if cut.len() < text.len() {
        cut.push_str(" ...");
    }
    cut
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_told_in_a_few_lines() {
        let report = json!({
            "status": "fail", "blocker_reasons": ["verification_failed"], "artifacts_dir": "/b",
            "blockers": [{"reason": "verification_failed", "text": "exit 1", "remedy": "mend it"}],
            "verification": {"passes": [
                {"name": "a", "argv": ["x"], "exit": 0, "result": "pass"},
                {"name": "b", "argv": ["y"], "exit": 1, "result": "fail"},
            ]},
            "freshness": {"a": "long", "b": "longer"},
        });
        let expected = "status \"fail\", reasons [\"verification_failed\"]\n  verification_failed: exit 1\n  \
                        check \"b\" [\"y\"]: exit 1, \"fail\"\n  artifacts_dir \"/b\"\n";
        assert_eq!(outcome(report.to_string().as_bytes()), expected);
        assert_eq!(outcome_of(&json!([report])), expected);
        assert_eq!(outcome(b"plain\ntext"), "plain\ntext");
        let long = outcome("line\n".repeat(1000).as_bytes());
        assert!(long.ends_with("... 960 more lines"), "{long}");
    }
}
