//! Limits of a contract on requests, tokens and money.

use std::fs;

use fixtures::scripted::{Reply, Script};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::scene::{PAIR, Scene, ask, asking, lines};

type Change = fn(&mut Scene);

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

/// Asks as often as its argument says, all at once.
const AT_ONCE: &str = r#"import json, os, sys, threading, urllib.error, urllib.request
def ask(number):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "question %d" % number}]})
    head = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    try:
        urllib.request.urlopen(urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body.encode(), head)).read()
    except (urllib.error.URLError, OSError):
        pass
threads = [threading.Thread(target=ask, args=(number,)) for number in range(int(sys.argv[1]))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]"#;

#[test]
fn a_limit_holds_across_requests_that_are_made_at_once() {
    let scene = Scene::new();
    scene.settle();
    let mut steps = asking(&[ask("m", "hello")]);
    steps.insert(1, json!({"run": {"argv": ["/usr/bin/python3", "-c", AT_ONCE, "12"]}}));
    // The probe, the question, and of those at once as many as are left; the control has no limit. One that was let in may
    // not have left yet when the run is ended.
    for (limits, code, asked) in [(&[("limits", "{model_requests: 6}")][..], 3, 2..=6), (&[][..], 0, 14..=14)] {
        let before = scene.asked();
        let (report, _) = scene.run(&scene.case(limits, &steps), &[], code);
        assert!(asked.contains(&(scene.asked() - before)), "{limits:?}: {}", scene.asked() - before);
        let expected = if code == 0 { json!([]) } else { json!(["budget_exceeded"]) };
        assert_eq!(report["blocker_reasons"], expected, "{}", report["blockers"]);
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

/// A run of so many questions; the probe before them counts too.
fn asks(scene: &Scene, count: usize, limits: &[(&str, &str)], code: i32) -> serde_json::Value {
    let bodies: Vec<String> = (0..count).map(|number| ask("m", &format!("question {number}"))).collect();
    scene.run(&scene.case(limits, &asking(&bodies)), &[], code).0
}

fn said(report: &serde_json::Value) -> String {
    report["blockers"].to_string()
}

#[test]
fn a_limit_of_the_day_holds_across_runs() {
    let rows: &[(&str, Change)] = &[
        ("requests of a pair", |it| it.config["models"][PAIR]["limits_per_day"] = json!({"requests": 4})),
        ("requests of all", |it| it.config["limits_per_day"] = json!({"requests": 4})),
        // The probe is charged as estimated, which is a little more than its budget of 1,024 tokens.
        ("tokens of all", |it| it.config["limits_per_day"] = json!({"tokens": 4000})),
        ("the narrower one", |it| {
            it.config["limits_per_day"] = json!({"requests": 4});
            it.config["models"][PAIR]["limits_per_day"] = json!({"requests": 100});
        }),
    ];
    for (name, change) in rows {
        let answer = Reply { usage: Some((600, 400)), ..Reply::text("ready") };
        let mut scene = Scene::with(Script { steps: Vec::new(), otherwise: answer });
        change(&mut scene);
        scene.settle();
        let _ = asks(&scene, 1, &[], 0);
        let over = asks(&scene, 2, &[], 3);
        assert_eq!(over["blocker_reasons"], json!(["budget_exceeded"]), "{name}: {}", said(&over));
        assert!(said(&over).contains("The day's limit"), "{name}: {}", said(&over));
        assert_eq!(over["engine"]["process_started"], true, "{name}: there was room for a question");
        let before = scene.asked();
        let nothing = asks(&scene, 1, &[], 3);
        assert_eq!(nothing["blocker_reasons"], json!(["budget_exceeded"]), "{name}: {}", said(&nothing));
        assert_eq!((&nothing["engine"]["process_started"], scene.asked()), (&json!(false), before), "{name}");
        let _ = scene.cto(&["ledger", "verify"]).expect(0);
        // The control: the same run without the limit.
        scene.config["limits_per_day"] = json!({});
        scene.config["models"][PAIR].as_object_mut().unwrap().remove("limits_per_day");
        scene.settle();
        let _ = asks(&scene, 2, &[], 0);
    }
}

#[test]
fn a_limit_of_the_day_on_money_refuses_a_model_without_a_price() {
    let mut scene = Scene::new();
    scene.config["limits_per_day"] = json!({"money_micros": 1_000_000});
    scene.settle();
    let report = asks(&scene, 1, &[], 3);
    assert_eq!(report["blocker_reasons"], json!(["budget_exceeded"]));
    assert_eq!((scene.asked(), &report["engine"]["process_started"]), (0, &json!(false)));
}

/// While a run goes on, nobody else counts on what it may still use; afterwards it counts with what it used.
#[test]
fn parallel_runs_do_not_share_the_rest_of_a_day() {
    for (limits, code) in [(&[][..], 3), (&[("limits", "{model_requests: 4}")][..], 0)] {
        let mut scene = Scene::new();
        scene.config["limits_per_day"] = json!({"requests": 10});
        scene.settle();
        let mut steps = asking(&[ask("m", "hello")]);
        steps.push(json!({"sleep": {"seconds": 6}}));
        let fake = json!({"wire": "chat_completions", "steps": steps}).to_string();
        let mut changes = vec![("fake", fake.as_str())];
        changes.extend_from_slice(limits);
        let case = scene.world.case("long", &changes);
        let mut command = scene.world.command(["run", case.to_str().unwrap(), "--json", "--model", PAIR]);
        command.envs(scene.environment.iter().map(|(name, value)| (name, value)));
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        testkit::wait_for("the first run works", || (scene.asked() == 2).then_some(()));
        let beside = asks(&scene, 1, limits, code);
        assert_eq!(said(&beside).contains("The day's limit"), code == 3, "{}", said(&beside));
        let _ = testkit::World::finish(child).expect(0);
        let _ = asks(&scene, 1, limits, 0);
    }
}

/// Starts a run that asks once and then waits, and kills it there.
fn kill_one(scene: &Scene) {
    let mut steps = asking(&[ask("m", "hello")]);
    steps.insert(1, json!({"sleep": {"seconds": 60}}));
    let case = scene.case(&[], &steps);
    let mut command = scene.world.command(["run", case.to_str().unwrap(), "--json", "--model", PAIR]);
    command.envs(scene.environment.iter().map(|(name, value)| (name, value)));
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let asked = scene.asked();
    testkit::wait_for("the run has its answer", || {
        let work = fs::read_dir(scene.world.home().join("work")).ok()?.flatten().next()?;
        let account = fs::read_to_string(work.path().join("model-account.jsonl")).ok()?;
        // Made, before and after the probe, before and after the question.
        (scene.asked() >= asked && account.lines().count() == 5).then_some(())
    });
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(testkit::World::finish(child).code, -1);
}

/// Note of the harness itself about a step.
fn noted(bundle: &std::path::Path, step: &str) -> Option<serde_json::Value> {
    let mut steps = lines(&bundle.join("trace.jsonl")).into_iter();
    steps.find(|line| line["step"] == step).map(|line| line["data"].clone())
}

/// A killed run holds all that was left of the day. Recovery gives back what it did not use.
#[test]
fn recovery_settles_for_a_run_that_was_killed() {
    type Harm = fn(&std::path::Path);
    let rows: &[(&str, Harm, i32)] = &[
        ("as it was left", |_| {}, 0),
        // The controls: without an account to rely on, what was reserved stays counted, and the bundle says so.
        ("without its account", |account| fs::remove_file(account).unwrap(), 3),
        ("with an account that is cut", |account| fs::write(account, "{\"requests\":0").unwrap(), 3),
    ];
    for (name, harm, code) in rows {
        let answer = Reply { usage: Some((600, 400)), ..Reply::text("ready") };
        let mut scene = Scene::with(Script { steps: Vec::new(), otherwise: answer });
        scene.config["limits_per_day"] = json!({"requests": 4, "tokens": 100_000});
        scene.settle();
        kill_one(&scene);
        let work = fs::read_dir(scene.world.home().join("work")).unwrap().flatten().next().unwrap();
        harm(&work.path().join("model-account.jsonl"));
        let recovered = scene.cto(&["recover", "--json"]).expect(0).json();
        let sealed = &recovered["sealed"][0];
        let bundle = scene.world.bundles().join(sealed["run_id"].as_str().unwrap());
        let _ = scene.world.cto(["verify", bundle.to_str().unwrap()]).expect(0);
        let says = fs::read_to_string(bundle.join("report.json")).unwrap();
        assert_eq!(says.contains("stays counted in full"), *code == 3, "{name}: {says}");
        let settled = noted(&bundle, "model.settled");
        assert_eq!(settled.is_some(), *code == 0, "{name}");
        if let Some(settled) = settled {
            // The question with the thousand tokens of its budget, the probe as estimated.
            let tokens = settled["tokens"].as_u64().unwrap();
            assert!(settled["requests"] == 2 && (2000..2200).contains(&tokens), "{name}: {settled}");
        }
        assert_eq!(noted(&bundle, "model.share_kept").is_some(), *code == 3, "{name}");
        // Two requests are left of four: a probe and one question.
        let next = asks(&scene, 1, &[], *code);
        assert_eq!(said(&next).contains("The day's limit"), *code == 3, "{name}: {}", said(&next));
        let over = asks(&scene, 1, &[], 3);
        assert_eq!(over["blocker_reasons"], json!(["budget_exceeded"]), "{name}");
        let _ = scene.cto(&["ledger", "verify"]).expect(0);
    }
}

#[test]
fn a_workspace_sets_no_limit_of_the_day() {
    let scene = Scene::new();
    scene.settle();
    scene.world.write("harness.yaml", "limits_per_day: {requests: 1000000}\n");
    let refused = scene.cto(&["config"]).expect(2);
    assert!(refused.stderr.contains("`limits_per_day` belongs into your own configuration"), "{}", refused.stderr);
}
