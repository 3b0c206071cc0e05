//! Hostile and broken clients: a clear answer or a closed connection, the deadline kept, nothing sent on that should
//! not be.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use bridge::{Outcome, Sizes};
use fixtures::scripted::Reply;

use crate::world::{TOKEN, World, always, connect, parse, request, send};

const BODY: &str = r#"{"model":"m","messages":[]}"#;

fn world() -> World {
    World::with(always(Reply::text("x")), |config| {
        config.sizes = Sizes { request: 64 * 1024, in_flight: 512 * 1024, connections: 40, ..Sizes::default() };
    })
}

fn head(extra: &str) -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n{extra}\r\n"
    )
}

#[test]
fn malformed_and_oversized_requests() {
    let big = format!(r#"{{"model":"m","messages":[],"user":"{}"}}"#, "a".repeat(70_000));
    let rows: Vec<(&str, String, &[u16])> = vec![
        ("too large by its length", head("content-length: 70000\r\n"), &[413]),
        (
            "too large by its chunks",
            format!("{}{:x}\r\n{big}\r\n0\r\n\r\n", head("transfer-encoding: chunked\r\n"), big.len()),
            &[413],
        ),
        ("not HTTP", "\u{16}\u{3}\u{1}hello\r\n\r\n".to_owned(), &[400, 0]),
        ("bad length", format!("{}{BODY}", head("content-length: +27\r\n")), &[400]),
        ("two lengths", format!("{}{BODY}", head("content-length: 27\r\ncontent-length: 3\r\n")), &[400]),
        ("bad encoding", format!("{}{BODY}", head("transfer-encoding: gzip\r\n")), &[400]),
        ("bad chunk", format!("{}zz\r\n", head("transfer-encoding: chunked\r\n")), &[400, 0]),
        (
            "compressed",
            format!("{}{BODY}", head(&format!("content-encoding: gzip\r\ncontent-length: {}\r\n", BODY.len()))),
            &[400],
        ),
        ("huge head", head(&format!("x: {}\r\n", "a".repeat(100_000))), &[431, 400, 0]),
        ("many headers", head(&"x: 1\r\n".repeat(300)), &[431, 400]),
        ("header with a line break", format!("{}{BODY}", head("x: a\r\n b\r\ncontent-length: 27\r\n")), &[400]),
        ("space before the colon", format!("{}{BODY}", head("content-length : 27\r\n")), &[400]),
        (
            "connect",
            format!(
                "CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n"
            ),
            &[404, 405],
        ),
        ("NUL in the body", format!("{}\u{0}", head("content-length: 1\r\n")), &[400]),
        ("deep", format!("{}{}", head("content-length: 5000\r\n"), "[".repeat(5000)), &[400]),
    ];
    let world = world();
    for (name, bytes, expected) in rows {
        let got = send(world.address, bytes.as_bytes());
        assert!(expected.contains(&got.status), "{name}: {} {}", got.status, got.text());
        assert!(got.took < Duration::from_secs(3), "{name}");
    }
    assert!(world.asked().is_empty(), "nothing was sent on: {:?}", world.asked());
    assert_eq!(world.post("/v1/chat/completions", BODY).status, 200, "and it still works");
}

/// Two requests, one of which the bridge takes for the body of the other, never reach the upstream as two.
#[test]
fn a_smuggled_request_is_not_sent_on() {
    let world = world();
    let smuggled =
        format!("POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: 0\r\n\r\n");
    let both = format!(
        "{}{:x}\r\n{BODY}\r\n0\r\n\r\n{smuggled}",
        head("content-length: 4\r\ntransfer-encoding: chunked\r\n").replace("connection: close\r\n", ""),
        BODY.len()
    );
    let mut client = connect(world.address);
    client.write_all(both.as_bytes()).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    for asked in world.asked() {
        assert!(asked.head.starts_with("POST /v1/chat/completions "), "{}", asked.head);
        assert_eq!(asked.header("transfer-encoding"), None);
        assert_eq!(asked.body, BODY.as_bytes());
        assert_eq!(asked.head.matches("content-length").count(), 1);
    }
    assert!(world.asked().len() <= 1);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut world = world();
    let first =
        String::from_utf8(request("POST", "/v1/chat/completions", BODY)).unwrap().replace("connection: close\r\n", "");
    let refused = String::from_utf8(request("POST", "/v1/files", "{}")).unwrap().replace("connection: close\r\n", "");
    let last = String::from_utf8(request("GET", "/v1/models", "")).unwrap();
    let got = send(world.address, format!("{first}{refused}{last}").as_bytes());
    assert_eq!(got.status, 200);
    let rest = got.text();
    assert_eq!(rest.matches("HTTP/1.1 404").count(), 1);
    assert_eq!(rest.matches("HTTP/1.1 200").count(), 1);
    assert_eq!(world.asked().len(), 1);
    assert_eq!(world.records().len(), 3);
}

#[test]
fn slow_clients_are_cut_off() {
    let world = world();
    let rows = [
        ("nothing", String::new()),
        ("half a head", "POST /v1/chat/comp".to_owned()),
        ("half a body", format!("{}{{", head("content-length: 100\r\n"))),
    ];
    for (name, bytes) in rows {
        let began = Instant::now();
        let mut client = connect(world.address);
        client.write_all(bytes.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        assert!(began.elapsed() < Duration::from_secs(3), "{name}: {:?}", began.elapsed());
        let got = parse(&answer, began.elapsed());
        assert!([0, 408].contains(&got.status), "{name}: {}", got.status);
    }
    assert!(world.asked().is_empty());
}

#[test]
fn a_client_that_takes_nothing_is_let_go() {
    let mut world = World::with(always(Reply { frames: 200, ..Reply::text("a".repeat(24 << 20)) }), |config| {
        config.deadlines.stall = Duration::from_millis(500);
        config.deadlines.total = Duration::from_secs(60);
    });
    let mut client = connect(world.address);
    client.write_all(&request("POST", "/v1/chat/completions", r#"{"model":"m","messages":[],"stream":true}"#)).unwrap();
    testkit::wait_for("the end is told", || (world.events.lock().unwrap().len() == 2).then_some(()));
    assert_eq!(world.record().outcome, Outcome::Disconnected);
}

/// Bodies held at one time are bounded as a whole, not only one by one.
#[test]
fn many_large_bodies_at_once_are_bounded() {
    let world = world();
    let body = format!(r#"{{"model":"m","messages":[],"user":"{}"}}"#, "a".repeat(60_000));
    let bytes = request("POST", "/v1/chat/completions", &body);
    let mut held: Vec<_> = (0..20)
        .map(|_| {
            let mut client = connect(world.address);
            client.write_all(&bytes[..bytes.len() - 1]).unwrap();
            client
        })
        .collect();
    let mut busy = 0;
    for client in &mut held {
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        busy += usize::from(parse(&answer, Duration::ZERO).status == 503);
    }
    assert!(busy >= 8, "only {busy} of 20 were turned away");
    assert_eq!(world.post("/v1/chat/completions", BODY).status, 200, "and the room is free again");
}

#[test]
fn a_flood_is_not_recorded_without_end() {
    let mut world = World::with(always(Reply::text("x")), |config| config.sizes.unsent = 5);
    for number in 0..12 {
        let path = if number % 2 == 0 { "/v1/files" } else { "/" };
        send(world.address, &request("GET", path, ""));
    }
    let summary = world.stop();
    assert_eq!((world.records().len(), summary.unrecorded), (5, 7));
}
