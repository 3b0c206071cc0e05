//! Memory stays bounded whatever comes from either side. A program of its own: other tests would blur the measurement.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up must stop")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use bridge::{
    AdmittedPair, AnswerSource, Bridge, BridgeConfig, Credential, Endpoint, NetworkClass, RunToken, Secret, Sizes,
    Upstream,
};
use contract::Stamp;
use fixtures::scripted::{Raw, Reply, Script, ScriptedServer};

const TOKEN: &str = "run-token-0123456789";

/// The most memory this program ever held.
fn peak() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn start(reply: Reply) -> (ScriptedServer, Bridge, SocketAddr) {
    let script = Script { steps: Vec::new(), otherwise: reply };
    let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap();
    let endpoint = Endpoint::parse_endpoint(&format!("http://{}/v1", server.address())).unwrap();
    let source = AnswerSource::Live(Box::new(Upstream::new(endpoint, Credential::None)));
    let network = NetworkClass { hosts: vec!["127.0.0.1".to_owned()], ..NetworkClass::default() };
    let started = Stamp::from_unix(Duration::from_secs(1_800_000_000)).unwrap();
    let token = RunToken::new(&Secret::new(TOKEN));
    let mut config = BridgeConfig::new(AdmittedPair::new("p", "m"), network, source, token, started);
    config.sizes = Sizes { request: 1 << 20, answer: 2 << 20, frame: 1 << 19, in_flight: 8 << 20, ..Sizes::default() };
    config.deadlines.receive = Duration::from_secs(5);
    let mut bridge = Bridge::start_bridge(config, Box::new(drop)).unwrap();
    let address = bridge.serve_listener(TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
    (server, bridge, address)
}

/// Sends a request of `size` bytes or more and takes whatever comes, keeping none of it.
fn ask(address: SocketAddr, stream: bool, size: usize) -> usize {
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!(r#"{{"model":"m","stream":{stream},"messages":[{{"role":"user","content":""#);
    let length = head.len() + size + 4;
    let begin = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{head}"
    );
    let _ = client.write_all(begin.as_bytes());
    let piece = [b'a'; 4096];
    let mut left = size;
    while left > 0 {
        let count = left.min(piece.len());
        if client.write_all(&piece[..count]).is_err() {
            break;
        }
        left -= count;
    }
    let _ = client.write_all(b"\"}]}");
    let mut buffer = [0; 16 * 1024];
    let mut taken = 0;
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        taken += count;
    }
    taken
}

fn storm(reply: Reply, stream: bool, size: usize) -> usize {
    let (server, bridge, address) = start(reply);
    let threads: Vec<_> = (0..16).map(|_| thread::spawn(move || ask(address, stream, size))).collect();
    let taken = threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap();
    bridge.stop_serving();
    drop(server);
    taken
}

#[test]
fn endless_answers_frames_and_large_requests_stay_within_bounds() {
    let send = |text: &str| Raw::Send(text.to_owned());
    let plain = send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n\"");
    let sse = send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
    let frame = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"aaaaaaaaaaaaaaaa\"}}]}\n\n";
    let block = "a".repeat(64 * 1024);
    let before = peak();
    storm(Reply::raw(vec![plain, Raw::Repeat(block.clone(), 4000)]), false, 10);
    let taken = storm(Reply::raw(vec![sse.clone(), Raw::Repeat(frame.repeat(100), 40_000)]), true, 10);
    assert!(taken <= (2 << 20) + 64 * 1024, "a stream is cut at its limit: {taken}");
    storm(Reply::raw(vec![sse, send("data: "), Raw::Repeat(block, 4000)]), true, 10);
    storm(Reply::text("x"), false, 1000 << 10);
    storm(Reply::text("x"), false, 32 << 20);
    let grown = peak() - before;
    // Bodies 8 MiB, copies while a buffer grows as much again, sixteen unfinished frames of half a MiB twice over,
    // threads.
    assert!(grown < 64 << 20, "grew by {} MiB", grown >> 20);
}
