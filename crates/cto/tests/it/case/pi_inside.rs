//! The agent inside Case is Pi. The real Pi, given the very files that are written for Case, asks the bridge and nobody else; given
//! a broken one, it goes to the public address, which is why they are read back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use testkit::{Agent, lasting_copy, lasting_dir};

use super::expected::{Expected, PROTOCOL};
use super::scene::{COMMIT, Scene, TASK, WORK, bash, envelope, good, script};

/// Plays the outer program around the real Pi: it finds model, project and brief where Case finds them, and says how it ended.
const LAUNCHER: &str = r#"#!/bin/sh
[ "$1" = --help ] && echo "ca run --task FILE" && exit 0
here=$(cd "${0%/*}" && pwd)
value() { sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" "$2"; }
model=$(value model "$CASE_DATA_DIR/config.json")
provider=$(value provider "$CASE_DATA_DIR/config.json")
BREAK
cd "$(value path "$CASE_DATA_DIR/projects.json")" || exit 1
"$here/node" "$here/@PI@" -p --provider "$provider" --model "$model" --no-extensions --no-skills --no-session < "${3%.task.json}.md"
"#;

/// A package with the launcher, Pi and Node in it; `broken` is done to the models before Pi starts.
fn package(agent: &Agent, dir: &TempDir, broken: &str) -> PathBuf {
    let is_packages = |path: &&Path| path.file_name().is_some_and(|name| name == "node_modules");
    let packages = agent.executable.ancestors().find(is_packages).unwrap();
    let copied = lasting_copy(packages, dir);
    let below = agent.executable.strip_prefix(packages).unwrap().display();
    let folder = copied.join("ca-around-pi");
    fs::create_dir_all(&folder).unwrap();
    // What it needs lies beside it.
    let manifest = json!({"name": "ca-around-pi", "version": "0.1.0", "dependencies": {"pi": "*"}});
    fs::write(folder.join("package.json"), manifest.to_string()).unwrap();
    let (node, from) = (folder.join("node"), agent.interpreter.as_ref().unwrap());
    fs::hard_link(from, &node).or_else(|_| fs::copy(from, &node).map(drop)).unwrap();
    let launcher = folder.join("ca");
    let text = LAUNCHER.replace("@PI@", &format!("../{below}")).replace("BREAK", broken);
    fs::write(&launcher, text).unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
    launcher
}

fn scene(agent: &Agent, dir: &TempDir, wire: &str, broken: &str) -> Scene {
    let mut scene = Scene::new(good());
    scene.engine["wire"] = json!(wire);
    // Pi has a list of its own, so that a broken file leaves it a model to ask for.
    scene.set("CTO_HARNESS_CASE_MODEL", "gpt-4o");
    let record = scene.world.here().join("records/qwen-local.json");
    let text = fs::read_to_string(&record).unwrap().replace("qwen3.6-35b-a3b", "gpt-4o");
    fs::write(&record, text).unwrap();
    scene.set("CTO_HARNESS_CASE_BIN", package(agent, dir, broken).to_str().unwrap());
    scene.climb();
    let when = || fixtures::scripted::When { contains: Some("Result protocol".to_owned()), ..Default::default() };
    let step = |times, reply| fixtures::scripted::Step { when: when(), times, reply };
    let mut answers = script(Vec::new());
    let done = fixtures::scripted::Reply::text(envelope(json!({})));
    answers.steps = vec![step(Some(1), bash(&format!("{WORK} && {COMMIT}"))), step(None, done)];
    scene.answer(answers);
    scene
}

#[test]
fn the_files_for_case_are_understood_by_its_agent() {
    let Some(agent) = testkit::agent("case::pi_inside::the_files_for_case_are_understood_by_its_agent", "pi") else {
        return;
    };
    for (wire, route) in [("responses", "/v1/responses"), ("chat_completions", "/v1/chat/completions")] {
        let dir = lasting_dir(env!("CARGO_TARGET_TMPDIR"));
        let scene = scene(&agent, &dir, wire, ":");
        let (report, _) = scene.check(wire, TASK, &Expected::PASS);
        let asked = scene.server.asked();
        assert!(
            asked.len() >= 3 && asked.iter().all(|asked| asked.head.starts_with(&format!("POST {route} "))),
            "{wire}"
        );
        assert_eq!(report["changed_files"], json!(["strings.py"]), "{wire}");
    }
    // The control: the same with a models.json that cannot be read. It is swallowed, and the bridge is asked nothing.
    let dir = lasting_dir(env!("CARGO_TARGET_TMPDIR"));
    let scene = scene(&agent, &dir, "responses", "printf '{' > \"$PI_CODING_AGENT_DIR/models.json\"");
    let (report, bundle) = scene.run(TASK, "2", 1);
    assert_eq!((scene.server.asked().len(), &report["model"]["answered"]), (1, &json!(0)), "{}", report["blockers"]);
    assert!(bundle.join("backend").join(PROTOCOL).is_file());
    let words = fs::read_to_string(bundle.join("backend/stderr.log")).unwrap();
    assert!(!words.is_empty(), "it says that it found nobody");
}
