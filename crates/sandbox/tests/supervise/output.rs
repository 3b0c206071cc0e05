//! Kept output, in bounded memory, and the end of a run that writes too much.

use sandbox::{How, KEEP_DEFAULT, OutputStream, SupervisorWatch};
use sha2::{Digest, Sha256};

use crate::world::{run, run_watched, sh, text};

const MIB: usize = 1 << 20;
/// Multiple of the line, so that the expected bytes can be made from it.
const PRINTED: usize = 100_000_000;

#[test]
fn a_hundred_megabytes_keep_their_ends_length_and_digest() {
    let line = b"0123456789abcdefghi\n";
    let expected: Vec<u8> = line.iter().copied().cycle().take(PRINTED).collect();
    let mut spec = sh(&format!("yes 0123456789abcdefghi | head -c {PRINTED}; echo done >&2"));
    (spec.keep_head, spec.keep_tail) = (MIB, MIB);
    let ended = run(&spec);
    assert_eq!(ended.how, How::Exited { code: 0 });
    let kept = &ended.stdout;
    assert_eq!(kept.total, PRINTED as u64);
    assert!(kept.head == expected[..MIB] && kept.tail == expected[PRINTED - MIB..]);
    assert_eq!(kept.sha256, <[u8; 32]>::from(Sha256::digest(&expected)));
    assert!(text(&kept.text_bytes()).contains(&format!("[... {} bytes not kept ...]\n", PRINTED - 2 * MIB)));
    assert_eq!(ended.stderr.head, b"done\n");
}

#[test]
fn too_much_output_ends_the_run() {
    for (script, exceeded) in [
        ("yes", true),
        ("yes >&2", true),
        // Both streams count together, and what arrives with the end counts too.
        ("head -c 600 /dev/zero; head -c 600 /dev/zero >&2", true),
        ("head -c 500 /dev/zero; head -c 500 /dev/zero >&2", false),
    ] {
        let mut spec = sh(script);
        spec.output_bytes = 1000;
        let ended = run(&spec);
        assert_eq!(ended.output_exceeded, exceeded, "{script}");
        assert!(!ended.timed_out && !ended.stopped && !ended.cancelled, "{script}");
    }
}

#[test]
fn lines_are_seen_as_they_come_on_both_streams() {
    let mut seen = Vec::new();
    let mut on_line = |line: sandbox::Line<'_>| seen.push((line.stream, text(line.bytes)));
    let mut watch = SupervisorWatch { on_line: Some(&mut on_line), ..SupervisorWatch::default() };
    let ended = run_watched(&sh("echo one; sleep 0.1; echo two >&2; sleep 0.1; printf three"), &mut watch);
    let expected = [(OutputStream::Stdout, "one"), (OutputStream::Stderr, "two"), (OutputStream::Stdout, "three")];
    assert_eq!(seen, expected.map(|(stream, line)| (stream, line.to_owned())));
    assert_eq!(ended.stdout.head, b"one\nthree");
}

#[test]
fn the_default_keeps_a_lot() {
    let ended = run(&sh("head -c 3000000 /dev/zero"));
    assert!(ended.stdout.not_kept() == 0 && ended.stdout.head.len() == 3_000_000);
    const { assert!(KEEP_DEFAULT >= 3_000_000) };
}
