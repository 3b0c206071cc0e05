//! Passes of stage 5, read from verified bundles.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;

use contract::proof::OwnedRepositoryProof;
use contract::stage6::comparison::REPEATABILITY_REQUIRED;
use contract::stage6::refresh::RealOwnedPass;
use contract::{CitedBundle, RunId, Stage};
use evidence::names;
use evidence::verify::VerifiedBundle;
use ledger::{Bundles, EngineIdentity, FoundRuns, ReadLedgerError, RunRow, RunStatus, hold_bundle};
use serde::de::DeserializeOwned;
use serde_json::Value;
use views::{RunCount, RungIdentity, RungRun, RungSource, asked_run};

use super::RefreshError;
use super::facts::{PassBundle, PassBundleFacts, PassFacts};
use super::targets::PassExam;
use crate::after::stage6::secret_fields::find_secret_fields;
use crate::run::harness::Harness;

/// A pass with everything that was read of it. Its bundle is not collected while this value
/// lives.
#[derive(Debug)]
pub(super) struct ReadPass {
    pub(super) facts: PassFacts,
    pub(super) exam: Option<PassExam>,
    pub(super) cited: Option<CitedBundle>,
    pub(super) held: Option<File>,
}

/// Reads runs that a person named.
pub(super) fn read_named(
    harness: &Harness,
    source: &RungSource<'_>,
    rows: &[RunRow],
) -> Result<Vec<ReadPass>, ReadLedgerError> {
    let mut passes = rows.iter().map(|row| read_pass(harness, source, row)).collect::<Result<Vec<_>, _>>()?;
    for pass in &mut passes {
        pass.facts.uncounted = uncounted(source, pass)?;
    }
    Ok(passes)
}

/// The newest counting passes of an identity since its rung was last lost, on different
/// cases and commits, as many as repeatability asks for; newest first. Where too few count,
/// passes that may yet count stand in for them.
pub(super) fn read_counting(
    harness: &Harness,
    source: &RungSource<'_>,
    identity: RungIdentity<'_>,
) -> Result<Vec<ReadPass>, ReadLedgerError> {
    let rung = source.find_whole_rung(identity, Stage::OWNED_REPOSITORY)?;
    let (mut passes, mut cases, mut commits) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for run in order_runs(&rung.runs) {
        if passes.len() as u64 >= REPEATABILITY_REQUIRED {
            break;
        }
        let FoundRuns::One(row) = source.ledger.run_find(run.run_id.as_str())? else { continue };
        let pass = read_pass(harness, source, &row)?;
        let is_new = !cases.contains(&pass.facts.row.case_id) && !commits.contains(&pass.facts.row.target_commit);
        if is_new {
            cases.insert(pass.facts.row.case_id.clone());
            commits.insert(pass.facts.row.target_commit.clone());
            passes.push((run.seq, pass));
        }
    }
    passes.sort_by_key(|(seq, _)| std::cmp::Reverse(*seq));
    Ok(passes.into_iter().map(|(_, pass)| pass).collect())
}

/// Entry that started the newest pass that counts for an identity.
pub(super) fn find_counting(
    source: &RungSource<'_>,
    engine: &str,
    identity: &EngineIdentity,
) -> Result<Option<u64>, ReadLedgerError> {
    let EngineIdentity { source_id, model } = identity;
    let identity = RungIdentity { engine, source_id, pair: model.as_ref() };
    let rung = source.find_whole_rung(identity, Stage::OWNED_REPOSITORY)?;
    Ok(rung.runs.iter().find(|run| run.counts == RunCount::For).map(|run| run.seq))
}

/// Runs of a rung in the order in which they are taken: those that decide it, then the
/// passes that count, then what else is there. A pass that waits for its outcome decides
/// while no pass that counts is newer; one that was rejected, or whose bundle is gone or
/// damaged, is looked at and not passed over.
fn order_runs(runs: &[RungRun]) -> Vec<&RungRun> {
    let counts = |run: &RungRun| run.counts == RunCount::For;
    let first = runs.iter().position(counts).unwrap_or(runs.len());
    let (newer, older) = runs.split_at(first);
    let waits_or_lost = |run: &&RungRun| match run.counts {
        RunCount::Waiting => true,
        RunCount::Against => run.status == RunStatus::Pass,
        RunCount::For | RunCount::NotCounted => false,
    };
    let counting = older.iter().filter(|run| counts(run));
    newer.iter().filter(waits_or_lost).chain(counting).chain(older.iter().filter(waits_or_lost)).collect()
}

/// The row of a run that a person named.
pub(super) fn find_row(source: &RungSource<'_>, reference: &str) -> Result<RunRow, RefreshError> {
    match source.ledger.run_find(reference)? {
        FoundRuns::One(row) if row.status == RunStatus::Running => Err(RefreshError::Unsealed(row.run_id)),
        FoundRuns::One(row) => Ok(*row),
        FoundRuns::None => Err(RefreshError::Unknown(reference.to_owned())),
        FoundRuns::Many(ids) => Err(RefreshError::Ambiguous { reference: reference.to_owned(), count: ids.len() }),
    }
}

/// Reason for which the ladder does not count a pass; none for one that counts or waits.
fn uncounted(source: &RungSource<'_>, pass: &ReadPass) -> Result<Option<String>, ReadLedgerError> {
    let Some(facts) = pass.facts.verified() else { return Ok(None) };
    let pair = facts.identity.model.as_ref();
    let identity = RungIdentity { engine: &facts.engine, source_id: &facts.identity.source_id, pair };
    let rung = source.find_whole_rung(identity, Stage::OWNED_REPOSITORY)?;
    Ok(match rung.runs.iter().find(|run| run.run_id == pass.facts.row.run_id) {
        Some(run) if run.counts == RunCount::NotCounted => {
            Some(run.why.clone().unwrap_or_else(|| "it is not counted".to_owned()))
        }
        Some(_) => None,
        None => Some("a later run ended the rung".to_owned()),
    })
}

fn read_pass(harness: &Harness, source: &RungSource<'_>, row: &RunRow) -> Result<ReadPass, ReadLedgerError> {
    let dir = harness.home.bundles().bundle_dir(&row.run_id);
    let held = hold_bundle(&dir);
    let read = VerifiedBundle::verify_dir(&dir, source.keys, Some(&asked_run(row)))
        .map_err(|error| error.to_string())
        .and_then(|bundle| read_bundle(&bundle));
    let mut pass = match read {
        Ok(read) => read,
        Err(why) => {
            let (run_id, case_id) = (row.run_id.clone(), row.task_id.clone());
            let facts = PassFacts::unusable(run_id, case_id, paths_of(&row.run_id), why);
            ReadPass { facts, exam: None, cited: None, held: None }
        }
    };
    pass.facts.enter_outcome(source.find_outcome(row)?.map(|outcome| (outcome.verdict, outcome.sha256)));
    pass.held = held;
    Ok(pass)
}

fn read_bundle(bundle: &VerifiedBundle) -> Result<ReadPass, String> {
    let report = bundle.report();
    let (run_id, attestation_sha256) = (report.run_id.clone(), bundle.attestation_sha256());
    let raw_report: Value = read_json_document(bundle, names::REPORT)?;
    let has_proof = report.artifact_paths.contains_key(names::STAGE_5);
    let raw_proof: Option<Value> = has_proof.then(|| read_json_document(bundle, names::STAGE_5)).transpose()?;
    let proof: Option<OwnedRepositoryProof> =
        raw_proof.as_ref().map(|raw| serde_json::from_value(raw.clone())).transpose().map_err(|it| it.to_string())?;
    let mut facts = PassBundleFacts::of_report(report, proof.as_ref());
    if !has_proof {
        facts.missing_files.push(names::STAGE_5.to_owned());
    }
    let known = serde_json::to_value(report).map_err(|error| error.to_string())?;
    facts.secret_fields = find_secret_fields(&raw_report, &known);
    if let (Some(raw), Some(proof)) = (&raw_proof, &proof) {
        let known = serde_json::to_value(proof).map_err(|error| error.to_string())?;
        facts.secret_fields.extend(find_secret_fields(raw, &known));
    }
    let (report_path, proof_path) = paths_of(&run_id);
    let row = RealOwnedPass {
        case_id: report.case_id.clone(),
        run_id: run_id.clone(),
        work_id: report.work_id.clone(),
        report: report_path,
        proof: proof_path,
        target_commit: proof.as_ref().and_then(|proof| proof.target_commit.clone()),
        changed_files: proof.as_ref().map_or_else(Vec::new, |proof| proof.paths.changed_files.clone()),
        approval_source: proof.as_ref().map(|proof| proof.approval_source.clone()),
        approval_digest: proof.as_ref().map(|proof| proof.approval_digest),
        approval: proof.as_ref().map(|proof| proof.approval.clone()),
        operator_outcome: report.operator_outcome,
        operator_outcome_sha256: None,
        attestation_sha256: Some(attestation_sha256),
    };
    let exam = match &proof {
        Some(proof) => Some(PassExam {
            run_id: run_id.clone(),
            contract: read_json_document(bundle, names::CONTRACT)?,
            decision: read_json_document(bundle, names::DECISION)?,
            target: PathBuf::from(&proof.target_repository_path),
        }),
        None => None,
    };
    let facts = PassFacts { row, bundle: PassBundle::Verified(Box::new(facts)), uncounted: None };
    let cited = Some(CitedBundle { run_id, attestation_sha256 });
    Ok(ReadPass { facts, exam, cited, held: None })
}

/// Report and proof of a run, relative to the home.
fn paths_of(run_id: &RunId) -> (String, String) {
    let path = |name: &str| format!("{}/{name}", Bundles::bundle_name(run_id));
    (path(names::REPORT), path(names::STAGE_5))
}

/// A document of a verified bundle.
pub(super) fn read_json_document<T: DeserializeOwned>(bundle: &VerifiedBundle, name: &str) -> Result<T, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{name} cannot be read: {error}");
    let bytes = bundle.read_file(name).map_err(|error| failed(&error))?;
    serde_json::from_slice(&bytes).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(suffix: &str, counts: RunCount, status: RunStatus) -> RungRun {
        let run_id = RunId::try_from(format!("20261116T070000Z-r1-{suffix}")).unwrap();
        let (task_id, started_at) = ("r1".to_owned().try_into().unwrap(), "2026-11-16T07:00:00Z".parse().unwrap());
        RungRun { run_id, task_id, status, started_at, seq: 1, counts, why: None }
    }

    #[test]
    fn a_pass_that_waits_is_taken_where_it_decides_or_too_few_count() {
        use RunCount::{Against, For, NotCounted, Waiting};
        use RunStatus::{Blocked, Fail, Pass};
        for (runs, expected) in [
            (&[("a", For, Pass), ("b", Waiting, Pass), ("c", For, Pass)][..], "a c b"),
            (&[("a", Waiting, Pass), ("b", For, Pass), ("c", Waiting, Pass), ("d", For, Pass)], "a b d c"),
            (&[("a", Waiting, Pass)], "a"),
            (&[("a", NotCounted, Blocked), ("b", For, Pass), ("c", Against, Fail)], "b"),
            (&[("a", For, Pass), ("b", Against, Pass)], "a b"),
        ] {
            let runs: Vec<RungRun> =
                runs.iter().map(|(suffix, counts, status)| run(suffix, *counts, *status)).collect();
            let order: Vec<&str> = order_runs(&runs).iter().map(|run| run.run_id.suffix()).collect();
            assert_eq!(order.join(" "), expected, "{runs:?}");
        }
    }
}
