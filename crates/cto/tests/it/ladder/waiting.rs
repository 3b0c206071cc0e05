//! A run that died waits for a recovery, and looking does not recover it.

use serde_json::Value;
use testkit::wait_for;

use crate::world;

#[test]
fn a_dead_run_is_told_and_left_alone() {
    let world = world();
    let steps = r#"{"steps": [{"run": {"argv": ["sleep", "86399"]}}]}"#;
    world.case("made", &[("fake", steps)]);
    // Makes the ledger, which nobody can read while it is being laid out.
    let _ = world.cto(["key", "init"]).expect(0);
    let _ = world.cto(["recover"]).expect(0);
    let status = || world.cto(["status", "--json"]).expect(0).json();
    let mut child = world.start(["run", "./made", "--json"]);
    let working = |status: &Value| status["running"][0]["phase"] == "working";
    wait_for("its engine", || working(&status()).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("its end", || (status()["running"] == serde_json::json!([])).then_some(()));
    for _ in 0..2 {
        let told = status();
        assert_eq!(
            (&told["status"], &told["waiting"][0]["waits_for"]),
            (&"waiting".into(), &"recovery".into()),
            "{told}"
        );
        assert_eq!(told["waiting"][0]["remedy"], "cto recover");
    }
    let lines = world.cto(["status"]).expect(0).text();
    assert!(lines.starts_with("waiting 1 running=0\nwaits recovery "), "{lines}");
    let _ = world.cto(["recover"]).expect(0);
    assert_eq!(status()["status"], "clear");
}
