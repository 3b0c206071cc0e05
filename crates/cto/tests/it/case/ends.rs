//! Ends of a Case run in which something is wrong: each row is a behaviour of the program or of its model.

use std::fs;

use fixtures::scripted::{Reply, Script};
use serde_json::{Value, json};
use testkit::content_digest;

use super::expected::Expected;
use super::plain::Plain;
use crate::advice::Shell;

use super::scene::{Scene, TASK, WORK, bash, envelope, good, role, script};

/// A behaviour and the end that it must have.
struct Row {
    name: &'static str,
    /// For the stand-in.
    words: &'static str,
    answers: fn() -> Script,
    expected: Expected,
}

const FAILED: &str = "case engine failed with exit code 0";

/// The implementer does the work and then says this.
fn after_work(last: &str) -> Script {
    script(role("implementer", vec![bash(WORK), Reply::text(last)]))
}

/// The work is done, and a later role ends with this.
fn then(later: &str, says: Value) -> Script {
    let mut steps = role("implementer", vec![bash(WORK), Reply::text(envelope(json!({})))]);
    steps.extend(role(later, vec![Reply::text(envelope(says))]));
    script(steps)
}

fn reviewing(findings: Value) -> Script {
    then("reviewer", json!({"findings": findings}))
}

fn rejecting() -> Script {
    reviewing(json!({"critical": 2, "warnings": 0, "info": 0}))
}

/// Everybody says that it is done, and nobody does anything.
fn claiming() -> Script {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let claimed = json!({"artifacts": {"commit": commit, "filesChanged": ["strings.py"], "testsPassed": true}});
    script(role("implementer", vec![Reply::text(envelope(claimed))]))
}

const CRITICAL: &str = "the engine's own reviewer has 2 critical findings";
const NOTHING: &str = "the engine ended well and changed nothing";

const ROWS: &[Row] = &[
    Row {
        name: "no envelope, exit 0",
        words: "none",
        answers: || after_work("It is done."),
        expected: Expected::unread(&["agent_protocol"]),
    },
    Row {
        name: "no envelope, exit 1 as the operator's build does",
        words: "exit-one",
        answers: || after_work("It is done."),
        expected: Expected { exit: Some(1), ..Expected::unread(&["agent_protocol"]) },
    },
    Row {
        name: "no envelope, and nothing of the agents printed",
        words: "quiet",
        answers: || after_work("It is done."),
        expected: Expected::unread(&["agent_protocol"]),
    },
    Row {
        name: "a malformed envelope",
        words: "none",
        answers: || after_work("<<<AGENT_RESULT\n{\"status\": completed}\nAGENT_RESULT>>>"),
        expected: Expected::unread(&["agent_protocol"]),
    },
    Row {
        name: "two envelopes, the last one malformed",
        words: "none",
        answers: || after_work(&format!("{}\n<<<AGENT_RESULT\n{{\nAGENT_RESULT>>>", envelope(json!({})))),
        expected: Expected::unread(&["agent_protocol"]),
    },
    Row {
        name: "two envelopes, the first one malformed",
        words: "none",
        answers: || after_work(&format!("<<<AGENT_RESULT\n{{\nAGENT_RESULT>>>\n{}", envelope(json!({})))),
        expected: Expected::PASS,
    },
    Row {
        name: "an envelope of the implementer that says it failed",
        words: "none",
        answers: || after_work(&envelope(json!({"status": "failed", "error": "no"}))),
        expected: Expected::failed(&["engine_failed"], FAILED),
    },
    Row {
        name: "an event log that says what the output hides",
        words: "lies",
        answers: || then("verifier", json!({"status": "blocked"})),
        expected: Expected::failed(&["engine_failed"], FAILED),
    },
    Row {
        name: "a reviewer with critical findings of which nothing is printed",
        words: "quiet",
        answers: rejecting,
        expected: Expected::failed(&["reviewer_rejected"], CRITICAL),
    },
    Row {
        name: "success claimed of a commit that does not exist, and nothing done",
        words: "none",
        answers: claiming,
        expected: Expected::failed(&["no_diff", "claim_contradicted"], NOTHING),
    },
    Row {
        name: "the same, and nothing of it printed",
        words: "quiet",
        answers: claiming,
        expected: Expected::failed(&["no_diff", "claim_contradicted"], NOTHING),
    },
    Row {
        name: "a model that answers the engine with HTTP 500",
        words: "none",
        answers: || {
            let mut script = script(Vec::new());
            script.steps[0].reply = Reply::error(500, "trouble");
            script
        },
        expected: Expected::unread(&["agent_protocol", "model_evidence_missing"]),
    },
    Row {
        name: "no key, so that nothing is asked and the end looks like a success",
        words: "no-key",
        answers: good,
        expected: Expected::unread(&["agent_protocol", "model_evidence_missing"]),
    },
];

#[test]
fn the_end_is_judged_by_what_is_said_and_seen() {
    let mut scene = Scene::new(good());
    scene.climb();
    // The control: the same case with an implementer that does its work and a reviewer that has nothing against it.
    for words in ["none", "quiet", "exit-one", "lies"] {
        scene.answer(reviewing(json!({"critical": 0, "warnings": 3, "info": 0})));
        let _ = scene.check(words, &scene.told(words), &Expected::PASS);
    }
    for Row { name, words, answers, expected } in ROWS {
        scene.answer(answers());
        let (report, _) = scene.check(name, &scene.told(words), expected);
        if super::scene::reasons(&report).contains(&"agent_protocol") {
            let shell = Shell { cto: &|words| scene.cto(words), repository: &scene.world.here() };
            let shown = scene.cto(&["show", "@"]);
            assert!(shell.paste_all(&shown, &|| scene.cto(&["show", "@"])) > 0, "{name}: {}", shown.told());
        }
        let asked = scene.server.asked().len();
        // The preflight's own question is the only one where the program has no key.
        assert!(asked == 1 || *words != "no-key", "{name}: {asked} requests");
    }
}

/// Case's own record of a task does not count. Each run has a separate state, so a task of the same name is worked on again. The name is
/// in every prompt and must not differ.
#[test]
fn a_task_is_new_in_every_run() {
    let mut scene = Scene::new(good());
    scene.climb();
    let mut ids = Vec::new();
    for _ in 0..2 {
        scene.answer(good());
        let (report, bundle) = scene.check("anew", TASK, &Expected::PASS);
        assert_eq!(report["changed_files"], json!(["strings.py"]));
        let asked = scene.server.asked();
        assert!(asked.iter().any(|asked| String::from_utf8_lossy(&asked.body).contains("You are the implementer of")));
        let tasks = fs::read_dir(bundle.join("backend/case-data/tasks/active")).unwrap();
        let task = tasks.map(|entry| entry.unwrap().path()).find(|path| path.extension().unwrap() == "json").unwrap();
        let task: Value = serde_json::from_slice(&fs::read(task).unwrap()).unwrap();
        assert_eq!(task["status"], "pr-opened");
        ids.push(task["id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
    // The control: the same program reports success on a task that is finished, having looked back at it and done nothing.
    scene.answer(good());
    let plain = Plain::new(&scene, "reused", &json!({"id": ids[0], "status": "pr-opened", "repo": "r"}));
    let before = content_digest(&plain.repository, &[".case"]);
    let (code, said) = plain.start(&plain.repository);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("\"outcome\":\"completed\""), "{said}");
    assert_eq!((scene.server.asked().len(), content_digest(&plain.repository, &[".case"])), (1, before), "{said}");
}
