//! A valid workspace, one edit, one finding: each rule with its place and a control; shapes of older documents; random edits.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod broken;
mod every_rule;
mod growth;
mod held_out;
mod mutated;
mod proof;
mod shapes;

use workboard::{NoEvidenceSource, Severity, WorkspaceCheck, WorkspaceFiles, validate_workspace, workspace_files};

const TODAY: &str = "2026-03-04";

/// Texts of a fresh workspace.
fn fresh_texts() -> Vec<(String, String)> {
    workspace_files(TODAY, "op1").into_iter().map(|file| (file.path.to_owned(), file.text)).collect()
}

/// A document that passes, with a body.
fn document(body: &str) -> String {
    format!(
        "---\nname: a document\nstatus: draft\nowner: op1\ncreated: 2026-03-01\nlast_reviewed: 2026-03-02\nlifecycle_classification: planning\ncore_promotion_status: not-promoted\n---\n\n# Title\n\nLocal planning SOT only. Not a Core Protocol. Not active Core authority.\n\n{body}\n"
    )
}

fn check(texts: &[(String, String)]) -> WorkspaceCheck {
    validate_workspace(&WorkspaceFiles::of_texts(texts.iter().cloned()), &NoEvidenceSource, TODAY)
}

/// Findings as `severity rule file:line:column`.
fn told(check: &WorkspaceCheck) -> Vec<String> {
    let word = |severity: Severity| severity.as_str();
    let line = |f: &workboard::Finding| format!("{} {} {}:{}:{}", word(f.severity), f.rule, f.file, f.line, f.column);
    check.findings.iter().map(line).collect()
}

#[test]
fn a_fresh_workspace_is_valid() {
    assert_eq!(told(&check(&fresh_texts())), Vec::<String>::new());
}
