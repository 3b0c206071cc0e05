//! The thin line: from contract to a bundle that verifies.

use crate::world;

#[test]
fn the_demo_holds() {
    let world = world();
    let ran = world.cto(["demo", "--json"]).expect(0).json();
    assert_eq!(ran["status"], "pass");
    assert_eq!(ran["acts"][1]["status"], "fail");
    assert_eq!(ran["acts"][2]["failed_checks"][0]["file"], "patch.diff");
    assert!(!world.home().exists(), "the demo leaves nothing in the operator's home");
}

#[test]
fn a_run_gives_a_bundle_that_verifies() {
    let world = world();
    let (report, bundle) = world.run("r1-string-slugify", 0);
    assert_eq!(report["status"], "pass");
    assert_eq!(report["changed_files"], serde_json::json!(["strings.py"]));
    assert_eq!(std::fs::read(bundle.join("report.json")).unwrap(), world.cto(["show", "@", "--json"]).expect(0).stdout);
    let verified = world.cto(["verify", "@", "--json"]).expect(0).json();
    assert_eq!(verified["ok"], true);
}
