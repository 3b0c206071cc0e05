//! A model server that answers from a script: for tests, demonstrations and measuring, never for work.
//!
//! Only built with the feature `scripted`. It speaks the four routes, streaming and not, and misbehaves as the script
//! says. It is plain blocking code on purpose: it shares nothing with what it is there to test.

mod render;
mod script;
mod talk;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use script::{Call, ErrorReply, Raw, Reply, Script, Step, When};
pub use talk::{Asked, converse};

/// What the connections of a server share.
#[derive(Debug)]
pub struct Stage {
    script: Script,
    /// How often each step was used.
    used: Mutex<Vec<u64>>,
    asked: Mutex<Vec<Asked>>,
    stopped: AtomicBool,
}

impl Stage {
    pub fn new(script: Script) -> Self {
        let used = Mutex::new(vec![0; script.steps.len()]);
        Self { script, used, asked: Mutex::default(), stopped: AtomicBool::new(false) }
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, asked: Asked) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// The reply to a request: the first step that fits and is not used up.
    fn reply(&self, asked: &Asked) -> &Reply {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for (step, used) in self.script.steps.iter().zip(used.iter_mut()) {
            if step.when.fits(asked) && step.times.is_none_or(|times| *used < times) {
                *used += 1;
                return &step.reply;
            }
        }
        &self.script.otherwise
    }
}

/// A server at work. Stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedServer {
    stage: Arc<Stage>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Serves a script on a listener.
    pub fn start(listener: TcpListener, script: Script) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stage = Arc::new(Stage::new(script));
        let shared = Arc::clone(&stage);
        let thread = thread::Builder::new().name("scripted".to_owned()).spawn(move || accept(&listener, &shared))?;
        Ok(Self { stage, address, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.stage.asked()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.stage.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn accept(listener: &TcpListener, stage: &Arc<Stage>) {
    while let Ok((stream, _)) = listener.accept() {
        if stage.is_stopped() {
            return;
        }
        let stage = Arc::clone(stage);
        // A thread for each connection, which nobody waits for: a script may hang on purpose.
        let spawned = thread::Builder::new().name("scripted".to_owned()).spawn(move || {
            let _ = stream.set_nodelay(true);
            let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
            let mut stream = stream;
            let _ = converse(&mut stream, &stage);
        });
        drop(spawned);
    }
}
