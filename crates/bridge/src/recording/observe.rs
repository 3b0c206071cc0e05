//! Reports to the caller that cannot hold up the traffic.
//!
//! A request reserves space for both of its events before it is admitted, so an event is
//! never lost and never waited for in the middle of a request. A slow observer slows new
//! requests, not the ones under way.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use contract::{EventKind, Reason};
use tokio::sync::mpsc::{self, OwnedPermit};

use crate::protocol::usage::{Outcome, Purpose, UsageRecord};
use crate::protocol::wire::Wire;

/// Most events that the observer has not taken yet.
const MOST_WAITING: usize = 4096;

/// A request that was admitted and is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    /// Sequence number of the request's record.
    pub seq: u64,
    pub wire: Wire,
    pub purpose: Purpose,
    pub provider: String,
    /// Model name that the engine asked for.
    pub model: String,
}

/// Report of the bridge to its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelEvent {
    Requested(Requested),
    /// Each request ends with exactly one of these.
    Ended(Box<UsageRecord>),
}

impl ModelEvent {
    /// Kind of the normalized event; none for a request that the bridge answered itself.
    pub fn kind(&self) -> Option<EventKind> {
        match self {
            Self::Requested(_) => Some(EventKind::ModelRequested),
            Self::Ended(record) if record.refused => Some(EventKind::ModelRefused),
            Self::Ended(record) => match record.outcome {
                Outcome::Local => None,
                Outcome::Answered
                | Outcome::UpstreamError
                | Outcome::Failed
                | Outcome::Disconnected
                | Outcome::Refused => Some(EventKind::ModelAnswered),
            },
        }
    }

    /// The blocker the run gets from it.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Requested(_) => None,
            Self::Ended(record) => record.refusal.and_then(crate::protocol::refusal::RefusalCode::reason),
        }
    }
}

/// Receives events, in order, on a thread of its own.
pub type Observer = Box<dyn FnMut(ModelEvent) + Send>;

/// The way to the observer.
#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    sender: mpsc::Sender<ModelEvent>,
}

/// Room for the events of one request.
#[derive(Debug)]
pub(crate) struct EventSpace {
    /// Space for the event about sending; taken when the request is sent.
    pub(crate) requested: Option<OwnedPermit<ModelEvent>>,
    /// Space for the event about the end.
    pub(crate) ended: Option<OwnedPermit<ModelEvent>>,
}

impl Reporter {
    /// Waits for space in the queue; nothing if the observer is gone, and with it the evidence.
    pub(crate) async fn reserve_events(&self) -> Option<EventSpace> {
        let requested = self.sender.clone().reserve_owned().await.ok()?;
        let ended = self.sender.clone().reserve_owned().await.ok()?;
        Some(EventSpace { requested: Some(requested), ended: Some(ended) })
    }
}

/// Waking a thread for each event would cost more than all the rest of a request; under
/// load events come in batches.
const PAUSE: Duration = Duration::from_millis(2);

/// Starts the observer's thread, which ends when every [`Reporter`] is gone and has reported everything.
pub(crate) fn start_observer(mut observer: Observer) -> std::io::Result<(Reporter, JoinHandle<()>)> {
    let (sender, mut receiver) = mpsc::channel(MOST_WAITING);
    let thread = thread::Builder::new().name("bridge-observer".to_owned()).spawn(move || {
        while let Some(event) = receiver.blocking_recv() {
            observer(event);
            while let Ok(event) = receiver.try_recv() {
                observer(event);
            }
            thread::sleep(PAUSE);
        }
    })?;
    Ok((Reporter { sender }, thread))
}
