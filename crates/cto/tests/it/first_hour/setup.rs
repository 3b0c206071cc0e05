//! `cto setup`: the yes of a person, settings that stay, and Case by a stand-in.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use testkit::World;

use super::case_scene::CaseScene;
use super::{know_operator, text};
use crate::world;

/// Files of the operator, to show that a refusal writes none.
fn files_of(world: &World) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(world.user()).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn nobody_agrees_without_a_terminal_or_a_yes() {
    let world = world();
    let before = files_of(&world);
    let words = ["setup", "codex", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m"];
    let refused = world.cto(words).expect(2);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    // A mistyped engine is reported first: a yes would not help.
    let mistyped = world.cto(["setup", "codx"]).expect(2);
    assert!(mistyped.stderr.contains("did you mean `codex`?"), "{}", mistyped.stderr);

    // A key is never taken itself, and never repeated.
    let given = ["setup", "codex", "--key", "sk-live-0123456789", "--model", "m", "--yes"];
    let refused = world.cto(given).expect(2);
    assert!(refused.stderr.contains("env:NAME") && !refused.stderr.contains("0123456789"), "{}", refused.stderr);
    let _ = world.cto(["setup", "codex", "--yes"]).expect(2);
    let _ = world.cto(["setup", "codex", "--model", "m", "--yes"]).expect(2);
    let _ = world.cto(["setup", "nothing", "--yes"]).expect(2);
    let _ = world.cto(["setup", "fake", "--yes"]).expect(2);
    let _ = world.cto(["setup", "codex", "--stage", "4", "--yes"]).expect(2);
    assert_eq!(files_of(&world), before);
}

#[test]
fn an_engine_that_is_not_there_is_told_with_the_command_that_helps() {
    let world = world();
    let words = ["setup", "codex", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--yes"];
    let mut command = world.command(words);
    command.env("PATH", "/usr/bin:/bin");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("install it"), "{said}");
    // Nothing was made before the program was found.
    assert!(!world.user().join("cto-workspace").exists());
}

/// A configuration that a person wrote, and the words of a setup that would change it.
struct OwnSettings {
    name: &'static str,
    text: &'static str,
    words: &'static [&'static str],
}

const LOCAL: &[&str] = &["--endpoint", "http://127.0.0.1:9/v1", "--model", "m"];
const NOT_EDITED: &[OwnSettings] = &[
    OwnSettings { name: "a section on one line", text: "# mine\nsandbox: strict\nmodels: {}\n", words: LOCAL },
    OwnSettings {
        name: "hosts as a list of lines",
        text: "network_classes:\n  local-api:\n    hosts:\n      - 10.0.0.1\n      - 10.0.0.2\n",
        words: LOCAL,
    },
    OwnSettings {
        name: "hosts as a list as deep as its key",
        text: "network_classes:\n  local-api:\n    hosts:\n    - 10.0.0.1\n",
        words: LOCAL,
    },
    OwnSettings {
        name: "hosts under a quoted key",
        text: "network_classes:\n  local-api:\n    \"hosts\": [\"10.0.0.1\"]\n",
        words: LOCAL,
    },
    OwnSettings {
        name: "an address of two lines",
        text: "models:\n  local/m:\n    endpoint: >-\n      http://127.0.0.1:1/v1\n",
        words: LOCAL,
    },
    OwnSettings {
        name: "a key from a file, and then from the environment",
        text: "credential_sources:\n  openai-key:\n    file: /k # mine\n",
        words: &["--key", "env:A", "--model", "m"],
    },
];

/// Writes the person's configuration and gives its path.
fn write_settings(world: &World, text: &str) -> PathBuf {
    let folder = world.user().join(".config/cto");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), text).unwrap();
    folder.join("config.yaml")
}

/// The words of a setup with a program that says it is Codex.
fn setup_words<'a>(bin: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    [&["setup", "codex", "--yes", "--stage", "1", "--bin", bin], words].concat()
}

fn false_codex(world: &World) -> PathBuf {
    let bin = world.write("codex", "#!/bin/sh\necho codex-cli 0.1\n");
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
    bin
}

#[test]
fn settings_that_a_person_wrote_stay() {
    testkit::each_row(NOT_EDITED.iter().map(|row| (row.name, row)), |row| {
        let world = world();
        let file = write_settings(&world, row.text);
        let bin = false_codex(&world);
        let ran = world.cto(setup_words(text(&bin), row.words));
        assert_eq!(ran.code, 2, "{}{}", ran.text(), ran.stderr);
        assert!(ran.stderr.contains("add by hand"), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(&file).unwrap(), row.text);
        assert!(!world.user().join("cto-workspace").exists(), "something was made before the refusal");
        let _ = world.cto(["config"]).expect(0);
    });
}

/// The control: settings in plain lines are added to, shown first, and hosts that are there stay.
#[test]
fn settings_in_plain_lines_are_added_to() {
    let world = world();
    know_operator(&world);
    let own = "# mine\nnetwork_classes:\n  local-api:\n    hosts: [\"10.0.0.1\"]\n    allow: []\n";
    let file = write_settings(&world, own);
    let bin = false_codex(&world);
    let ran = world.cto(setup_words(text(&bin), LOCAL));
    assert_ne!(ran.code, 2, "{}{}", ran.text(), ran.stderr);
    assert!(ran.stderr.contains("-     hosts: [\"10.0.0.1\"]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("+     hosts: [\"10.0.0.1\",\"127.0.0.1\"]"), "{}", ran.stderr);
    // A second server of one's own leaves the first where it is.
    let other = ["--endpoint", "http://127.0.0.2:9/v1", "--model", "n"];
    assert_ne!(world.cto(setup_words(text(&bin), &other)).code, 2);
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.contains("hosts: [\"10.0.0.1\",\"127.0.0.1\",\"127.0.0.2\"]\n    allow: []"), "{after}");
    assert!(after.starts_with("# mine\n") && after.contains("local/m:") && after.contains("local/n:"), "{after}");
    let _ = world.cto(["config"]).expect(0);
}

#[test]
fn case_is_connected_by_one_command() {
    let scene = CaseScene::new();
    // Its program is never looked for: `case` and `ca` are names of others.
    let unnamed = scene.unnamed_words();
    let _ = scene.world.cto(unnamed.iter().map(String::as_str).chain(["--yes"])).expect(3);
    let ran = scene.world.cto(scene.words(&["--yes", "--json"]));
    assert_eq!(ran.code, 0, "{}\n{}", ran.text(), ran.stderr);
    let ladder = scene.world.cto(["ladder", "--engine", "case", "--json"]).expect(0).text();
    assert_eq!(ladder.matches("validated").count(), 2);
}

#[test]
fn a_person_who_does_not_agree_has_admitted_nothing() {
    let world = world();
    know_operator(&world);
    let bin = world.write("codex", "#!/bin/sh\necho codex-cli 0.1\n");
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["setup", "codex", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--bin", text(&bin)];
    let mut showing = world.start_at_terminal(words);
    // A workspace and the settings are agreed to, the model is not.
    for (times, answer) in ["yes\n", "yes\n", "no\n"].into_iter().enumerate() {
        showing.wait_for_text("[yes/no]", times + 1);
        showing.type_text(answer);
    }
    let shown = showing.finish();
    let said = String::from_utf8_lossy(&shown.bytes);
    assert_eq!(shown.code, 3, "{said}");
    assert!(said.contains("Admit the model local/m?") && said.contains("you did not agree"), "{said}");
    let record = world.user().join("cto-workspace/admissions/model/local__m.json");
    let record = fs::read_to_string(record).unwrap();
    assert!(record.contains("\"status\": \"draft\""), "{record}");
    // What is printed does by hand what the yes would have done.
    let command = said.lines().find_map(|line| line[line.find("sed -i ")?..].split('\u{1b}').next());
    let command = command.unwrap().trim().to_owned();
    let typed = testkit::program("sh", &world.here()).args(["-c", &command]).status().unwrap();
    assert!(typed.success(), "{command}");
    let model = fs::read_to_string(world.user().join("cto-workspace/admissions/model/local__m.json")).unwrap();
    assert!(model.contains("\"status\": \"admitted\""), "{model}");
    assert!(world.cto(["records"]).text().contains("local/m"), "{}", world.cto(["records"]).text());
    // The gate is as it was.
    let gate = fs::read_to_string(world.user().join("cto-workspace/harness.yaml")).unwrap();
    assert!(!gate.contains("enabled"), "{gate}");
}

/// Folders below the home in which installers put programs.
const INSTALLED: [&str; 6] = [
    ".local/bin",
    "bin",
    ".bun/bin",
    ".npm-global/bin",
    ".nvm/versions/node/v20.1.0/bin",
    ".asdf/installs/nodejs/20.1.0/bin",
];

#[test]
fn a_program_is_found_where_installers_put_it() {
    let found_at = |folder: &str| {
        let world = world();
        know_operator(&world);
        let bin = world.user().join(folder).join("codex");
        fs::create_dir_all(bin.parent().unwrap()).unwrap();
        fs::write(&bin, "#!/bin/sh\necho codex-cli 0.1\n").unwrap();
        fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
        let words = [&["setup", "codex", "--yes", "--stage", "1", "--json"], LOCAL].concat();
        let output = world.command(words).env("PATH", "/usr/bin:/bin").output().unwrap();
        let settings = fs::read_to_string(world.user().join(".config/cto/config.yaml")).unwrap_or_default();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), settings.contains(text(&bin)), said)
    };
    testkit::each_row(INSTALLED.iter().map(|folder| (*folder, folder)), |folder| {
        let (code, is_named, said) = found_at(folder);
        assert!(is_named, "{code:?}: {said}");
    });
    // Control: elsewhere it is not looked for.
    let (code, is_named, said) = found_at("elsewhere/bin");
    assert_eq!((code, is_named), (Some(3), false), "{said}");
}
