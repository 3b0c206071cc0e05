//! A model server that costs as little as possible: ready-made bytes.

use std::net::TcpListener;
use std::sync::LazyLock;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::load::FRAMES;

/// No two alike: LiteLLM takes a model that repeats itself for a broken one.
static CHUNKS: LazyLock<Vec<String>> = LazyLock::new(|| (0..FRAMES).map(chunk).collect());

fn chunk(number: usize) -> String {
    let frame = format!(
        r#"data: {{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{{"content":" {number:03}"}},"finish_reason":null}}]}}"#
    );
    format!("{:x}\r\n{frame}\n\n\r\n", frame.len() + 2)
}

pub(crate) fn serve() {
    let listener: TcpListener = crate::process::listen();
    listener.set_nonblocking(true).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(connection(stream));
        }
    });
}

async fn connection(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let body = format!(
        r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"finish_reason":"stop","message":{{"role":"assistant","content":"{}"}}}}],"usage":{{"prompt_tokens":500,"completion_tokens":200,"total_tokens":700}}}}"#,
        "An answer of some length. ".repeat(30)
    );
    let plain =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut read = Vec::new();
    while let Some(request) = next_request(&mut stream, &mut read).await {
        let done = match request {
            Asked::Plain => stream.write_all(plain.as_bytes()).await.is_ok(),
            Asked::Stream => write_stream(&mut stream).await.is_some(),
            Asked::Open => {
                let _ = write_frames(&mut stream, 1).await;
                std::future::pending::<()>().await;
                false
            }
        };
        if !done {
            return;
        }
    }
}

enum Asked {
    Plain,
    Stream,
    Open,
}

async fn next_request(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<Asked> {
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
            let length: usize = head.split("content-length:").nth(1)?.split("\r\n").next()?.trim().parse().ok()?;
            if read.len() >= end + 4 + length {
                let body = &read[end + 4..end + 4 + length];
                let holds = |text: &[u8]| body.windows(text.len()).any(|window| window == text);
                let asked = match (holds(b"keep open"), holds(b"\"stream\":true")) {
                    (true, _) => Asked::Open,
                    (false, true) => Asked::Stream,
                    (false, false) => Asked::Plain,
                };
                read.drain(..end + 4 + length);
                return Some(asked);
            }
        }
        if stream.read_buf(read).await.ok()? == 0 {
            return None;
        }
    }
}

async fn write_stream(stream: &mut TcpStream) -> Option<()> {
    write_frames(stream, FRAMES).await?;
    stream.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n").await.ok()
}

/// Each frame in a write of its own, as a model gives them.
async fn write_frames(stream: &mut TcpStream, count: usize) -> Option<()> {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head).await.ok()?;
    for chunk in CHUNKS.iter().take(count) {
        stream.write_all(chunk.as_bytes()).await.ok()?;
    }
    Some(())
}
