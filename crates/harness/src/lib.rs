//! The spine and what it is made of: workspace, engines, verification, evidence, recovery.
//!
//! Prints nothing and reads no environment: settings come in, events and a sealed bundle go out. The path of data is
//! [`spine::govern`]; every step consumes the one before it and is the only constructor of the next.

mod availability;
mod canary;
mod claims;
mod clock;
mod collection;
mod decide;
mod engines;
mod environment;
mod exam;
mod findings;
mod home;
mod host;
mod look;
mod model;
mod posture;
mod quarters;
mod recover;
mod report;
mod reserve;
mod result;
mod reverify;
mod run;
mod spine;
mod supervise;
mod target;
mod task;
mod verification;
mod watch;

pub use availability::availability;
pub use clock::{ReadClockError, RunClock};
pub use collection::seal_collection;
pub use decide::{Answer, Ask, DecideError, ExamFiles, decide};
pub use home::{Home, OpenHomeError};
pub use host::{GatherHostError, Tools};
pub use look::{Look, LookError, Looked, look_around};
pub use model::{ModelAsk, ModelSetting, ModelSettings, RecordRow, check_record, list_records};
pub use recover::{RecoverError, Recovered, recover};
pub use reverify::{REVERIFIED, Reverified, ReverifyError, reverify};
pub use run::{Harness, OpenHarnessError, OpenRunError, random_token};
pub use spine::{GovernError, Outcome, govern};
pub use task::{BaselineFile, LoadTaskError, Origin, Task};
pub use watch::{Quiet, Step, StepState, Watch, WatchRun};
