//! The table of routes, which the router is made from: a route that is not in it does not
//! exist.

use axum::http::Method;
use serde::Serialize;

use crate::source::OperatorActKind;

/// Right that a route requires.
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
pub struct PageRoute {
    pub method: &'static str,
    pub path: &'static str,
    pub access: RouteAccess,
    pub about: &'static str,
    pub(crate) answer: RouteHandler,
}

impl PageRoute {
    /// Act of an operator that the route is for.
    pub(crate) const fn act(&self) -> Option<OperatorActKind> {
        match self.answer {
            RouteHandler::Approve => Some(OperatorActKind::Approve),
            RouteHandler::Deny => Some(OperatorActKind::Deny),
            RouteHandler::StopRun => Some(OperatorActKind::Stop),
            _ => None,
        }
    }
}

/// The function behind a route.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RouteHandler {
    Overview,
    Runs,
    Run,
    Verify,
    Log,
    Queue,
    Approvals,
    Request,
    Deny,
    Approve,
    StopRun,
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
    ApiQueue,
    ApiApprovals,
    ApiRequest,
    ApiCompare,
    ApiRecords,
    ApiBoard,
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
    answer: RouteHandler,
) -> PageRoute {
    PageRoute { method, path, access, about, answer }
}

use RouteAccess::{Open, Operator, Reader};

/// Every route. None starts, repeats or resumes a run, activates a default or records an
/// outcome.
pub const ROUTES: &[PageRoute] = &[
    route("GET", "/", Reader, "What waits, what runs, ladders, rates", RouteHandler::Overview),
    route("GET", "/runs", Reader, "Runs, newest first", RouteHandler::Runs),
    route("GET", "/runs/{run}", Reader, "One run", RouteHandler::Run),
    route("GET", "/runs/{run}/verify", Reader, "Verifies a bundle now", RouteHandler::Verify),
    route("GET", "/runs/{run}/log", Reader, "Lines of a file of a bundle", RouteHandler::Log),
    route("POST", "/runs/{run}/stop", Operator, "Stops one run", RouteHandler::StopRun),
    route("GET", "/queue", Reader, "Queue, workers, leases and late steps", RouteHandler::Queue),
    route("GET", "/approvals", Reader, "Requests for approval", RouteHandler::Approvals),
    route("GET", "/approvals/{request}", Reader, "One request with its packet", RouteHandler::Request),
    route("POST", "/approvals/{request}/deny", Operator, "Denies a request, signed", RouteHandler::Deny),
    route(
        "POST",
        "/approvals/{request}/approve",
        Operator,
        "Approves a request through the agent",
        RouteHandler::Approve,
    ),
    route("GET", "/compare", Reader, "Runs side by side", RouteHandler::Compare),
    route("GET", "/records", Reader, "Records of the workspace", RouteHandler::Records),
    route("GET", "/spend", Reader, "Model use and limits", RouteHandler::Spend),
    route("GET", "/login", Open, "Where a login link comes from", RouteHandler::Login),
    route("GET", "/login/{token}", Open, "The button behind a login link", RouteHandler::LoginForm),
    route("POST", "/login/{token}", Open, "Logs in once", RouteHandler::LogIn),
    route("POST", "/logout", Open, "Logs out", RouteHandler::LogOut),
    route("GET", "/assets/console.css", Open, "Style", RouteHandler::Style),
    route("GET", "/assets/console.js", Open, "Script", RouteHandler::Script),
    route("GET", "/assets/icon.svg", Open, "Icon", RouteHandler::Icon),
    route("GET", "/plugins/svrnty/cto_control_panel.js", Open, "Script of the panel", RouteHandler::PanelScript),
    route("GET", "/plugins/svrnty/cto_control_panel.css", Open, "Style of the panel", RouteHandler::PanelStyle),
    route("GET", "/api/cto/control-summary", Reader, "The control summary", RouteHandler::Summary),
    route("GET", "/api/cto/overview", Reader, "The facts of the overview", RouteHandler::ApiOverview),
    route("GET", "/api/cto/runs", Reader, "Runs by ?q= and ?cursor=", RouteHandler::ApiRuns),
    route("GET", "/api/cto/runs/{run}", Reader, "One run", RouteHandler::ApiRun),
    route("GET", "/api/cto/runs/{run}/events", Reader, "Events of a run as they come", RouteHandler::ApiEvents),
    route("GET", "/api/cto/runs/{run}/verification", Reader, "Verifies a bundle now", RouteHandler::ApiVerification),
    route("GET", "/api/cto/runs/{run}/log", Reader, "Lines of a file by ?name=, ?line=, ?q=", RouteHandler::ApiLog),
    route("GET", "/api/cto/queue", Reader, "Queue, workers, leases and late steps", RouteHandler::ApiQueue),
    route("GET", "/api/cto/approvals", Reader, "Requests for approval", RouteHandler::ApiApprovals),
    route("GET", "/api/cto/approvals/{request}", Reader, "One request with its packet", RouteHandler::ApiRequest),
    route("GET", "/api/cto/compare", Reader, "Runs side by side, by ?runs=", RouteHandler::ApiCompare),
    route("GET", "/api/cto/records", Reader, "Records of the workspace", RouteHandler::ApiRecords),
    route(
        "GET",
        "/api/cto/board",
        Reader,
        "The board and findings of the workspace, by ?from=",
        RouteHandler::ApiBoard,
    ),
    route("GET", "/api/cto/spend", Reader, "Model use and limits", RouteHandler::ApiSpend),
    route("GET", "/api/openapi.json", Reader, "This interface, described", RouteHandler::OpenApi),
    route("GET", "/metrics", Reader, "Figures for Prometheus", RouteHandler::Metrics),
    route("GET", "/health", Open, "That the server lives", RouteHandler::Health),
];

/// The route of a method and a pattern.
pub(crate) fn find_route(method: &Method, path: &str) -> Option<&'static PageRoute> {
    // A question for the head alone is the question for the whole.
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    ROUTES.iter().find(|route| route.method == method && route.path == path)
}
