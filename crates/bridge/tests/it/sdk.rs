//! The official Python clients, unchanged, through the bridge.

use std::path::{Path, PathBuf};

use fixtures::scripted::{Reply, Script};
use serde_json::json;

use crate::world::{TOKEN, World, on};

/// A Python that has `openai` and `anthropic`.
#[expect(clippy::disallowed_methods, reason = "tests are told which Python by the environment")]
fn python(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("CTO_TEST_SDK_PYTHON").map(PathBuf::from);
    if python.is_none() {
        testkit::skip(test, "no Python with openai and anthropic; run through cargo xtask test");
    }
    python
}

fn run(python: &Path, script: &str, world: &World) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("client.py");
    std::fs::write(&path, script).unwrap();
    let output = testkit::program(python.to_str().unwrap(), dir.path())
        .arg(&path)
        .envs([("BASE", format!("http://{}", world.address)), ("TOKEN", TOKEN.to_owned())])
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.trim_end().ends_with("done"), "{out}\n{err}");
}

/// Milliseconds between the last event of an answer and the end of its body, one row for each round.
const GAPS: [u64; 5] = [20, 0, 1, 5, 500];

/// The gap of each round. `CTO_TEST_ANSWERS` sets their number.
fn gaps() -> impl Iterator<Item = u64> {
    GAPS.into_iter().cycle().take(testkit::times("CTO_TEST_ANSWERS", 1) as usize)
}

/// The clients leave when they have read the last event; no request of theirs was left unanswered.
fn assert_all_ended(world: &mut World, gap: u64, least: usize) {
    let records = world.records();
    assert!(records.iter().all(|record| record.outcome != bridge::Outcome::Disconnected), "{gap} ms: {records:#?}");
    assert!(records.iter().filter(|record| record.is_evidence()).count() >= least, "{gap} ms: {records:#?}");
}

fn world(gap: u64) -> World {
    let script = Script {
        steps: vec![
            on("weather", Reply::call("weather", json!({"city": "Oslo"}))),
            on("break", Reply::error(400, "scripted trouble")),
        ],
        otherwise: Reply { delay_end_ms: gap, ..Reply::text("Hello from the script") },
    };
    World::with(script, |config| {
        config.deadlines.total = std::time::Duration::from_secs(60);
        config.deadlines.receive = std::time::Duration::from_secs(10);
    })
}

const OPENAI: &str = include_str!("sdk/openai_client.py");
const ANTHROPIC: &str = include_str!("sdk/anthropic_client.py");

#[test]
fn the_openai_client_works_unchanged() {
    let Some(python) = python("the_openai_client_works_unchanged") else { return };
    for gap in gaps() {
        let mut world = world(gap);
        run(&python, OPENAI, &world);
        assert_all_ended(&mut world, gap, 6);
        assert!(world.asked().iter().all(|asked| asked.header("x-stainless-os").is_none()));
    }
}

#[test]
fn the_openai_client_works_over_a_translation() {
    let Some(python) = python("the_openai_client_works_over_a_translation") else { return };
    let script = Script {
        steps: vec![on("weather", Reply::call("weather", json!({"city": "Oslo"})))],
        otherwise: Reply::text("Hello from the script"),
    };
    let world = World::with(script, |config| {
        if let bridge::AnswerSource::Live(upstream) = &mut config.source {
            upstream.responses = bridge::ResponsesWire::OverChat;
        }
    });
    run(&python, include_str!("sdk/responses_client.py"), &world);
    assert!(world.asked().iter().all(|asked| asked.head.contains("/chat/completions")));
}

#[test]
fn the_anthropic_client_works_unchanged() {
    let Some(python) = python("the_anthropic_client_works_unchanged") else { return };
    for gap in gaps() {
        let mut world = world(gap);
        run(&python, ANTHROPIC, &world);
        assert_all_ended(&mut world, gap, 3);
    }
}
