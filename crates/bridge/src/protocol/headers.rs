//! Tables of the headers that cross the bridge. Everything not listed stays behind.

use hyper::header::{CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};

use crate::protocol::wire::Wire;

/// Headers of a request that the provider's wire needs.
const UP: &[&str] = &["accept", "anthropic-version", "anthropic-beta", "openai-beta"];

/// Headers that belong to the connection or are replaced: left behind, and no sign of anybody.
const OWN: &[&str] = &[
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "te",
    "trailer",
    "expect",
    "accept-encoding",
    "authorization",
    "x-api-key",
];

/// Headers of an answer that clients read.
const DOWN: &[&str] = &[
    "content-type",
    "cache-control",
    "request-id",
    "x-request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "openai-processing-ms",
    "openai-version",
];
const DOWN_FAMILIES: &[&str] = &["x-ratelimit-", "anthropic-ratelimit-"];

/// Fields at the top of a body that name the person, the machine or the repository.
pub(crate) const fn identifying_fields(wire: Wire) -> &'static [&'static str] {
    match wire {
        Wire::ChatCompletions => &["user", "safety_identifier", "metadata"],
        Wire::Responses => &["user", "safety_identifier", "metadata", "client_metadata"],
        Wire::Messages => &["metadata"],
    }
}

/// Headers of the client that go to the provider.
pub(crate) fn going_up(headers: &HeaderMap) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
    headers.iter().filter(|(name, _)| UP.contains(&name.as_str()))
}

/// Writes what may go up to `head`; gives how many were left behind.
pub(crate) fn pass_up(headers: &HeaderMap, head: &mut Vec<u8>) -> u32 {
    let mut stripped = 0;
    for (name, value) in headers {
        if UP.contains(&name.as_str()) {
            push_header(head, name.as_str(), value.as_bytes());
        } else if !OWN.contains(&name.as_str()) {
            stripped += 1;
        }
    }
    stripped
}

/// Appends one header line. `value` must contain no line break.
pub(crate) fn push_header(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        head.extend_from_slice(part);
    }
}

/// True if a header of an answer goes to the engine. Names are compared without case, as
/// upstreams write them differently.
pub(crate) fn goes_down(name: &str) -> bool {
    let begins = |family: &&str| name.get(..family.len()).is_some_and(|start| start.eq_ignore_ascii_case(family));
    DOWN.iter().any(|known| name.eq_ignore_ascii_case(known)) || DOWN_FAMILIES.iter().any(begins)
}

/// Headers of an answer that go to the engine: those kept when its head was read, except
/// the ones kept for the bridge itself.
pub(crate) fn pass_down(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(CONTENT_ENCODING);
    headers
}

/// Tokens that the client presents: bearer tokens and API keys.
pub(crate) fn presented(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let bearer = headers.get_all(hyper::header::AUTHORIZATION).iter().filter_map(|value| bearer(value));
    let key = headers.get_all(HeaderName::from_static("x-api-key")).iter().map(HeaderValue::as_bytes);
    bearer.chain(key)
}

fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: &[(&'static str, &'static str)]) -> HeaderMap {
        rows.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn what_identifies_stays_behind_and_is_counted() {
        let headers = map(&[
            ("host", "x"),
            ("authorization", "Bearer t"),
            ("anthropic-version", "2023-06-01"),
            ("x-codex-turn-metadata", "{}"),
            ("user-agent", "codex/0.1 (Debian)"),
            ("x-stainless-os", "Linux"),
            ("session_id", "1"),
            ("cookie", "c"),
        ]);
        let mut head = Vec::new();
        assert_eq!(pass_up(&headers, &mut head), 5);
        assert_eq!(head, b"anthropic-version: 2023-06-01\r\n");
    }

    #[test]
    fn only_known_headers_go_down() {
        let rows = [
            ("content-type", true),
            ("Content-Type", true),
            ("X-RateLimit-Remaining-Requests", true),
            ("anthropic-ratelimit-tokens-limit", true),
            ("retry-after", true),
            ("set-cookie", false),
            ("Location", false),
            ("openai-organization", false),
            ("content-encoding", false),
            ("x-ratelimit", false),
            ("", false),
        ];
        for (name, expected) in rows {
            assert_eq!(goes_down(name), expected, "{name}");
        }
        let down = pass_down(map(&[("content-type", "application/json"), ("content-encoding", "identity")]));
        assert_eq!(down.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["content-type"]);
    }

    #[test]
    fn a_token_is_taken_from_either_header() {
        let both = map(&[("authorization", "bearer  a"), ("x-api-key", "b")]);
        assert_eq!(presented(&both).collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(presented(&map(&[("authorization", "Basic a")])).count(), 0);
        assert_eq!(presented(&map(&[("authorization", "")])).count(), 0);
    }
}
