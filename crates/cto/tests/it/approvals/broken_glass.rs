//! An approval past the policy: an event of its own, and a mark in words and colour wherever request and run are shown.

use std::fs;

use serde_json::Value;

use super::{Scene, text};

const WHY: &str = "the site is down";
/// The mark as a terminal gets it.
const PAINTED: &str = "\u{1b}[1;7;31mpast the policy\u{1b}[0m";

/// Views of a request and its run, with the words of each that mark an emergency on a pipe.
fn views(request: &str) -> [(Vec<&str>, &'static str); 4] {
    [
        (vec!["packet", request], "past the policy: the site is down\n"),
        (vec!["approvals"], " break_glass=true\n"),
        (vec!["runs"], " break_glass=true\n"),
        (vec!["show", "@"], "\nbreak_glass true\n"),
    ]
}

fn events_of(scene: &Scene, report: &Value) -> Vec<Value> {
    let bundle = scene.world.bundles().join(text(&report["run_id"]));
    let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
    events.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Shows that each view marks the newest run and its request, or that none does.
fn check_views(scene: &Scene, request: &str, report: &Value, is_marked: bool) {
    for (words, mark) in views(request) {
        let said = scene.cto(&words).expect(0).text();
        let newest = if words[0] == "packet" || words[0] == "show" { said.as_str() } else { first_line(&said) };
        assert_eq!(newest.contains(mark), is_marked, "{words:?}: {said}");
        let words = [&["--color", "always"], &words[..]].concat();
        let shown = scene.world.start_at_terminal(words.iter().copied()).finish();
        let said = String::from_utf8_lossy(&shown.bytes).into_owned();
        assert_eq!(said.matches(PAINTED).count(), usize::from(is_marked), "{words:?}: {said}");
    }
    let first =
        |words: &[&str]| -> Value { serde_json::from_str(first_line(&scene.cto(words).expect(0).text())).unwrap() };
    let listed = scene.cto(&["approvals", "--json"]).expect(0).json()["requests"][0].clone();
    for row in [listed, first(&["runs", "--json"])] {
        assert_eq!(row["break_glass"] == true, is_marked, "{row}");
    }
    assert_eq!(scene.packet(request)["approvals"][0]["break_glass"], is_marked);
    let bundle = scene.world.bundles().join(text(&report["run_id"]));
    let read = fs::read_to_string(bundle.join("report.md")).unwrap();
    assert_eq!(read.contains("approved past the policy, in an emergency. (`break_glass`)"), is_marked, "{read}");
    let _ = scene.cto(&["verify", "@"]).expect(0);
}

fn first_line(text: &str) -> &str {
    let end = text.find('\n').map_or(text.len(), |at| at + 1);
    &text[..end]
}

#[test]
fn an_emergency_approval_is_marked_wherever_it_is_shown() {
    let Some(scene) = Scene::new("an_emergency_approval_is_marked_wherever_it_is_shown") else { return };
    let plain = text(&scene.request()["request"]);
    let granted = scene.approve(&plain, &[]).expect(0).json();
    assert_eq!(granted["break_glass"], false);
    let report = scene.run(0);
    assert!(events_of(&scene, &report).iter().all(|event| event["type"] != "approval.break_glass"), "the control");
    check_views(&scene, &plain, &report, false);

    scene.world.write_own("trust/approval-policy.yaml", "approvals_required: 2\nbreak_glass: true\n");
    let request = scene.request();
    let name = text(&request["request"]);
    let granted = scene.approve(&name, &["--break-glass", "--reason", WHY]).expect(0).json();
    assert_eq!(granted["break_glass"], true);
    let report = scene.run(0);
    let events = events_of(&scene, &report);
    let place =
        |kind: &str| events.iter().position(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}"));
    let told = &events[place("approval.break_glass")]["data"];
    assert!(place("approval.granted") < place("approval.break_glass"), "{events:#?}");
    assert!(place("approval.break_glass") < place("engine.started"), "{events:#?}");
    assert_eq!((&told["request_digest"], &told["actor"]), (&request["request_digest"], &granted["key"]), "{told}");
    check_views(&scene, &name, &report, true);
}
