//! `cto run` at a terminal: it shows the packet and asks for the sentence.

use testkit::{Shown, World};

use super::{Scene, text};

const ASKED: &str = "type exactly";
const END_OF_INPUT: &str = "\u{4}";

/// Act of the person after the question.
enum Act {
    Types(String),
    Interrupts,
}

/// Runs the case at a terminal, acts once for each time it asks, and gives what was shown.
fn run_at_terminal(world: &World, acts: &[Act]) -> Shown {
    let mut showing = world.start_at_terminal(["run", "./made", "--stage", "4"]);
    showing.wait_for_text(ASKED, 1);
    for (number, act) in acts.iter().enumerate() {
        showing.wait_for_text("  > ", number + 1);
        match act {
            Act::Types(line) => showing.type_text(line),
            Act::Interrupts => showing.interrupt(),
        }
    }
    showing.finish()
}

/// Each row: acts, the exit code, and words that are shown. None of them approves, so that nothing is signed, used or run.
#[test]
fn a_run_at_a_terminal_asks_for_the_sentence() {
    let Some(scene) = Scene::new("a_run_at_a_terminal_asks_for_the_sentence") else { return };
    let world = &scene.world;
    let request = text(&scene.request()["request"]);
    let sentence = scene.sentence(&request);
    let wrong = || Act::Types(format!("{}!\n", &sentence[..sentence.len() - 1]));
    let differs = format!("character {} differs: expected \u{201c}.\u{201d}, found `!`", sentence.chars().count());
    let rows: &[(&str, &[Act], i32, &[&str])] = &[
        (
            "a wrong sentence, three times",
            &[wrong(), wrong(), Act::Types("yes\n".to_owned())],
            3,
            &[&differs, "2 tries left", "1 try left", "0 tries left", "nothing was signed"],
        ),
        ("the end of input", &[Act::Types(END_OF_INPUT.to_owned())], 3, &["no sentence; nothing was signed"]),
        (
            "a wrong sentence, then the end of input",
            &[wrong(), Act::Types(END_OF_INPUT.to_owned())],
            3,
            &["2 tries left", "no sentence"],
        ),
        ("Ctrl-C", &[Act::Interrupts], 130, &["interrupted; nothing was signed"]),
    ];
    for (what, acts, code, words) in rows {
        let shown = run_at_terminal(world, acts);
        let said = String::from_utf8_lossy(&shown.bytes).into_owned();
        assert_eq!(shown.code, *code, "{what}: {said}");
        assert!(said.contains(&sentence), "{what}: {said}");
        for word in *words {
            assert!(said.contains(word), "{what}: no `{word}` in {said}");
        }
        let packet = scene.packet(&request);
        assert_eq!((&packet["state"], &packet["approval_granted"]), (&"open".into(), &false.into()), "{what}");
        assert_eq!(scene.cto(&["runs", "--json"]).expect(0).text(), "", "{what}: nothing ran");
        assert!(!world.home().join("used").exists(), "{what}: nothing was used");
    }
    let shown = run_at_terminal(world, &[wrong(), Act::Types(format!("{sentence}\n"))]);
    let said = String::from_utf8_lossy(&shown.bytes).into_owned();
    assert_eq!(shown.code, 0, "the right sentence: {said}");
    let (packet, approval) = (scene.packet(&request), scene.document(&request, "approval-1.json"));
    assert_eq!(packet["packet_status"], "consumed_by_pass_evidence");
    let approval: serde_json::Value = serde_json::from_slice(&std::fs::read(approval).unwrap()).unwrap();
    assert_eq!((text(&approval["sentence"]), text(&approval["signed_via"])), (sentence, "terminal".to_owned()));
    let _ = scene.cto(&["verify", "@"]).expect(0);
}
