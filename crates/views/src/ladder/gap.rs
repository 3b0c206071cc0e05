//! The parts of a rung's proof that are missing.

use contract::RunId;
use contract::engine::{RungFact, RungLack, climb_command};
use contract::{Reason, Stage};
use ledger::{RunStatus, SealedReason};

/// A missing part of a rung's proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RungGap {
    /// No pass, and the last run that counts did not pass; or it did not pass after an
    /// earlier pass.
    NotPassed {
        run_id: RunId,
        status: RunStatus,
        reasons: Vec<SealedReason>,
    },
    Lack {
        run_id: RunId,
        lack: RungLack,
    },
    /// A pass proves the rung for another source, model or format.
    OtherIdentity {
        run_id: RunId,
        proven_for: String,
        why: String,
    },
    NoPass,
    /// No source is admitted and none was ever run.
    SourceUnknown,
    /// Stage 6 asks for a second accepted pass of stage 5 on another case and commit.
    SecondOwnedPass,
    /// Stage 6 needs a comparison, and there is none.
    NoComparison,
}

impl RungGap {
    /// Words for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::NotPassed { run_id, status, reasons } => {
                let why = reasons.first().map_or(String::new(), |reason| format!(", {reason}"));
                format!("the last run that counts, {}, is {}{why}", run_id.suffix(), status.as_str())
            }
            Self::Lack { run_id, lack } => lack.sentence(run_id.suffix()),
            Self::OtherIdentity { proven_for, .. } => format!("proof is for {proven_for}"),
            Self::NoPass => "no passing bundle".to_owned(),
            Self::SourceUnknown => "source is not admitted, and no run says which it is".to_owned(),
            Self::SecondOwnedPass => "one more stage 5 pass on another case and commit".to_owned(),
            Self::NoComparison => "a comparison with the other engines, and its acceptance".to_owned(),
        }
    }

    /// Name for machines.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotPassed { .. } => "not_passed",
            Self::Lack { lack, .. } => lack.code(),
            Self::OtherIdentity { .. } => "other_identity",
            Self::NoPass => "no_pass",
            Self::SourceUnknown => "source_unknown",
            Self::SecondOwnedPass => "second_owned_pass",
            Self::NoComparison => "no_comparison",
        }
    }

    /// The run that shows it.
    pub fn run_id(&self) -> Option<&RunId> {
        match self {
            Self::NotPassed { run_id, .. } | Self::Lack { run_id, .. } | Self::OtherIdentity { run_id, .. } => {
                Some(run_id)
            }
            Self::NoPass | Self::SourceUnknown | Self::SecondOwnedPass | Self::NoComparison => None,
        }
    }

    /// The identity that there is proof for instead.
    pub fn proven_for(&self) -> Option<&str> {
        match self {
            Self::OtherIdentity { proven_for, .. } => Some(proven_for),
            _ => None,
        }
    }

    /// Reason code of the gap, if the closed list has one.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::NotPassed { reasons, .. } => reasons.first().and_then(SealedReason::known),
            Self::Lack { lack: RungLack::MissingOperatorOutcome, .. } => Some(Reason::MissingOperatorOutcome),
            Self::SourceUnknown => Some(Reason::SourceNotAdmitted),
            Self::Lack { .. }
            | Self::OtherIdentity { .. }
            | Self::NoPass
            | Self::SecondOwnedPass
            | Self::NoComparison => None,
        }
    }

    /// The one command that mends it; a run at the stage asks for an open gate first.
    pub fn gap_remedy(&self, engine: &str, stage: Stage) -> String {
        match self {
            Self::Lack { run_id, lack } => {
                lack.lack_remedy(run_id.suffix()).unwrap_or_else(|| climb_command(engine, stage))
            }
            Self::SourceUnknown => format!("cto admit source {engine}"),
            Self::SecondOwnedPass => climb_command(engine, Stage::OWNED_REPOSITORY),
            Self::NoComparison => climb_command(engine, Stage::CANDIDATE_DEFAULT),
            Self::NotPassed { .. } | Self::OtherIdentity { .. } | Self::NoPass => climb_command(engine, stage),
        }
    }

    /// The stage whose run, or at stage 6 whose comparison, the remedy asks for; none where
    /// another act mends it.
    pub fn remedied_at(&self, stage: Stage) -> Option<Stage> {
        match self {
            Self::Lack { lack, .. } => lack.lack_remedy("").is_none().then_some(stage),
            Self::NotPassed { .. } | Self::OtherIdentity { .. } | Self::NoPass => Some(stage),
            Self::SecondOwnedPass => Some(Stage::OWNED_REPOSITORY),
            Self::NoComparison => Some(Stage::CANDIDATE_DEFAULT),
            Self::SourceUnknown => None,
        }
    }

    /// The fact that gates see of a rung with this gap.
    pub(super) fn into_fact(self, stage: Stage) -> RungFact {
        match self {
            Self::NotPassed { run_id, .. } => RungFact::Blocked { stage, run_id: run_id.to_string(), lack: None },
            Self::Lack { run_id, lack } => RungFact::Blocked { stage, run_id: run_id.to_string(), lack: Some(lack) },
            Self::OtherIdentity { run_id, why, .. } => RungFact::Stale { stage, run_id: run_id.to_string(), why },
            Self::NoPass | Self::SourceUnknown | Self::SecondOwnedPass | Self::NoComparison => {
                RungFact::NotStarted { stage }
            }
        }
    }
}
