//! Spawn, supervise, limit and reap; knows no domain type, prints nothing, reads no environment.
//!
//! The harness never starts an untrusted program itself. [`Supervisor::run`] starts the harness' own executable again with
//! [`STAGE_ARG`]; there [`stage_main`] becomes the subreaper of everything below it, starts the program, waits for its end,
//! its deadline, a stop or the death of the harness, kills the whole tree and reports. Output goes straight from the program
//! to the harness. A stage that was killed by its program is noticed, and [`sweep`] finds what it left by a marker in the
//! environment. What a profile adds (namespaces, Landlock) happens in the stage, between limits and start.

mod ended;
mod error;
mod kept;
mod limits;
mod lines;
mod procs;
mod program;
mod run;
mod spec;
mod stage;
mod supervisor;
mod sweep;
mod tap;
mod tree;
mod wire;

pub use ended::{Cpu, Ended, How, Leftovers, SpawnFailure, SpawnFailureKind};
pub use error::SuperviseError;
pub use kept::Kept;
pub use limits::{LimitBy, LimitKind, LimitRule, Limits};
pub use lines::{LINE_MAX, Line, Stream};
pub use program::find_program;
pub use spec::{KEEP_DEFAULT, Spec};
pub use stage::stage_main;
pub use supervisor::{STAGE_ARG, Stage, Supervisor, Watch};
pub use sweep::sweep;
