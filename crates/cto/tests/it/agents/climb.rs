//! The whole climb of a real agent: from its gate alone to a commit on a branch of an admitted target, and of one agent to a run as
//! candidate default.

use fixtures::scripted::{Reply, Script, Step, When};
use serde_json::json;

use super::scene::{MARK, Scene, shell};
use crate::climb::{self, Climber, NAMED, WORK};

/// The ladder of these runs is their own: others of the same home may fail on purpose.
const PAIR: &str = "prov/model-w";

/// The work in every run anew: who has done it has the command before its eyes.
fn working(engine: &str) -> Script {
    const DONE: &str = "worked-once";
    let step = |contains: &str, reply| Step {
        when: When { contains: Some(contains.to_owned()), ..When::default() },
        times: None,
        reply,
    };
    let work = shell(engine, &format!("{WORK} && : {DONE}"));
    Script { steps: vec![step(DONE, Reply::text("Done.")), step(MARK, work)], otherwise: Reply::text("ready") }
}

fn climbs(engine: &'static str, climb: impl FnOnce(&mut Climber<'_>)) {
    let test = "agents::climb";
    if !climb::has_keygen(test) {
        return;
    }
    let Some(mut scene) = Scene::new(test, engine, working(engine)) else { return };
    scene.pair = PAIR;
    scene.settle();
    climb::write_case(&scene.world);
    let mut call = |stage: u8, words: &[&str]| {
        let gate = json!({"engines": {engine: {"enabled": true, "stage": stage}}});
        scene.world.write("harness.yaml", gate.to_string());
        scene.cto(words)
    };
    let words = ["--engine", engine, "--model", PAIR];
    let mut climber = Climber {
        world: &scene.world,
        home: scene.home().to_owned(),
        words: &words,
        call: &mut call,
        target_words: NAMED,
    };
    climber.make_key();
    climber.sign(&scene.world.here().join("admissions/model/prov.json"));
    climber.admit_source(engine);
    climb(&mut climber);
}

#[test]
fn codex_climbs_to_stage_6() {
    let empty = [("pi", "pi is not admitted here, and no verified pass of it")];
    climbs("codex", |climber| climber.climb_to_candidate("codex", &empty));
}

#[test]
fn pi_climbs_to_stage_5() {
    climbs("pi", |climber| drop(climber.climb()));
}
