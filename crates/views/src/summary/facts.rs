//! Facts that a summary is made of and that the caller has read: ladders with their
//! remedies, rules for requests, the kill switch.

use contract::Stamp;

use super::bound::cut_text;
use super::{SummaryLadder, SummaryRung};
use crate::ladder::LadderView;
use crate::requests::RequestRules;

/// A ladder and the command that mends each of its rungs, lowest first.
#[derive(Debug, Clone)]
pub struct ClimberFacts {
    pub ladder: LadderView,
    pub remedies: Vec<Option<String>>,
}

/// Everything that a summary needs beside ledger and bundles.
#[derive(Debug)]
pub struct SummaryFacts<'a> {
    pub climbers: Vec<ClimberFacts>,
    pub rules: &'a RequestRules<'a>,
    /// Text of the kill switch while it is set.
    pub halted: Option<String>,
    pub now: Stamp,
}

impl ClimberFacts {
    /// The ladder as the document has it.
    pub(super) fn summarize(&self) -> SummaryLadder {
        let rungs = self.ladder.rungs.iter().enumerate().map(|(index, rung)| SummaryRung {
            stage: rung.stage,
            name: rung.stage.name().to_owned(),
            status: rung.status,
            missing: rung.gap.as_ref().map(|gap| cut_text(&gap.sentence())),
            remedy: self.remedies.get(index).cloned().flatten().map(|remedy| cut_text(&remedy)),
        });
        SummaryLadder {
            engine: cut_text(&self.ladder.engine),
            source_id: self.ladder.source_id.as_deref().map(cut_text),
            model: self.ladder.model.as_ref().map(|pair| cut_text(&pair.to_string())),
            rungs: rungs.collect(),
        }
    }
}
