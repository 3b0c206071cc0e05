//! Rows of a validator's document: reports and proofs, of runs that are gone or of bundles
//! in the operator's home.

use std::path::{Path, PathBuf};

use contract::proof::NoTargetInspection;
use contract::{CollectionKind, Reason, Report, RunId, Stage, Status};
use evidence::names;
use serde::Serialize;
use serde_json::Value;

use super::read_document;
use super::trial_home::TrialRun;
use crate::context::Context;
use crate::error::CommandError;
use crate::ladder_view::LadderScene;

/// Proofs by which a bundle of a stage shows its claim.
const PROOFS: [&str; 5] = [names::STAGE_2, names::STAGE_3, names::STAGE_4, names::STAGE_5, COMPARISON];
/// Document that stage 6 rests on, which has a status instead of a flag.
const COMPARISON: &str = CollectionKind::Comparison.file();

/// One report.
#[derive(Debug, Clone, Serialize)]
pub(in crate::commands) struct ReportRow {
    stage: Stage,
    /// `pass`, `baseline`, or the failure class.
    class: String,
    engine: String,
    run_id: RunId,
    status: Status,
    reasons: Vec<Reason>,
    /// Path of the report; absent for a run of a temporary home.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<PathBuf>,
}

/// One proof.
#[derive(Debug, Clone, Serialize)]
pub(in crate::commands) struct ProofRow {
    stage: Stage,
    run_id: RunId,
    pub(super) name: &'static str,
    pub(super) passed: bool,
    /// Path of the proof; absent for a run of a temporary home.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<PathBuf>,
}

impl ReportRow {
    /// Row of a run in a temporary home, whose bundle is gone afterwards.
    pub(super) fn of_trial(stage: Stage, class: &str, report: &Report) -> Self {
        Self {
            stage,
            class: class.to_owned(),
            engine: report.engine.id.clone(),
            run_id: report.run_id.clone(),
            status: report.status,
            reasons: report.blocker_reasons.clone(),
            report: None,
        }
    }

    /// Row of a bundle in the operator's home.
    pub(super) fn of_bundle(stage: Stage, run_id: &RunId, dir: &Path) -> Result<Self, CommandError> {
        let file = dir.join(names::REPORT);
        let report: Report = read_document(&file)?;
        debug_assert_eq!(&report.run_id, run_id);
        Ok(Self { report: Some(file), ..Self::of_trial(stage, "pass", &report) })
    }
}

impl ProofRow {
    /// The proof in a bundle of a trial; one that is not there or cannot be read does not hold.
    pub(super) fn of_trial(stage: Stage, run: &TrialRun, name: &'static str) -> Self {
        let passed = read_document::<Value>(&run.dir.join(name)).is_ok_and(|proof| proof["passed"] == true);
        Self { stage, run_id: run.report.run_id.clone(), name, passed, proof: None }
    }

    /// Rows of the stage proofs that a bundle has.
    pub(super) fn of_bundle(stage: Stage, run_id: &RunId, dir: &Path) -> Result<Vec<Self>, CommandError> {
        let there = PROOFS.into_iter().map(|name| (name, dir.join(name))).filter(|(_, file)| file.is_file());
        there
            .map(|(name, file)| {
                let document = read_document::<Value>(&file)?;
                let passed = if name == COMPARISON { document["status"] == "pass" } else { document["passed"] == true };
                Ok(Self { stage, run_id: run_id.clone(), name, passed, proof: Some(file) })
            })
            .collect()
    }
}

/// The fake engine's run that a pass of stage 2 was compared with.
pub(super) fn baseline_of(home: &Path, bundle: &Path) -> Result<Option<ReportRow>, CommandError> {
    let file = bundle.join(names::STAGE_2);
    if !file.is_file() {
        return Ok(None);
    }
    let proof: NoTargetInspection = read_document(&file)?;
    let compared = proof.compared_with;
    Ok(Some(ReportRow {
        stage: compared.stage,
        class: "baseline".to_owned(),
        engine: compared.engine,
        run_id: compared.run_id,
        status: compared.status,
        reasons: Vec::new(),
        report: Some(home.join(compared.bundle).join(names::REPORT)),
    }))
}

/// Passes of stage 5 and 6 in the operator's home without a signed outcome.
pub(super) fn unanswered(context: &Context, engine: Option<&str>) -> Result<Vec<ReportRow>, CommandError> {
    if !context.config.home.is_dir() {
        return Ok(Vec::new());
    }
    let scene = LadderScene::open_scene(context)?;
    let bundles = ledger::Bundles::in_home(&context.config.home);
    let mut rows = scene.views.list_unanswered(usize::MAX)?;
    rows.retain(|run| engine.is_none_or(|engine| run.engine == engine));
    let missing = rows.into_iter().map(|run| ReportRow {
        stage: run.stage,
        class: "missing-operator-outcome".to_owned(),
        status: Status::Blocked,
        reasons: vec![Reason::MissingOperatorOutcome],
        report: Some(bundles.bundle_dir(&run.run_id).join(names::REPORT)),
        engine: run.engine,
        run_id: run.run_id,
    });
    Ok(missing.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_proof_of_a_bundle_is_listed_with_its_own_verdict() {
        let run_id = RunId::try_from("20260101T000000Z-stage6-candidate-default-a".to_owned()).unwrap();
        for (name, text, expected) in [
            (names::STAGE_5, r#"{"passed": true}"#, Some(true)),
            (names::STAGE_5, r#"{"passed": false, "status": "pass"}"#, Some(false)),
            (COMPARISON, r#"{"status": "pass"}"#, Some(true)),
            (COMPARISON, r#"{"status": "fail", "passed": true}"#, Some(false)),
            ("other.json", r#"{"passed": true}"#, None),
        ] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join(name), text).unwrap();
            let rows = ProofRow::of_bundle(Stage::CANDIDATE_DEFAULT, &run_id, dir.path()).unwrap();
            assert_eq!(rows.first().map(|row| row.passed), expected, "{name} {text}");
        }
    }
}
