//! Hostile and broken upstreams, one row for each class: a clear result, the deadline kept, nothing passed on that
//! should not be.

use std::time::Duration;

use base64::Engine as _;
use bridge::{AnswerSource, Credential, FetchCredentialError, Outcome, RefusalCode, Sizes};
use fixtures::scripted::{Raw, Reply};

use crate::world::{KEY, World, always};

fn send(text: &str) -> Raw {
    Raw::Send(text.to_owned())
}

const JSON_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const SSE_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const GOOD: &str = r#"{"model":"m","choices":[]}"#;

fn check(name: &str, raw: Vec<Raw>, body: &str, code: RefusalCode) {
    let mut world = World::with(always(Reply::raw(raw)), |config| {
        config.sizes = Sizes { answer: 1 << 20, frame: 64 * 1024, ..Sizes::default() };
    });
    let got = world.post("/v1/chat/completions", body);
    assert!(got.took < Duration::from_secs(6), "{name}: {:?}", got.took);
    let text = got.text();
    assert!(text.contains(code.code()), "{name}: {} {text}", got.status);
    assert!(text.len() < 1_200_000, "{name}");
    let record = world.record();
    assert_eq!((record.refusal, record.outcome), (Some(code), Outcome::Failed), "{name}: {:?}", record.detail);
    assert_eq!(world.asked().len(), 1, "{name}: nothing is tried twice");
}

#[test]
fn broken_plain_answers() {
    use RefusalCode::{
        UpstreamCut, UpstreamEncoded, UpstreamMalformed, UpstreamRedirect, UpstreamTimeout, UpstreamTooLarge,
    };
    let body = r#"{"model":"m","messages":[]}"#;
    let bomb = base64::engine::general_purpose::STANDARD.encode([31, 139, 8, 0, 0, 0, 0, 0, 0, 3]);
    let rows: Vec<(&str, Vec<Raw>, RefusalCode)> = vec![
        ("no answer", vec![Raw::Hang], UpstreamTimeout),
        ("closed at once", vec![], UpstreamCut),
        ("slow head", vec![send("HTTP/1.1 200"), Raw::Hang], UpstreamTimeout),
        (
            "head byte by byte, for ever",
            vec![send("HTTP/1.1 200 OK\r\nx: "), Raw::Repeat("a".to_owned(), 1), Raw::WaitMs(2500)],
            UpstreamTimeout,
        ),
        (
            "huge head",
            vec![send("HTTP/1.1 200 OK\r\nx: "), Raw::Repeat("aaaaaaaaaaaaaaaa".to_owned(), 20_000), Raw::Hang],
            UpstreamMalformed,
        ),
        (
            "many headers",
            vec![send("HTTP/1.1 200 OK\r\n"), Raw::Repeat("x: 1\r\n".to_owned(), 300), Raw::Hang],
            UpstreamMalformed,
        ),
        ("not HTTP", vec![send("SSH-2.0-OpenSSH_9.2\r\n\r\n"), Raw::Hang], UpstreamMalformed),
        ("HTTP/2 preface", vec![Raw::Base64("AAAABAAAAAAAAAA=".to_owned()), Raw::Hang], UpstreamMalformed),
        (
            "interim answers without end",
            vec![Raw::Repeat("HTTP/1.1 103 Early\r\n\r\n".to_owned(), 50), Raw::Hang],
            UpstreamMalformed,
        ),
        (
            "switching protocols",
            vec![send("HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n"), Raw::Hang],
            UpstreamMalformed,
        ),
        ("slow body", vec![send(&format!("{JSON_HEAD}content-length: 100\r\n\r\n{{")), Raw::Hang], UpstreamTimeout),
        ("half-close", vec![send(&format!("{JSON_HEAD}content-length: 100\r\n\r\n{{"))], UpstreamCut),
        (
            "endless body",
            vec![send(&format!("{JSON_HEAD}\r\n\"")), Raw::Repeat("a".repeat(65536), 400)],
            UpstreamTooLarge,
        ),
        (
            "a length beyond the limit",
            vec![send(&format!("{JSON_HEAD}content-length: 9999999999\r\n\r\n")), Raw::Repeat("a".repeat(65536), 400)],
            UpstreamTooLarge,
        ),
        (
            "compressed",
            vec![send(&format!("{JSON_HEAD}content-encoding: gzip\r\ncontent-length: 10\r\n\r\n")), Raw::Base64(bomb)],
            UpstreamEncoded,
        ),
        (
            "bad chunk",
            vec![send(&format!("{JSON_HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n")), Raw::Hang],
            UpstreamMalformed,
        ),
        (
            "a chunk without its end",
            vec![send(&format!("{JSON_HEAD}transfer-encoding: chunked\r\n\r\n2\r\n{{}}x")), Raw::Hang],
            UpstreamMalformed,
        ),
        (
            "two framings",
            vec![send(&format!("{JSON_HEAD}transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n0\r\n\r\n"))],
            UpstreamMalformed,
        ),
        (
            "two lengths",
            vec![send(&format!("{JSON_HEAD}content-length: 2\r\ncontent-length: 26\r\n\r\n{GOOD}"))],
            UpstreamMalformed,
        ),
        (
            "folded header",
            vec![send("HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 2\r\n\r\n{}")],
            UpstreamMalformed,
        ),
        (
            "bad UTF-8",
            vec![send(&format!("{JSON_HEAD}content-length: 4\r\n\r\n")), Raw::Base64("Iv8iIA==".to_owned())],
            UpstreamMalformed,
        ),
        ("bad JSON", vec![send(&format!("{JSON_HEAD}content-length: 6\r\n\r\n<html>"))], UpstreamMalformed),
        (
            "deep JSON",
            vec![send(&format!("{JSON_HEAD}content-length: 5000\r\n\r\n{}", "[".repeat(5000)))],
            UpstreamMalformed,
        ),
        (
            "redirect",
            vec![send("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")],
            UpstreamRedirect,
        ),
        (
            "permanent redirect",
            vec![send("HTTP/1.1 308 Moved\r\nlocation: https://evil/\r\ncontent-length: 0\r\n\r\n")],
            UpstreamRedirect,
        ),
        (
            "the credential in the answer",
            vec![send(&format!("{JSON_HEAD}\r\n{{\"model\":\"m\",\"x\":\"{KEY}\"}}"))],
            RefusalCode::SecretEchoed,
        ),
    ];
    std::thread::scope(|scope| {
        for (name, raw, code) in rows {
            scope.spawn(move || check(name, raw, body, code));
        }
    });
}

#[test]
fn broken_streams() {
    let body = r#"{"model":"m","messages":[],"stream":true}"#;
    let first = "data: {\"model\":\"m\",\"choices\":[]}\n\n";
    let chunk = |text: &str| send(&format!("{:x}\r\n{text}\r\n", text.len()));
    let rows: Vec<(&str, Vec<Raw>, RefusalCode)> = vec![
        ("silence after the head", vec![send(SSE_HEAD), Raw::Hang], RefusalCode::UpstreamTimeout),
        ("silence after a frame", vec![send(SSE_HEAD), chunk(first), Raw::Hang], RefusalCode::UpstreamTimeout),
        ("cut in a chunk", vec![send(SSE_HEAD), chunk(first), send("ff\r\ndata: ")], RefusalCode::UpstreamCut),
        (
            "a frame without an end",
            vec![send(SSE_HEAD), send("fffffff\r\ndata: "), Raw::Repeat("a".repeat(65536), 40)],
            RefusalCode::UpstreamTooLarge,
        ),
        (
            "endless frames",
            vec![send(SSE_HEAD), chunk(first), send("fffffff\r\n"), Raw::Repeat(first.repeat(500), 2000)],
            RefusalCode::UpstreamTooLarge,
        ),
        (
            "bad chunk in a stream",
            vec![send(SSE_HEAD), chunk(first), send("xx\r\n"), Raw::Hang],
            RefusalCode::UpstreamMalformed,
        ),
        ("not JSON", vec![send(SSE_HEAD), chunk("data: <html>\n\n"), Raw::Hang], RefusalCode::UpstreamMalformed),
        (
            "the credential, split",
            vec![
                send(SSE_HEAD),
                chunk(first),
                chunk(&format!(": {}", &KEY[..9])),
                Raw::WaitMs(50),
                chunk(&KEY[9..]),
                Raw::Hang,
            ],
            RefusalCode::SecretEchoed,
        ),
    ];
    std::thread::scope(|scope| {
        for (name, raw, code) in rows {
            scope.spawn(move || check(name, raw, body, code));
        }
    });
}

/// Dripping keeps a stream alive between pieces, but not beyond the time for all.
#[test]
fn a_dripping_stream_ends_at_the_deadline() {
    let drip: Vec<Raw> = std::iter::once(send(SSE_HEAD))
        .chain((0..60).flat_map(|_| [send("3\r\n: \n\r\n"), Raw::WaitMs(150)]))
        .collect();
    check("drip", drip, r#"{"model":"m","messages":[],"stream":true}"#, RefusalCode::UpstreamTimeout);
}

#[test]
fn a_storm_of_errors_is_passed_on_and_nothing_is_tried_twice() {
    let mut world = World::new(always(Reply::error(503, "overloaded")));
    for _ in 0..20 {
        assert_eq!(world.post("/v1/messages", r#"{"model":"m","messages":[]}"#).status, 503);
    }
    assert_eq!(world.asked().len(), 20);
    assert!(world.records().iter().all(|record| record.outcome == Outcome::UpstreamError));
}

#[test]
fn a_refused_credential_is_told_without_the_upstreams_words() {
    for status in [401, 403] {
        let mut world = World::new(always(Reply::error(status, format!("Incorrect API key provided: {KEY}"))));
        let got = world.post("/v1/chat/completions", r#"{"model":"m","messages":[]}"#);
        assert_eq!((got.status, got.code().as_str()), (401, "credential_refused"));
        assert!(!got.text().contains("sk-"));
        let record = world.record();
        assert!(!format!("{record:?}").contains(KEY));
    }
}

#[test]
fn an_upstream_that_is_not_there_or_a_credential_that_cannot_be_had() {
    let mut world = World::with(always(Reply::text("x")), |config| {
        config.source = AnswerSource::Live(Box::new(crate::world::live("http://127.0.0.1:1/v1")));
    });
    let got = world.post("/v1/chat/completions", r#"{"model":"m","messages":[]}"#);
    assert_eq!((got.status, got.code().as_str()), (502, "upstream_unreachable"));
    assert!(!got.text().contains("127.0.0.1"), "the endpoint is not told: {}", got.text());
    assert!(!format!("{:?}", world.record()).contains("127.0.0.1"));

    let mut world = World::with(always(Reply::text("x")), |config| {
        if let AnswerSource::Live(upstream) = &mut config.source {
            let ask = || Err(FetchCredentialError::Source("locked".to_owned()));
            upstream.credential = Credential::Asked(std::sync::Arc::new(ask));
        }
    });
    let got = world.post("/v1/chat/completions", r#"{"model":"m","messages":[]}"#);
    assert_eq!((got.status, got.code().as_str()), (502, "credential_unavailable"));
    assert!(world.asked().is_empty());
    assert_eq!(world.record().detail.as_deref(), Some("the credential source failed: locked"));
}

#[test]
fn a_host_outside_the_class_is_refused_at_the_start() {
    let mut config = crate::world::config(crate::world::live("http://127.0.0.1:80/v1"));
    config.network.hosts = vec!["example.com".to_owned(), "127.0.0.1:81".to_owned()];
    let error = bridge::Bridge::start_bridge(config, Box::new(drop)).unwrap_err();
    assert_eq!(error.to_string(), "the upstream is not one of the admission's network class");
}

/// A server may leave after any answer, without a word; what is sent then would be lost, and nothing is sent twice.
#[test]
fn a_connection_that_the_server_left_is_not_used_again() {
    let answer = format!("{JSON_HEAD}content-length: {}\r\n\r\n{GOOD}", GOOD.len());
    let mut world = World::with(always(Reply::raw(vec![send(&answer)])), |_| {});
    for number in 0..60 {
        let got = world.post("/v1/chat/completions", r#"{"model":"m","messages":[]}"#);
        assert_eq!(got.status, 200, "{number}: {}", got.text());
        // So that the server has left by now.
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(world.records().iter().all(|record| record.outcome == Outcome::Answered));
    assert_eq!(world.asked().len(), 60);
}
