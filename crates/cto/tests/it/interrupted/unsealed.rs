//! A dead run that no recovery can seal is shown as what it is, and is sealed by the next command that can.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::{World, wait_for};

use super::{Phase, case, is_napping, nap};
use crate::world;

/// A run that was killed in its engine; gives its id.
fn kill_run(world: &World) -> String {
    let nap = nap();
    case(world, Phase::Engine, &nap);
    let mut child = world.start(["run", "./made"]);
    wait_for("the nap", || is_napping(&nap).then_some(()));
    let active = fs::read_dir(world.home().join("active")).unwrap().next().unwrap().unwrap();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    wait_for("its end", || (!is_napping(&nap)).then_some(()));
    active.file_name().into_string().unwrap()
}

#[test]
fn a_dead_run_that_cannot_be_sealed_is_shown_as_interrupted() {
    let world = world();
    let run = kill_run(&world);
    // Something else lies in the place of its bundle.
    let place = world.bundles().join(&run);
    fs::create_dir(&place).unwrap();
    fs::write(place.join("notes"), "").unwrap();
    let listed = world.cto(["runs"]).expect(0);
    assert!(listed.text().starts_with(&format!("{run} interrupted made fake ")), "{}", listed.text());
    assert!(listed.told().contains(&run), "recovery says what keeps it from sealing: {}", listed.told());
    let document = world.cto(["runs", "--json"]).expect(0).json();
    assert_eq!((&document["status"], &document["interrupted"]), (&json!("running"), &json!(true)));
    for words in [["show", "@"], ["diff", "@"], ["verify", "@"]] {
        let told = world.cto(words).expect(3).told();
        assert!(told.contains(&format!("{run} was interrupted and is not sealed yet")), "{told}");
        assert!(told.contains("cto recover"), "{told}");
    }
    fs::remove_dir_all(&place).unwrap();
    let sealed = world.cto(["runs", "--json"]).expect(0).json();
    assert_eq!((&sealed["status"], &sealed["reasons"]), (&json!("fail"), &json!(["harness_interrupted"])));
    assert!(sealed["interrupted"].is_null(), "a run that is sealed has its status alone");
    let _ = world.cto(["verify", "@"]).expect(0);
}
