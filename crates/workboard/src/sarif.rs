//! Findings as SARIF 2.1.0, for editors and code hosts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::check_rule::CheckRule;
use crate::finding::{Finding, Severity};

/// The SARIF document of findings. Paths are relative to the workspace.
pub fn sarif_document(version: &str, findings: &[Finding]) -> Value {
    let rules: BTreeMap<&str, &str> =
        findings.iter().map(|finding| (finding.rule.as_str(), finding.remedy.as_str())).collect();
    let rules: Vec<Value> = rules.into_iter().map(|(id, remedy)| sarif_rule(id, remedy)).collect();
    let results: Vec<Value> = findings.iter().map(sarif_result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {"WORKSPACE": {"description": {"text": "the root of the workspace"}}},
            "results": results,
            "tool": {"driver": {"name": "cto validate workspace", "rules": rules, "version": version}},
        }],
    })
}

/// A rule of the program says what it is about; one about words is described by its id.
fn sarif_rule(id: &str, remedy: &str) -> Value {
    let sentence = CheckRule::ALL.iter().find(|rule| rule.id() == id).map_or(id, |rule| rule.sentence());
    json!({"help": {"text": remedy}, "id": id, "shortDescription": {"text": sentence}})
}

fn sarif_result(finding: &Finding) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Advice => "note",
    };
    json!({
        "level": level,
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri_path(&finding.file), "uriBaseId": "WORKSPACE"},
            "region": {"startColumn": finding.column, "startLine": finding.line},
        }}],
        "message": {"text": format!("{}. {}", finding.message, finding.remedy)},
        "ruleId": finding.rule,
    })
}

/// A path as a relative URI reference.
fn uri_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
