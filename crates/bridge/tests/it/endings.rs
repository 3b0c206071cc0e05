//! The end of a streamed answer: clients hang up when they have read the last event, upstreams end their bodies when they like. The
//! last event decides, and only when the client's socket has taken it.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use bridge::{Outcome, Recorder, RefusalCode, ResponsesWire, TrustedRoots, UsageRecord};
use contract::Digest;
use fixtures::scripted::{BodyFraming, Raw, Reply, Script, ScriptedServer};
use testkit::TlsModel;

use crate::world::{KEY, World, always, config, connect, listener, live, on, parse, records_of, request, start};

/// A wire, its request with room for a word, and the sign by which its last event is known.
struct Wire {
    path: &'static str,
    body: &'static str,
    last: &'static str,
}

const WIRES: [Wire; 3] = [
    Wire {
        path: "/v1/chat/completions",
        body: r#"{"model":"m","messages":[{"role":"user","content":"WORD"}],"stream":true,"stream_options":{"include_usage":true}}"#,
        last: "data: [DONE]",
    },
    Wire {
        path: "/v1/responses",
        body: r#"{"model":"m","input":"WORD","stream":true}"#,
        last: "event: response.completed",
    },
    Wire {
        path: "/v1/messages",
        body: r#"{"model":"m","messages":[{"role":"user","content":"WORD"}],"stream":true}"#,
        last: "event: message_stop",
    },
];

const SSE_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> Raw {
    Raw::Send(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// Sends a request on a connection that stays open, reads until enough of the answer's body is there, and hangs up.
fn hang_up_when(address: SocketAddr, path: &str, body: &str, enough: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut client = connect(address);
    let request = String::from_utf8(request("POST", path, body)).unwrap().replace("connection: close\r\n", "");
    client.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut buffer) = (Vec::new(), [0; 64 * 1024]);
    loop {
        let count = client.read(&mut buffer).unwrap();
        answer.extend_from_slice(&buffer[..count]);
        let body = parse(&answer, Duration::ZERO).body;
        if count == 0 || enough(&String::from_utf8_lossy(&body)) {
            return body;
        }
    }
}

/// The last event is there, with the empty line that ends it.
fn has_last(wire: &Wire, text: &str) -> bool {
    text.split_once(wire.last).is_some_and(|(_, rest)| rest.contains("\n\n"))
}

const GAPS: [u64; 5] = [0, 1, 5, 20, 500];
const SPLITS: [Option<usize>; 2] = [None, Some(7)];

/// Each gap in whole frames and in small pieces, told apart by a word of the request.
fn gaps(framing: BodyFraming) -> Script {
    let rows = GAPS.into_iter().flat_map(|gap| SPLITS.map(|split| (gap, split)));
    let steps = rows.map(|(gap, split)| {
        let reply = Reply { delay_end_ms: gap, split, framing, ..Reply::text("Hello there") };
        on(&word(gap, split), reply)
    });
    Script { steps: steps.collect(), otherwise: Reply::error(500, "no such row") }
}

fn word(gap: u64, split: Option<usize>) -> String {
    format!("gap-{gap}-{}.", split.is_some())
}

/// A client for each gap leaves at the last event; every answer counts, with its usage and its bytes.
fn check_gaps(framing: BodyFraming, tls: bool, responses: ResponsesWire) {
    let name = format!("{framing:?} tls {tls} {responses:?}");
    let (plain, secure) = if tls {
        (None, Some(TlsModel::start("localhost", gaps(framing))))
    } else {
        (Some(ScriptedServer::start(listener(), gaps(framing)).unwrap()), None)
    };
    let endpoint = match (&plain, &secure) {
        (Some(server), _) => format!("http://{}/v1", server.address()),
        (_, Some(server)) => format!("https://localhost:{}/v1", server.address.port()),
        _ => panic!("no server"),
    };
    let mut upstream = live(&endpoint);
    upstream.responses = responses;
    upstream.trust = TrustedRoots { extra_ca: secure.as_ref().map(|server| server.authority.clone()) };
    let (bridge, address, events) = start(config(upstream));
    let mut bodies = Vec::new();
    for (gap, split) in GAPS.into_iter().flat_map(|gap| SPLITS.map(|split| (gap, split))) {
        for wire in &WIRES {
            let body = wire.body.replace("WORD", &word(gap, split));
            let got = hang_up_when(address, wire.path, &body, |text| has_last(wire, text));
            assert!(has_last(wire, &String::from_utf8_lossy(&got)), "{name}: {}", String::from_utf8_lossy(&got));
            bodies.push((format!("{name} {} {}", wire.path, word(gap, split)), got));
        }
    }
    let summary = bridge.stop_serving();
    let mut records = records_of(&events);
    records.sort_by_key(|record| record.seq);
    assert_eq!(records.len(), bodies.len(), "{name}");
    for ((name, body), record) in bodies.iter().zip(&records) {
        assert_eq!((record.outcome, record.status), (Outcome::Answered, Some(200)), "{name}: {record:#?}");
        assert!(record.is_evidence(), "{name}");
        assert_eq!((record.tokens.prompt, record.tokens.completion), (Some(11), Some(7)), "{name}");
        assert_eq!(
            record.response_sha256,
            Some(Digest::of_bytes(body)),
            "{name}: the record is of what the client got"
        );
    }
    assert_eq!(summary.spent.tokens, 18 * bodies.len() as u64, "{name}: the account has what was reported");
}

#[test]
fn who_leaves_at_the_last_event_was_answered() {
    use BodyFraming::{Chunked, Close, Length};
    std::thread::scope(|scope| {
        for framing in [Chunked, Length, Close] {
            for tls in [false, true] {
                for responses in [ResponsesWire::Native, ResponsesWire::OverChat] {
                    scope.spawn(move || check_gaps(framing, tls, responses));
                }
            }
        }
    });
}

/// The text of a whole stream.
fn whole(wire: &Wire) -> String {
    World::new(always(Reply::text("Hello there"))).post(wire.path, wire.body).text()
}

fn recorded_world(raw: Vec<Raw>) -> World {
    World::with(always(Reply::raw(raw)), |config| {
        let redact = std::sync::Arc::new(|bytes: &[u8]| bytes.to_vec());
        config.recorder = Some(Recorder::new(Box::new(std::io::sink()), redact));
    })
}

/// Cut before the last event, inside it, and before the empty line that makes it an event; the control is all of it.
#[test]
fn who_leaves_before_the_last_event_is_disconnected() {
    for wire in &WIRES {
        let text = whole(wire);
        let at = text.find(wire.last).unwrap();
        for (name, cut, outcome) in [
            ("before it", at, Outcome::Disconnected),
            ("inside it", at + wire.last.len() - 2, Outcome::Disconnected),
            ("before its empty line", text.len() - 1, Outcome::Disconnected),
            ("after it", text.len(), Outcome::Answered),
        ] {
            let sent = &text[..cut];
            let mut world = recorded_world(vec![Raw::Send(SSE_HEAD.to_owned()), chunk(sent), Raw::Hang]);
            hang_up_when(world.address, wire.path, wire.body, |got| got.len() >= cut);
            testkit::wait_for("the end is told", || (world.events.lock().unwrap().len() == 2).then_some(()));
            let summary = world.stop();
            let record = world.record();
            assert_eq!(record.outcome, outcome, "{} {name}", wire.path);
            let answered = outcome == Outcome::Answered;
            assert_eq!((record.is_evidence(), summary.recording_incomplete), (answered, !answered), "{}", wire.path);
        }
    }
}

/// The client stays to the end, which never comes as it should. What is no fault of the connection still is one.
#[test]
fn faults_after_the_last_event_take_nothing_away() {
    let secret = format!(": {KEY}\n\n");
    let other = "data: {\"model\":\"cheaper\",\"choices\":[]}\n\n";
    let rows = [
        ("no last chunk", vec![], None),
        ("silence", vec![Raw::Hang], None),
        ("no chunk", vec![Raw::Send("zz\r\n".to_owned())], None),
        ("no JSON", vec![chunk("data: {oops\n\n")], None),
        ("the credential", vec![chunk(&secret), Raw::Hang], Some(RefusalCode::SecretEchoed)),
        ("another model", vec![chunk(other), Raw::Hang], Some(RefusalCode::OtherModelAnswered)),
    ];
    let check = |wire: &Wire, name: &str, tail: Vec<Raw>, refusal: Option<RefusalCode>| {
        let text = whole(wire);
        // Apart, so that the last event is passed on before the fault comes.
        let mut raw = vec![Raw::Send(SSE_HEAD.to_owned()), chunk(&text), Raw::WaitMs(100)];
        raw.extend(tail);
        let mut world = World::new(always(Reply::raw(raw)));
        let got = world.post(wire.path, wire.body).text();
        let record = world.record();
        let outcome = if refusal.is_some() { Outcome::Failed } else { Outcome::Answered };
        assert_eq!((record.outcome, record.refusal), (outcome, refusal), "{} {name}", wire.path);
        assert!(got.starts_with(&text) && (got == text) == refusal.is_none(), "{} {name}: {got}", wire.path);
        assert!(!got.contains(KEY) && !got.contains("cheaper"), "{} {name}: {got}", wire.path);
    };
    std::thread::scope(|scope| {
        for wire in &WIRES {
            for (name, tail, refusal) in rows.clone() {
                // Frames of another wire name no model here.
                if refusal != Some(RefusalCode::OtherModelAnswered) || wire.path == WIRES[0].path {
                    scope.spawn(move || check(wire, name, tail, refusal));
                }
            }
        }
    });
}

/// TLS that ends without a word may have been cut off by somebody else, unless the last event was there.
#[test]
fn a_connection_that_ends_without_a_word_ends_an_answer_only_after_its_last_event() {
    for (cut_after, outcome) in [(None, Outcome::Answered), (Some(2), Outcome::Failed)] {
        let reply = Reply { framing: BodyFraming::Close, cut_after, ..Reply::text("Hello there") };
        let server = TlsModel::start("localhost", always(reply));
        let mut upstream = live(&format!("https://localhost:{}/v1", server.address.port()));
        upstream.trust = TrustedRoots { extra_ca: Some(server.authority.clone()) };
        let (bridge, address, events) = start(config(upstream));
        for wire in &WIRES {
            let got = crate::world::send(address, &request("POST", wire.path, wire.body));
            assert_eq!(has_last(wire, &got.text()), cut_after.is_none(), "{}", got.text());
        }
        bridge.stop_serving();
        assert_eq!(records_of(&events).iter().map(|record| record.outcome).collect::<Vec<_>>(), [outcome; 3]);
    }
}

/// The body ends as it should, and the answer does not.
#[test]
fn a_body_that_ends_before_its_last_event_is_no_answer() {
    for wire in &WIRES {
        let text = whole(wire);
        let first = text.find("\n\n").unwrap() + 2;
        let raw = vec![Raw::Send(SSE_HEAD.to_owned()), chunk(&text[..first]), Raw::Send("0\r\n\r\n".to_owned())];
        let mut world = World::new(always(Reply::raw(raw)));
        let got = world.post(wire.path, wire.body).text();
        assert!(got.starts_with(&text[..first]) && got.contains("error"), "{got}");
        let record = world.record();
        assert_eq!(
            (record.outcome, record.refusal),
            (Outcome::Failed, Some(RefusalCode::UpstreamCut)),
            "{}",
            wire.path
        );
    }
}

/// Ends that the provider itself calls no answer.
#[test]
fn an_error_as_the_last_event_is_no_answer() {
    let response = |kind: &str| {
        let text = format!(r#"{{"type":"response.{kind}","response":{{"model":"m","status":"{kind}"}}}}"#);
        format!("event: response.{kind}\ndata: {text}\n\n")
    };
    let typed = r#"{"type":"error","error":{"type":"overloaded_error","message":"later"}}"#;
    let rows = [
        (&WIRES[1], response("failed")),
        (&WIRES[1], response("incomplete")),
        (&WIRES[1], format!("event: error\ndata: {typed}\n\n")),
        (&WIRES[2], format!("event: error\ndata: {typed}\n\n")),
        (&WIRES[0], "data: {\"error\":{\"message\":\"later\"}}\n\n".to_owned()),
    ];
    for (wire, last) in rows {
        let first = &whole(wire)[..];
        let first = &first[..first.find("\n\n").unwrap() + 2];
        let mut world =
            World::new(always(Reply::raw(vec![Raw::Send(SSE_HEAD.to_owned()), chunk(first), chunk(&last), Raw::Hang])));
        hang_up_when(world.address, wire.path, wire.body, |got| got.ends_with(&last));
        testkit::wait_for("the end is told", || (world.events.lock().unwrap().len() == 2).then_some(()));
        let record = world.record();
        assert_eq!((record.outcome, record.is_evidence()), (Outcome::UpstreamError, false), "{last}");
    }
}

/// An answer that is no stream, of so many bytes that the sockets cannot hold them all.
fn leave_document(bytes: usize, enough: impl Fn(&str) -> bool) -> UsageRecord {
    let mut world = World::with(always(Reply::text("a".repeat(bytes))), |config| {
        config.deadlines.total = Duration::from_secs(60);
    });
    hang_up_when(world.address, "/v1/chat/completions", r#"{"model":"m","messages":[]}"#, enough);
    testkit::wait_for("the end is told", || (world.events.lock().unwrap().len() == 2).then_some(()));
    world.record()
}

#[test]
fn a_document_counts_when_the_client_has_all_of_it() {
    assert_eq!(leave_document(100, |got| got.ends_with('}')).outcome, Outcome::Answered);
    let left = leave_document(24 << 20, |got| !got.is_empty());
    assert_eq!((left.outcome, left.tokens.total()), (Outcome::Disconnected, Some(18)));
}
