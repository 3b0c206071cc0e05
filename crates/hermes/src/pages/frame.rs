//! The frame around every page, and pages that say what went wrong.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use contract::text::show_controls;

use crate::access::Viewer;
use crate::respond::html_page;
use crate::source::{SourceError, SourceErrorKind};
use crate::state::ConsoleState;

/// Links of the head: address, text.
const LINKS: &[(&str, &str)] = &[
    ("/", "Overview"),
    ("/runs", "Runs"),
    ("/queue", "Queue"),
    ("/approvals", "Approvals"),
    ("/compare", "Compare"),
    ("/records", "Records"),
    ("/spend", "Spend"),
];

/// Values of the layout around every page.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) title: String,
    here: &'static str,
    /// Empty without a login.
    pub(crate) role: &'static str,
    /// Form token for logging out; empty without a session.
    pub(crate) logout: String,
    pub(crate) version: &'static str,
}

/// Entry of the navigation.
#[derive(Debug)]
pub(crate) struct FrameLink {
    pub(crate) href: &'static str,
    pub(crate) text: &'static str,
    pub(crate) is_here: bool,
}

impl Frame {
    /// Layout for one viewer; `here` is the current entry of the navigation.
    pub(crate) fn new(state: &ConsoleState, viewer: &Viewer, here: &'static str, title: impl Into<String>) -> Self {
        let token = viewer.session.as_deref().and_then(|session| state.sessions.logout_token(session));
        Self {
            title: show_controls(&title.into()),
            here,
            role: viewer.role.map_or("", crate::Role::as_str),
            logout: token.unwrap_or_default(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Frame of a page for a visitor without a login.
    pub(crate) fn outside(title: impl Into<String>) -> Self {
        let (here, role, logout) = ("", "", String::new());
        Self { title: title.into(), here, role, logout, version: env!("CARGO_PKG_VERSION") }
    }

    /// Entries of the navigation.
    pub(crate) fn links(&self) -> Vec<FrameLink> {
        LINKS.iter().map(|(href, text)| FrameLink { href, text, is_here: *href == self.here }).collect()
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    head: &'static str,
    text: String,
    hint: Option<String>,
}

/// A page that says what is wrong.
pub(crate) fn error_page(frame: Frame, status: StatusCode, text: &str, hint: Option<String>) -> Response {
    let head = match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Refused",
        StatusCode::CONFLICT => "Not possible",
        _ => "Not understood",
    };
    html_page(status, &ErrorPage { frame, head, text: text.to_owned(), hint })
}

/// The page for a failure of the source.
pub(crate) fn error_response(state: &ConsoleState, viewer: &Viewer, error: SourceError) -> Response {
    let status = match error.kind {
        SourceErrorKind::Missing => StatusCode::NOT_FOUND,
        SourceErrorKind::Invalid => StatusCode::BAD_REQUEST,
        SourceErrorKind::Refused => StatusCode::CONFLICT,
    };
    error_page(Frame::new(state, viewer, "", "Error"), status, &error.text, error.hint)
}
