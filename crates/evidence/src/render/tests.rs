use std::path::Path;

use super::foreign::{LONGEST_INLINE, code_block};
use super::*;

/// A bundle that was handed out: its report for people, and the body of a pull request.
fn golden(verdict: &str) -> [String; 2] {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cto/tests/golden/v1.1").join(verdict);
    let read = |name: &str| std::fs::read(bundle.join(name)).unwrap();
    let report: Report = serde_json::from_slice(&read(names::REPORT)).unwrap();
    let (contract, patch) = (read(names::CONTRACT), read(names::PATCH));
    let sources = RenderSources { contract: &contract, patch: &patch };
    let sealed =
        SealedFacts { attestation: Digest::of_bytes(&read(names::ATTESTATION)), link: Some("https://e.invalid/b") };
    [report_md(&report, &sources), pull_request_body(&report, &sources, &sealed)]
}

#[test]
fn reports_of_golden_bundles() {
    assert_eq!(golden("pass")[0], include_str!("golden/pass.md"));
    assert_eq!(golden("blocked")[0], include_str!("golden/blocked.md"));
}

/// One renderer: a body has the link and the attestation besides, and not another word.
#[test]
fn a_body_is_the_report_with_two_lines_more() {
    for verdict in ["pass", "blocked"] {
        let [report, body] = golden(verdict);
        let is_new = |line: &&str| !report.lines().any(|old| old == *line);
        let new: Vec<&str> = body.lines().filter(is_new).collect();
        assert!(
            matches!(new.as_slice(), [link, attestation] if link.starts_with("The bundle: https:") && attestation.starts_with("- attestation: ")),
            "{new:?}"
        );
        let lost: Vec<&str> = report.lines().filter(|line| !body.lines().any(|other| other == *line)).collect();
        assert_eq!(lost, [""; 0]);
    }
}

#[test]
fn code_holds_whatever_it_is_given() {
    for (text, expected) in [
        ("plain", "`plain`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("```", "```` ``` ````"),
        ("a\nb", "`a␊b`"),
        ("  ", "(nothing)"),
    ] {
        assert_eq!(code(text), expected);
    }
    assert_eq!(code_block("a\n```\n````x\nb"), "`````text\na\n```\n````x\nb\n`````");
    assert_eq!(code_block(""), "```text\n\n```");
    assert_eq!(code(&"x".repeat(10_000)).chars().count(), LONGEST_INLINE + 3);
}
