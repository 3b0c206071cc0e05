//! The whole climb of Case: from its gate alone to a run as candidate default, in the target that the environment names.

use fixtures::scripted::{Reply, Script, Step, When};
use serde_json::json;
use testkit::Ran;

use super::scene::{Scene, bash, envelope, script};
use crate::climb::{self, Climber, TARGET, WORK};

/// The work in every run anew: who has done it has the command before its eyes.
pub(super) fn working() -> Script {
    const DONE: &str = "worked-once";
    let step = |contains: &str, reply| Step {
        when: When { contains: Some(contains.to_owned()), ..When::default() },
        times: None,
        reply,
    };
    let done = envelope(json!({"artifacts": {"filesChanged": ["a.txt"], "testsPassed": true}}));
    let work = bash(&format!("{WORK} && : {DONE}"));
    // Pushing is forbidden, so that a close-out that fails decides nothing.
    let closer = Reply::text(envelope(json!({"status": "failed"})));
    script(vec![
        step("You are the closer of", closer),
        step(DONE, Reply::text(done)),
        step("You are the implementer of", work),
    ])
}

#[test]
fn case_climbs_to_stage_6() {
    if !climb::has_keygen("case::climb") {
        return;
    }
    let scene = Scene::new(working());
    climb::write_case(&scene.world);
    let admission = scene.world.here().join(TARGET);
    let mut call = |stage: u8, words: &[&str]| {
        let mut command = scene.command(words);
        command.env("CTO_HARNESS_CASE_STAGE", stage.to_string());
        if stage >= 5 {
            command.env("CTO_HARNESS_CASE_STAGE5_TARGET_ADMISSION_FILE", &admission);
        }
        Ran::of(command.output().unwrap())
    };
    let mut climber = Climber {
        world: &scene.world,
        home: scene.world.home(),
        words: &["--engine", "case"],
        call: &mut call,
        target_words: &[],
    };
    climber.make_key();
    climber.sign(&scene.world.here().join("records/qwen-local.json"));
    climber.admit_source("case");
    let not_admitted = "is not admitted here, and no verified pass of it";
    climber.climb_to_candidate("case", &[("codex", not_admitted), ("pi", not_admitted)]);
}
