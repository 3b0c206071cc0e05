//! The table of routes. The router is made from it, so that a route that is not in the table does not exist.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router, middleware};
use serde::Serialize;

use crate::access::{RateLimiter, ServerNames, Sessions, Viewer, guard_request};
use crate::live::LiveHub;
use crate::pages::Frame;
use crate::respond::add_headers;
use crate::source::{ConsoleSource, SourceError};
use crate::{api, assets, live, metrics, pages};

/// Largest form that is read.
const LARGEST_FORM: usize = 64 << 10;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RouteAccess {
    /// Anybody who reaches the server.
    Open,
    /// Any session.
    Reader,
    Operator,
}

/// One route.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub access: RouteAccess,
    pub about: &'static str,
    answer: Answer,
}

/// The function behind a route.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Overview,
    Runs,
    Run,
    Verify,
    Log,
    Approvals,
    Request,
    Deny,
    Approve,
    Compare,
    Records,
    Spend,
    Login,
    LoginForm,
    LogIn,
    LogOut,
    Style,
    Script,
    Icon,
    PanelScript,
    PanelStyle,
    Summary,
    ApiOverview,
    ApiRuns,
    ApiRun,
    ApiEvents,
    ApiVerification,
    ApiLog,
    ApiApprovals,
    ApiRequest,
    ApiCompare,
    ApiRecords,
    ApiSpend,
    OpenApi,
    Metrics,
    Health,
}

const fn route(
    method: &'static str,
    path: &'static str,
    access: RouteAccess,
    about: &'static str,
    answer: Answer,
) -> Route {
    Route { method, path, access, about, answer }
}

use RouteAccess::{Open, Operator, Reader};

/// Every route. None starts, repeats or resumes a run, activates a default or records an outcome.
pub const ROUTES: &[Route] = &[
    route("GET", "/", Reader, "What waits, what runs, ladders, rates", Answer::Overview),
    route("GET", "/runs", Reader, "Runs, newest first", Answer::Runs),
    route("GET", "/runs/{run}", Reader, "One run", Answer::Run),
    route("GET", "/runs/{run}/verify", Reader, "Verifies a bundle now", Answer::Verify),
    route("GET", "/runs/{run}/log", Reader, "Lines of a file of a bundle", Answer::Log),
    route("GET", "/approvals", Reader, "Requests for approval", Answer::Approvals),
    route("GET", "/approvals/{request}", Reader, "One request with its packet", Answer::Request),
    route("POST", "/approvals/{request}/deny", Operator, "Denies a request, signed", Answer::Deny),
    route("POST", "/approvals/{request}/approve", Operator, "Approves a request through the agent", Answer::Approve),
    route("GET", "/compare", Reader, "Runs side by side", Answer::Compare),
    route("GET", "/records", Reader, "Records of the workspace", Answer::Records),
    route("GET", "/spend", Reader, "Model use and limits", Answer::Spend),
    route("GET", "/login", Open, "Where a login link comes from", Answer::Login),
    route("GET", "/login/{token}", Open, "The button behind a login link", Answer::LoginForm),
    route("POST", "/login/{token}", Open, "Logs in once", Answer::LogIn),
    route("POST", "/logout", Open, "Logs out", Answer::LogOut),
    route("GET", "/assets/console.css", Open, "Style", Answer::Style),
    route("GET", "/assets/console.js", Open, "Script", Answer::Script),
    route("GET", "/assets/icon.svg", Open, "Icon", Answer::Icon),
    route("GET", "/plugins/svrnty/cto_control_panel.js", Open, "Script of the panel", Answer::PanelScript),
    route("GET", "/plugins/svrnty/cto_control_panel.css", Open, "Style of the panel", Answer::PanelStyle),
    route("GET", "/api/cto/control-summary", Reader, "The control summary", Answer::Summary),
    route("GET", "/api/cto/overview", Reader, "The facts of the overview", Answer::ApiOverview),
    route("GET", "/api/cto/runs", Reader, "Runs by ?q= and ?cursor=", Answer::ApiRuns),
    route("GET", "/api/cto/runs/{run}", Reader, "One run", Answer::ApiRun),
    route("GET", "/api/cto/runs/{run}/events", Reader, "Events of a run as they come", Answer::ApiEvents),
    route("GET", "/api/cto/runs/{run}/verification", Reader, "Verifies a bundle now", Answer::ApiVerification),
    route("GET", "/api/cto/runs/{run}/log", Reader, "Lines of a file by ?name=, ?line=, ?q=", Answer::ApiLog),
    route("GET", "/api/cto/approvals", Reader, "Requests for approval", Answer::ApiApprovals),
    route("GET", "/api/cto/approvals/{request}", Reader, "One request with its packet", Answer::ApiRequest),
    route("GET", "/api/cto/compare", Reader, "Runs side by side, by ?runs=", Answer::ApiCompare),
    route("GET", "/api/cto/records", Reader, "Records of the workspace", Answer::ApiRecords),
    route("GET", "/api/cto/spend", Reader, "Model use and limits", Answer::ApiSpend),
    route("GET", "/api/openapi.json", Reader, "This interface, described", Answer::OpenApi),
    route("GET", "/metrics", Reader, "Figures for Prometheus", Answer::Metrics),
    route("GET", "/health", Open, "That the server lives", Answer::Health),
];

/// Everything that routes share.
pub(crate) struct ConsoleState {
    pub(crate) source: Arc<dyn ConsoleSource>,
    pub(crate) sessions: Sessions,
    pub(crate) names: ServerNames,
    pub(crate) rates: RateLimiter,
    pub(crate) live: LiveHub,
}

impl std::fmt::Debug for ConsoleState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsoleState").field("names", &self.names).finish_non_exhaustive()
    }
}

impl ConsoleState {
    /// Asks the source on a thread that may block.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn ConsoleSource) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        let source = Arc::clone(&self.source);
        let asked = tokio::task::spawn_blocking(move || question(source.as_ref())).await;
        asked.unwrap_or_else(|_| Err(SourceError::refused("the question could not be answered")))
    }
}

/// The route of a method and a pattern.
pub(crate) fn find_route(method: &Method, path: &str) -> Option<&'static Route> {
    // A question for the head alone is the question for the whole.
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    ROUTES.iter().find(|route| route.method == method && route.path == path)
}

pub(crate) fn make_router(state: &Arc<ConsoleState>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, answer_of(route.answer));
    }
    router
        .fallback(not_found)
        .layer(DefaultBodyLimit::max(LARGEST_FORM))
        .layer(middleware::from_fn_with_state(Arc::clone(state), guard_request))
        .layer(middleware::from_fn(add_headers))
        .with_state(Arc::clone(state))
}

fn answer_of(answer: Answer) -> MethodRouter<Arc<ConsoleState>> {
    match answer {
        Answer::Overview => get(pages::overview_page),
        Answer::Runs => get(pages::runs_page),
        Answer::Run => get(pages::run_page),
        Answer::Verify => get(pages::verify_page),
        Answer::Log => get(pages::log_page),
        Answer::Approvals => get(pages::approvals_page),
        Answer::Request => get(pages::request_page),
        Answer::Deny => post(pages::deny_request),
        Answer::Approve => post(pages::approve_request),
        Answer::Compare => get(pages::compare_page),
        Answer::Records => get(pages::records_page),
        Answer::Spend => get(pages::spend_page),
        Answer::Login => get(pages::login_page),
        Answer::LoginForm => get(pages::login_form),
        Answer::LogIn => post(pages::log_in),
        Answer::LogOut => post(pages::log_out),
        Answer::Style => get(assets::console_style),
        Answer::Script => get(assets::console_script),
        Answer::Icon => get(assets::console_icon),
        Answer::PanelScript => get(assets::panel_script),
        Answer::PanelStyle => get(assets::panel_style),
        Answer::Summary => get(api::control_summary),
        Answer::ApiOverview => get(api::overview),
        Answer::ApiRuns => get(api::runs),
        Answer::ApiRun => get(api::run),
        Answer::ApiEvents => get(live::follow_events),
        Answer::ApiVerification => get(api::verification),
        Answer::ApiLog => get(api::log),
        Answer::ApiApprovals => get(api::approvals),
        Answer::ApiRequest => get(api::request),
        Answer::ApiCompare => get(api::compare),
        Answer::ApiRecords => get(api::records),
        Answer::ApiSpend => get(api::spend),
        Answer::OpenApi => get(api::open_api),
        Answer::Metrics => get(metrics::figures),
        Answer::Health => get(metrics::liveness),
    }
}

async fn not_found(
    axum::extract::State(state): axum::extract::State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
) -> Response {
    let frame = Frame::new(&state, &viewer, "", "Not found");
    pages::error_page(frame, StatusCode::NOT_FOUND, "There is no such page.", None)
}
