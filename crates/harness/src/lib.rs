//! The spine and what it is made of: workspace, engines, verification, evidence, recovery.
//!
//! Prints nothing and reads no environment: settings come in, events and a sealed bundle go out. The path of data is
//! [`spine::govern`]; every step consumes the one before it and is the only constructor of the next.

mod after;
mod gather;
mod home;
mod judge;
#[cfg(any(must_not_compile = "controls", must_not_compile = "literals", must_not_compile = "steps"))]
mod must_not_compile;
mod run;
mod seal;
mod spine;
mod work;

pub use after::archive::{
    ArchiveManifest, ExportRunError, ExportSource, Exported, ImportArchiveError, Imported, OpenedArchive, TakenIn,
    export_run, import_archive, open_archive,
};
pub use after::audit::{AuditLedgerError, AuditScope, LedgerAudit, ObjectsAudit, audit};
pub use after::collection::{CollectionDocument, CollectionProblem, seal_collection};
pub use after::gc::{Act, CollectError, Kept, Retention, RunFate, Swept, SweptFate, SweptKind, gc};
pub use after::lanes::{
    Matrix, MatrixRow, PassHat, RepeatMeasures, Repetition, WorkerPanicked, run_case, run_in_parallel, run_lane,
    seal_matrix, seal_race, seal_repetition,
};
pub use after::pack::{
    PackError, PackManifest, Packed, SenderTrust, SentTrust, Unpacked, check_pack, unpack_pack, write_pack,
};
pub use after::person_statements::{
    PersonSignature, RecordStatementError, draft_outcome, draft_rollback, find_outcome_problem, record_outcome,
    record_rollback,
};
pub use after::recover::{Recovered, left_work, recover_dead};
pub use after::reverify::{FindBaselineError, Reverified, ReverifyError, reverify_bundle};
pub use after::rollback::{LandedChange, RollBackError, RolledBack, roll_back};
pub use after::scan_files::{FileSecret, ScannedFiles, UnscannedFile, scan_files};
pub use after::stage6::comparison::{Candidate, CompareCandidateError, compare_candidate};
pub use after::stage6::refresh::{RefreshAsk, RefreshError, Refreshed, refresh};
pub use after::take::{TakeAsk, TakeError, TookPatch, take_run};
pub use gather::approval::FindApprovalError;
pub use gather::decide::{DecideAnswer, DecideError, ExamShare, decide_only};
pub use gather::decisions_on_requests::{
    ApprovalWish, OpenRequestError, OpenedRequest, RecordDecisionError, SignedStep, open_request, record_decision,
};
pub use gather::engine::admit::draft_source;
pub use gather::engine::equip::find_engine;
pub use gather::people::{People, Policies, ReadTrustError};
pub use gather::plan::BuildPlanError;
pub use gather::requests::{
    ProposeRequestError, ProposedRequest, RecordRequestError, propose_request, record_request, requests_folder,
};
pub use home::ask::Ask;
pub use home::cause::ErrorCause;
pub use home::clock::{ReadClockError, RunClock};
pub use home::engines::{Engine, EngineConfig, Engines, FAKE, is_built_in};
pub use home::host::{GatherHostError, Tools};
pub use home::layout::{Home, HomePlace, OpenHomeError, read_clock};
pub use home::model_settings::{ModelAsk, ModelSetting, ModelSettings, ProxySetting};
pub use home::named_repositories::NamedRepositories;
pub use home::recorder::execution_rules;
pub use home::replay::{ReadStepsError, recorded_steps};
pub use home::task::{BaselineFile, ContinuedRun, LoadTaskError, Task, TreeOrigin};
pub use home::token::random_token;
pub use home::trust::{
    ChangeTrustError, FindTrustError, TrustEdit, TrustFile, TrustLog, change_trust, find_unlogged_trust,
};
pub use home::watch::{LiveFact, LiveUsage, Quiet, Step, StepReport, StepState, Watch, WatchRun};
pub use home::worker_places::{DrainingWorker, MachinePlace, WorkerPlace};
pub use run::about::DocumentSubject;
pub use run::attached::{AttachedFact, AttachedRun};
pub use run::availability::availability;
pub use run::continuity::{
    ContinueLedgerError, LedgerVouch, SignedContinuity, continue_ledger, draft_continuity, find_discontinuity,
    needs_signed_continuity,
};
pub use run::evidence_store::{CheckEvidenceError, name_rights};
pub use run::file::{OpenRunError, accept_contract, name_queued_run};
pub use run::halt::{Halt, HaltError, HaltSet, Halted, Resumed, halted, lift_halt, set_halt};
pub use run::harness::{Harness, OpenHarnessError};
pub use run::identity::{find_operator, find_owner};
pub use run::lease::ClaimedTurn;
pub use run::look::{Look, LookError, Looked, Shown, look_around};
pub use run::scan::{ContractSecret, redact_shapes};
pub use run::stop_run::ask_run_to_stop;
pub use seal::dead::RecoverError;
pub use seal::landing::{LandingEnd, RecoveredLanding};
pub use spine::{GovernError, RunOutcome, govern, govern_claimed};
pub use testimony::results::list_unloaded;

#[cfg(test)]
mod tests;
