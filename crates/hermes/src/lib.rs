//! The web surface of a home: pages, JSON and live events.
//!
//! Everything that is shown comes through one [`ConsoleSource`], which asks the same
//! queries as the command line. The surface proves nothing, holds no key and starts no run:
//! an operator's act is a method of the source, and there are few.

mod access;
mod api;
mod assets;
mod feeds;
mod guard;
mod live;
mod metrics;
mod open_api;
mod page_cache;
mod pages;
mod respond;
mod route_table;
mod routes;
mod serve;
mod sidecar;
mod source;
mod state;

pub use access::{LoginLink, Role, SessionPolicy};
pub use assets::{PANEL_SCRIPT, PANEL_STYLE};
pub use live::SEND_WITHIN;
pub use open_api::describe_interface;
pub use pages::{RenderRunError, RunFileBundle, render_run_file};
pub use route_table::{PageRoute, ROUTES, RouteAccess};
pub use serve::{Console, ConsoleSettings, LinkMaker, ServeConsoleError, ServerTls};
pub use sidecar::Sidecar;
pub use source::{
    ArtifactFacts, BoardFacts, BoardItemFacts, ConsoleSource, DayCount, EventChunk, FindingFacts, LadderFacts,
    LadderRung, LateStepFacts, LogAsked, LogWindow, OperatorAct, OperatorActKind, OverviewFacts, PassRate, PatchFile,
    PatchLine, PatchLineKind, QueueFacts, QueuedFacts, RecordFacts, RefusalFacts, RequestFacts, RunFacts, RunListFacts,
    RunMark, RunState, RunningFacts, RunsAsked, SealedSize, SessionCheck, SourceError, SourceErrorKind, SpendFacts,
    WaitingFacts, WorkerFacts,
};
