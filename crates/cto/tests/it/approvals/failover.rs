//! The server of a ledger is lost and a standby that lagged takes its place: what was used stays used.

use std::fs;

use testkit::{ObjectDouble, PostgresServer, SUPERUSER, StoreManner};

use super::witness::{bucket_config, check_refused, configure};
use super::{Scene, text};

/// The primary is killed after a use, and the standby that is promoted has never heard of it.
#[test]
fn a_use_that_a_standby_has_not_heard_of_is_refused_by_the_witness() {
    let test = "a_use_that_a_standby_has_not_heard_of_is_refused_by_the_witness";
    let Some(scene) = Scene::new(test) else { return };
    let Some(server) = PostgresServer::start_with(test, &[], |_| {}) else { return };
    let store = format!("store:\n  url: {}\n", server.url(SUPERUSER, &server.make_database()));
    let double = ObjectDouble::start(StoreManner::Guarded);
    configure(&scene.world, &(store.clone() + &bucket_config(&double.endpoint())));
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    let standby = server.copy_standby();
    let first = text(&scene.run(0)["run_id"]);
    server.fail_over(standby);
    // What the machine itself remembers of the use is not what is shown here.
    fs::remove_dir_all(scene.world.home().join("used")).unwrap();
    fs::remove_dir_all(scene.world.home().join("harness-runs").join(&first)).unwrap();

    assert_eq!(scene.refusal(), "ledger_continuity_unknown");
    scene.world.run("r1-string-slugify", 0);
    check_signed_word(&scene);
    check_refused(&scene, &first);

    let witness = double.names().into_iter().find(|name| name.contains("approval-use/")).unwrap();
    double.lose(&witness);
    let second = scene.run(0);
    assert_ne!(text(&second["run_id"]), first, "the control: without its witness it happens again");
}

/// On a new timeline the operator's word counts only with the signature of a key that may approve.
fn check_signed_word(scene: &Scene) {
    let words = ["ledger", "continue", "--reason", "db2 was promoted", "--json"];
    let stranger = scene.world.path().join("stranger");
    let mut keygen = scene.world.program("ssh-keygen");
    let made = keygen.args(["-q", "-t", "ed25519", "-N", "", "-f", stranger.to_str().unwrap()]).output();
    assert!(made.unwrap().status.success());
    let by_stranger: Vec<&str> = words.into_iter().chain(["--key", stranger.to_str().unwrap()]).collect();
    let refused = scene.cto(&by_stranger).expect(3);
    assert!(refused.told().contains("cto trust key add"), "{}", refused.told());
    assert_eq!(scene.refusal(), "ledger_continuity_unknown", "nothing was recorded");
    let doctor = || scene.cto(&["doctor", "--fleet"]).text();
    assert!(!doctor().contains("continued accepted up to"), "{}", doctor());
    let continued = scene.cto(&words).expect(0).json();
    assert_eq!(continued["signed"], true, "{continued}");
    assert!(
        doctor().contains(": db2 was promoted") && doctor().contains("timeline 00000002 by SHA256:"),
        "{}",
        doctor()
    );
}

/// A ledger on a server demands a witness from stage 4 on, and the same one of every home.
#[test]
fn a_ledger_on_a_server_has_one_witness() {
    let test = "a_ledger_on_a_server_has_one_witness";
    let Some(scene) = Scene::new(test) else { return };
    let Some(server) = PostgresServer::shared(test) else { return };
    let store = format!("store:\n  url: {}\n", server.url(SUPERUSER, &server.make_database()));
    let [ours, other] = [0; 2].map(|_| ObjectDouble::start(StoreManner::Guarded));
    let on = |double: &ObjectDouble, prefix: &str| {
        let evidence = bucket_config(&double.endpoint()).replace("s3://cto/fleet", &format!("s3://cto/{prefix}"));
        configure(&scene.world, &(store.clone() + &evidence));
    };
    let refused = |why: &str| {
        let refused = scene.cto(&["run", "./made", "--stage", "4"]).expect(3);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    };
    configure(&scene.world, &store);
    refused("needs a witness, and no object store is named");
    scene.world.run("r1-string-slugify", 0);
    on(&ours, "fleet");
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    assert_eq!(scene.run(0)["status"], "pass", "the control: the ledger has a witness");
    on(&other, "elsewhere");
    refused("it names s3://cto/fleet at http://127.0.0.1:");
    on(&other, "fleet");
    refused(&format!("and this home s3://cto/fleet at {}", other.endpoint()));
    on(&ours, "fleet");
    assert_ne!(scene.refusal(), "", "the control: at the endpoint that the ledger names, the run comes to its gates");
    configure(&scene.world, &store);
    refused("no object store is named");
    on(&other, "elsewhere");
    let _ = scene.cto(&["ledger", "continue", "--reason", "the bucket was moved"]).expect(0);
    assert_ne!(scene.refusal(), "", "the control: an operator has named it anew, and the run comes to its gates");
}

/// A queue that was put back offers a run again that has started: its own witness refuses the second start.
#[test]
fn a_run_that_a_restored_queue_offers_again_is_refused_by_its_own_witness() {
    let test = "a_run_that_a_restored_queue_offers_again_is_refused_by_its_own_witness";
    for is_lost in [false, true] {
        let Some(scene) = Scene::new(test) else { return };
        let Some(server) = PostgresServer::start_with(test, &[], |_| {}) else { return };
        let store = format!("store:\n  url: {}\n", server.url(SUPERUSER, &server.make_database()));
        let double = ObjectDouble::start(StoreManner::Guarded);
        configure(&scene.world, &(store + &bucket_config(&double.endpoint())));
        let name = text(&scene.request()["request"]);
        let _ = scene.approve(&name, &[]).expect(0);
        let run = text(&scene.cto(&["submit", "./made", "--stage", "4", "--json"]).expect(0).json()["run_id"]);
        let standby = server.copy_standby();
        let work = || scene.cto(&["worker", "--until-empty", "--json"]).expect(0).json();
        let first = work();
        assert_eq!((text(&first["run_id"]), text(&first["status"])), (run.clone(), "pass".to_owned()), "{first}");
        server.fail_over(standby);
        fs::remove_dir_all(scene.world.home().join("used")).unwrap();
        fs::remove_dir_all(scene.world.home().join("harness-runs").join(&run)).unwrap();
        let _ = scene.cto(&["ledger", "continue", "--reason", "db2 was promoted"]).expect(0);
        if is_lost {
            double.lose(&double.names().into_iter().find(|name| name.contains("approval-use/")).unwrap());
        }
        let again = work();
        assert_eq!(text(&again["run_id"]), run);
        let expected = if is_lost { ("pass", 0) } else { ("blocked", 1) };
        let consumed = again["reasons"].as_array().unwrap().iter().filter(|why| *why == "approval_consumed").count();
        assert_eq!((text(&again["status"]).as_str(), consumed), expected, "the control has no witness: {again}");
    }
}
