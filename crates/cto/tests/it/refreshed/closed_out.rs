//! The item of a landed change on the climbed workspace: its closeout, the decision packet and the guard.

use std::fs;

use serde_json::{Value, json};
use testkit::git;

use super::audited::commit;
use super::scene::{Scene, WORK};

pub(super) fn a_landed_change_is_closed_out(scene: &Scene, landed: &str) {
    let here = scene.world.here();
    let item = format!("items:\n  - id: {WORK}\n    title: four in b.txt\n    type: AFK\n    status: draft\n");
    scene.world.write("WORKBOARD.yaml", item);
    let evidence = format!("bundle:{landed}");
    let _ = scene.cto(&["work", "status", WORK, "validated", "--evidence", &evidence]).expect(0);
    let told = scene.cto(&["work", "closeout", WORK, "--write", "--json"]).expect(0).json();
    let text = fs::read_to_string(here.join(told["file"].as_str().unwrap())).unwrap();
    expect_target(scene, landed, &text, "clean, it has the commit");
    finds_nothing(scene);
    told_as_the_target_changes(scene, landed);
    packet_says_what_was_computed(scene, landed);
    guard_repeats_the_packet(scene);
    commit(&here);
}

/// Holds the lines about the target to the report of the run, and to this state.
fn expect_target(scene: &Scene, landed: &str, text: &str, state: &str) {
    let report = scene.cto(&["show", landed, "--json"]).expect(0).json();
    let commit = report["target_commit"].as_str().unwrap();
    for line in [
        format!("- Target: {}", scene.target.display()),
        format!("- Target commit: {commit}"),
        format!("- Target now: {state}"),
        "- Target validation: the run's own verification ended with pass".to_owned(),
        "- Scope guard: pass, every change lies in the allowed paths".to_owned(),
        "- Changed: b.txt".to_owned(),
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
}

fn finds_nothing(scene: &Scene) {
    let found = scene.cto(&["validate", "workspace", "--json"]).expect(0).json();
    assert_eq!((&found["errors"], &found["advice"]), (&json!([]), &json!([])), "{found:#}");
}

/// A closeout looks at the target anew each time.
fn told_as_the_target_changes(scene: &Scene, landed: &str) {
    let target = &scene.target;
    let expect = |state: &str| {
        let text = scene.cto(&["work", "closeout", WORK]).expect(0).text();
        expect_target(scene, landed, &text, state);
    };
    fs::write(target.join("stray.txt"), "x\n").unwrap();
    expect("with changes that are not committed, it has the commit");
    fs::remove_file(target.join("stray.txt")).unwrap();
    let aside = scene.world.path().join("aside-target");
    fs::rename(target, &aside).unwrap();
    expect("it cannot be read");
    fs::create_dir(target).unwrap();
    git(target, ["init", "-q", "-b", "main"]);
    git(target, ["commit", "-q", "--allow-empty", "-m", "another history"]);
    expect("clean, the commit is not in it");
    fs::remove_dir_all(target).unwrap();
    fs::rename(&aside, target).unwrap();
    expect("clean, it has the commit");
}

/// Demands on a Core route, in the order of the packet.
const ROUTE: [&str; 11] = [
    "start in the Core workspace, never here",
    "pass the Core route admission guard while Core is idle",
    "follow the Core Sequence Protocol",
    "classify the object that would be promoted",
    "have a PRD and an issue of its own",
    "have an SOT issue",
    "cover it with validators",
    "refer to evidence by digest, and copy none",
    "hold no secret and no secret-shaped text",
    "roll back by leaving Case disabled",
    "keep the runtime default a separate decision",
];

fn packet_says_what_was_computed(scene: &Scene, landed: &str) {
    let attestation = fs::read(scene.home().join("harness-runs").join(landed).join("attestation.dsse.json")).unwrap();
    let sha256 = contract::Digest::of_bytes(&attestation).to_string();
    let record = "decisions/core-promotion.yaml";
    let before = fs::read_to_string(scene.world.here().join(record)).unwrap();
    for decision in ["not_decided", "core_promotion_requested", "core_promotion_deferred"] {
        scene.world.write(record, format!("decision_status: {decision}\nresolver: ada\n"));
        commit(&scene.world.here());
        let packet = scene.cto(&["packet", "promotion", "--json"]).expect(0).json();
        let holds = packet["readiness_facts"].as_array().unwrap().iter().filter(|one| one["holds"] == true).count();
        assert_eq!((holds, packet["readiness_facts"].as_array().unwrap().len()), (11, 11), "{packet:#}");
        for (key, value) in [
            ("decision_status", json!(decision)),
            ("resolver", json!("ada")),
            ("ready_for_core_review", json!(true)),
            ("recommended_next_decision", json!("open_governed_core_prd_route")),
            ("recommendation_status", json!("candidate_only_until_core_route_admission_guard_passes")),
            ("allowed_decision_states", json!(["not_decided", "core_promotion_requested", "core_promotion_deferred"])),
            ("candidate_default_repeatability_eligible", json!(true)),
            ("repeatability_count", json!(2)),
            ("repeatability_required", json!(2)),
            ("repeatability_status", json!("pass")),
            ("evidence_map", json!([{"work_id": WORK, "bundle": landed, "attestation_sha256": sha256}])),
            ("core_route_requirements", json!(ROUTE)),
            (
                "blockers_before_promotion",
                json!(["promotion happens only through Core's own route; this packet grants nothing"]),
            ),
            ("runtime_default_activation", json!(false)),
            ("core_promotion_status", json!("not-promoted")),
        ] {
            assert_eq!(packet[key], value, "{decision}: {key}");
        }
        expect_consequences(&packet);
        let text = scene.cto(&["packet", "promotion", "--markdown"]).expect(0).text();
        for line in [
            format!("- decision_status: {decision}"),
            "- ready_for_core_review: true".to_owned(),
            "- repeatability: 2 of 2".to_owned(),
            format!("- {WORK}: {landed} sha256 {sha256}"),
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        assert!(!text.contains("- [ ] "), "every fact holds: {text}");
        let file = scene.world.write(".sot/03-PROTOCOLS/CORE-PROMOTION-PACKET.md", text);
        finds_nothing(scene);
        fs::remove_file(file).unwrap();
    }
    scene.world.write(record, before);
    commit(&scene.world.here());
}

/// Each state with its consequence; none of them promotes or activates.
fn expect_consequences(packet: &Value) {
    let expected = json!([
        {
            "state": "not_decided",
            "consequence": "nothing changes; the evidence stays as it is and can be looked at again",
        },
        {
            "state": "core_promotion_requested",
            "consequence": "a person may open a governed Core PRD route once the guard passes; nothing is promoted or activated",
        },
        {
            "state": "core_promotion_deferred",
            "consequence": "no route is opened; Case stays disabled as default backend",
        },
    ]);
    assert_eq!(packet["consequences"], expected);
}

/// Ready is ready whether Core is idle or not, and admits nothing by itself.
fn guard_repeats_the_packet(scene: &Scene) {
    let core = scene.world.repository("core", &[("a.txt", "one\n")]);
    fs::write(core.join("new.txt"), "new\n").unwrap();
    let guard = scene.cto(&["guard", "--json", "--core", core.to_str().unwrap()]).expect(3).json();
    for (key, value) in [
        ("ready_for_core_route_review", json!(true)),
        ("recommended_next_decision", json!("open_governed_core_prd_route")),
        ("core_route_admission_status", json!("not_admitted")),
        ("next_allowed_action", json!("wait_or_open_later_core_route_when_idle")),
    ] {
        assert_eq!(guard[key], value, "{key}: {guard:#}");
    }
    assert!(guard["blocked_reasons"].as_array().unwrap().contains(&json!("core_main_dirty")), "{guard:#}");
}
