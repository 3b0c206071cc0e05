//! The operator's answer to a run, and the rollback of what it landed.

use std::fs;

use serde_json::json;
use testkit::program;

use super::Scene;

#[test]
fn a_rejection_prints_the_rollback_and_the_rollback_leaves_the_mark() {
    let Some(scene) = Scene::new("a_rejection_prints_the_rollback_and_the_rollback_leaves_the_mark") else { return };
    scene.approve("5");
    let before = scene.untouched();
    let report = scene.run("5", 0);
    let runs = |scene: &Scene| scene.world.cto(["runs", "--limit", "1"]).expect(0).text();
    assert!(runs(&scene).contains("outcome=pending"));
    let said = scene.world.cto(["outcome", "@", "reject", "--reason", "slower", "--json"]).expect(0).json();
    assert_eq!((&said["operator_outcome"], &said["source"]), (&json!("rejected"), &json!("operator")));
    let commands = said["rollback"].as_array().unwrap();
    assert!(commands[0].as_str().unwrap().starts_with("cto rollback "), "{commands:?}");
    assert!(runs(&scene).contains("outcome=rejected"));

    let file = said["statement"].as_str().unwrap();
    let public = fs::read_to_string(scene.world.home().join("keys/operator.pub")).unwrap();
    scene.world.write("signers", format!("ada {public}"));
    let verified = program("sh", &scene.world.here())
        .args(["-c", "ssh-keygen -Y verify -f signers -I ada -n cto-outcome@v1 -s \"$1.sig\" < \"$1\"", "sh", file])
        .output()
        .unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));

    let branch = report["result_branch"].as_str().unwrap();
    let back = scene.world.cto(["rollback", "@", "--reason", "slower", "--json"]).expect(0).json();
    assert_eq!((&back["act"], &back["commit"]), (&json!("branch_deleted"), &report["target_commit"]));
    assert_eq!((scene.branches().len(), scene.untouched()), (0, before));
    assert_ne!(scene.git(&["for-each-ref", "refs/cto/used"]), "", "the mark stays");
    let _ = scene.world.cto(["rollback", "@", "--reason", "again"]).expect(3);
    let _ = scene.world.cto(["verify", "@"]).expect(0);
    let _ = scene.world.cto(["ledger", "verify"]).expect(0);
    assert!(!branch.is_empty());
}

#[test]
fn a_branch_that_somebody_built_on_is_reverted_only_where_that_is_asked_for() {
    let test = "a_branch_that_somebody_built_on_is_reverted_only_where_that_is_asked_for";
    let Some(scene) = Scene::new(test) else { return };
    scene.approve("5");
    let report = scene.run("5", 0);
    let branch = report["result_branch"].as_str().unwrap();
    let tree = scene.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
    let more = scene.git(&["commit-tree", "-m", "more", "-p", branch, &tree]);
    scene.git(&["update-ref", &format!("refs/heads/{branch}"), &more]);
    let refused = scene.world.cto(["rollback", "@", "--reason", "r"]).expect(3);
    assert!(refused.stderr.contains("revert --no-edit"), "{}", refused.stderr);
    assert_eq!(scene.git(&["rev-parse", branch]), more, "nothing was done");
    let _ = scene.world.cto(["rollback", "@", "--revert", "--reason", "r"]).expect(0);
    assert_eq!(scene.git(&["show", &format!("{branch}:a.txt")]), "one");
    assert_eq!(scene.git(&["rev-parse", &format!("{branch}^")]), more);
}

#[test]
fn a_word_of_the_environment_is_recorded_unsigned_and_after_the_run() {
    let test = "a_word_of_the_environment_is_recorded_unsigned_and_after_the_run";
    let Some(scene) = Scene::new(test) else { return };
    scene.approve("5");
    let words = [scene.words("run", "5"), vec!["--outcome", "accept"]].concat();
    let report = scene.world.cto(words).expect(0).json();
    assert_eq!(report["operator_outcome"], "pending", "the bundle says nothing of it");
    let listed = scene.world.cto(["runs", "--limit", "1"]).expect(0).text();
    assert!(listed.contains("outcome=accepted-unsigned"), "{listed}");
    let _ = scene.world.cto(["outcome", "@", "accept", "--reason", "read"]).expect(0);
    let listed = scene.world.cto(["runs", "--limit", "1"]).expect(0).text();
    assert!(listed.contains("outcome=accepted") && !listed.contains("unsigned"), "{listed}");
}
