//! The one command that `cto ladder explain` names for each rung, pasted into a shell as it stands: from gates that are shut to a
//! validated stage 4.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use fixtures::scripted::{Reply, Script, Step, When};
use serde_json::{Value, json};
use testkit::Ran;

use super::scene::{KEY, Scene, bash, envelope, script};
use crate::climb::{self, Climber};

const ENGINE: &str = "case";

/// The work of both cases, each in its own tree.
fn working() -> Script {
    const DONE: &str = "worked-once";
    let step = |contains: &str, reply| Step {
        when: When { contains: Some(contains.to_owned()), ..When::default() },
        times: None,
        reply,
    };
    let slugify = super::scene::WORK;
    let work = bash(&format!("if [ -f strings.py ]; then {slugify}; else {}; fi && : {DONE}", climb::WORK));
    script(vec![
        step("You are the closer of", Reply::text(envelope(json!({"status": "failed"})))),
        step(DONE, Reply::text(envelope(json!({"artifacts": {"testsPassed": true}})))),
        step("You are the implementer of", work),
    ])
}

impl Scene {
    /// Answer of a command that must succeed.
    fn say(&self, words: &[&str]) -> Value {
        self.cto(&[words, &["--json"]].concat()).expect(0).json()
    }

    /// The rung of a stage, as its explanation has it.
    fn explain(&self, stage: u8) -> Value {
        let document = self.say(&["ladder", "explain", &stage.to_string(), "--engine", ENGINE]);
        assert_eq!(document["rungs"].as_array().unwrap().len(), 1, "{document:#}");
        document["rungs"][0].clone()
    }

    /// The command that an explanation names, which the text for people names too.
    fn remedy(&self, stage: u8) -> String {
        let remedy = self.explain(stage)["remedy"].as_str().unwrap().to_owned();
        let said = self.cto(&["ladder", "explain", &stage.to_string(), "--engine", ENGINE]).expect(0).text();
        assert!(said.contains(&format!("\nnext {remedy}\n")), "{said}");
        remedy
    }

    /// Types commands into a shell.
    fn paste(&self, commands: &str) -> Ran {
        let programs = self.world.path().join("programs");
        if !programs.exists() {
            fs::create_dir(&programs).unwrap();
            symlink(self.world.binary(), programs.join("cto")).unwrap();
        }
        let path = std::iter::once(programs).chain(["/usr/local/bin", "/usr/bin", "/bin"].map(Into::into));
        let mut shell = self.world.program("bash");
        shell.args(["-c", commands]).env("PATH", std::env::join_paths(path).unwrap()).env("UPSTREAM_KEY", KEY);
        Ran::of(shell.envs(self.environment.iter().map(|(name, value)| (name, value))).output().unwrap())
    }

    /// A request's packet is approved by its sentence, and the run follows.
    fn approve_and_run(&self) {
        let requests = self.say(&["approvals", "--open"]);
        let name = requests["requests"][0]["request"].as_str().unwrap().to_owned();
        let packet = self.say(&["packet", &name]);
        let sentence = packet["approval_command_text"].as_str().unwrap();
        let _ = self.say(&["approve", &name, "--sentence", sentence]);
        let _ = self.paste(&format!("cto run ./made --engine {ENGINE} --stage 4")).expect(0);
    }
}

#[test]
fn the_command_of_each_explanation_climbs() {
    if !climb::has_keygen("case::followed::the_command_of_each_explanation_climbs") {
        return;
    }
    let mut scene = Scene::new(working());
    for gate in ["CTO_HARNESS_ALLOW_CASE", "CTO_HARNESS_CASE_STAGE"] {
        scene.unset(gate);
    }
    let world = &scene.world;
    fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
    climb::write_case(world);
    let target = world.repository("target", &[("a.txt", "one\n"), ("deep/b.txt", "stays\n")]);

    let unknown = scene.explain(1);
    assert_eq!((&unknown["status"], &unknown["gap"]), (&json!("blocked"), &json!("source_unknown")), "{unknown:#}");
    let remedy = scene.remedy(1);
    assert_eq!(remedy, "cto admit source case");
    let _ = scene.paste(&remedy).expect(0);
    let admission = world.here().join("admissions/source/case.yaml");
    let draft = fs::read_to_string(&admission).unwrap();
    fs::write(&admission, climb::admit_draft(&draft)).unwrap();
    let mut call = |_: u8, words: &[&str]| scene.cto(words);
    let words = ["--engine", ENGINE];
    let mut climber = Climber { world, home: world.home(), words: &words, call: &mut call, target_words: &[] };
    climber.make_key();
    climber.sign(&admission);
    climber.sign(&world.here().join("records/qwen-local.json"));

    for stage in 1..=4 {
        let before = scene.explain(stage);
        assert_eq!((&before["status"], &before["gap"]), (&json!("not_started"), &json!("no_pass")), "{before:#}");
        let remedy = scene.remedy(stage);
        let gate = format!("cto engine enable case --stage {stage} && ");
        let command = remedy.strip_prefix(&gate).unwrap_or_else(|| panic!("{remedy}: the gate is shut"));
        // The control: the gate is what the first half opens.
        let shut = scene.paste(&filled(command, &target));
        assert!(shut.code != 0 || stage == 4, "stage {stage}: {shut:?}");
        let _ = scene.paste(&filled(&remedy, &target)).expect(0);
        if stage == 4 {
            scene.approve_and_run();
        }
        let earned = scene.explain(stage);
        assert_eq!((&earned["status"], &earned["remedy"]), (&json!("validated"), &Value::Null), "{earned:#}");
    }
}

/// A command with its two words for a person to fill in.
fn filled(command: &str, target: &Path) -> String {
    command.replace(" TASK ", " ./made ").replace(" DIR ", &format!(" {} ", target.display()))
}
