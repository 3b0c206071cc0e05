//! Standing of a run: the blockers against it, the limits of its evidence, and the parts of
//! a bundle that do not apply to it.
//!
//! Every step adds to it through these methods; findings of a step stay in that step's own
//! type.

use std::collections::{BTreeMap, BTreeSet};

use contract::report::{Blocker, sort_blockers};
use contract::{Coverage, EventKind, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::run::notes::{NotedStep, StepFindings};

/// Blockers, coverage and exceptions of a run so far.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunStanding {
    blockers: Vec<Blocker>,
    coverage: BTreeSet<Coverage>,
    not_applicable: BTreeMap<String, String>,
    #[serde(skip)]
    engine_started: bool,
}

impl StepFindings for RunStanding {
    const STEP: NotedStep = NotedStep::Standing;
}

impl RunStanding {
    /// Adds a blocker with the reason's general remedy. One blocker a reason: further texts
    /// join the first.
    pub(crate) fn block_run(&mut self, reason: Reason, text: impl Into<String>, evidence: &str) {
        self.block_with(reason, text, reason.remedy(), evidence);
    }

    /// Adds a blocker. A second one with the same reason extends the first one's text.
    pub(crate) fn block_with(&mut self, reason: Reason, text: impl Into<String>, remedy: &str, evidence: &str) {
        let text = text.into();
        match self.blockers.iter_mut().find(|blocker| blocker.reason == reason) {
            Some(known) => known.text = format!("{}; {text}", known.text),
            None => {
                self.blockers.push(Blocker { reason, text, remedy: remedy.to_owned(), evidence: evidence.to_owned() });
            }
        }
        sort_blockers(&mut self.blockers, self.engine_started);
    }

    /// Blockers, the worst first.
    pub(crate) fn blockers(&self) -> &[Blocker] {
        &self.blockers
    }

    /// True if anything blocks the run.
    pub(crate) fn is_blocked(&self) -> bool {
        !self.blockers.is_empty()
    }

    /// True if this reason blocks the run.
    pub(crate) fn has_reason(&self, reason: Reason) -> bool {
        self.blockers.iter().any(|blocker| blocker.reason == reason)
    }

    /// Reasons of all blockers, in the order in which they came up.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        self.blockers.iter().map(|blocker| blocker.reason).collect()
    }

    /// Says that the evidence does not cover something.
    pub(crate) fn cover(&mut self, code: Coverage) {
        self.coverage.insert(code);
    }

    /// Adds gaps in the proof.
    pub(crate) fn cover_all(&mut self, codes: impl IntoIterator<Item = Coverage>) {
        self.coverage.extend(codes);
    }

    /// Takes a code back that a later step disproved.
    pub(crate) fn remove_code(&mut self, code: Coverage) {
        self.coverage.remove(&code);
    }

    /// Gaps in the proof, sorted.
    pub(crate) fn coverage(&self) -> Vec<Coverage> {
        self.coverage.iter().copied().collect()
    }

    /// Says why a part of a bundle does not apply to this run; the first reason stays.
    pub(crate) fn skip_part(&mut self, part: &str, why: &str) {
        self.not_applicable.entry(part.to_owned()).or_insert_with(|| why.to_owned());
    }

    /// Parts of a bundle that do not apply, each with the reason.
    pub(crate) fn not_applicable(&self) -> &BTreeMap<String, String> {
        &self.not_applicable
    }

    /// Set when the ledger has the intent to start the engine: from then on, blockers sort
    /// by another order.
    pub(crate) fn note_engine_started(&mut self) {
        self.engine_started = true;
    }

    /// True once the engine's process was started.
    pub(crate) fn engine_started(&self) -> bool {
        self.engine_started
    }

    /// `reason` and `reasons` of an event: the blockers whose event this is, worst first.
    pub(crate) fn carried_by(&self, kind: EventKind) -> Map<String, Value> {
        let of_event = self.blockers.iter().filter(|blocker| blocker.reason.event() == kind);
        let codes: Vec<&str> = of_event.map(|blocker| blocker.reason.code()).collect();
        match codes.first() {
            Some(worst) => Map::from_iter([("reason".to_owned(), json!(worst)), ("reasons".to_owned(), json!(codes))]),
            None => Map::new(),
        }
    }
}
