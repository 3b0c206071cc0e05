//! The clients: blocking threads that keep their connections.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::TOKEN;

/// Frames of a stream, without its end.
pub(crate) const FRAMES: usize = 200;
const CLIENTS: usize = 32;

fn request(words: &str, stream: bool) -> Vec<u8> {
    let tools = r#"{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}"#;
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"system","content":"{}"}},{{"role":"user","content":"{words}"}}],"tools":[{tools},{tools}],"max_tokens":1024,"stream":{stream}}}"#,
        "You are a careful engineer. ".repeat(40)
    );
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: bridge\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n\
         user-agent: bench\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Sends plain requests, many at a time.
pub(crate) fn requests(address: SocketAddr, count: usize) {
    run(address, count, &request("hi", false));
}

/// Takes streams, many at a time.
pub(crate) fn streams(address: SocketAddr, count: usize) {
    run(address, count, &request("hi", true));
}

fn run(address: SocketAddr, count: usize, request: &[u8]) {
    let left = AtomicUsize::new(count);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let stream = TcpStream::connect(address).unwrap();
                stream.set_nodelay(true).unwrap();
                let mut reader = BufReader::with_capacity(64 * 1024, stream);
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                    reader.get_mut().write_all(request).unwrap();
                    read_answer(&mut reader);
                }
            });
        }
    });
}

fn read_answer(reader: &mut BufReader<TcpStream>) {
    let mut length = None;
    let mut line = String::new();
    loop {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the proxy closed a connection");
        let lower = line.to_ascii_lowercase();
        assert!(!lower.starts_with("http/1.1 ") || lower.starts_with("http/1.1 200"), "{line}");
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = Some(value.trim().parse::<u64>().unwrap());
        }
        if line == "\r\n" {
            break;
        }
    }
    match length {
        Some(length) => skip(reader, length),
        None => loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let size = u64::from_str_radix(line.trim(), 16).unwrap();
            skip(reader, size + 2);
            if size == 0 {
                return;
            }
        },
    }
}

fn skip(reader: &mut BufReader<TcpStream>, count: u64) {
    let skipped = std::io::copy(&mut reader.take(count), &mut std::io::sink()).unwrap();
    assert_eq!(skipped, count);
}

/// Streams that stay open: each has had its first frame.
pub(crate) fn open(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let request = request("keep open", true);
    let mut held: Vec<TcpStream> = (0..count)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&request).unwrap();
            stream
        })
        .collect();
    let mut buffer = [0; 4096];
    for stream in &mut held {
        assert!(stream.read(&mut buffer).unwrap() > 0);
    }
    held
}
