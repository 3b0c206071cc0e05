//! The router, made from the table of routes.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router, middleware};

use crate::access::{Viewer, guard_request};
use crate::pages::Frame;
use crate::respond::add_headers;
use crate::route_table::{Answer, ROUTES};
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
        Answer::StopRun => post(pages::stop_run),
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
        Answer::ApiBoard => get(api::board),
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
