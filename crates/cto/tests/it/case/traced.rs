//! Files of Case, as the kernel sees the harness open them.

use super::scene::{Scene, TASK, WORK, working};
use crate::traced::Trace;
use serde_json::json;

#[test]
fn what_case_leaves_is_opened_by_no_path_that_follows() {
    let mut scene = Scene::new(working(&format!("{WORK}; ln -s /etc .case/link"), json!({})));
    scene.climb();
    let command = scene.command(&["run", "--engine", "case", "--json", TASK, "--stage", "2"]);
    let Some(trace) = Trace::of("case", &scene.world, &scene.world.home(), &command) else { return };
    trace.follows_no_link("/.case/");
}
