//! One request and its answer, over a connection of its own.

use std::io::{Read, Write};
use std::time::Instant;

use contract::Digest;

use super::LARGEST_ERROR;
use super::sign::{SignedRequestParts, sign_request};
use super::stream::{Duplex, connect_endpoint, to_fault};
use crate::objects::ReadClock;
use crate::objects::fault::ObjectFault;
use crate::objects::place::BucketPlace;

const LARGEST_HEAD: usize = 32 << 10;
const MOST_HEADERS: usize = 64;

/// A request for one object.
pub(super) struct Question<'a> {
    pub(super) method: &'static str,
    pub(super) name: &'a str,
    pub(super) body: &'a [u8],
    /// `If-None-Match: *`.
    pub(super) create_only: bool,
    /// The most bytes that an object may have.
    pub(super) limit: u64,
}

impl<'a> Question<'a> {
    /// A request without conditions.
    pub(super) fn without_conditions(method: &'static str, name: &'a str, body: &'a [u8]) -> Self {
        Self { method, name, body, create_only: false, limit: LARGEST_ERROR }
    }
}

/// An answer of the store.
pub(super) struct StoreAnswer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Sends one signed request and reads its answer, over a connection of its own.
pub(super) fn exchange(
    place: &BucketPlace,
    clock: ReadClock,
    question: &Question<'_>,
    deadline: Instant,
) -> Result<StoreAnswer, ObjectFault> {
    let head = request_head(place, clock, question)?;
    let mut stream = connect_endpoint(place, deadline)?;
    // A store may refuse before it has read everything: its answer counts then, and not that it stopped listening.
    let sent =
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(question.body)).and_then(|()| stream.flush());
    match (read_answer(&mut *stream, question), sent) {
        (Err(ObjectFault::Io(_) | ObjectFault::Truncated), Err(error)) => Err(to_fault(error)),
        (answer, _) => answer,
    }
}

fn request_head(place: &BucketPlace, clock: ReadClock, question: &Question<'_>) -> Result<String, ObjectFault> {
    let address = &place.address;
    let key = match address.prefix.is_empty() {
        true => question.name.to_owned(),
        false => format!("{}/{}", address.prefix, question.name),
    };
    // Names of buckets, prefixes and objects are such that they need no escape.
    let path = format!("/{}/{key}", address.bucket);
    let payload = Digest::of_bytes(question.body).to_string();
    let mut headers = vec![("host", place.endpoint.authority())];
    if question.create_only {
        headers.push(("if-none-match", "*".to_owned()));
    }
    headers.push(("x-amz-content-sha256", payload.clone()));
    if let Some(access) = &place.access {
        let now = clock().ok_or(ObjectFault::Garbled("the clock of this machine is wrong"))?;
        let signing = SignedRequestParts {
            access,
            region: &place.region,
            method: question.method,
            path: &path,
            payload: &payload,
        };
        headers.extend(sign_request(&signing, now, &headers));
    }
    let mut head = format!("{} {path} HTTP/1.1\r\n", question.method);
    for (name, value) in &headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let length = question.body.len();
    head.push_str(&format!("content-length: {length}\r\nconnection: close\r\nuser-agent: cto\r\n\r\n"));
    Ok(head)
}

/// Status and length of an answer, and what of its body came with them.
struct AnswerHead {
    status: u16,
    length: Option<u64>,
    begun: Vec<u8>,
}

fn read_answer(stream: &mut dyn Duplex, question: &Question<'_>) -> Result<StoreAnswer, ObjectFault> {
    let AnswerHead { status, length, begun } = read_head(stream)?;
    let limit = if status == 200 { question.limit } else { LARGEST_ERROR };
    let Some(length) = length else {
        // Only an object has to be whole.
        return match status == 200 && question.method == "GET" {
            true => Err(ObjectFault::Garbled("it does not say how long it is")),
            false => Ok(StoreAnswer { status, body: begun }),
        };
    };
    if length > limit {
        return match status {
            200 => Err(ObjectFault::TooLarge { limit }),
            _ => Ok(StoreAnswer { status, body: begun }),
        };
    }
    let mut body = begun;
    let missing = length.saturating_sub(body.len() as u64);
    stream.take(missing).read_to_end(&mut body).map_err(to_fault)?;
    match body.len() as u64 == length {
        true => Ok(StoreAnswer { status, body }),
        false if (body.len() as u64) < length => Err(ObjectFault::Truncated),
        false => Err(ObjectFault::Garbled("it is longer than it says")),
    }
}

fn read_head(stream: &mut dyn Duplex) -> Result<AnswerHead, ObjectFault> {
    let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut answer = httparse::Response::new(&mut headers);
        match answer.parse(&read) {
            Ok(httparse::Status::Complete(end)) => {
                let status = answer.code.ok_or(ObjectFault::Garbled("it has no status"))?;
                let length = answer.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
                let length = length.map(|header| parse_length(header.value)).transpose()?;
                return Ok(AnswerHead { status, length, begun: read.split_off(end) });
            }
            Ok(httparse::Status::Partial) if read.len() >= LARGEST_HEAD => {
                return Err(ObjectFault::Garbled("its head has no end"));
            }
            Ok(httparse::Status::Partial) => {}
            Err(_) => return Err(ObjectFault::Garbled("it is no HTTP")),
        }
        match stream.read(&mut buffer).map_err(to_fault)? {
            0 => return Err(ObjectFault::Truncated),
            count => read.extend_from_slice(&buffer[..count]),
        }
    }
}

fn parse_length(value: &[u8]) -> Result<u64, ObjectFault> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    text.and_then(|text| text.parse().ok()).ok_or(ObjectFault::Garbled("its length is no number"))
}
