//! Real agents that are interrupted: their reports say what was seen from outside.

use rustix::process::Signal;

use super::scene::{MARK, Scene, doing};
use crate::interrupted::outside::{Interruption, Outside, Phase, naps, rows, slowed, work};

/// Rungs of its own.
const PAIR: &str = "prov/model-i";

fn check(engine: &'static str, sample: &[(Signal, Phase)]) {
    let Some(mut scene) = Scene::new("agents::interrupted", engine, doing(engine, &["true"], "Done.")) else { return };
    scene.pair = PAIR;
    let (whole, _) = scene.run("r1-string-slugify", 1, &[], 0);
    scene.open(2);
    for (signal, phase) in rows(sample) {
        let (nap, of_tool) = naps(phase);
        scene.follow(slowed(phase, doing(engine, &[&work(&of_tool)], "Done.")));
        let command = |arguments: &[&str]| scene.command(arguments);
        let outside = Outside { world: &scene.world, home: scene.home(), server: &scene.server, command: &command };
        let interruption = Interruption { signal, phase, mark: MARK, engine: &whole["engine"] };
        interruption.hold(&outside, &nap, &["--engine", engine, "--model", PAIR]);
    }
}

#[test]
fn codex_is_interrupted() {
    check("codex", &[(Signal::INT, Phase::Tool), (Signal::KILL, Phase::Answer)]);
}

#[test]
fn pi_is_interrupted() {
    check("pi", &[(Signal::TERM, Phase::Exam), (Signal::KILL, Phase::Tool)]);
}

#[test]
fn claude_is_interrupted() {
    check("claude", &[(Signal::HUP, Phase::Answer), (Signal::KILL, Phase::Exam)]);
}
