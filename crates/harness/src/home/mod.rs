//! Everything that exists before a run: the home's folders and locks, this machine,
//! settings, the task and the request for a run.
//!
//! The lowest folder: it imports no other.

pub(crate) mod ask;
pub(crate) mod baseline;
pub(crate) mod cause;
pub(crate) mod clock;
pub(crate) mod engines;
pub(crate) mod host;
pub(crate) mod instance;
pub(crate) mod layout;
pub(crate) mod lock;
pub(crate) mod model_settings;
pub(crate) mod named_repositories;
pub(crate) mod placement;
pub(crate) mod recorder;
pub(crate) mod replay;
pub(crate) mod reserve;
pub(crate) mod scratch;
pub(crate) mod task;
pub(crate) mod token;
pub(crate) mod trust;
pub(crate) mod watch;
pub(crate) mod worker_places;
