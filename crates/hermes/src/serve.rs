//! The server: a listener with bounds on connections, heads and times, on threads of its own.

mod open_files;
mod timed_stream;
mod tls;

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::access::{HEAD_WITHIN, LoginLink, PeerAddress, Role, ServerNames, SessionPolicy};
use crate::routes::make_router;
use crate::source::ConsoleSource;
use crate::state::ConsoleState;

use open_files::connection_limit;
use timed_stream::TimedStream;
pub use tls::ServerTls;

/// Connections of a listener at a time, where the system permits as many open files; one
/// more is closed at once.
const MOST_CONNECTIONS: usize = 2048;
/// Largest head of a request.
const LARGEST_HEAD: usize = 32 << 10;
/// Time in which a peer has to take something of what it is sent.
const TAKE_WITHIN: Duration = Duration::from_secs(15);
/// Threads that ask the source; further questions wait.
const MOST_ASKING: usize = 16;
/// Between two looks whether the server is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Time that connections get to end by themselves.
const GRACE: Duration = Duration::from_millis(300);

/// Settings of a console.
#[derive(Debug, Clone)]
pub struct ConsoleSettings {
    pub listen: SocketAddr,
    /// Further names under which it may be asked.
    pub names: Vec<String>,
    pub sessions: SessionPolicy,
    pub tls: Option<ServerTls>,
}

/// Failure to serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeConsoleError {
    #[error("{0} is not a loopback address, and beyond loopback the console needs TLS")]
    NeedsTls(SocketAddr),
    #[error("{0} is not a loopback address, and beyond loopback every reader needs a login")]
    NeedsLogin(SocketAddr),
    #[error("{0} is not a loopback address, and the sidecar works on this machine only")]
    SidecarBeyondLoopback(SocketAddr),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    #[error("the certificate or its key cannot be used: {0}")]
    Tls(String),
    #[error("this system gives no random bytes, so nobody could log in safely")]
    Randomness,
    #[error("the server cannot be started: {0}")]
    Start(#[source] io::Error),
}

/// A console that listens and answers nothing yet.
pub struct Console {
    listener: StdListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    state: Arc<ConsoleState>,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Console {
    /// Listens. Beyond loopback only with TLS and a login.
    pub fn bind_listener(
        settings: &ConsoleSettings,
        source: Arc<dyn ConsoleSource>,
    ) -> Result<Self, ServeConsoleError> {
        let listen = settings.listen;
        if !listen.ip().is_loopback() && settings.tls.is_none() {
            return Err(ServeConsoleError::NeedsTls(listen));
        }
        if !listen.ip().is_loopback() && settings.sessions.open_read_only {
            return Err(ServeConsoleError::NeedsLogin(listen));
        }
        let tls = settings.tls.as_ref().map(ServerTls::acceptor).transpose()?;
        let (listener, address) = listen_on(listen)?;
        let names = ServerNames::new(address, &settings.names, tls.is_some());
        let state = ConsoleState::new(source, settings.sessions, names);
        Ok(Self { listener, address, tls, state: Arc::new(state) })
    }

    /// Address with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://HOST:PORT`.
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.tls.is_some() { "https" } else { "http" }, self.address)
    }

    /// Makes a login link that works once. Fails only without randomness.
    pub fn make_link(&self, role: Role) -> Result<LoginLink, ServeConsoleError> {
        self.link_maker().make_link(role)
    }

    /// Makes links while the console serves.
    pub fn link_maker(&self) -> LinkMaker {
        LinkMaker(Arc::clone(&self.state))
    }

    /// Serves until `stop` is set.
    pub fn serve_until(self, stop: &AtomicBool) -> Result<(), ServeConsoleError> {
        run_router(self.listener, make_router(&self.state), self.tls, stop)
    }
}

/// Maker of login links of a console that serves.
#[derive(Debug, Clone)]
pub struct LinkMaker(Arc<ConsoleState>);

impl LinkMaker {
    /// Makes a login link that works once. Fails only without randomness.
    pub fn make_link(&self, role: Role) -> Result<LoginLink, ServeConsoleError> {
        self.0.sessions.make_link(role).ok_or(ServeConsoleError::Randomness)
    }
}

/// A listener, and its address with the port that was taken.
pub(crate) fn listen_on(listen: SocketAddr) -> Result<(StdListener, SocketAddr), ServeConsoleError> {
    let fail = |error| ServeConsoleError::Listen(listen, error);
    let listener = StdListener::bind(listen).map_err(fail)?;
    listener.set_nonblocking(true).map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    Ok((listener, address))
}

/// Serves a router on a thread of its own until `stop` is set.
pub(crate) fn run_router(
    listener: StdListener,
    router: Router,
    tls: Option<TlsAcceptor>,
    stop: &AtomicBool,
) -> Result<(), ServeConsoleError> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(MOST_ASKING).build();
    let runtime = runtime.map_err(ServeConsoleError::Start)?;
    let done = runtime.block_on(accept_streams(listener, router, tls, stop));
    // Readers of files are looks of milliseconds; a viewer's connection is not waited for.
    runtime.shutdown_timeout(GRACE);
    done
}

async fn accept_streams(
    listener: StdListener,
    router: Router,
    tls: Option<TlsAcceptor>,
    stop: &AtomicBool,
) -> Result<(), ServeConsoleError> {
    let listener = TcpListener::from_std(listener).map_err(ServeConsoleError::Start)?;
    let places = Arc::new(Semaphore::new(connection_limit(MOST_CONNECTIONS)));
    while !stop.load(Ordering::Relaxed) {
        let Ok(accepted) = tokio::time::timeout(LOOK, listener.accept()).await else { continue };
        // Too many open files: wait until some are closed.
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let (router, tls) = (router.clone(), tls.clone());
        tokio::spawn(async move {
            serve_stream(stream, peer, router, tls).await;
            drop(place);
        });
    }
    Ok(())
}

async fn serve_stream(stream: TcpStream, peer: SocketAddr, router: Router, tls: Option<TlsAcceptor>) {
    // Small frames of live runs are not held back; a socket that refuses the option still
    // works.
    let _ = stream.set_nodelay(true);
    // Below TLS, so that a handshake is bounded as well.
    let stream = TimedStream::new(stream, TAKE_WITHIN);
    match tls {
        None => serve_connection(stream, peer, router).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_WITHIN, tls.accept(stream)).await {
                serve_connection(stream, peer, router).await;
            }
        }
    }
}

async fn serve_connection(stream: impl AsyncRead + AsyncWrite + Unpin, peer: SocketAddr, router: Router) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(PeerAddress(peer));
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    // What a peer does wrong is its own affair.
    let _ = connection.await;
}
