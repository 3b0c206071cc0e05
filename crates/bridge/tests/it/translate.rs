//! A responses client over a chat provider.

use bridge::{AnswerSource, Outcome, ResponsesWire, Served};
use fixtures::scripted::{Call, Reply};
use serde_json::{Value, json};

use crate::world::{World, always};

fn world(reply: Reply) -> World {
    World::with(always(reply), |config| {
        if let AnswerSource::Live(upstream) = &mut config.source {
            upstream.responses = ResponsesWire::OverChat;
        }
    })
}

fn body(stream: bool) -> String {
    json!({
        "model": "m", "instructions": "Be brief.", "stream": stream, "store": false,
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
        "tools": [{"type": "function", "name": "exec", "parameters": {"type": "object"}, "strict": false}],
        "client_metadata": {"installation": "secret-id"},
    })
    .to_string()
}

fn reply() -> Reply {
    Reply { calls: vec![Call { name: "exec".to_owned(), arguments: json!({"cmd": "ls"}) }], ..Reply::text("Looking.") }
}

#[test]
fn tools_and_text_streamed() {
    for split in [None, Some(1), Some(13)] {
        let mut world = world(Reply { split, ..reply() });
        let got = world.post("/v1/responses", &body(true));
        assert_eq!(got.status, 200, "{}", got.text());
        let events: Vec<Value> = got
            .text()
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect();
        let last = events.last().unwrap();
        assert_eq!(last["type"], "response.completed");
        assert_eq!(last["response"]["output"][0]["content"][0]["text"], "Looking.");
        assert_eq!(last["response"]["output"][1]["arguments"], r#"{"cmd":"ls"}"#);
        assert_eq!(last["response"]["usage"]["input_tokens"], 11);
        let asked = world.asked().remove(0);
        assert!(asked.head.starts_with("POST /v1/chat/completions "));
        assert_eq!(asked.json()["messages"][0]["content"], "Be brief.");
        assert!(!String::from_utf8_lossy(&asked.body).contains("secret-id"));
        let record = world.record();
        assert_eq!((record.translated, record.outcome, record.served), (true, Outcome::Answered, Served::Exact));
        assert_eq!(record.tokens.total(), Some(18));
    }
}

#[test]
fn tools_and_text_whole() {
    let mut world = world(reply());
    let response = world.post("/v1/responses", &body(false)).json();
    assert_eq!(response["object"], "response");
    assert_eq!(response["output"][1]["name"], "exec");
    assert_eq!(world.record().response_bytes, response.to_string().len() as u64);
}

#[test]
fn what_cannot_be_carried_is_said_and_not_sent() {
    let mut world = world(reply());
    let got = world.post("/v1/responses", r#"{"model":"m","input":"x","tools":[{"type":"local_shell"}]}"#);
    assert_eq!((got.status, got.code().as_str()), (400, "not_carried"));
    assert!(got.text().contains("a tool of type local_shell"));
    assert!(world.asked().is_empty());
    assert!(world.record().refused);
}

#[test]
fn another_model_and_broken_streams_are_caught_behind_the_translation() {
    let world = world(Reply { model: Some("cheaper".to_owned()), ..reply() });
    assert_eq!(world.post("/v1/responses", &body(true)).status, 502);
    let cut = self::world(Reply { cut_after: Some(3), ..reply() });
    let got = cut.post("/v1/responses", &body(true));
    assert!(got.text().contains("event: error") && !got.text().contains("response.completed"), "{}", got.text());
}
