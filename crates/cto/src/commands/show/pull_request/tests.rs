use std::path::Path;

use super::*;

fn golden(verdict: &str) -> String {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1.1").join(verdict);
    let read = |name: &str| std::fs::read(bundle.join(name)).unwrap();
    let report: Report = serde_json::from_slice(&read(names::REPORT)).unwrap();
    let contract: TaskContract = serde_json::from_slice(&read(names::CONTRACT)).unwrap();
    let (attestation, patch) = (contract::Digest::of(&read(names::ATTESTATION)), read(names::PATCH));
    body(&report, &BodyParts { contract: &contract, attestation, patch: &patch, link: None })
}

/// Two bundles that were handed out, as a reviewer sees them.
#[test]
fn bodies_of_golden_bundles() {
    assert_eq!(golden("pass"), include_str!("golden-pass.md"));
    assert_eq!(golden("blocked"), include_str!("golden-blocked.md"));
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
    assert_eq!(block("a\n```\n````x\nb"), "`````text\na\n```\n````x\nb\n`````");
    assert_eq!(block(""), "```text\n\n```");
    assert_eq!(code(&"x".repeat(10_000)).chars().count(), LONGEST_INLINE + 3);
}
