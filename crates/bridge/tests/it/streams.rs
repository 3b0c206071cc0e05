//! Streams: passed on as they come, watched in every frame, ended in the wire's words.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use bridge::{Outcome, RefusalCode, Served};
use fixtures::scripted::{Call, Reply};

use crate::world::{World, always, connect, request};

const PATHS: [(&str, &str); 3] = [
    ("/v1/chat/completions", r#"{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true}}"#),
    ("/v1/responses", r#"{"model":"m","input":"x","stream":true}"#),
    ("/v1/messages", r#"{"model":"m","messages":[],"stream":true}"#),
];

fn rich() -> Reply {
    let call = Call { name: "read".to_owned(), arguments: serde_json::json!({"path": "é \"q\""}) };
    Reply { reasoning: Some("Let me see…".to_owned()), calls: vec![call], ..Reply::text("Grüße, Welt") }
}

#[test]
fn frames_split_at_every_byte_arrive_whole() {
    for (path, body) in PATHS {
        let whole = World::new(always(rich())).post(path, body);
        for split in 1..40 {
            let mut world = World::new(always(Reply { split: Some(split), ..rich() }));
            let got = world.post(path, body);
            assert_eq!(got.text(), whole.text(), "{path} in pieces of {split}");
            let record = world.record();
            assert_eq!((record.outcome, record.served), (Outcome::Answered, Served::Exact));
            assert_eq!((record.tokens.prompt, record.tokens.completion), (Some(11), Some(7)));
            assert!(record.answer.content && record.answer.reasoning && record.answer.tool_calls);
        }
    }
}

#[test]
fn another_model_is_refused_before_a_byte_is_passed_on() {
    for (path, body) in PATHS {
        for body in [body.to_owned(), body.replace("true", "false")] {
            let mut world =
                World::new(always(Reply { model: Some("cheaper".to_owned()), ..Reply::text("SECRET ANSWER") }));
            let got = world.post(path, &body.replace(r#","stream_options":{"include_usage":false}"#, ""));
            assert_eq!(got.status, 502, "{path} {}", got.text());
            assert!(!got.text().contains("SECRET"));
            let record = world.record();
            assert_eq!((record.served, record.refused, record.outcome), (Served::OtherFamily, true, Outcome::Failed));
            assert_eq!(record.refusal, Some(RefusalCode::OtherModelAnswered));
            assert_eq!(record.model_answered.as_deref(), Some("cheaper"));
        }
    }
}

#[test]
fn another_model_later_in_a_stream_ends_it() {
    let bad = "data: {\"model\":\"cheaper\",\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n".to_owned();
    let mut world =
        World::new(always(Reply { bad_frame: Some((3, bad)), frames: 6, delay_frame_ms: 80, ..Reply::text("abcdef") }));
    let got = world.post(PATHS[0].0, PATHS[0].1);
    assert_eq!(got.status, 200);
    assert!(got.text().contains("other_model_answered") && !got.text().contains("[DONE]"), "{}", got.text());
    assert_eq!(world.record().refusal, Some(RefusalCode::OtherModelAnswered));
}

#[test]
fn faults_become_the_last_event() {
    let rows: [(Reply, RefusalCode); 4] = [
        (Reply { cut_after: Some(2), ..Reply::text("abc") }, RefusalCode::UpstreamCut),
        (
            Reply { bad_frame: Some((2, "data: {oops\n\n".to_owned())), ..Reply::text("abc") },
            RefusalCode::UpstreamMalformed,
        ),
        (
            Reply { bad_frame: Some((2, "data: \u{0}\n\n".to_owned())), ..Reply::text("abc") },
            RefusalCode::UpstreamMalformed,
        ),
        (Reply { delay_frame_ms: 1500, ..Reply::text("abc") }, RefusalCode::UpstreamTimeout),
    ];
    for (reply, code) in rows {
        for (path, body) in PATHS {
            let mut world = World::new(always(reply.clone()));
            let got = world.post(path, body);
            assert!(got.text().contains("error"), "{path}: {}", got.text());
            assert!(got.took < Duration::from_secs(4));
            let record = world.record();
            assert_eq!(
                (record.refusal, record.outcome, record.refused),
                (Some(code), Outcome::Failed, false),
                "{path}"
            );
        }
    }
}

#[test]
fn a_stream_that_is_slow_but_alive_is_passed_on_as_it_comes() {
    let world = World::new(always(Reply { delay_frame_ms: 200, frames: 4, ..Reply::text("abcd") }));
    let mut client = connect(world.address);
    client.write_all(&request("POST", PATHS[0].0, PATHS[0].1)).unwrap();
    let began = Instant::now();
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    let mut arrivals = Vec::new();
    loop {
        let count = client.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        arrivals.push(began.elapsed());
        seen.extend_from_slice(&buffer[..count]);
    }
    assert!(String::from_utf8_lossy(&seen).contains("[DONE]"));
    assert!(arrivals.len() >= 4, "frames must not be held back: {arrivals:?}");
    assert!(arrivals[0] < Duration::from_millis(800), "{arrivals:?}");
}

#[test]
fn an_engine_that_goes_away_is_recorded_with_what_was_used() {
    let mut world = World::new(always(Reply {
        delay_frame_ms: 100,
        frames: 30,
        ..Reply::text("abcdefghijklmnopqrstuvwxyz0123456789")
    }));
    let mut client = connect(world.address);
    client.write_all(&request("POST", PATHS[2].0, PATHS[2].1)).unwrap();
    let mut buffer = [0; 512];
    assert!(client.read(&mut buffer).unwrap() > 0);
    drop(client);
    testkit::wait_for("the end is told", || (world.events.lock().unwrap().len() == 2).then_some(()));
    let record = world.record();
    assert_eq!((record.outcome, record.tokens.prompt), (Outcome::Disconnected, Some(11)));
}

#[test]
fn missing_usage_is_unknown() {
    for (path, body) in PATHS {
        let mut world = World::new(always(Reply { usage: None, ..Reply::text("x") }));
        assert_eq!(world.post(path, body).status, 200);
        let record = world.record();
        assert_eq!((record.tokens.prompt, record.tokens.completion), (None, None), "{path}");
    }
}

#[test]
fn reasoning_alone_is_seen() {
    for (path, body) in PATHS {
        let mut world = World::new(always(Reply { reasoning: Some("hm".to_owned()), ..Reply::default() }));
        world.post(path, body);
        assert!(world.record().answer.is_reasoning_only(), "{path}");
    }
}
