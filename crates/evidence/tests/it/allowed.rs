//! Lines of `allowed_signers`, read as ssh-keygen reads them.

use std::time::Duration;

use contract::Stamp;
use contract::signer::SignerStanding;
use evidence::signer_key::SignerKey;
use evidence::signers::AllowedSigners;

use crate::keygen::{KeyRing, MESSAGE, NAMESPACE, has_keygen};

/// Options before the key; whether ssh-keygen lets the key sign with them; whether we do.
const LINES: &[(&str, bool, bool)] = &[
    ("me", true, true),
    ("me,you", true, true),
    ("\"me\"", true, true),
    ("me namespaces=\"cto-approval@v1\"", true, true),
    ("me namespaces=\"git,cto-*\"", true, true),
    ("me Namespaces=\"cto-*\"", true, true),
    ("me namespaces=\"git, cto-*\"", false, false),
    ("me namespaces=\"git\"", false, false),
    ("me namespaces=\"cto-*,!cto-approval@v?\"", false, false),
    ("me namespaces=\"\"", false, false),
    ("me namespaces=cto-*", false, false),
    ("me namespaces=\"cto-*\",namespaces=\"git\"", false, false),
    ("me valid-after=\"20260301Z\"", true, true),
    ("me valid-after=\"202603011000Z\",valid-before=\"20260301100001Z\"", true, true),
    ("me valid-after=\"20260301100001Z\"", false, false),
    ("me valid-before=\"20260301Z\"", false, false),
    ("me valid-before=\"20261399\"", false, false),
    ("me valid-before=\"20261399Z\"", false, false),
    ("me valid-before=\"202712312500Z\"", false, false),
    ("me valid-before=\"soon\"", false, false),
    ("me unknown=\"x\"", false, false),
    ("me cert-authority", false, false),
    ("me cert-authority,namespaces=\"cto-*\"", false, false),
    // A key that is good until a moment is not good at that moment: stricter than ssh-keygen by a second.
    ("me valid-before=\"20260301100000Z\"", true, false),
    // Which moment that is depends on the machine, so that nobody is allowed by it.
    ("me valid-before=\"20300101\"", true, false),
    ("me valid-after=\"202603010900\"", true, false),
];

#[test]
fn lines_are_read_as_ssh_keygen_reads_them() {
    if !has_keygen("lines_are_read_as_ssh_keygen_reads_them") {
        return;
    }
    let ring = KeyRing::new();
    let public = ring.make_key("key", &["-t", "ed25519"]);
    let key = SignerKey::parse_line(&public).unwrap();
    let signature = ring.sign("key", &[], MESSAGE);
    // 2026-03-01T10:00:00Z
    let at = Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap();
    for (before, theirs, ours) in LINES {
        let line = format!("{before} {public}");
        assert_eq!(ring.accepts_line(&line, &signature, MESSAGE, "verify-time=20260301100000Z"), *theirs, "{before}");
        let standing = AllowedSigners::parse_file(&line).judge_key(&key, NAMESPACE, at);
        assert_eq!(standing == SignerStanding::Allowed, *ours, "{before}: {standing:?}");
    }
}

/// Time zones of the machine, and whether ssh-keygen lets a key sign at 10:00 UTC that is good before 12:00.
const ZONES: &[(&str, bool, bool)] = &[("UTC", true, true), ("JST-9", false, true), ("EST5", true, true)];

/// Without `Z` ssh-keygen takes the machine's own time, with it UTC: only the second is one moment everywhere.
#[test]
fn a_time_in_utc_means_the_same_on_every_machine() {
    if !has_keygen("a_time_in_utc_means_the_same_on_every_machine") {
        return;
    }
    let mut ring = KeyRing::new();
    let public = ring.make_key("key", &["-t", "ed25519"]);
    let key = SignerKey::parse_line(&public).unwrap();
    let signature = ring.sign("key", &[], MESSAGE);
    let at = Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap();
    for (zone, local, utc) in ZONES {
        ring.move_to(zone);
        for (time, theirs, ours) in [("202603011200", *local, false), ("202603011200Z", *utc, true)] {
            let line = format!("me valid-before=\"{time}\" {public}");
            let takes = ring.accepts_line(&line, &signature, MESSAGE, "verify-time=20260301100000Z");
            assert_eq!(takes, theirs, "{zone} {time}");
            let standing = AllowedSigners::parse_file(&line).judge_key(&key, NAMESPACE, at);
            assert_eq!(standing == SignerStanding::Allowed, ours, "{zone} {time}");
            assert!(takes || !ours, "{zone} {time}: nothing counts here that ssh-keygen refuses there");
        }
    }
}
