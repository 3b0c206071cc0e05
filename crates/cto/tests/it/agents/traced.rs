//! Files of real agents, as the kernel sees the harness open them.

use super::cases::FIX;
use super::scene::{CASE, Scene, doing};
use crate::traced::Trace;

#[test]
fn what_an_agent_leaves_is_opened_by_no_path_that_follows() {
    for engine in ["codex", "pi", "claude"] {
        let leave =
            format!("{FIX}; mkdir -p /run/cto/state/e; echo x > /run/cto/state/e/own; ln -s /etc /run/cto/state/link");
        let Some(mut scene) = Scene::new("agents::traced", engine, doing(engine, &[&leave], "Done.")) else { return };
        let _ = scene.run(CASE, 1, &[], 0);
        scene.open(2);
        let run = ["run", CASE, "--engine", engine, "--stage", "2", "--model", scene.pair, "--json"];
        let Some(trace) = Trace::of(engine, &scene.world, scene.home(), &scene.command(&run)) else { return };
        trace.follows_no_link("/e/own");
    }
}
