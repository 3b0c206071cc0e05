//! All engines on one task, side by side.

use std::fs;
use std::net::TcpListener;

use contract::model::Wire;
use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use serde_json::{Value, json};

use super::cases::FIX;
use super::scene::{MARK, PAIR, shell};
use crate::world;

const LANES: [(&str, Wire); 3] =
    [("codex", Wire::Responses), ("pi", Wire::ChatCompletions), ("claude", Wire::Messages)];

/// Each agent by the wire it speaks: one call of its shell, then a word.
fn answers() -> Script {
    let steps = LANES.iter().flat_map(|(engine, wire)| {
        let when = || When { wire: Some(*wire), contains: Some(MARK.to_owned()), ..When::default() };
        [
            Step { when: when(), times: Some(1), reply: shell(engine, FIX) },
            Step { when: when(), times: None, reply: Reply::text("Done.") },
        ]
    });
    Script { steps: steps.collect(), otherwise: Reply::text("ready") }
}

#[test]
fn a_race_of_real_agents_is_one_table_and_one_document() {
    let mut engines = json!({});
    for (engine, _) in LANES {
        let Some(agent) = testkit::agent("agents::race", engine) else { return };
        engines[engine] = json!({"executable": agent.executable, "enabled": true, "stage": 1});
        if let Some(interpreter) = agent.interpreter {
            engines[engine]["interpreter"] = json!(interpreter);
        }
    }
    let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), answers()).unwrap();
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    let (provider, model) = PAIR.split_once('/').unwrap();
    let admission = json!({
        "admission_timestamp": "2026-01-01T00:00:00Z", "allowed_network_class": "loopback", "approval_source": "tests",
        "credential_source_class": "none", "model": model, "provider": provider, "review_trigger": "never", "status": "admitted",
    });
    world.write("admissions/model/prov.json", admission.to_string());
    let folder = world.user().join(".config/cto");
    fs::create_dir_all(&folder).unwrap();
    let settle = |engines: &Value| {
        let config = json!({
            "credential_sources": {"none": "none"},
            "network_classes": {"loopback": {"hosts": ["127.0.0.1"], "scripted": true}},
            "models": {PAIR: {"endpoint": format!("http://{}/v1", server.address())}},
            "engines": engines,
        });
        fs::write(folder.join("config.yaml"), config.to_string()).unwrap();
    };
    settle(&engines);
    for (engine, _) in LANES {
        let stage_1 = ["run", "r1-string-slugify", "--engine", engine, "--stage", "1", "--model", PAIR, "--json"];
        let _ = world.cto(stage_1).expect(0);
        engines[engine]["stage"] = json!(2);
    }
    settle(&engines);
    let race = ["race", "r1-string-slugify", "--engines", "fake,codex,pi,claude,nobody", "--model", PAIR, "--json"];
    let raced = world.cto(race).expect(3).json();
    let lanes = raced["lanes"].as_array().unwrap();
    let row = |engine: &str| lanes.iter().find(|lane| lane["engine"] == engine).unwrap();
    for engine in ["fake", "codex", "pi", "claude"] {
        assert_eq!(row(engine)["status"], "pass", "{engine}: {raced:#}");
        let bundle = world.bundles().join(row(engine)["run_id"].as_str().unwrap());
        let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
    }
    for (engine, _) in LANES {
        assert!(row(engine)["used"]["requests"].as_u64().is_some_and(|requests| requests > 0), "{raced:#}");
    }
    assert_eq!((&row("nobody")["status"], &row("nobody")["run_id"]), (&json!("blocked"), &Value::Null));
    assert!(row("nobody")["why"].as_str().unwrap().contains("no engine `nobody`"), "{raced:#}");
    let runs = lanes.iter().filter_map(|lane| lane["run_id"].as_str());
    let compared = world.cto(["compare"].into_iter().chain(runs)).expect(0).text();
    assert!(["fake", "codex", "pi", "claude"].iter().all(|engine| compared.contains(engine)), "{compared}");
}
