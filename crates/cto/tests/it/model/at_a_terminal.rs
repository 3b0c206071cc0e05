//! Requests, tokens and money of a run that a model serves, on a real terminal while it goes on.

use fixtures::scripted::{Reply, Script, Step, When};
use serde_json::json;
use testkit::Tmux;

use super::scene::{self, PAIR, Scene};

/// Time that the second answer takes, so that its request is seen while it is open.
const SLOW_ANSWER_MS: u64 = 4_000;

#[test]
fn requests_tokens_and_money_are_seen_while_a_run_goes_on() {
    let test = "model::at_a_terminal::requests_tokens_and_money_are_seen_while_a_run_goes_on";
    let when = When { contains: Some("second".to_owned()), ..When::default() };
    let slow = Reply { delay_head_ms: SLOW_ANSWER_MS, ..Reply::text("slow") };
    let steps = vec![Step { when, times: None, reply: slow }];
    let mut scene = Scene::with(Script { steps, otherwise: Reply::text("ready") });
    scene.config["models"][PAIR]["price"] = json!({"prompt": 1_000_000, "completion": 1_000_000});
    scene.settle();
    let case = scene.case(&[], &scene::asking(&[scene::ask("m", "first"), scene::ask("m", "second")]));
    let mut command = scene.world.command(["run", case.to_str().unwrap(), "--model", PAIR]);
    command.envs(scene.environment.iter().map(|(name, value)| (name, value)));
    let Some(terminal) = Tmux::start_command(test, &scene.world, 60, &command) else { return };
    for columns in [60, 80, 100, 160] {
        terminal.resize(columns);
        let lines = terminal.wait_until(&format!("an open request at {columns} columns"), |lines| {
            lines.first().is_some_and(|head| head.chars().count() == usize::from(columns))
                && lines.iter().any(|line| line.contains("1 open   18 tokens"))
        });
        assert!(lines.iter().all(|line| line.chars().count() <= usize::from(columns)), "{columns}: {lines:#?}");
        let row = lines.iter().find(|line| line.contains("1 open")).unwrap().trim();
        // 18 tokens of the first answer, at a dollar for a million. The question of the preflight is in the sum once it is settled.
        let rows = ["1 request, 1 open   18 tokens   $0.000018", "2 requests, 1 open   18 tokens   $0.000018+"];
        assert!(rows.contains(&row), "{columns}: {lines:#?}");
    }
    terminal.wait_for("ended with 0");
}
