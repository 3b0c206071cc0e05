//! Case that is interrupted: its reports say what was seen from outside.

use fixtures::scripted::Reply;
use rustix::process::Signal;
use serde_json::json;

use super::scene::{Scene, TASK, bash, envelope, good, role, script};
use crate::interrupted::outside::{Interruption, Outside, Phase, naps, rows, slowed, work};

/// Every phase, and every signal before the engine and while it works.
const SAMPLE: &[(Signal, Phase)] = &[
    (Signal::INT, Phase::Question),
    (Signal::KILL, Phase::Question),
    (Signal::HUP, Phase::Compared),
    (Signal::KILL, Phase::Compared),
    (Signal::TERM, Phase::Answer),
    (Signal::KILL, Phase::Tool),
    (Signal::INT, Phase::Exam),
];

#[test]
fn case_is_interrupted() {
    let mut scene = Scene::new(good());
    scene.set("CTO_HARNESS_CASE_STAGE", "1");
    let (whole, _) = scene.run(TASK, "1", 0);
    scene.set("CTO_HARNESS_CASE_STAGE", "2");
    for (signal, phase) in rows(SAMPLE) {
        let (nap, of_tool) = naps(phase);
        let done = Reply::text(envelope(json!({})));
        scene.answer(slowed(phase, script(role("implementer", vec![bash(&work(&of_tool)), done]))));
        let command = |arguments: &[&str]| scene.command(arguments);
        let home = scene.world.home();
        let outside = Outside { world: &scene.world, home: &home, server: &scene.server, command: &command };
        let interruption = Interruption { signal, phase, mark: "You are the ", engine: &whole["engine"] };
        interruption.hold(&outside, &nap, &["--engine", "case"]);
    }
}
