//! Answers: pages, JSON, assets and refusals, each with its headers and a tag by which an
//! unchanged one is not sent again.

use askama::Template;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use contract::Digest;
use serde::Serialize;
use serde_json::Value;

use crate::source::{SourceError, SourceErrorKind};

/// Content security policy: own files only, no inline script or handler, no markup made by
/// script.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of every answer.
const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    // Stricter ones make browsers send forms with the origin `null`, which is refused.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
];

const NO_CACHE: &str = "private, no-cache";

/// Adds the headers that every answer has.
pub(crate) async fn add_headers(request: Request, next: Next) -> Response {
    let tags: Option<String> =
        request.headers().get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut response = next.run(request).await;
    if let (Some(tags), Some(tag)) = (tags, response.headers().get(header::ETAG).cloned())
        && response.status() == StatusCode::OK
        && tag.to_str().is_ok_and(|tag| tags.split(',').any(|known| known.trim() == tag))
    {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// A page; one that cannot be rendered is an error of ours.
pub(crate) fn html_page(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => with_body(status, "text/html; charset=utf-8", NO_CACHE, text.into_bytes()),
        Err(_) => plain_refusal(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made"),
    }
}

/// A page whose tag is the digest of a text that differs wherever the page does.
pub(crate) fn tagged_page(page: &impl Template, tagged: &str) -> Response {
    match page.render() {
        Ok(text) => with_tagged_body("text/html; charset=utf-8", text.into_bytes(), tagged.as_bytes()),
        Err(_) => plain_refusal(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made"),
    }
}

fn with_tagged_body(kind: &'static str, bytes: Vec<u8>, tagged: &[u8]) -> Response {
    make_response(StatusCode::OK, kind, NO_CACHE, bytes, Digest::of_bytes(tagged))
}

/// Keys whose values pass with time while nothing changes. Tags are made without them, so
/// that a reader who asks again gets a 304.
const TIMES: [&str; 3] = ["now", "generated_at", "age_seconds"];

/// JSON answer, or the error with its status.
pub(crate) fn json_document<T: Serialize>(document: &Result<T, SourceError>) -> Response {
    match document {
        Ok(document) => match serde_json::to_vec(document) {
            Ok(bytes) => tagged_json(bytes),
            Err(_) => plain_refusal(StatusCode::INTERNAL_SERVER_ERROR, "the document could not be made"),
        },
        Err(error) => json_bytes(status_of(error.kind), serde_json::to_vec(error).unwrap_or_default()),
    }
}

/// JSON answer of bytes that are JSON already, with a tag that stays the same while nothing
/// but the time changes.
pub(crate) fn tagged_json(bytes: Vec<u8>) -> Response {
    let tag = match serde_json::from_slice::<Value>(&bytes) {
        Ok(mut document) => {
            remove_times(&mut document);
            Digest::of_bytes(document.to_string().as_bytes())
        }
        Err(_) => Digest::of_bytes(&bytes),
    };
    make_response(StatusCode::OK, "application/json", NO_CACHE, bytes, tag)
}

fn remove_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !TIMES.contains(&key.as_str()));
            map.values_mut().for_each(remove_times);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_times),
        _ => {}
    }
}

/// JSON answer of bytes that are JSON already.
fn json_bytes(status: StatusCode, bytes: Vec<u8>) -> Response {
    with_body(status, "application/json", NO_CACHE, bytes)
}

const fn status_of(kind: SourceErrorKind) -> StatusCode {
    match kind {
        SourceErrorKind::Missing => StatusCode::NOT_FOUND,
        SourceErrorKind::Invalid => StatusCode::BAD_REQUEST,
        SourceErrorKind::Refused => StatusCode::CONFLICT,
    }
}

/// An answer with a tag of its bytes.
pub(crate) fn with_body(status: StatusCode, kind: &'static str, cache: &'static str, bytes: Vec<u8>) -> Response {
    let tag = Digest::of_bytes(&bytes);
    make_response(status, kind, cache, bytes, tag)
}

fn make_response(status: StatusCode, kind: &'static str, cache: &'static str, bytes: Vec<u8>, tag: Digest) -> Response {
    let tag = format!("\"{}\"", tag.to_string().get(..32).unwrap_or_default());
    let mut response = Response::new(Body::from(Bytes::from(bytes)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    set(headers, header::CONTENT_TYPE, kind);
    set(headers, header::CACHE_CONTROL, cache);
    // A page of one session is never the page of another.
    set(headers, header::VARY, "Cookie");
    if let Ok(value) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, value);
    }
    response
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

/// A refusal in one line of text.
pub(crate) fn plain_refusal(status: StatusCode, text: &'static str) -> Response {
    let mut response = with_body(status, "text/plain; charset=utf-8", "no-store", format!("{text}\n").into_bytes());
    response.headers_mut().remove(header::ETAG);
    response
}

/// The way to the login page.
pub(crate) fn login_wanted() -> Response {
    redirect(StatusCode::FOUND, "/login")
}

/// Redirect to a page after an act.
pub(crate) fn see_other(place: &str) -> Response {
    redirect(StatusCode::SEE_OTHER, place)
}

fn redirect(status: StatusCode, place: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let place = HeaderValue::from_str(place).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, place);
    set(response.headers_mut(), header::CACHE_CONTROL, "no-store");
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tag_changes_with_everything_but_the_time() {
        let tag = |document: Value| tagged_json(document.to_string().into_bytes()).headers()[header::ETAG].clone();
        let document =
            |now: &str, age: u64, title: &str| json!({"now": now, "rows": [{"age_seconds": age, "title": title}]});
        let first = tag(document("12:00", 1, "a"));
        assert_eq!(first, tag(document("12:01", 61, "a")));
        assert_ne!(first, tag(document("12:00", 1, "b")));
    }
}
