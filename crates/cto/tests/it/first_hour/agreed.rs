//! `cto setup`: each question has a "no" that leaves everything as it was, and a gate moves by a yes for it alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use testkit::World;

use super::case_scene::CaseScene;
use super::{know_operator, text};
use crate::world;

/// Answers the questions of one setup on a terminal; gives the exit code and what was shown.
fn answer(world: &World, words: &[String], answers: &[&str]) -> (i32, String) {
    let mut showing = world.start_at_terminal(words);
    for (times, answer) in answers.iter().enumerate() {
        showing.wait_for_text("[yes/no]", times + 1);
        showing.type_text(&format!("{answer}\n"));
    }
    let shown = showing.finish();
    (shown.code, String::from_utf8_lossy(&shown.bytes).into_owned())
}

/// Words that a file may not have, unless its question was answered with a yes.
struct Question {
    asks: &'static str,
    /// Below the person's home; a file that is not there has no words.
    file: &'static str,
    absent: &'static str,
}

const GATES: &str = "cto-workspace/harness.yaml";

/// Every question of a setup, in its order.
const QUESTIONS: [Question; 7] = [
    Question { asks: "Make a workspace in", file: "cto-workspace/harness.yaml", absent: "" },
    Question { asks: "Write these settings?", file: ".config/cto/config.yaml", absent: "models:" },
    Question {
        asks: "Admit the model local/model-x?",
        file: "cto-workspace/admissions/model/local__model-x.json",
        absent: "\"status\": \"admitted\"",
    },
    Question { asks: "Open the gate of case for stage 1?", file: GATES, absent: "enabled: true" },
    Question { asks: "for stage 2 and let it solve", file: GATES, absent: "stage: 2" },
    Question {
        asks: "Admit this build of case",
        file: "cto-workspace/admissions/source/case.yaml",
        absent: "status: \"admitted\"",
    },
    Question { asks: "Open the gate of case for stage 3", file: GATES, absent: "stage: 3" },
];

impl Question {
    /// True if the words are in the file; if there are none, if there is a file.
    fn has_words(&self, world: &World) -> bool {
        fs::read_to_string(world.user().join(self.file)).is_ok_and(|text| text.contains(self.absent))
    }
}

#[test]
fn each_question_of_setup_has_a_no() {
    let scene = CaseScene::new();
    let words = scene.words(&[]);
    for (at, question) in QUESTIONS.iter().enumerate() {
        // The question before was refused the last time, and those before that one are answered for good.
        let answers = if at == 0 { &["no"][..] } else { &["yes", "no"] };
        let (code, said) = answer(&scene.world, &words, answers);
        assert_eq!(code, 3, "{}: {said}", question.asks);
        assert!(said.contains(question.asks) && said.contains("you did not agree"), "{}: {said}", question.asks);
        assert!(!question.has_words(&scene.world), "{}: it was done without a yes", question.asks);
        if let Some(before) = at.checked_sub(1).map(|before| &QUESTIONS[before]) {
            assert!(before.has_words(&scene.world), "control: {} had a yes", before.asks);
        }
    }
    let (code, said) = answer(&scene.world, &words, &["yes"]);
    assert_eq!(code, 0, "{said}");
    assert!(QUESTIONS[6].has_words(&scene.world) && said.contains("connected"), "{said}");

    // A gate that the person shut since is opened by another yes alone.
    let file = scene.workspace().join("harness.yaml");
    let shut = fs::read_to_string(&file).unwrap().replace("enabled: true", "enabled: false");
    fs::write(&file, &shut).unwrap();
    let (code, said) = answer(&scene.world, &words, &["no"]);
    assert_eq!((code, fs::read_to_string(&file).unwrap()), (3, shut), "{said}");
    let (code, said) = answer(&scene.world, &words, &["yes"]);
    assert_eq!(code, 0, "{said}");
    assert!(fs::read_to_string(&file).unwrap().contains("enabled: true"));
}

#[test]
fn a_price_is_told_also_to_a_person_who_agreed_beforehand() {
    let scene = CaseScene::new();
    let ran = scene.world.cto(scene.words(&["--yes", "--json"])).expect(0);
    for said in ["It costs what local/model-x takes for a small fix", "Open the gate of case for stage 3"] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
}

#[test]
fn setup_shows_a_run_while_it_goes_on() {
    let scene = CaseScene::new();
    let shown = scene.world.on_terminal(scene.words(&["--yes"]));
    let said = String::from_utf8_lossy(&shown.bytes).into_owned();
    assert_eq!(shown.code, 0, "{said}");
    assert!(said.contains("r1-string-slugify  case  stage 2") && shown.redrawn() > 0, "{said}");
}

/// A workspace with a gate of Codex, and the words of a setup with a program that says it is Codex.
fn gated(gate: &str) -> (World, Vec<String>) {
    let world = world();
    know_operator(&world);
    let _ = world.cto(["init", "."]).expect(0);
    world.write("harness.yaml", format!("engines:\n  codex:\n{gate}"));
    let bin = world.write("codex", "#!/bin/sh\necho codex-cli 0.1\n");
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["setup", "codex", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--bin", text(&bin)];
    (world, words.map(str::to_owned).to_vec())
}

#[test]
fn a_gate_of_a_later_stage_is_not_closed_without_a_word() {
    // Stage, the stage that setup leads to, and if it would close the gate.
    for (open, wanted, closes) in
        [("5", "3", true), ("6", "3", true), ("3", "2", true), ("3", "3", false), ("2", "3", false)]
    {
        let gate = format!("    enabled: true\n    stage: {open}\n");
        let (world, mut words) = gated(&gate);
        words.extend(["--stage", wanted].map(str::to_owned));
        let before = fs::read_to_string(world.here().join("harness.yaml")).unwrap();
        let agreed = world.cto(words.iter().map(String::as_str).chain(["--yes"]));
        let says = agreed.stderr.contains("--yes never closes a gate");
        assert_eq!(says, closes, "{open}, {wanted}: {}", agreed.stderr);
        if !closes {
            continue;
        }
        assert!(agreed.stderr.contains(&format!("cto engine enable codex --stage {wanted}")), "{}", agreed.stderr);
        let (code, said) = answer(&world, &words, &["no"]);
        assert_eq!((agreed.code, code), (3, 3), "{said}");
        assert!(said.contains(&format!("is open for stage {open}")), "{said}");
        assert_eq!(fs::read_to_string(world.here().join("harness.yaml")).unwrap(), before);
        assert!(!world.user().join(".config/cto/config.yaml").exists(), "something was made before the refusal");
    }
}

#[test]
fn settings_behind_a_link_are_edited_where_they_lie() {
    let (world, words) = gated("    enabled: false\n");
    let (folder, kept) = (world.user().join(".config/cto"), world.user().join("dotfiles.yaml"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(&kept, "# mine\n").unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&kept, folder.join("config.yaml")).unwrap();
    let _ = world.cto(words.iter().map(String::as_str).chain(["--yes", "--stage", "1"]));
    assert!(fs::symlink_metadata(folder.join("config.yaml")).unwrap().is_symlink());
    let text = fs::read_to_string(&kept).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("local/m"), "{text}");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
}
