//! Requests and answers that pass, and the parts that the bridge removes.

use bridge::{Cost, Outcome, PriceTable, Served, ShapeShim, ShimApplied, Wire};
use contract::EventKind;
use fixtures::scripted::Reply;

use crate::world::{KEY, TOKEN, World, always, request, send};

const PATHS: [(Wire, &str); 3] = [
    (Wire::ChatCompletions, "/v1/chat/completions"),
    (Wire::Responses, "/v1/responses"),
    (Wire::Messages, "/v1/messages?beta=true"),
];

fn body(wire: Wire, stream: bool) -> String {
    match wire {
        Wire::Responses => format!(r#"{{"model":"m","input":"hi","stream":{stream}}}"#),
        Wire::ChatCompletions | Wire::Messages => {
            let options = if wire == Wire::ChatCompletions && stream {
                r#","stream_options":{"include_usage":true}"#
            } else {
                ""
            };
            format!(
                r#"{{"model":"m","max_tokens":99,"messages":[{{"role":"user","content":"hi"}}],"stream":{stream}{options}}}"#
            )
        }
    }
}

#[test]
fn every_wire_plain_and_streamed() {
    for (wire, path) in PATHS {
        for stream in [false, true] {
            let mut world = World::new(always(Reply::text("Hello there")));
            let sent = body(wire, stream);
            let got = world.post(path, &sent);
            assert_eq!(got.status, 200, "{wire:?}: {}", got.text());
            assert!(got.text().contains("Hello there") || stream, "{}", got.text());
            let asked = world.asked().remove(0);
            assert_eq!(asked.body, sent.as_bytes(), "the body must arrive byte for byte");
            let record = world.record();
            assert_eq!((record.outcome, record.served, record.streamed), (Outcome::Answered, Served::Exact, stream));
            assert_eq!((record.tokens.prompt, record.tokens.completion), (Some(11), Some(7)), "{wire:?} {stream}");
            assert_eq!(record.request_sha256, Some(contract::Digest::of_bytes(sent.as_bytes())));
            assert_eq!(record.response_sha256, Some(contract::Digest::of_bytes(&got.body)));
            assert_eq!(record.response_bytes, got.body.len() as u64);
            assert_eq!(record.cost_micros, Cost::Unpriced);
            assert!(record.answer.content && !record.answer.reasoning);
            assert!(record.finish_reason.is_some() && record.first_byte_ms.is_some());
            assert!(record.is_evidence());
            let kinds: Vec<_> = world.events.lock().unwrap().iter().map(bridge::ModelEvent::kind).collect();
            assert_eq!(kinds, [Some(EventKind::ModelRequested), Some(EventKind::ModelAnswered)]);
        }
    }
}

#[test]
fn the_credential_is_put_on_and_the_token_taken_off() {
    for (wire, path) in PATHS {
        let world = World::new(always(Reply::text("x")));
        let bytes = String::from_utf8(request("POST", path, &body(wire, false))).unwrap();
        let bytes = bytes.replace("host: bridge\r\n", "host: bridge\r\nx-api-key: wrong\r\nuser-agent: agent/1 (box)\r\ncookie: c=1\r\nx-codex-turn-metadata: /home/me\r\nanthropic-version: 2023-06-01\r\n");
        assert_eq!(send(world.address, bytes.as_bytes()).status, 200);
        let asked = world.asked().remove(0);
        let (bearer, key) = (asked.header("authorization"), asked.header("x-api-key"));
        match wire {
            Wire::Messages => assert_eq!((bearer, key), (None, Some(KEY))),
            _ => assert_eq!((bearer, key), (Some(format!("Bearer {KEY}").as_str()), None)),
        }
        assert!(!asked.head.contains(TOKEN));
        for gone in ["user-agent", "cookie", "x-codex-turn-metadata"] {
            assert_eq!(asked.header(gone), None, "{gone}");
        }
        assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
        assert_eq!(asked.header("accept-encoding"), Some("identity"));
        let mut world = world;
        assert_eq!(world.record().stripped_headers, 3);
    }
}

#[test]
fn identifying_fields_go_and_the_rest_stays_byte_for_byte() {
    let mut world = World::new(always(Reply::text("x")));
    let sent = r#"{ "model" : "m", "metadata": {"user_id": "device-1"},"messages":[ {"role":"user","content":"1.0e2 \u00e9"} ],"max_tokens":1.0e2}"#;
    let got = world.post("/v1/messages", sent);
    assert_eq!(got.status, 200, "{}", got.text());
    let expected = r#"{ "model" : "m", "messages":[ {"role":"user","content":"1.0e2 \u00e9"} ],"max_tokens":1.0e2}"#;
    assert_eq!(String::from_utf8(world.asked().remove(0).body).unwrap(), expected);
    assert_eq!(world.record().stripped_fields, 1);
}

#[test]
fn models_and_greetings_are_answered_here() {
    let mut world = World::with(always(Reply::text("x")), |config| config.admission.aliases.push("m-alias".to_owned()));
    let models = send(world.address, &request("GET", "/v1/models", ""));
    let names: Vec<_> = models.json()["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    assert_eq!(names, ["m", "m-alias"]);
    let hello = send(world.address, b"HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert_eq!((hello.status, hello.body.len()), (200, 0));
    assert!(world.asked().is_empty());
    assert!(world.records().iter().all(|record| record.outcome == Outcome::Local));
}

#[test]
fn an_alias_is_sent_by_the_upstreams_name_and_recognised_in_the_answer() {
    let mut world = World::with(always(Reply { model: Some("vendor/M".to_owned()), ..Reply::text("x") }), |config| {
        config.admission.aliases.push("alias".to_owned());
        config.admission.sent_as = Some("vendor/M".to_owned());
    });
    let got = world.post("/chat/completions", r#"{"model":"alias","messages":[]}"#);
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(world.asked().remove(0).json()["model"], "vendor/M");
    let record = world.record();
    assert_eq!((record.served, record.model_asked.as_deref()), (Served::DeclaredAlias, Some("alias")));
    assert_eq!(record.model_answered.as_deref(), Some("vendor/M"));
}

#[test]
fn a_cost_is_known_only_with_a_price_and_a_usage() {
    let prices = br#"{"prices":[{"provider":"prov","model":"m","prompt":1000000,"completion":2000000}]}"#;
    for (usage, expected) in [(Some((11, 7)), Cost::Micros(25)), (None, Cost::Unknown)] {
        let mut world = World::with(always(Reply { usage, ..Reply::text("x") }), |config| {
            config.prices = PriceTable::read_table(prices).unwrap();
        });
        assert_eq!(world.post("/v1/responses", r#"{"model":"m","input":"x"}"#).status, 200);
        let record = world.record();
        assert_eq!(record.cost_micros, expected);
        let line = serde_json::to_value(&record).unwrap();
        assert_eq!(
            line["tokens"]["prompt"],
            usage.map_or(serde_json::Value::Null, |(prompt, _): (u64, u64)| prompt.into())
        );
    }
}

#[test]
fn a_declared_shim_changes_the_request_and_is_recorded() {
    let mut world = World::with(always(Reply::text("x")), |config| {
        config.shim = ShapeShim { least_output_tokens: Some(1024), ask_for_content: true };
    });
    world.post("/v1/chat/completions", r#"{"model":"m","messages":[],"max_tokens":8}"#);
    let sent = world.asked().remove(0).json();
    assert_eq!(
        (sent["max_tokens"].clone(), sent["chat_template_kwargs"]["enable_thinking"].clone()),
        (1024.into(), false.into())
    );
    assert_eq!(world.record().shim, [ShimApplied::RaisedBudget, ShimApplied::AskedForContent]);
}

#[test]
fn an_error_of_the_upstream_is_passed_on() {
    for (wire, path) in PATHS {
        for status in [400, 404, 429, 500, 529] {
            let mut world = World::new(always(Reply::error(status, "scripted trouble")));
            let got = world.post(path, &body(wire, false));
            assert_eq!(got.status, status);
            assert!(got.text().contains("scripted trouble"));
            let record = world.record();
            assert_eq!((record.outcome, record.refused, record.is_evidence()), (Outcome::UpstreamError, false, false));
        }
    }
}

/// The shape of a line of `model-usage.jsonl`: what reads it relies on these names.
#[test]
fn a_record_is_one_json_object() {
    let mut world = World::new(always(Reply::text("x")));
    world.post("/v1/chat/completions", r#"{"model":"m","messages":[],"user":"u"}"#);
    let mut line = serde_json::to_value(world.record()).unwrap();
    assert!(line["time"].as_str().unwrap().starts_with("2027-01-15T08:00:0"), "{}", line["time"]);
    for changing in ["time", "first_byte_ms", "total_ms", "response_sha256"] {
        assert!(!line[changing].is_null(), "{changing}");
        line[changing] = "…".into();
    }
    insta::assert_snapshot!(line, @r#"{"seq":0,"time":"…","purpose":"engine","route":"POST /v1/chat/completions","wire":"chat_completions","provider":"prov","model_asked":"m","model_answered":"m","served":"exact","outcome":"answered","refused":false,"refusal":null,"detail":null,"status":200,"streamed":false,"replayed":false,"translated":false,"left_out":[],"shim":[],"allowed_features":[],"stripped_headers":0,"stripped_fields":1,"tokens":{"prompt":11,"completion":7,"cached":null,"cache_written":null,"reasoning":null},"cost_micros":"unpriced","finish_reason":"stop","answer":{"content":true,"reasoning":false,"tool_calls":false},"first_byte_ms":"…","total_ms":"…","request_bytes":38,"response_bytes":238,"request_sha256":"b57adf6820c6944771e92be3ba6f3645d2fad04283e7d54fb2bbc9b24429f5ac","response_sha256":"…"}"#);
}
