//! Refused at the wire: nothing is sent, the error has the wire's shape, and the record says why.

use std::collections::BTreeSet;

use bridge::{Feature, Outcome, RefusalCode, Secret};
use contract::{EventKind, Reason};
use fixtures::scripted::Reply;

use crate::world::{TOKEN, World, always, request, send};

const DECOY: &str = "CANARY-0123456789";

fn guarded() -> World {
    World::with(always(Reply::text("x")), |config| config.forbidden.push(Secret::new(DECOY)))
}

fn refused(path: &str, body: &str) -> (u16, RefusalCode, Option<String>) {
    let mut world = guarded();
    let got = world.post(path, body);
    assert!(world.asked().is_empty(), "something was sent for {body}");
    let error = got.json();
    let shape = if path.contains("messages") { error["type"] == "error" } else { error["error"]["code"].is_string() };
    assert!(shape && error["error"]["message"].is_string(), "{error}");
    assert_eq!(got.header("x-should-retry"), Some("false"));
    let record = world.record();
    assert_eq!((record.outcome, record.refused, record.status), (Outcome::Refused, true, Some(got.status)));
    let kinds: Vec<_> = world.events.lock().unwrap().iter().map(bridge::ModelEvent::kind).collect();
    assert_eq!(kinds, [Some(EventKind::ModelRefused)]);
    (got.status, record.refusal.unwrap(), record.detail)
}

#[test]
fn what_may_not_be_asked_is_not_asked() {
    use RefusalCode::{CanaryTouched, FallbackAsked, HostedToolRefused, ModelNotAdmitted, RequestMalformed};
    let (chat, responses, messages) = ("/v1/chat/completions", "/v1/responses", "/v1/messages");
    let rows: &[(&str, &str, RefusalCode)] = &[
        (chat, r#"{"model":"gpt-other","messages":[]}"#, ModelNotAdmitted),
        (messages, r#"{"model":"claude-other","messages":[]}"#, ModelNotAdmitted),
        (responses, r#"{"model":"prov/m","input":"x"}"#, ModelNotAdmitted),
        (chat, r#"{"model":"M","messages":[]}"#, ModelNotAdmitted),
        (chat, r#"{"model":["m"],"messages":[]}"#, ModelNotAdmitted),
        (chat, r#"{"messages":[]}"#, ModelNotAdmitted),
        (chat, r#"{"model":"m","model":"other","messages":[]}"#, RequestMalformed),
        (chat, r#"{"model":"m","Model":"other","messages":[]}"#, HostedToolRefused),
        (chat, r#"{"model":"m","models":["m","other"],"messages":[]}"#, FallbackAsked),
        (responses, r#"{"model":"m","input":"x","tools":[{"type":"web_search"}]}"#, HostedToolRefused),
        (
            responses,
            r#"{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"web_search"}]}]}"#,
            HostedToolRefused,
        ),
        (
            responses,
            r#"{"model":"m","input":"x","tools":[{"type":"mcp","server_url":"https://x"}]}"#,
            HostedToolRefused,
        ),
        (messages, r#"{"model":"m","messages":[],"mcp_servers":[{"url":"https://x"}]}"#, HostedToolRefused),
        (responses, r#"{"model":"m","input":"x","background":true}"#, HostedToolRefused),
        (responses, r#"{"model":"m","input":"x","previous_response_id":"resp_theirs"}"#, HostedToolRefused),
        (responses, r#"{"model":"m","input":"x","conversation":"conv_1"}"#, HostedToolRefused),
        (
            chat,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/a.png"}}]}]}"#,
            HostedToolRefused,
        ),
        (
            chat,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}"#,
            HostedToolRefused,
        ),
        (
            chat,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/?k=CANARY-0123456789"}}]}]}"#,
            CanaryTouched,
        ),
        (chat, r#"{"model":"m","messages":["#, RequestMalformed),
        (chat, r#"["model"]"#, RequestMalformed),
        (chat, "", RequestMalformed),
    ];
    for (path, body, expected) in rows {
        let (status, code, _) = refused(path, body);
        assert_eq!((status, code), (expected.status(), *expected), "{body}");
    }
}

#[test]
fn refusals_are_the_blockers_of_a_run() {
    assert_eq!(RefusalCode::ModelNotAdmitted.reason(), Some(Reason::ModelFallbackBlocked));
    assert_eq!(RefusalCode::OtherModelAnswered.reason(), Some(Reason::ModelFallbackBlocked));
    assert_eq!(RefusalCode::HostedToolRefused.reason(), Some(Reason::HostedToolRefused));
    assert_eq!(RefusalCode::TokenLimit.reason(), Some(Reason::BudgetExceeded));
}

#[test]
fn the_record_names_the_place() {
    let body = r#"{"model":"m","input":"x","tools":[{"type":"function","name":"f"},{"type":"code_interpreter"}]}"#;
    let detail = refused("/v1/responses", body).2.unwrap();
    assert_eq!(detail, "tools[1] of type code_interpreter: a tool the provider would run.");
}

#[test]
fn a_named_feature_passes_and_is_recorded() {
    let mut world = World::with(always(Reply::text("x")), |config| {
        config.network.allow = BTreeSet::from([Feature::HostedTool]);
    });
    let got = world.post("/v1/responses", r#"{"model":"m","input":"x","tools":[{"type":"web_search"}]}"#);
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(world.record().allowed_features, [Feature::HostedTool]);
}

#[test]
fn a_response_of_this_run_may_be_continued() {
    let world = World::new(always(Reply::text("x")));
    let first = world.post("/v1/responses", r#"{"model":"m","input":"x","stream":true}"#);
    assert!(first.text().contains("resp_scripted"));
    let second = world.post("/v1/responses", r#"{"model":"m","input":"y","previous_response_id":"resp_scripted"}"#);
    assert_eq!(second.status, 200, "{}", second.text());
}

#[test]
fn without_the_token_nothing_is_told() {
    let mut world = World::new(always(Reply::text("x")));
    let good = String::from_utf8(request("POST", "/v1/chat/completions", r#"{"model":"m","messages":[]}"#)).unwrap();
    let rows = [
        good.replace(&format!("authorization: Bearer {TOKEN}\r\n"), ""),
        good.replace(TOKEN, "run-token-0123456788"),
        good.replace("Bearer ", "Basic "),
        good.replace(TOKEN, ""),
        good.replace("/v1/chat/completions", "/v1/unknown").replace(TOKEN, "x"),
    ];
    for row in &rows {
        let got = send(world.address, row.as_bytes());
        assert_eq!((got.status, got.code().as_str()), (401, "token_refused"), "{row}");
    }
    let key = good.replace("authorization: Bearer ", "x-api-key: ");
    assert_eq!(send(world.address, key.as_bytes()).status, 200);
    assert_eq!(world.asked().len(), 1);
    assert_eq!(world.records().len(), rows.len() + 1);
}

#[test]
fn other_routes_are_refused_and_recorded() {
    let mut world = World::new(always(Reply::text("x")));
    let rows = [
        ("POST", "/v1/files", 404),
        ("POST", "/v1/messages/count_tokens", 404),
        ("POST", "/v1/embeddings", 404),
        ("GET", "/v1/responses/resp_1", 404),
        ("DELETE", "/v1/models", 405),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "http://127.0.0.1/v1/chat/completions", 404),
        ("POST", "/v1/chat/completions?api-version=1", 404),
        ("POST", "/v1/../v1/chat/completions", 404),
    ];
    for (method, path, status) in rows {
        let got = send(world.address, &request(method, path, r#"{"model":"m"}"#));
        assert_eq!(got.status, status, "{method} {path}: {}", got.text());
    }
    assert!(world.asked().is_empty());
    let records = world.records();
    assert_eq!(records.len(), rows.len());
    assert!(records.iter().all(|record| record.refused));
}

/// A decoy is known however it is written, in a body and in a header that goes up.
#[test]
fn a_decoy_does_not_leave_in_another_spelling() {
    use testkit::secret_set::encode::{base64, base64_url, hex, json_full, url_full};
    type Spell = fn(&str) -> String;
    let spellings: &[(&str, Spell)] = &[
        ("plain", str::to_owned),
        ("base64", |text| base64(text.as_bytes(), true)),
        ("base64 of more", |text| base64(format!("API_TOKEN={text}\n").as_bytes(), true)),
        ("base64 for URLs", |text| base64_url(format!("?{text}").as_bytes())),
        ("hex", |text| hex(text.as_bytes())),
        ("URL-encoded", url_full),
        ("JSON-escaped", json_full),
    ];
    let body = |text: &str| format!(r#"{{"model":"m","messages":[{{"role":"user","content":"look: {text}."}}]}}"#);
    for (name, spell) in spellings {
        let (status, code, _) = refused("/v1/chat/completions", &body(&spell(DECOY)));
        assert_eq!((status, code), (403, RefusalCode::CanaryTouched), "{name}");
        // The control: another value, written in the same way, is asked.
        let world = guarded();
        let got = world.post("/v1/chat/completions", &body(&spell("CANARY-9876543210")));
        assert_eq!((got.status, world.asked().len()), (200, 1), "{name}");
    }
    for (value, status) in [(DECOY, 403), ("CANARY-9876543210", 200)] {
        let mut world = guarded();
        let text = String::from_utf8(request("POST", "/v1/chat/completions", &body("hello"))).unwrap();
        let text = text.replacen("\r\n", &format!("\r\nopenai-beta: {value}\r\n"), 1);
        assert_eq!(send(world.address, text.as_bytes()).status, status, "{value} in a header");
        assert_eq!(world.asked().len(), usize::from(status == 200), "{value} in a header");
        assert_eq!(world.record().refusal.is_some(), status == 403);
    }
}
