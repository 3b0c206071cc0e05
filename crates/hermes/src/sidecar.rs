//! The sidecar of the panel in another host: a listener of its own on loopback, which gives the
//! summary to a client that shows the host's token (`token-v1`) and tells every other client only
//! that it runs.

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router, middleware};

use crate::access::{PeerAddress, RateKey, ServerNames, SessionPolicy, is_same, single_header};
use crate::respond::{add_headers, plain_refusal};
use crate::serve::{ServeConsoleError, listen_on, run_router};
use crate::source::ConsoleSource;
use crate::state::ConsoleState;
use crate::{api, metrics};

/// Mark in the body of the sidecar's own 401, by which the panel tells it from the host's.
const TOKEN_REFUSED: &str = "sidecar: that is not the token of the host";
/// Header in which the host shows its token.
const TOKEN_HEADER: &str = "x-hermes-sidecar-token";
const HEALTH: &str = "/health";

/// A sidecar that listens and answers nothing yet.
pub struct Sidecar {
    listener: StdListener,
    address: SocketAddr,
    state: Arc<ConsoleState>,
}

impl std::fmt::Debug for Sidecar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sidecar").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Sidecar {
    /// Listens, on loopback only: the host's proxy is on the same machine.
    pub fn bind_listener(listen: SocketAddr, source: Arc<dyn ConsoleSource>) -> Result<Self, ServeConsoleError> {
        if !listen.ip().is_loopback() {
            return Err(ServeConsoleError::SidecarBeyondLoopback(listen));
        }
        let (listener, address) = listen_on(listen)?;
        let names = ServerNames::new(address, &[], false);
        let state = Arc::new(ConsoleState::new(source, SessionPolicy::default(), names));
        Ok(Self { listener, address, state })
    }

    /// `http://HOST:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until `stop` is set.
    pub fn serve_until(self, stop: &AtomicBool) -> Result<(), ServeConsoleError> {
        let router = Router::new()
            .route(HEALTH, get(metrics::liveness))
            .route("/api/cto/control-summary", get(api::control_summary))
            .layer(middleware::from_fn_with_state(Arc::clone(&self.state), guard_sidecar))
            .layer(middleware::from_fn(add_headers))
            .with_state(self.state);
        run_router(self.listener, router, None, stop)
    }
}

async fn guard_sidecar(
    State(state): State<Arc<ConsoleState>>,
    Extension(PeerAddress(peer)): Extension<PeerAddress>,
    request: Request,
    next: Next,
) -> Response {
    if !state.rates.admit_request(RateKey::Address(peer.ip())) {
        return plain_refusal(StatusCode::TOO_MANY_REQUESTS, "too many requests; wait a second");
    }
    let headers = request.headers();
    if !single_header(headers, header::HOST).is_some_and(|host| state.names.is_host(host)) {
        return plain_refusal(StatusCode::MISDIRECTED_REQUEST, "this server is not known under that name");
    }
    if request.uri().path() == HEALTH {
        let mut response = next.run(request).await;
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        return response;
    }
    let given = headers.get_all(TOKEN_HEADER).iter().map(|value| value.to_str().unwrap_or_default().to_owned());
    let given: Vec<String> = given.collect();
    // Read again for each request: the host makes another token when consent is given anew.
    let token = state.ask_source(|source| Ok(source.read_sidecar_token())).await.ok().flatten();
    match (token, given.as_slice()) {
        (None, _) => plain_refusal(StatusCode::SERVICE_UNAVAILABLE, "the host has made no token yet"),
        (Some(token), [given]) if is_same(&token, given) => next.run(request).await,
        (Some(_), _) => plain_refusal(StatusCode::UNAUTHORIZED, TOKEN_REFUSED),
    }
}
