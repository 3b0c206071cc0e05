//! The listener and its connections, on a thread of their own.
//!
//! The caller is synchronous and keeps a [`Bridge`]; everything asynchronous lives and dies
//! on the bridge's thread.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Semaphore, watch};

use crate::config::BridgeConfig;
use crate::policy::limits::Spent;
use crate::protocol::refusal::RefusalCode;
use crate::protocol::wire::Wire;
use crate::recording::observe::{self, Observer};
use crate::request::core::{Core, StartBridgeError};
use crate::request::delivery::Delivery;
use crate::request::exchange;
use crate::serve::probe::{self, ProbeResult};
use crate::serve::stall::Unstalled;

/// Totals of a bridge's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeTotals {
    pub spent: Spent,
    /// The limit that was reached.
    pub exceeded: Option<RefusalCode>,
    /// Requests that were closed without an answer because too many before them had not
    /// been for the model.
    pub unrecorded: u64,
    /// The operator asked for a recording and it has a hole.
    pub recording_incomplete: bool,
}

/// A bridge at work. Stops when it is dropped.
#[derive(Debug)]
pub struct Bridge {
    core: Option<Arc<Core>>,
    handle: Handle,
    /// Kept so that other holders of a socket get no connections either after the bridge
    /// has stopped.
    listeners: Vec<TcpListener>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    observer: Option<JoinHandle<()>>,
}

impl Bridge {
    /// Starts a bridge without listeners; only [`Bridge::probe_model`] can reach it yet.
    pub fn start_bridge(config: BridgeConfig, observer: Observer) -> Result<Self, StartBridgeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(8)
            .build()
            .map_err(StartBridgeError::Thread)?;
        let (reporter, observer) = observe::start_observer(observer).map_err(StartBridgeError::Thread)?;
        let core = Arc::new(Core::new(config, reporter)?);
        let handle = runtime.handle().clone();
        let (stop, stopping) = watch::channel(false);
        let thread = thread::Builder::new()
            .name("bridge".to_owned())
            .spawn(move || run(runtime, stopping))
            .map_err(StartBridgeError::Thread)?;
        let (listeners, observer) = (Vec::new(), Some(observer));
        Ok(Self { core: Some(core), handle, listeners, stop, thread: Some(thread), observer })
    }

    /// Serves on a listening socket, wherever it was bound; gives the address it has there.
    pub fn serve_listener(&mut self, listener: impl Into<OwnedFd>) -> Result<SocketAddr, StartBridgeError> {
        let listener = TcpListener::from(listener.into());
        listener.set_nonblocking(true).map_err(StartBridgeError::Listener)?;
        let address = listener.local_addr().map_err(StartBridgeError::Listener)?;
        let kept = listener.try_clone().map_err(StartBridgeError::Listener)?;
        if let Some(core) = &self.core {
            self.handle.spawn(accept(listener, Arc::clone(core), self.stop.subscribe()));
            self.listeners.push(kept);
        }
        Ok(address)
    }

    /// The limit that was reached, if one was: the run ends then.
    pub fn exceeded(&self) -> Option<RefusalCode> {
        self.core.as_ref().and_then(|core| core.budget.exceeded())
    }

    /// Use so far; nothing after the bridge has stopped.
    pub fn spent(&self) -> Spent {
        self.core.as_ref().map(|core| core.budget.spent()).unwrap_or_default()
    }

    /// Asks the model for a word, to see whether it answers with content. Costs, and is
    /// recorded, like any request.
    pub fn probe_model(&self, wire: Wire) -> ProbeResult {
        self.begin_probe(wire).receiver.recv().unwrap_or(ProbeResult::NotAsked)
    }

    /// Same as [`Bridge::probe_model`], for a caller that does other work while it waits.
    pub fn begin_probe(&self, wire: Wire) -> PendingProbe {
        let (sender, receiver) = mpsc::sync_channel(1);
        if let Some(core) = self.core.clone() {
            self.handle.spawn(async move { drop(sender.try_send(probe::probe_model(core, wire).await)) });
        }
        PendingProbe { receiver }
    }

    /// Closes the listener and every connection, and waits until all was told to the
    /// observer. The run token opens nothing from here on.
    pub fn stop_serving(mut self) -> BridgeTotals {
        self.shut()
    }

    fn shut(&mut self) -> BridgeTotals {
        if let Some(core) = &self.core {
            core.stop_accepting();
        }
        for listener in self.listeners.drain(..) {
            let _ = rustix::net::shutdown(&listener, rustix::net::Shutdown::Both);
        }
        // Fails only when the thread is gone.
        let _ = self.stop.send(true);
        let _ = self.thread.take().map(JoinHandle::join);
        let core = self.core.take();
        let summary = BridgeTotals {
            spent: core.as_ref().map(|core| core.budget.spent()).unwrap_or_default(),
            exceeded: core.as_ref().and_then(|core| core.budget.exceeded()),
            unrecorded: core.as_ref().map_or(0, |core| core.unrecorded()),
            recording_incomplete: core.as_ref().and_then(|core| core.recorder.as_ref()).is_some_and(|r| r.has_failed()),
        };
        // The observer's thread ends when nobody can report any more.
        drop(core);
        let _ = self.observer.take().map(JoinHandle::join);
        summary
    }
}

/// A question to the model that is not answered yet.
#[derive(Debug)]
pub struct PendingProbe {
    receiver: mpsc::Receiver<ProbeResult>,
}

impl PendingProbe {
    /// The result, if it comes within this time.
    pub fn wait(&self, time: Duration) -> Option<ProbeResult> {
        match self.receiver.recv_timeout(time) {
            Ok(result) => Some(result),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(ProbeResult::NotAsked),
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.shut();
        }
    }
}

/// Setting a timer that is due before all others wakes the runtime through the kernel, and
/// requests set such timers all the time. A timer that is always due sooner spares them
/// that.
const BEAT: Duration = Duration::from_secs(1);

/// The bridge's thread.
fn run(runtime: Runtime, mut stopping: watch::Receiver<bool>) {
    runtime.block_on(async {
        let mut beat = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                biased;
                // An error means that nobody is left to stop it.
                _ = stopping.changed() => return,
                _ = beat.tick() => {}
            }
        }
    });
    // Ends every connection's task; a credential source that hangs is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(200));
}

async fn accept(listener: TcpListener, core: Arc<Core>, mut stopping: watch::Receiver<bool>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let connections = Arc::new(Semaphore::new(core.sizes.connections));
    loop {
        let permit = tokio::select! {
            biased;
            _ = stopping.changed() => return,
            permit = Arc::clone(&connections).acquire_owned() => permit,
        };
        let accepted = tokio::select! {
            biased;
            _ = stopping.changed() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let core = Arc::clone(&core);
                tokio::spawn(async move {
                    connection(stream, core).await;
                    drop(permit);
                });
            }
            // Out of descriptors, most likely: what is open must end first.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connection(stream: TcpStream, core: Arc<Core>) {
    // Without it small writes wait for acknowledgements; a socket that cannot say so still
    // works.
    let _ = stream.set_nodelay(true);
    let delivery = Delivery::default();
    let io = Unstalled::new(TokioIo::new(stream), core.deadlines.stall, delivery.clone());
    let receive = core.deadlines.receive;
    let service = service_fn(move |request| exchange::answer_request(Arc::clone(&core), delivery.clone(), request));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(receive)
        .max_buf_size(64 * 1024)
        .serve_connection(io, service)
        .await;
    // A client that breaks its connection breaks only that.
    drop(served);
}
