//! Limits of a contract on requests, tokens and money.

use fixtures::scripted::{Reply, Script};
use serde_json::json;

use super::scene::{PAIR, Scene, ask, asking};

/// The limits, whether the model has a price, and how many requests reach the server. The probe counts too.
const ROWS: &[(&str, &str, bool, usize)] = &[
    ("requests", "{model_requests: 3}", false, 3),
    ("tokens", "{model_tokens: 3500}", false, 4),
    ("money", "{money_micros: 3500}", true, 4),
];

#[test]
fn a_limit_that_is_reached_ends_the_run() {
    for (name, limits, priced, most) in ROWS {
        let answer = Reply { usage: Some((600, 400)), ..Reply::text("ready") };
        let mut scene = Scene::with(Script { steps: Vec::new(), otherwise: answer });
        if *priced {
            scene.config["models"][PAIR]["price"] = json!({"prompt": 1_000_000, "completion": 1_000_000});
        }
        scene.settle();
        let bodies: Vec<String> = (0..8).map(|number| ask("m", &format!("question {number}"))).collect();
        let mut steps = asking(&bodies);
        steps.insert(1, json!({"sleep": {"seconds": 30}}));
        let case = scene.case(&[("limits", limits)], &steps);
        let (report, _) = scene.run(&case, &[], 3);
        assert_eq!(report["blocker_reasons"], json!(["budget_exceeded"]), "{name}: {}", report["blockers"]);
        assert!((2..=*most).contains(&scene.asked()), "{name}: {}", scene.asked());
        assert!(report["duration_ms"].as_u64().unwrap() < 25_000, "{name}: the engine is ended at once");
        // The control: the same engine without the limit gets every answer.
        let steps: Vec<_> = asking(&bodies);
        let case = scene.case(&[], &steps);
        let before = scene.asked();
        let (report, _) = scene.run(&case, &[], 0);
        assert_eq!((scene.asked() - before, &report["model"]["answered"]), (9, &json!(8)), "{name}");
    }
}

#[test]
fn a_money_limit_refuses_a_model_without_a_price() {
    let scene = Scene::new();
    scene.settle();
    let case = scene.case(&[("limits", "{money_micros: 1000000}")], &asking(&[ask("m", "hello")]));
    let (report, _) = scene.run(&case, &[], 3);
    assert_eq!(report["blocker_reasons"], json!(["budget_exceeded"]));
    assert_eq!((scene.asked(), &report["engine"]["process_started"]), (0, &json!(false)));
}
