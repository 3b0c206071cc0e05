//! Files that are part of the program: style, script, icon, and the panel for another host.

use axum::http::StatusCode;
use axum::response::Response;

use crate::respond::with_body;

const CACHE: &str = "no-cache";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Script of the panel, also written by `cto hermes install`.
pub const PANEL_SCRIPT: &str = include_str!("../assets/cto_control_panel.js");
/// Style of the panel.
pub const PANEL_STYLE: &str = include_str!("../assets/cto_control_panel.css");

pub(crate) const CONSOLE_STYLE: &str = include_str!("../assets/console.css");
pub(crate) const CONSOLE_SCRIPT: &str = include_str!("../assets/console.js");

/// Style sheet of the console.
pub(crate) async fn console_style() -> Response {
    asset(STYLE, CONSOLE_STYLE)
}

/// Script of the console.
pub(crate) async fn console_script() -> Response {
    asset(SCRIPT, CONSOLE_SCRIPT)
}

/// Icon of the console.
pub(crate) async fn console_icon() -> Response {
    asset("image/svg+xml", include_str!("../assets/icon.svg"))
}

/// Script of the panel in another host.
pub(crate) async fn panel_script() -> Response {
    asset(SCRIPT, PANEL_SCRIPT)
}

/// Style sheet of the panel in another host.
pub(crate) async fn panel_style() -> Response {
    asset(STYLE, PANEL_STYLE)
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    with_body(StatusCode::OK, kind, CACHE, text.as_bytes().to_vec())
}
