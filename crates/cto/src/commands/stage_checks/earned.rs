//! Passes of an engine in the operator's own home: the rung that its verified bundles earn.
//! Nothing is run for it.

use std::path::PathBuf;

use contract::engine::{RungLack, climb_command};
use contract::{RunId, Stage};
use views::RungStatus;

use super::check::StageCheck;
use crate::context::Context;
use crate::error::CommandError;
use crate::ladder_view::LadderScene;

/// The state of one rung.
#[derive(Debug)]
pub(in crate::commands) struct EarnedRung {
    /// Code of what it lacks; none for one that is validated.
    pub(in crate::commands) gap: Option<&'static str>,
    /// The same in words, with the command that mends it.
    pub(in crate::commands) missing: String,
    /// The run that shows the gap.
    pub(in crate::commands) blamed: Option<RunId>,
    /// Runs that it rests on, newest first, with their bundles.
    pub(in crate::commands) bundles: Vec<(RunId, PathBuf)>,
}

impl EarnedRung {
    /// The check that the rung is earned. A bundle that is there and does not verify is wrong; everything else is
    /// still to be earned.
    pub(in crate::commands) fn check_earned(&self) -> StageCheck {
        match self.gap {
            None => StageCheck::fact(None),
            Some(gap) if gap == RungLack::BundleDamaged.code() => StageCheck::fact(Some(self.missing.clone())),
            Some(_) => StageCheck::blocked_by(self.missing.clone()),
        }
    }
}

/// The rung of an engine in a home: of the model for which it is validated, else of its first.
pub(in crate::commands) fn pass_of_rung(
    context: &Context,
    engine: &str,
    stage: Stage,
) -> Result<EarnedRung, CommandError> {
    if !context.config.home.is_dir() {
        let gap = format!("there is no home at {}", context.config.home.display());
        let missing = describe_gap(engine, stage, Some(gap), Some(climb_command(engine, stage)));
        return Ok(EarnedRung { gap: Some("no_pass"), missing, blamed: None, bundles: Vec::new() });
    }
    let scene = LadderScene::open_scene(context)?;
    let bundles = ledger::Bundles::in_home(&context.config.home);
    let mut first = None;
    for climber in scene.climbers(Some(engine))? {
        let rung = scene.whole_rung(&climber, stage)?;
        let is_validated = rung.status == RungStatus::Validated;
        let gap = rung.gap.as_ref().map(|gap| (gap.code(), gap.sentence()));
        let remedy = scene.rung_remedy(&climber, &rung);
        let found = rung.bundles.iter().map(|proof| (proof.run_id.clone(), bundles.bundle_dir(&proof.run_id)));
        let earned = EarnedRung {
            gap: (!is_validated).then(|| gap.as_ref().map_or("no_pass", |(code, _)| code)),
            missing: describe_gap(engine, stage, gap.map(|(_, text)| text), remedy),
            blamed: rung.gap.as_ref().and_then(|gap| gap.run_id().cloned()),
            bundles: found.collect(),
        };
        if is_validated {
            return Ok(earned);
        }
        let _ = first.get_or_insert(earned);
    }
    first.ok_or_else(|| CommandError::fail(format!("there is no ladder of engine `{engine}`")))
}

fn describe_gap(engine: &str, stage: Stage, gap: Option<String>, remedy: Option<String>) -> String {
    let gap = gap.map_or_else(String::new, |gap| format!(": {gap}"));
    let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
    format!("stage {stage} is not earned by `{engine}` in this home{gap}{remedy}")
}
