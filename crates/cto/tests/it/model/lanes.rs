//! Comparison of model use: from the bridge's own records, and unknown if these do not have it.

use serde_json::{Value, json};

use super::scene::{PAIR, Scene, ask, asking, lines};

/// The sums of the records in the bundles of these lanes.
fn summed(scene: &Scene, lanes: &[Value]) -> (u64, u64, u64) {
    let records = lanes.iter().flat_map(|lane| {
        let bundle = scene.world.bundles().join(lane["run_id"].as_str().unwrap());
        lines(&bundle.join("model-usage.jsonl"))
    });
    records.fold((0, 0, 0), |(requests, tokens, micros), record| {
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let used = number(&record["tokens"]["prompt"]) + number(&record["tokens"]["completion"]);
        (requests + 1, tokens + used, micros + number(&record["cost_micros"]))
    })
}

#[test]
fn requests_tokens_and_cost_are_those_of_the_bridge() {
    for priced in [true, false] {
        let mut scene = Scene::new();
        if priced {
            scene.config["models"][PAIR]["price"] = json!({"prompt": 1_000_000, "completion": 1_000_000});
        }
        scene.settle();
        let case = scene.case(&[], &asking(&[ask("m", "hello")]));
        let case = case.to_str().unwrap();
        let document = scene.cto(&["repeat", case, "-n", "2", "--model", PAIR, "--json"]).expect(0).json();
        let (requests, tokens, micros) = summed(&scene, document["runs"].as_array().unwrap());
        let used = &document["measured"]["used"];
        assert!(requests >= 2 && tokens > 0, "{used}");
        assert_eq!((&used["requests"], &used["tokens"]), (&json!(requests), &json!(tokens)));
        let cost = &document["measured"]["cost_per_accepted_change_micros"];
        if priced {
            assert!(micros > 0);
            assert_eq!((&used["cost_micros"], cost), (&json!(micros), &json!(micros / 2)));
            assert_eq!(used["cost_unknown_requests"], json!(2), "the preflight's request does not tell");
        } else {
            assert_eq!((&used["unpriced_requests"], cost), (&json!(requests), &Value::Null), "no price is not nothing");
        }

        let race = scene.cto(&["race", case, "--engines", "fake,none", "--model", PAIR, "--json"]).expect(3).json();
        let lane = &race["lanes"][0];
        assert_eq!((&lane["model"], &lane["used"]["requests"]), (&json!(PAIR), &json!(requests / 2)), "{race}");

        let run = lane["run_id"].as_str().unwrap();
        let shown = |words: &[&str]| scene.world.cto(words).expect(0).text();
        let (piped, body) = (shown(&["compare", run]), shown(&["show", run, "--markdown"]));
        assert!(piped.contains(&format!("requests={} ", requests / 2)), "{piped}");
        assert!(body.contains(&format!("- model: `{PAIR}, admitted")), "{body}");
        assert_eq!((piped.contains("cost=unpriced"), body.contains("unpriced")), (!priced, !priced), "{piped}{body}");
        assert_eq!((piped.contains("cost=$"), body.contains(", $0.")), (priced, priced), "{piped}{body}");
    }
}
