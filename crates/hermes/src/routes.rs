//! The router, made from the table of routes.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router, middleware};

use crate::access::Viewer;
use crate::guard::guard_request;
use crate::pages::Frame;
use crate::respond::add_headers;
use crate::route_table::{ROUTES, RouteHandler};
use crate::state::ConsoleState;
use crate::{api, assets, live, metrics, pages};

/// Builds the router from the table and puts the guard around it.
pub(crate) fn make_router(state: &Arc<ConsoleState>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, answer_of(route.answer));
    }
    router
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(Arc::clone(state), guard_request))
        .layer(middleware::from_fn(add_headers))
        .with_state(Arc::clone(state))
}

fn answer_of(answer: RouteHandler) -> MethodRouter<Arc<ConsoleState>> {
    match answer {
        RouteHandler::Overview => get(pages::overview_page),
        RouteHandler::Runs => get(pages::runs_page),
        RouteHandler::Run => get(pages::run_page),
        RouteHandler::Verify => get(pages::verify_page),
        RouteHandler::Log => get(pages::log_page),
        RouteHandler::Queue => get(pages::queue_page),
        RouteHandler::Approvals => get(pages::approvals_page),
        RouteHandler::Request => get(pages::request_page),
        RouteHandler::Deny => post(pages::deny_request),
        RouteHandler::Approve => post(pages::approve_request),
        RouteHandler::StopRun => post(pages::stop_run),
        RouteHandler::Compare => get(pages::compare_page),
        RouteHandler::Records => get(pages::records_page),
        RouteHandler::Spend => get(pages::spend_page),
        RouteHandler::Login => get(pages::login_page),
        RouteHandler::LoginForm => get(pages::login_form),
        RouteHandler::LogIn => post(pages::log_in),
        RouteHandler::LogOut => post(pages::log_out),
        RouteHandler::Style => get(assets::console_style),
        RouteHandler::Script => get(assets::console_script),
        RouteHandler::Icon => get(assets::console_icon),
        RouteHandler::PanelScript => get(assets::panel_script),
        RouteHandler::PanelStyle => get(assets::panel_style),
        RouteHandler::Summary => get(api::control_summary),
        RouteHandler::ApiOverview => get(api::overview),
        RouteHandler::ApiRuns => get(api::runs_page),
        RouteHandler::ApiRun => get(api::run_document),
        RouteHandler::ApiEvents => get(live::follow_events),
        RouteHandler::ApiVerification => get(api::verification),
        RouteHandler::ApiLog => get(api::log),
        RouteHandler::ApiQueue => get(api::queue),
        RouteHandler::ApiApprovals => get(api::approvals),
        RouteHandler::ApiRequest => get(api::request_document),
        RouteHandler::ApiCompare => get(api::compare_document),
        RouteHandler::ApiRecords => get(api::records_document),
        RouteHandler::ApiBoard => get(api::board),
        RouteHandler::ApiSpend => get(api::spend),
        RouteHandler::OpenApi => get(api::open_api),
        RouteHandler::Metrics => get(metrics::figures),
        RouteHandler::Health => get(metrics::liveness),
    }
}

async fn not_found(
    axum::extract::State(state): axum::extract::State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
) -> Response {
    let frame = Frame::new(&state, &viewer, "", "Not found");
    pages::error_page(frame, StatusCode::NOT_FOUND, "There is no such page.", None)
}
