//! One approval is one commit: many processes that start with it at the same time.

use testkit::{World, times};

use super::{Scene, reasons};

/// Processes that start with one approval; `CTO_TEST_AT_ONCE` says another number.
const AT_ONCE: u32 = 16;

#[test]
fn many_processes_land_one_commit() {
    let Some(scene) = Scene::new("many_processes_land_one_commit") else { return };
    let request = scene.approve("5");
    let before = scene.untouched();
    let start = || scene.world.start(scene.words("run", "5"));
    let children: Vec<_> = (0..times("CTO_TEST_AT_ONCE", AT_ONCE)).map(|_| start()).collect();
    let ran: Vec<_> = children.into_iter().map(World::finish).collect();
    let (passed, refused): (Vec<_>, Vec<_>) = ran.iter().partition(|ran| ran.code == 0);
    assert_eq!(passed.len(), 1, "{ran:?}");
    for other in refused {
        let report = other.json();
        assert!(reasons(&report).starts_with("approval_consumed"), "{other:?}");
        assert_eq!((&report["engine"]["process_started"], other.code), (&false.into(), 3), "{other:?}");
        assert!(report["target_commit"].is_null(), "{other:?}");
    }
    let digest = request["request_digest"].as_str().unwrap();
    let commit = passed[0].json()["target_commit"].as_str().unwrap().to_owned();
    let listed = scene.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/cto", "refs/cto"]);
    let expected = format!("refs/cto/used/{digest} {commit}\nrefs/heads/cto/made/{} {commit}", &digest[..12]);
    assert_eq!((listed.trim_end(), scene.untouched()), (expected.as_str(), before));
    let ids: Vec<String> = ran.iter().map(|ran| ran.json()["run_id"].as_str().unwrap().to_owned()).collect();
    let _ = scene.world.cto([vec!["verify"], ids.iter().map(String::as_str).collect()].concat()).expect(0);
    let _ = scene.world.cto(["ledger", "verify"]).expect(0);
    scene.approve("5");
    assert!(scene.run("5", 0)["target_commit"].is_string(), "the control: another approval is another commit");
}
