//! The spine and what it is made of: workspace, engines, verification, evidence, recovery.
//!
//! Prints nothing and reads no environment: settings come in, events and a sealed bundle go out. The path of data is
//! [`spine::govern`]; every step consumes the one before it and is the only constructor of the next.

mod archive;
mod audit;
mod availability;
mod baseline;
mod bound;
mod cause;
mod claims;
mod clock;
mod collection;
mod decide;
mod engines;
mod environment;
mod exam;
mod gc;
mod halt;
mod harness;
mod home;
mod host;
mod journal;
mod ladder;
mod lanes;
mod lease;
mod look;
mod model;
mod named_repositories;
mod placement;
mod posture;
mod proof;
mod quarters;
mod recorder;
mod recover;
mod replay;
mod report;
mod reserve;
mod result;
mod reverify;
mod run;
mod sandboxes;
mod scan;
mod scan_files;
mod settings;
mod spine;
mod standing;
mod stated;
mod supervise;
mod take;
mod target;
mod task;
mod verification;
mod watch;
mod work;

pub use archive::{
    ExportRunError, ExportSource, Exported, ImportArchiveError, Imported, Manifest, TakenIn, export, import,
    imported_bundle, imported_runs, imported_signer,
};
pub use audit::{AuditLedgerError, LedgerAudit, audit};
pub use availability::availability;
pub use bound::asked_run;
pub use cause::ErrorCause;
pub use clock::{ReadClockError, RunClock};
pub use collection::{Collection, CollectionProblem, seal_collection};
pub use decide::{Answer, Ask, DecideError, ExamFiles, decide};
pub use engines::{Engine, EngineConfig, Engines, FAKE, draft_source, find_engine, is_built_in};
pub use gc::{Act, CollectError, Kept, Retention, RunFate, Stuff, StuffFate, Swept, gc, hold};
pub use halt::{Halt, HaltError, HaltSet, Halted, Resumed, halt, halted, resume};
pub use harness::{Harness, OpenHarnessError};
pub use home::{Home, HomePlace, OpenHomeError};
pub use host::{GatherHostError, Tools};
pub use lanes::{
    Lane, LaneUse, Matrix, MatrixRow, PassHat, RepeatMeasures, Repetition, WorkerPanicked, combine_lanes, run_case,
    run_in_parallel, run_lane, seal_matrix, seal_race, seal_repetition,
};
pub use look::{Look, LookError, Looked, Shown, look_around};
pub use model::{ModelAsk, ModelSetting, ModelSettings, ProxySetting};
pub use named_repositories::NamedRepositories;
pub use recorder::execution_rules;
pub use recover::{RecoverError, Recovered, left_work, recover};
pub use replay::{ReadStepsError, recorded_steps};
pub use reverify::{FindBaselineError, Reverified, ReverifyError, reverify};
pub use run::{OpenRunError, random_token};
pub use scan::ContractSecret;
pub use scan_files::{FileSecret, ScannedFiles, UnreadFile, scan_files};
pub use spine::{GovernError, Outcome, govern};
pub use take::{TakeAsk, TakeError, TookPatch, take};
pub use task::{BaselineFile, LoadTaskError, Origin, Task};
pub use watch::{Quiet, Step, StepState, Told, Watch, WatchRun};
