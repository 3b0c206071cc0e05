//! A status moves only with evidence that holds, whichever status it is; people at once lose nothing.

use std::fs;

use testkit::{World, each_row, git};

use super::{errors, item, workspace};

const BOARD: &str = "WORKBOARD.yaml";
const FIRST: &str = "DEMO-WORK-001";

fn board_of(world: &World) -> String {
    fs::read_to_string(world.here().join(BOARD)).unwrap()
}

/// A workspace in git with three drafts, a folder of notes, a link, and two validators; the commit of it.
fn scene() -> (World, String) {
    let world = workspace();
    let ids = [FIRST, "DEMO-WORK-002", "DEMO-WORK-003"];
    world.write(BOARD, format!("items:\n{}", ids.map(|id| item(id, "draft")).concat()));
    world.write("notes/plain.txt", "notes\n");
    std::os::unix::fs::symlink("plain.txt", world.here().join("notes/link.txt")).unwrap();
    world.write(
        "harness.yaml",
        "validators:\n  - name: passing\n    argv: [\"true\"]\n  - name: failing\n    argv: [\"false\"]\n",
    );
    git(&world.here(), ["init", "-q"]);
    git(&world.here(), ["add", "-A"]);
    git(&world.here(), ["commit", "-q", "-m", "records"]);
    let commit = git(&world.here(), ["rev-parse", "HEAD"]);
    (world, commit)
}

/// Status, evidence, and the rule that refuses the move; `None` where it is made.
const MOVES: &[(&str, &[&str], Option<&str>)] = &[
    ("candidate", &[], Some("evidence_missing")),
    ("blocked", &[], Some("evidence_missing")),
    ("draft", &[], Some("evidence_missing")),
    ("validated", &[], Some("evidence_missing")),
    ("candidate", &["document:nowhere.md"], Some("evidence_document")),
    ("candidate", &["document:notes"], Some("evidence_document")),
    ("candidate", &["document:notes/link.txt"], Some("evidence_document")),
    ("candidate", &["external:a letter"], Some("evidence_unverified")),
    ("validated", &["external:a letter"], Some("evidence_unverified")),
    ("validated", &["document:/etc/hostname"], Some("evidence_unverified")),
    ("validated", &["document:/nowhere/at/all"], Some("evidence_unverified")),
    ("validated", &["validator:passing"], Some("evidence_unverified")),
    ("validated", &["validator:anything", "document:CONTEXT.md"], Some("evidence_validator")),
    ("validated", &["validator:failing", "document:CONTEXT.md"], Some("evidence_validator")),
    ("validated", &["commit:0123456789"], Some("evidence_unverified")),
    ("validated", &["work:DEMO-WORK-001"], Some("evidence_work")),
    ("blocked", &["bundle:nothing"], Some("evidence_unknown")),
    ("validated", &["validator:passing", "document:CONTEXT.md"], None),
    ("validated", &["document:notes/plain.txt"], None),
    ("candidate", &["document:WORKSPACE-INTENT.md"], None),
    ("blocked", &["document:CONTEXT.md"], None),
    ("draft", &["document:CONTEXT.md", "external:a letter"], None),
];

#[test]
fn each_move_needs_evidence_that_holds() {
    let (world, commit) = scene();
    let before = board_of(&world);
    let named = |(status, evidence, rule): &(&str, &[&str], Option<&str>)| format!("{status} {evidence:?} {rule:?}");
    each_row(MOVES.iter().map(|row| (named(row), row)), |(status, evidence, rule)| {
        let mut words = vec!["work", "status", FIRST, status];
        evidence.iter().for_each(|piece| words.extend(["--evidence", piece]));
        let ran = world.cto(words).expect(if rule.is_some() { 3 } else { 0 });
        match rule {
            Some(rule) => {
                assert!(ran.stderr.contains(&format!("[{rule}]")), "{}", ran.stderr);
                assert_eq!(board_of(&world), before, "nothing was written");
            }
            None => assert!(board_of(&world).contains(&format!("status: {status}\n")), "{}", board_of(&world)),
        }
        world.write(BOARD, &before);
    });
    for (reference, holds) in [(commit.as_str(), true), (&commit[..10], true), ("fedcba9876", false)] {
        let piece = format!("commit:{reference} with a subject");
        let _ =
            world.cto(["work", "status", FIRST, "validated", "--evidence", &piece]).expect(if holds { 0 } else { 3 });
        world.write(BOARD, &before);
    }
    // A folder outside of git cannot be looked at, which carries nothing either.
    fs::rename(world.here().join(".git"), world.path().join("aside.git")).unwrap();
    let piece = format!("commit:{commit}");
    let ran = world.cto(["work", "status", FIRST, "validated", "--evidence", &piece]).expect(3);
    assert!(ran.stderr.contains("[evidence_unverified]"), "{}", ran.stderr);
}

/// The board that somebody edited by hand is refused for the same reasons as a move.
#[test]
fn a_board_that_was_edited_by_hand_needs_the_same_evidence() {
    let (world, commit) = scene();
    let rows = [
        ("{kind: validator, ref: anything}, {kind: document, ref: CONTEXT.md}", Some("evidence_validator")),
        ("{kind: validator, ref: failing}, {kind: document, ref: CONTEXT.md}", Some("evidence_validator")),
        ("{kind: validator, ref: passing}", Some("evidence_unverified")),
        ("{kind: external, ref: a letter}", Some("evidence_unverified")),
        ("{kind: document, ref: /etc/hostname}", Some("evidence_unverified")),
        ("{kind: document, ref: notes}", Some("evidence_document")),
        ("{kind: commit, ref: the last one}", Some("evidence_commit")),
        ("{kind: document, ref: notes/plain.txt, sha256: abc}", Some("evidence_digest")),
        ("{kind: document, ref: notes/plain.txt}", None),
    ];
    let with = |piece: &str| {
        world.write(BOARD, format!("items:\n{}    evidence: [{piece}]\n", item(FIRST, "validated")));
    };
    // The validator that fails is reported by itself too.
    let told = |code| errors(&world, code).into_iter().filter(|rule| rule != "validator_failed").collect::<Vec<_>>();
    for (piece, rule) in rows {
        with(piece);
        assert_eq!(told(1), Vec::from_iter(rule), "{piece}");
    }
    with(&format!("{{kind: commit, ref: {commit}}}"));
    assert_eq!(told(1), Vec::<String>::new());
}

#[test]
fn a_document_is_kept_with_its_digest_and_a_later_edit_is_seen() {
    let (world, _) = scene();
    fs::remove_file(world.here().join("harness.yaml")).unwrap();
    for reference in ["notes/plain.txt", "WORKSPACE-INTENT.md", "./CONTEXT.md"] {
        let before = board_of(&world);
        let path = match reference {
            "WORKSPACE-INTENT.md" => ".sot/03-PROTOCOLS/WORKSPACE-INTENT.md",
            path => path,
        };
        let text = fs::read(world.here().join(path)).unwrap();
        let piece = format!("document:{reference}");
        let _ = world.cto(["work", "status", FIRST, "validated", "--evidence", &piece]).expect(0);
        let digest = contract::Digest::of_bytes(&text).to_string();
        assert!(board_of(&world).contains(&digest), "{reference}: {}", board_of(&world));
        assert_eq!(errors(&world, 0), Vec::<String>::new(), "control: {reference}");
        world.write(path, [&text[..], b"\nMore.\n"].concat());
        assert_eq!(errors(&world, 1), ["evidence_digest"], "{reference}");
        world.write(path, text);
        world.write(BOARD, before);
    }
    // The path of the same file from the root of the disk is no way around its digest.
    let inside = world.here().join("notes/plain.txt").display().to_string();
    world.write(
        BOARD,
        format!("items:\n{}    evidence: [{{kind: document, ref: {inside}, sha256: abc}}]\n", item(FIRST, "validated")),
    );
    assert_eq!(errors(&world, 1), ["evidence_digest"]);
}

#[test]
fn people_who_move_items_at_once_lose_nothing() {
    let world = workspace();
    let ids: Vec<String> = (0..8).map(|number| format!("DEMO-WORK-{number:03}")).collect();
    let board = format!("# ours\nitems:\n{}", ids.iter().map(|id| item(id, "draft")).collect::<String>());
    world.write(BOARD, &board);
    let start = |words: [&str; 6]| world.command(words).spawn().unwrap();
    let moves = ids.iter().map(|id| start(["work", "status", id, "candidate", "--evidence", "document:CONTEXT.md"]));
    let running: Vec<_> = moves.collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    let digest = contract::Digest::of_bytes(&fs::read(world.here().join("CONTEXT.md")).unwrap());
    let row = format!(
        "status: candidate\n    evidence:\n      - {{kind: document, ref: \"CONTEXT.md\", sha256: \"{digest}\"}}"
    );
    assert_eq!(board_of(&world), board.replace("status: draft", &row));
}

#[test]
fn people_who_mend_a_document_at_once_mend_it_once() {
    let world = workspace();
    let path = ".sot/03-PROTOCOLS/WORKSPACE-INTENT.md";
    let text = fs::read_to_string(world.here().join(path)).unwrap();
    let disclaimer = "Local planning SOT only. Not a Core Protocol. Not active Core authority.";
    let broken = text.replacen("status: draft", "status: Draft.", 1).replacen(&format!("{disclaimer}\n"), "", 1);
    assert!(!broken.contains(disclaimer) && broken.contains("Draft."), "{broken}");
    for _ in 0..3 {
        world.write(path, &broken);
        let start = |_| world.command(["validate", "workspace", "--fix", "--json"]).spawn().unwrap();
        let running: Vec<_> = (0..6).map(start).collect();
        let codes: Vec<_> = running.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
        assert!(codes.contains(&Some(0)), "{codes:?}");
        assert!(codes.iter().all(|code| [Some(0), Some(3)].contains(code)), "{codes:?}");
        let mended = fs::read_to_string(world.here().join(path)).unwrap();
        assert_eq!((mended.matches(disclaimer).count(), mended.matches("status: draft\n").count()), (1, 1), "{mended}");
    }
}
