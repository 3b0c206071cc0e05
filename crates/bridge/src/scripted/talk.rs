//! One connection of the scripted server.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::script::{Raw, Reply};
use super::{Stage, render};
use crate::wire::Wire;

const MAX_HEAD: usize = 256 * 1024;
const MAX_BODY: usize = 256 << 20;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Request line and headers.
    pub head: String,
    pub wire: Option<Wire>,
    pub body: Vec<u8>,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// Answers the requests of one connection until it ends.
pub fn converse<S: Read + Write>(stream: &mut S, stage: &Stage) -> io::Result<()> {
    let mut left = Vec::new();
    while let Some(asked) = read_request(stream, &mut left)? {
        if stage.is_stopped() {
            return Ok(());
        }
        stage.note(asked.clone());
        if asked.head.starts_with("GET ") {
            let body = json!({"object": "list", "data": [{"id": "scripted", "object": "model"}]});
            write_plain(stream, 200, &body)?;
            continue;
        }
        if !perform(stream, stage, &asked)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Whether the connection goes on.
fn perform<S: Write>(stream: &mut S, stage: &Stage, asked: &Asked) -> io::Result<bool> {
    let reply = stage.reply(asked);
    sleep(reply.delay_head_ms);
    if let Some(raw) = &reply.raw {
        raw.iter().try_for_each(|piece| write_raw(stream, stage, piece))?;
        return Ok(false);
    }
    let request = asked.json();
    let model = reply.model.as_deref().or(request["model"].as_str()).unwrap_or("scripted").to_owned();
    let Some(wire) = asked.wire else {
        write_plain(stream, 404, &json!({"error": {"message": "no such route"}}))?;
        return Ok(true);
    };
    if let Some(error) = &reply.error {
        let text = crate::wire::error_body(wire, error.status, "scripted", &error.message);
        write_plain(stream, error.status, &serde_json::from_str(&text).unwrap_or(Value::Null))?;
        return Ok(true);
    }
    if request["stream"] == json!(true) {
        return write_stream(stream, reply, &render::frames(wire, reply, &model, &request));
    }
    write_plain(stream, 200, &render::whole(wire, reply, &model))?;
    Ok(true)
}

fn sleep(millis: u64) {
    if millis > 0 {
        thread::sleep(Duration::from_millis(millis));
    }
}

fn write_raw<S: Write>(stream: &mut S, stage: &Stage, piece: &Raw) -> io::Result<()> {
    match piece {
        Raw::Send(_) | Raw::Base64(_) => stream.write_all(&piece.bytes())?,
        Raw::Repeat(text, times) => (0..*times).try_for_each(|_| stream.write_all(text.as_bytes()))?,
        Raw::WaitMs(millis) => sleep(*millis),
        Raw::Hang => {
            while !stage.is_stopped() {
                sleep(20);
            }
        }
    }
    stream.flush()
}

fn write_plain<S: Write>(stream: &mut S, status: u16, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\nx-request-id: scripted\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes())?;
    stream.flush()
}

fn write_stream<S: Write>(stream: &mut S, reply: &Reply, frames: &[String]) -> io::Result<bool> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
    for (number, frame) in frames.iter().enumerate() {
        if reply.cut_after == Some(number) {
            return Ok(false);
        }
        let frame = match &reply.bad_frame {
            Some((place, text)) if *place == number => text,
            _ => frame,
        };
        sleep(reply.delay_frame_ms);
        for piece in frame.as_bytes().chunks(reply.split.unwrap_or(frame.len()).max(1)) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk)?;
            stream.flush()?;
        }
    }
    stream.write_all(b"0\r\n\r\n")?;
    stream.flush()?;
    Ok(true)
}

/// The next request; nothing when the client is done.
fn read_request<S: Read>(stream: &mut S, left: &mut Vec<u8>) -> io::Result<Option<Asked>> {
    let end = loop {
        if let Some(at) = left.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if left.len() > MAX_HEAD || !read_more(stream, left)? {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&left[..end]).into_owned();
    left.drain(..end);
    let mut asked = Asked { wire: wire_of(&head), head, body: Vec::new() };
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0).min(MAX_BODY);
    while left.len() < length {
        if !read_more(stream, left)? {
            return Ok(None);
        }
    }
    asked.body = left.drain(..length).collect();
    Ok(Some(asked))
}

fn read_more<S: Read>(stream: &mut S, left: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 16 * 1024];
    let count = stream.read(&mut buffer)?;
    left.extend_from_slice(&buffer[..count]);
    Ok(count > 0)
}

fn wire_of(head: &str) -> Option<Wire> {
    let path = head.split(' ').nth(1)?.split('?').next()?;
    Wire::ALL.into_iter().find(|wire| path.ends_with(wire.path()))
}
