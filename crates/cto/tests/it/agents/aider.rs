//! A real program that the harness knows nothing of, made an engine by its description alone.

use fixtures::scripted::Reply;
use serde_json::json;

use super::scene::{PAIR, Scene, script};

/// An answer in aider's format: whole files between fences.
const ANSWER: &str = "strings.py\n```\n\"\"\"Small text helpers for titles and addresses.\"\"\"\n\n\ndef slugify(text):\n    \"\"\"Turn a title into the last part of a web address.\"\"\"\n    return \"-\".join(text.lower().split())\n\n\ndef truncate(text, length):\n    \"\"\"Shorten text to at most length characters, the last of them an ellipsis where something was cut.\"\"\"\n    if len(text) <= length:\n        return text\n    return text[: length - 1].rstrip() + \"\\u2026\"\n```\n";

#[test]
fn a_description_is_enough_for_aider() {
    let Some(python) = testkit::aider("agents::aider") else { return };
    let definition = json!({
        "about": "aider, a pair programmer",
        "program": "python",
        "identity": {"argv": ["-m", "aider", "--help"], "expect": "aider is AI pair programming"},
        "wire": "chat_completions",
        "argv": ["-m", "aider", "--config", "{state}/aider.yml", "--env-file", "/dev/null", "--model", "openai/{model}",
            "--openai-api-base", "{base_url}", "--message-file", "{task}", "--edit-format", "whole", "--yes-always",
            "--no-auto-commits", "--no-gitignore", "--no-check-update", "--no-show-model-warnings", "--analytics-disable",
            "--no-pretty", "--no-stream", "--map-tokens", "0", "--chat-history-file", "{state}/chat.md",
            "--input-history-file", "{state}/input", "--llm-history-file", "{state}/llm", "strings.py"],
        "files": [{"path": "{state}/aider.yml", "text": "{}\n"}],
        // aider reads the `.env` of its home, where a decoy lies.
        "variables": {"HOME": "{state}", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": "{token}"},
        "events": "aider",
    });
    let entry = json!({"executable": python, "definition": definition});
    let mut scene = Scene::with("aider", entry, script(vec![Reply::text(ANSWER)]));
    let _ = scene.run("r1-string-slugify", 1, &[], 0);
    let (report, _) = scene.run("r1-string-slugify", 2, &[], 0);
    assert_eq!((&report["status"], &report["changed_files"]), (&json!("pass"), &json!(["strings.py"])));
    assert_eq!(report["model"]["requested"]["model"], json!(PAIR.split_once('/').unwrap().1));
    assert!(report["model"]["answered"].as_u64().unwrap() >= 1);
}
