//! The wires and routes of the bridge, and the shape of each wire's errors.

use std::borrow::Cow;

pub use contract::model::Wire;
use hyper::Method;

use crate::protocol::json::quoted;

/// Destination of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Goes to the model.
    Model(Wire),
    /// Answered from the admission.
    Models,
    /// Answered by the bridge: agents check for a server before they start.
    Hello,
}

/// Reason why there is no route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// No route has this path.
    Path,
    /// A route has this path, but not this method.
    Method,
}

/// Each route with the other names engines use for it. A query is part of the name: what is
/// not listed could change what the provider does.
const ROUTES: &[(&str, &[&str], Route)] = &[
    ("/chat/completions", &[""], Route::Model(Wire::ChatCompletions)),
    ("/responses", &[""], Route::Model(Wire::Responses)),
    ("/messages", &["", "beta=true"], Route::Model(Wire::Messages)),
];

impl Route {
    /// Finds the route of an origin-form target.
    pub(crate) fn find_route(method: &Method, path: &str, query: Option<&str>) -> Result<Self, NoRoute> {
        let query = query.unwrap_or("");
        let below = path.strip_prefix("/v1").unwrap_or(path);
        if let Some((_, queries, route)) = ROUTES.iter().find(|(name, ..)| *name == below) {
            return match (method == Method::POST, queries.contains(&query)) {
                (true, true) => Ok(*route),
                (false, _) => Err(NoRoute::Method),
                (true, false) => Err(NoRoute::Path),
            };
        }
        match below {
            "/models" if method == Method::GET => Ok(Self::Models),
            "/" | "/api/hello" if method == Method::HEAD || method == Method::GET => Ok(Self::Hello),
            "/models" | "/" | "/api/hello" => Err(NoRoute::Method),
            _ => Err(NoRoute::Path),
        }
    }
}

/// Whose error shape a request gets that has no route: the one it would have had by its
/// path or its headers.
pub(crate) fn likely_wire(path: &str, says_anthropic: bool) -> Wire {
    if says_anthropic || path.contains("/messages") { Wire::Messages } else { Wire::ChatCompletions }
}

/// The error body of a wire.
pub(crate) fn error_body(wire: Wire, status: u16, code: &str, message: &str) -> String {
    let (message, code, kind) = (quoted(message), quoted(code), quoted(error_type(status)));
    match wire {
        Wire::ChatCompletions | Wire::Responses => {
            format!(r#"{{"error":{{"message":{message},"type":{kind},"param":null,"code":{code}}}}}"#)
        }
        Wire::Messages => format!(r#"{{"type":"error","error":{{"type":{kind},"message":{message}}}}}"#),
    }
}

/// The same inside a stream that has begun.
pub(crate) fn error_event(wire: Wire, status: u16, code: &str, message: &str) -> String {
    match wire {
        Wire::ChatCompletions => format!("data: {}\n\n", error_body(wire, status, code, message)),
        Wire::Messages => format!("event: error\ndata: {}\n\n", error_body(wire, status, code, message)),
        Wire::Responses => format!(
            "event: error\ndata: {{\"type\":\"error\",\"code\":{},\"message\":{},\"param\":null,\"sequence_number\":0}}\n\n",
            quoted(code),
            quoted(message)
        ),
    }
}

fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// The answer to `GET /v1/models`, in both families' shape at once: each reads its own fields.
pub(crate) fn models_body<'a>(provider: &str, names: impl Iterator<Item = &'a str>) -> String {
    let rows: Vec<Cow<'_, str>> = names
        .map(|name| {
            let (name, provider) = (quoted(name), quoted(provider));
            Cow::Owned(format!(
                r#"{{"id":{name},"object":"model","type":"model","display_name":{name},"created":0,"created_at":"1970-01-01T00:00:00Z","owned_by":{provider}}}"#
            ))
        })
        .collect();
    format!(r#"{{"object":"list","data":[{}],"has_more":false,"first_id":null,"last_id":null}}"#, rows.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_routes_are_found() {
        let chat = Ok(Route::Model(Wire::ChatCompletions));
        let rows: &[(Method, &str, Result<Route, NoRoute>)] = &[
            (Method::POST, "/v1/chat/completions", chat),
            (Method::POST, "/chat/completions", chat),
            (Method::POST, "/v1/responses", Ok(Route::Model(Wire::Responses))),
            (Method::POST, "/v1/messages?beta=true", Ok(Route::Model(Wire::Messages))),
            (Method::POST, "/v1/messages?beta=false", Err(NoRoute::Path)),
            (Method::POST, "/v1/chat/completions?x=1", Err(NoRoute::Path)),
            (Method::GET, "/v1/models", Ok(Route::Models)),
            (Method::GET, "/models?client_version=1", Ok(Route::Models)),
            (Method::HEAD, "/", Ok(Route::Hello)),
            (Method::GET, "/api/hello", Ok(Route::Hello)),
            (Method::GET, "/v1/chat/completions", Err(NoRoute::Method)),
            (Method::POST, "/v1/models", Err(NoRoute::Method)),
            (Method::POST, "/v1/v1/chat/completions", Err(NoRoute::Path)),
            (Method::POST, "/v1//chat/completions", Err(NoRoute::Path)),
            (Method::POST, "/v1/chat/completions/", Err(NoRoute::Path)),
            (Method::POST, "/v1/files", Err(NoRoute::Path)),
            (Method::POST, "/v1/responses/compact", Err(NoRoute::Path)),
            (Method::POST, "/v1/messages/count_tokens", Err(NoRoute::Path)),
            (Method::POST, "/v1/%63hat/completions", Err(NoRoute::Path)),
        ];
        for (method, target, expected) in rows {
            let (path, query) = target.split_once('?').map_or((*target, None), |(path, query)| (path, Some(query)));
            assert_eq!(Route::find_route(method, path, query), *expected, "{method} {target}");
        }
    }

    #[test]
    fn errors_have_the_shape_of_their_wire() {
        let body = |wire| error_body(wire, 403, "model_not_admitted", "no \"x\"");
        insta::assert_snapshot!(body(Wire::ChatCompletions), @r#"{"error":{"message":"no \"x\"","type":"permission_error","param":null,"code":"model_not_admitted"}}"#);
        insta::assert_snapshot!(body(Wire::Messages), @r#"{"type":"error","error":{"type":"permission_error","message":"no \"x\""}}"#);
        for wire in Wire::ALL {
            let event = error_event(wire, 502, "c", "m");
            let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            assert!(serde_json::from_str::<serde_json::Value>(data).is_ok(), "{event}");
        }
    }
}
