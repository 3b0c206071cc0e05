//! What a run finds out about itself, step by step, until it becomes a report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use contract::claim::{Claim, JudgedClaim};
use contract::decision::Profile;
use contract::model::UsageRecord;
use contract::proof::SourceState;
use contract::report::{Blocker, CheckResult, Verification, sort_blockers};
use contract::sandbox::{Attempt, EnvironmentRecord};
use contract::{Coverage, Decision, Digest, EventKind, Reason, Report};
use sandbox::LimitRule;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::posture::Cells;
use crate::proof::Given;

/// What is known of the engine process.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EngineRan {
    pub(crate) started: bool,
    pub(crate) exit: Option<i32>,
    pub(crate) timed_out: bool,
    /// Nobody ended it.
    pub(crate) ended_itself: bool,
    /// Reason for which the harness ended it, where it was done and stayed.
    pub(crate) ended_by_harness: Option<String>,
    /// Remarks of its own log that decide nothing.
    pub(crate) notes: Vec<String>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) argv_sha256: Option<Digest>,
    pub(crate) leftovers: Vec<String>,
    pub(crate) limits: Vec<LimitRule>,
    /// Time it was given, where its own start says so; else it follows from contract and request.
    pub(crate) wall_seconds: Option<u64>,
}

/// Grows while the run goes on; every field stands for something observed by the harness itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Findings {
    #[serde(skip)]
    pub(crate) decision: Option<Decision>,
    pub(crate) blockers: Vec<Blocker>,
    pub(crate) coverage: BTreeSet<Coverage>,
    pub(crate) not_applicable: BTreeMap<String, String>,
    pub(crate) baseline_commit: Option<String>,
    pub(crate) baseline_tree: Option<String>,
    pub(crate) result_tree: Option<String>,
    pub(crate) changed_files: Vec<String>,
    pub(crate) litter: Vec<String>,
    pub(crate) dirty_paths: Vec<String>,
    pub(crate) allowed_writes_passed: bool,
    pub(crate) forbidden_paths_passed: bool,
    pub(crate) engine: EngineRan,
    /// The profile that the events of a dead run say; of a living one the cells tell.
    pub(crate) applied: Option<Profile>,
    pub(crate) cells: Cells,
    /// What was tried in them.
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) environment: EnvironmentRecord,
    /// What the bridge recorded of each model request.
    #[serde(skip)]
    pub(crate) usage: Vec<UsageRecord>,
    /// What the engine says of itself, until it is judged.
    #[serde(skip)]
    pub(crate) claims: Vec<Claim>,
    #[serde(skip)]
    pub(crate) judged_claims: Vec<JudgedClaim>,
    pub(crate) verification: Verification,
    pub(crate) source_mutated: Option<bool>,
    /// What the engine was given, searched for paths of repositories.
    #[serde(skip)]
    pub(crate) given: Option<Given>,
    /// The host's directories that the engine could write to.
    #[serde(skip)]
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) source_before: Option<SourceState>,
    pub(crate) source_after: Option<SourceState>,
    /// The run that this one is held beside.
    #[serde(skip)]
    pub(crate) compared_with: Option<Report>,
    pub(crate) missing_events: Vec<EventKind>,
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            decision: None,
            blockers: Vec::new(),
            coverage: BTreeSet::new(),
            not_applicable: BTreeMap::new(),
            baseline_commit: None,
            baseline_tree: None,
            result_tree: None,
            changed_files: Vec::new(),
            litter: Vec::new(),
            dirty_paths: Vec::new(),
            allowed_writes_passed: true,
            forbidden_paths_passed: true,
            engine: EngineRan::default(),
            applied: None,
            cells: Cells::default(),
            attempts: Vec::new(),
            environment: EnvironmentRecord::default(),
            usage: Vec::new(),
            claims: Vec::new(),
            judged_claims: Vec::new(),
            verification: Verification { passes: Vec::new(), result: CheckResult::NotRun, poisoned: Vec::new() },
            source_mutated: None,
            given: None,
            writable: Vec::new(),
            source_before: None,
            source_after: None,
            compared_with: None,
            missing_events: Vec::new(),
        }
    }
}

impl Findings {
    /// Adds a blocker with the reason's general remedy. One blocker a reason: further texts join the first.
    pub(crate) fn block(&mut self, reason: Reason, text: impl Into<String>, evidence: &str) {
        self.block_with(reason, text, reason.remedy(), evidence);
    }

    pub(crate) fn block_with(&mut self, reason: Reason, text: impl Into<String>, remedy: &str, evidence: &str) {
        let text = text.into();
        match self.blockers.iter_mut().find(|blocker| blocker.reason == reason) {
            Some(known) => known.text = format!("{}; {text}", known.text),
            None => {
                self.blockers.push(Blocker { reason, text, remedy: remedy.to_owned(), evidence: evidence.to_owned() });
            }
        }
        sort_blockers(&mut self.blockers, self.engine.started);
    }

    pub(crate) fn has(&self, reason: Reason) -> bool {
        self.blockers.iter().any(|blocker| blocker.reason == reason)
    }

    pub(crate) fn reasons(&self) -> Vec<Reason> {
        self.blockers.iter().map(|blocker| blocker.reason).collect()
    }

    /// None where nothing was run.
    pub(crate) fn tests_passed(&self) -> Option<bool> {
        match self.verification.result {
            CheckResult::Pass => Some(true),
            CheckResult::Fail => Some(false),
            CheckResult::NotRun => None,
        }
    }

    pub(crate) fn skip(&mut self, what: &str, why: &str) {
        self.not_applicable.entry(what.to_owned()).or_insert_with(|| why.to_owned());
    }

    /// `reason` and `reasons` of an event: the blockers whose event this is, worst first.
    pub(crate) fn carried_by(&self, kind: EventKind) -> Map<String, Value> {
        let codes: Vec<&str> = self
            .blockers
            .iter()
            .filter(|blocker| blocker.reason.event() == kind)
            .map(|blocker| blocker.reason.code())
            .collect();
        match codes.first() {
            Some(worst) => Map::from_iter([("reason".to_owned(), json!(worst)), ("reasons".to_owned(), json!(codes))]),
            None => Map::new(),
        }
    }
}
