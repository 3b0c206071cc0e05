//! Every question that can be asked of a ledger and its bundles, as serialisable structs.
//! Command line and web surface ask here.
//!
//! A view only reads: it seals, recovers and repairs nothing. It opens nothing for writing but the cache in which `Bundles` keeps bundles
//! of other homes, where homes share an object store.
//! A run whose process died stays as it is and is shown as interrupted; recovery is a
//! separate act of the caller. Times are given.

mod compare;
mod cursor;
mod events;
mod find;
mod imported;
mod key_use;
mod ladder;
mod last_run;
mod live;
mod outcome;
mod query_words;
mod queue;
mod requests;
mod run;
mod run_walk;
mod runs;
mod spend;
mod summary;
mod tally;
mod transcript;
mod verify;

use std::path::PathBuf;
use std::sync::Arc;

use contract::Digest;
use evidence::PublicKey;
use ledger::{Bundles, Ledger};

pub use compare::{Lane, LaneComparison, LaneUse, compare_runs, join_statuses};
pub use cursor::ParseCursorError;
pub use events::{EventsRead, ReadEventsError};
pub use find::{BindRunError, FindRunError, FoundRun, asked_run};
pub use imported::ImportedRun;
pub use key_use::{KeyUse, KeyUseEntry};
pub use ladder::{
    CountedOutcome, LadderView, OwnedPasses, ProvenRun, RunCount, Rung, RungGap, RungIdentity, RungProof, RungRun,
    RungSource, RungStatus, RungTerms, WorkerKey, WorkerKeys, bundle_schema, draw_ladder, verify_run,
};
pub use live::{LastEvent, LeaseView, LiveRun, Liveness, OpenRunNames, RunPhase};
pub use outcome::{RunAnswer, read_answer};
pub use query_words::ParseQueryError;
pub use queue::{FindQueuedError, QueueRow, QueueView};
pub use requests::{
    ApprovalTally, FindRequestError, ListRequestsError, RequestDetail, RequestPage, RequestQuery, RequestRecord,
    RequestRules, RequestState, RequestSummary, SignedDocument, count_approvals, find_approved_before, find_consumer,
    find_request, summarize_request,
};
pub use run::{CollectedRun, RunView, SealedRun, ViewRunError};
pub use runs::{CollectedBundle, ListRunsError, RunOrder, RunPage, RunQuery, RunSummary};
pub use spend::{CountedAccounts, ModelAccount, SpendRow, ViewSpendError, count_accounts};
pub use summary::{
    BlockedLane, CandidateDefault, ClimberFacts, ComposeSummaryError, ControlSummary, GovernedExecution,
    LARGEST_SUMMARY, SUMMARY_FILE, SummaryFacts, SummaryHealth, SummaryLadder, SummaryPacket, SummaryProblem,
    SummaryRung, check_summary,
};
pub use tally::{RunTally, VerdictCount};
pub use transcript::{EntryWord, ReadTranscriptError, RefusedAct, Transcript, TranscriptEntry};
pub use verify::{VerifyMemo, VerifyResult, VerifyRunError};

/// Home that is read.
#[derive(Debug)]
pub struct ViewedHome {
    /// Opened read-only; `None` where nothing was ever recorded.
    pub ledger: Option<Ledger>,
    pub bundles: Bundles,
    /// The folder with the drafts of live runs, each locked by its process.
    pub active: PathBuf,
    /// This home as leases name their owner; only where other homes share the ledger.
    pub shared_as: Option<Digest>,
}

/// The questions. One value is for one thread at a time, as its ledger is.
#[derive(Debug)]
pub struct Views {
    home: ViewedHome,
    keys: Vec<PublicKey>,
    memo: Arc<VerifyMemo>,
}

impl Views {
    /// Views that trust no key yet, so that no bundle verifies.
    pub fn new(home: ViewedHome) -> Self {
        Self { home, keys: Vec::new(), memo: Arc::default() }
    }

    /// Views for which bundles may be signed by these keys.
    #[must_use]
    pub fn trusting_keys(self, keys: Vec<PublicKey>) -> Self {
        // Results by other keys do not hold for these.
        Self { keys, memo: Arc::default(), ..self }
    }

    /// Views that share the results of verifications with others of the same home and keys.
    #[must_use]
    pub fn sharing_memo(self, memo: Arc<VerifyMemo>) -> Self {
        Self { memo, ..self }
    }

    /// Folders of bundles, for callers that need their paths.
    pub fn bundles(&self) -> &Bundles {
        &self.home.bundles
    }

    fn ledger(&self) -> Option<&Ledger> {
        self.home.ledger.as_ref()
    }
}
