//! Lines of `allowed_signers`; `tests/it` holds them beside the real ssh-keygen.

use std::time::Duration;

use super::*;

const KEY: &str = include_str!("../../tests/sshsig/signer.pub");

fn key() -> SignerKey {
    SignerKey::parse_line(KEY).unwrap()
}

/// 2026-03-01T10:00:00Z
fn now() -> Stamp {
    Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap()
}

#[test]
fn lines_allow_what_they_say_and_no_more() {
    use SignerStanding::{Allowed, Expired, NotListed, NotYetValid, OtherNamespace};
    let rows = [
        ("me@example.com", Allowed),
        ("\"me and you\",they", Allowed),
        ("me namespaces=\"cto-record@v1\"", Allowed),
        ("me namespaces=\"git,cto-*\"", Allowed),
        ("me NAMESPACES=\"cto-*\"", Allowed),
        ("me namespaces=\"git, cto-*\"", OtherNamespace),
        ("me namespaces=\"git\"", OtherNamespace),
        ("me namespaces=\"cto-*,!cto-record@v?\"", OtherNamespace),
        ("me valid-after=\"20260301Z\"", Allowed),
        ("me valid-after=\"202603011000Z\",valid-before=\"20260301100001Z\"", Allowed),
        ("me valid-after=\"20260302Z\"", NotYetValid),
        ("me valid-before=\"20260301Z\"", Expired),
        ("me valid-before=\"20260301100000Z\"", Expired),
        // Local time is another moment elsewhere.
        ("me valid-before=\"20300101\"", NotListed),
        ("me valid-before=\"20301301Z\"", NotListed),
        ("me valid-before=\"soon\"", NotListed),
        ("me valid-before=\"20260401Z\",valid-before=\"20270401Z\"", NotListed),
        ("me cert-authority", NotListed),
        ("me cert-authority,namespaces=\"cto-*\"", NotListed),
        ("me unknown=\"x\"", NotListed),
        ("me namespaces=cto-record@v1", NotListed),
        ("# me", NotListed),
        ("", NotListed),
    ];
    for (before, expected) in rows {
        let allowed = AllowedSigners::parse_file(&format!("# who\n\n{before} {KEY}\n"));
        assert_eq!(allowed.judge_key(&key(), "cto-record@v1", now()), expected, "{before}");
    }
}

#[test]
fn another_key_is_not_allowed_and_the_kindest_line_counts() {
    let other = "me ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g other\n";
    let judge = |text: &str| AllowedSigners::parse_file(text).judge_key(&key(), "cto-record@v1", now());
    assert_eq!(judge(other), SignerStanding::NotListed);
    let expired = format!("{other}me valid-before=\"20260101Z\" {KEY}");
    assert_eq!(judge(&expired), SignerStanding::Expired);
    let renewed = format!("{expired}\n\"you, too\" {KEY}me namespaces=\"git\" {KEY}");
    assert_eq!(judge(&renewed), SignerStanding::Allowed, "the control");
    assert_eq!(AllowedSigners::parse_file(&renewed).principals_of(&key()), Some("me"));
}

#[test]
fn patterns_take_no_time() {
    assert!(!fits_pattern("*a".repeat(2000).as_bytes(), "a".repeat(1999).as_bytes()));
    let fits = |pattern: &[u8], text: &[u8]| fits_pattern(pattern, text);
    assert!(fits(b"*b*", b"aabaa") && fits(b"", b"") && !fits(b"", b"a") && fits(b"a*", b"a"));
}

#[test]
fn a_line_that_allows_nobody_is_told_with_its_fault() {
    use SignerLineFault::{Key, LocalTime, NoMoment, Option};
    let lines = [
        "me ",
        "# me valid-before=\"20300101\" ",
        "me valid-before=\"20300101\" ",
        "me valid-after=\"20301301Z\" ",
        "me more ",
    ];
    let text = lines.map(|before| format!("{before}{KEY}")).concat() + "me ssh-ed25519 AAAA\n";
    let found: Vec<_> = AllowedSigners::list_unreadable(&text).iter().map(|it| (it.line, it.fault)).collect();
    assert_eq!(found, [(3, LocalTime), (4, NoMoment), (5, Option), (6, Key)]);
}
