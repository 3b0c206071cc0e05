//! Spawn, confine, supervise, limit and reap; knows no domain type, prints nothing, reads
//! no environment.
//!
//! The harness never starts an untrusted program itself. [`Supervisor::run_program`] starts the
//! harness' own executable again with
//! [`STAGE_ARG`]; there [`stage_main`] becomes the subreaper of everything below it, starts the program, waits for its end,
//! its deadline, a stop or the death of the harness, kills the whole tree and reports.
//! Output goes straight from the program to the harness. A stage that was killed by its
//! program is noticed, and `sweep` finds what it left by a marker in the environment.
//!
//! [`Watched`] limits the growth of host directories that the program may write to, by
//! looking at them.
//!
//! With a [`Confinement`] in the spec the stage builds profile `strict` around the program:
//! namespaces, a root of its own, Landlock, a filter of system calls. It tries the forbidden
//! actions from inside, and only then starts the program. `strict/` has the whole of it, `kernel/` the
//! calls for which no safe wrapper exists.

mod applied;
mod confined;
mod confinement;
mod death;
mod ended;
mod error;
mod execution_rules;
mod host;
mod kept;
mod kernel;
mod leaving;
mod limits;
mod lines;
mod procs;
mod program;
mod run;
mod spec;
mod stage;
mod strict;
mod supervisor;
mod sweep;
mod tap;
mod tree;
mod unnamed;
mod usage;
mod watched;
mod wire;

pub use applied::Applied;
pub use confined::Confined;
pub use confinement::{Canary, ConfinedWorkspace, Confinement, HOME_DEFAULT, HostMount, Space, Upper, WorkspaceFrom};
pub use ended::{Cpu, Ended, How, Leftovers, SpawnFailure, SpawnFailureKind};
pub use error::SuperviseError;
pub use execution_rules::{ExecutionRules, Weight};
pub use host::{Availability, CgroupVersion, GroupPlace, HostShortfall, MissingFeature, probe_host};
pub use kept::KeptOutput;
pub use limits::ProcessLimits;
pub use lines::{LINE_MAX, Line, OutputStream};
pub use program::find_program;
pub use sandbox_facts::{
    Access, Execution, FileKind, HeldLimit, LimitBy, LimitKind, Namespace, Ownership, Probe, RecorderKind,
};
pub use spec::{KEEP_DEFAULT, Spec};
pub use stage::stage_main;
pub use strict::{ConfineFailure, ConfineStep};
pub use supervisor::{STAGE_ARG, SandboxStage, Supervisor, SupervisorWatch};
pub use sweep::kill_marked;
pub use watched::Watched;
