//! Decisions about Core: the record, its draft from Markdown, and the packet that copies it.

use std::fs;

use serde_json::json;

use super::{errors, workspace};

#[test]
fn a_decision_in_markdown_becomes_yaml() {
    let world = workspace();
    world.write("OLD-DECISION-RECORD.md", "# Decision\n\n- Decision status: `not_decided`.\n- resolver: ada\n");
    let drafted = world.cto(["records", "draft", "OLD-DECISION-RECORD.md", "--json"]).expect(0).json();
    assert_eq!(drafted, json!({"decision_status": "not_decided", "resolver": "ada"}));
    for text in ["# Nothing\n", "- approval_granted: false\n"] {
        world.write("EMPTY.md", text);
        let _ = world.cto(["records", "draft", "EMPTY.md"]).expect(2);
    }
}

/// The draft is the record, as it is printed: facts that the record does not have are kept as comments.
#[test]
fn a_drafted_decision_is_read_as_the_record() {
    let world = workspace();
    let bullets = "# Decision\n\n- Decision status: Core promotion deferred.\n* **Resolver:** Ada\n- `reason`: `too early: #1`\n\
                   - approval_granted: false\n- Runtime default activation: false\n";
    world.write("CORE-DECISION-RECORD.md", bullets);
    let draft = world.cto(["records", "draft", "CORE-DECISION-RECORD.md"]).expect(0).text();
    let rows = "decision_status: \"core_promotion_deferred\"\nresolver: \"Ada\"\nreason: \"too early: #1\"\n\
                # The record has no such keys:\n# approval_granted: \"false\"\n# runtime_default_activation: \"false\"\n";
    assert_eq!(draft.split_once('\n').unwrap().1, rows);
    let record = "decisions/core-promotion.yaml";
    world.write(record, &draft);
    assert_eq!(errors(&world, 0), Vec::<String>::new());
    let packet = world.cto(["packet", "promotion", "--json"]).expect(0).json();
    assert_eq!((&packet["decision_status"], &packet["resolver"]), (&json!("core_promotion_deferred"), &json!("Ada")));
    world.write(record, draft.replace("# approval_granted", "approval_granted"));
    assert_eq!(errors(&world, 1), ["record_invalid"], "control: the record has no such key");

    let provider = "- decision status: external provider approved\n- provider class: external_other\n- provider: prov\n\
                    - model: m\n- credential source class: none\n- approval source: Ada\n- evidence sources: notes/1\n- something else: yes\n";
    world.write("PROVIDER-DECISION-RECORD.md", provider);
    let draft = world.cto(["records", "draft", "PROVIDER-DECISION-RECORD.md"]).expect(0).text();
    assert!(draft.contains("evidence_sources: [\"notes/1\"]\n") && draft.contains("# something_else: \"yes\"\n"));
    fs::remove_file(world.here().join(record)).unwrap();
    world.write("decisions/provider.yaml", &draft);
    let rows = world.cto(["records", "--json"]).expect(1).json();
    assert_eq!(rows[0]["problem"], "provider.yaml: `allowed_network_class` is empty", "read, and told what it lacks");
}

/// Every character that is taken out of a decision leaves a word that the record does not have.
#[test]
fn no_broken_decision_is_read_in_silence() {
    let world = workspace();
    let whole = "decision_status: not_decided";
    for at in 0..whole.len() {
        let mut text = whole.to_owned();
        text.remove(at);
        world.write("decisions/core-promotion.yaml", format!("{text}\n"));
        assert_eq!(errors(&world, 1), ["record_invalid"], "{text}");
    }
    world.write("decisions/core-promotion.yaml", format!("{whole}\n"));
    assert_eq!(errors(&world, 0), Vec::<String>::new(), "control");
}

/// A decision that asks for a review before its evidence is there is copied, and stays out of what can be chosen.
#[test]
fn a_request_before_its_evidence_is_no_allowed_state() {
    let world = workspace();
    world.write("decisions/core-promotion.yaml", "decision_status: core_promotion_requested\nresolver: ada\n");
    let packet = world.cto(["packet", "promotion", "--json"]).expect(0).json();
    assert_eq!(packet["decision_status"], "core_promotion_requested");
    assert_eq!(packet["allowed_decision_states"], json!(["not_decided", "core_promotion_deferred"]));
    assert_eq!((&packet["ready_for_core_review"], &packet["evidence_map"]), (&json!(false), &json!([])));
    let count = [&packet["repeatability_count"], &packet["repeatability_required"], &packet["repeatability_status"]];
    assert_eq!(count, [&json!(0), &json!(2), &json!("blocked")]);
    let blockers = packet["blockers_before_promotion"].as_array().unwrap();
    assert_eq!(blockers.len(), 11, "ten gaps and Core's own route: {blockers:#?}");
    assert_eq!(packet["core_route_requirements"].as_array().unwrap().len(), 11);
    let text = world.cto(["packet", "promotion", "--markdown"]).expect(0).text();
    world.write(".sot/03-PROTOCOLS/CORE-PROMOTION-PACKET.md", text);
    assert_eq!(errors(&world, 0), Vec::<String>::new());
}

#[test]
fn a_packet_copies_the_decision_and_nothing_is_promoted() {
    let world = workspace();
    world.write("decisions/core-promotion.yaml", "decision_status: core_promotion_deferred\nresolver: ada\n");
    let packet = world.cto(["packet", "promotion", "--json"]).expect(0).json();
    assert_eq!((&packet["decision_status"], &packet["resolver"]), (&json!("core_promotion_deferred"), &json!("ada")));
    assert_eq!(
        (&packet["ready_for_core_review"], &packet["core_promotion_status"]),
        (&json!(false), &json!("not-promoted"))
    );
    assert_eq!(packet["allowed_decision_states"], json!(["not_decided", "core_promotion_deferred"]));
    let text = world.cto(["packet", "promotion", "--markdown"]).expect(0).text();
    world.write(".sot/03-PROTOCOLS/CORE-PROMOTION-PACKET.md", text);
    assert_eq!(errors(&world, 0), Vec::<String>::new(), "what it writes passes its own rules");
    world.write("decisions/core-promotion.yaml", "decision_status: promoted\n");
    assert_eq!(errors(&world, 1), ["record_invalid"]);
    let _ = world.cto(["packet", "promotion"]).expect(2);
}
