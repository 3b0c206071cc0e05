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
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub access: RouteAccess,
    pub about: &'static str,
    pub(crate) answer: Answer,
}

impl Route {
    /// Act of an operator that the route is for.
    pub(crate) const fn act(&self) -> Option<OperatorActKind> {
        match self.answer {
            Answer::Approve => Some(OperatorActKind::Approve),
            Answer::Deny => Some(OperatorActKind::Deny),
            Answer::StopRun => Some(OperatorActKind::Stop),
            _ => None,
        }
    }
}

/// The function behind a route.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Overview,
    Runs,
    Run,
    Verify,
    Log,
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
    answer: Answer,
) -> Route {
    Route { method, path, access, about, answer }
}

use RouteAccess::{Open, Operator, Reader};

/// Every route. None starts, repeats or resumes a run, activates a default or records an
/// outcome.
pub const ROUTES: &[Route] = &[
    route("GET", "/", Reader, "What waits, what runs, ladders, rates", Answer::Overview),
    route("GET", "/runs", Reader, "Runs, newest first", Answer::Runs),
    route("GET", "/runs/{run}", Reader, "One run", Answer::Run),
    route("GET", "/runs/{run}/verify", Reader, "Verifies a bundle now", Answer::Verify),
    route("GET", "/runs/{run}/log", Reader, "Lines of a file of a bundle", Answer::Log),
    route("POST", "/runs/{run}/stop", Operator, "Stops one run", Answer::StopRun),
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
    route("GET", "/api/cto/board", Reader, "The board and findings of the workspace, by ?from=", Answer::ApiBoard),
    route("GET", "/api/cto/spend", Reader, "Model use and limits", Answer::ApiSpend),
    route("GET", "/api/openapi.json", Reader, "This interface, described", Answer::OpenApi),
    route("GET", "/metrics", Reader, "Figures for Prometheus", Answer::Metrics),
    route("GET", "/health", Open, "That the server lives", Answer::Health),
];

/// The route of a method and a pattern.
pub(crate) fn find_route(method: &Method, path: &str) -> Option<&'static Route> {
    // A question for the head alone is the question for the whole.
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    ROUTES.iter().find(|route| route.method == method && route.path == path)
}
