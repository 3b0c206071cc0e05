//! The landing: the verified result of an unblocked run becomes one commit on its branch.
//! It comes between verification and report, and is the only step that writes into a
//! repository that the run did not make.

mod left;
mod problem;
mod put;

use contract::approval::{ApprovalFacts, ApprovalInput, RepositoryKind};
use contract::event::first_missing;
use contract::proof::{LandedCommit, SourceState};
use contract::report::{HitClass, ProtectedRoot};
use contract::{Decision, EventKind, Reason};
use evidence::{names, stop};
use gate::Admission;
use serde_json::json;
use tree::TreeError;

use crate::gather::decide::Preparation;
use crate::gather::protected::{compare_roots, judge_roots};
use crate::judge::copy::LandingRepository;
use crate::run::file::{RunFile, Stopped};
use crate::run::observation::{OBSERVATION_REMEDY, judge_observation};
use crate::seal::verification::{CheckedResult, LandingMaterial, Verified};
use crate::work::engines::{EngineRun, judge_again};
use crate::work::result::TakenResult;

pub(crate) use left::{DeadLanding, finished_landing, settle_landing};
pub use left::{LandingEnd, RecoveredLanding};
use problem::LandChangeError;
use put::Put;
pub(crate) use put::{describe_removal, record_landing};

/// Findings of the landing. Only this folder fills it.
#[derive(Debug, Default)]
pub(crate) struct LandedResult {
    repository: Option<LandedIn>,
    landed: Option<LandedCommit>,
    protected_roots: Vec<ProtectedRoot>,
}

/// The repository of a landing, before and after.
#[derive(Debug, Clone)]
pub(crate) struct LandedIn {
    pub(crate) kind: RepositoryKind,
    pub(crate) before: SourceState,
    pub(crate) after: Option<SourceState>,
    pub(crate) start_clean: bool,
    pub(crate) ending_clean: bool,
}

impl LandedResult {
    /// Repository that the run landed in, or would have.
    pub(crate) fn repository(&self) -> Option<&LandedIn> {
        self.repository.as_ref()
    }

    /// Commit that was made; none if nothing landed.
    pub(crate) fn commit(&self) -> Option<&LandedCommit> {
        self.landed.as_ref()
    }

    /// Protected trees, before and after.
    pub(crate) fn protected_roots(&self) -> &[ProtectedRoot] {
        &self.protected_roots
    }

    /// The landing of a dead run that could not be undone.
    pub(crate) fn recovered(landed: Option<LandedCommit>) -> Self {
        Self { landed, ..Self::default() }
    }
}

/// A verified run whose result is where it belongs: on a branch, or nowhere.
pub(crate) struct Landed<'a> {
    run: RunFile<'a>,
    admission: Admission,
    preparation: Preparation,
    engine: EngineRun,
    taken: TakenResult,
    checked: CheckedResult,
    landing: LandedResult,
}

/// Parts of a landed run.
pub(crate) type LandedParts<'a> =
    (RunFile<'a>, Admission, Preparation, EngineRun, TakenResult, CheckedResult, LandedResult);

impl<'a> Landed<'a> {
    /// Parts for the next step.
    pub(crate) fn into_parts(self) -> LandedParts<'a> {
        (self.run, self.admission, self.preparation, self.engine, self.taken, self.checked, self.landing)
    }
}

impl<'a> Verified<'a> {
    /// Checks protected trees again and judges the engine's own account; then lands the
    /// result, if the stage has a repository for it and nothing blocks the run.
    pub(crate) fn land(self) -> Result<Landed<'a>, Stopped> {
        let (mut run, admission, preparation, engine, taken, checked, material) = self.into_parts();
        let protected_roots = compare_roots(&run, preparation.protected())?;
        let mut landing = LandedResult { protected_roots, ..LandedResult::default() };
        if let Some((reason, text)) = judge_roots(&landing.protected_roots) {
            run.standing.block_run(reason, text, names::REPORT);
        }
        judge_again(&mut run, &engine, preparation.equipped())?;
        if let Some((reason, text)) = judge_observation(run.ask().stage, run.sandboxes().gaps()) {
            run.standing.block_with(reason, text, OBSERVATION_REMEDY, names::SANDBOX);
        }
        if let Some(material) = material {
            // A run that is to end lands nothing, and passes no more.
            run.check_cancelled()?;
            landing.land(&mut run, admission.decision(), &checked, &taken, &material)?;
        }
        Ok(Landed { run, admission, preparation, engine, taken, checked, landing })
    }
}

impl LandedResult {
    fn land(
        &mut self,
        run: &mut RunFile<'_>,
        decision: &Decision,
        checked: &CheckedResult,
        taken: &TakenResult,
        material: &LandingMaterial,
    ) -> Result<(), Stopped> {
        let repository = &material.repository;
        if !stands_anything_against(run) && !taken.changed_files().is_empty() {
            let request = approval_of(decision).and_then(|facts| facts.request.as_ref());
            let Some(request) = request.map(|request| request.request_digest) else {
                return Err(Stopped::Impossible("a run that changes a repository rests on no request"));
            };
            match (Put { run, material, checked, request }).put() {
                Ok(landed) => self.landed = Some(landed),
                Err(LandChangeError::Ended(stopped)) => return Err(stopped),
                Err(problem) => problem.hold_against(run)?,
            }
        }
        stop::pass_place("landing.looking");
        let seen = self.look_again(run, repository)?;
        if let Some(dirty) = judge_end(&seen) {
            self.undo(run, material, dirty)?;
        }
        let traced =
            json!({"after": seen.after, "before": seen.before, "clean": seen.ending_clean, "landed": self.landed});
        run.add_trace("landing.compared", traced)?;
        self.repository = Some(seen);
        Ok(())
    }

    /// The repository after the landing, or after it was left out.
    fn look_again(&self, run: &RunFile<'_>, repository: &LandingRepository) -> Result<LandedIn, Stopped> {
        let LandingRepository { kind, source, before, start_clean, .. } = repository;
        let state = |head: String, sha256: &str| SourceState { head, sha256: sha256.to_owned() };
        let mut seen = LandedIn {
            kind: *kind,
            before: state(source.head_commit().to_string(), &before.sha256),
            after: None,
            start_clean: *start_clean,
            ending_clean: false,
        };
        let scratch = run.work_dir("landing-end")?;
        let look = || -> Result<_, TreeError> {
            let status = source.dirty_paths(&run.harness().git, &scratch)?;
            Ok((source.head_now()?, source.digest(Some(before))?, status))
        };
        match look() {
            // A target that cannot be read any more did not end clean.
            Err(TreeError::Source { .. }) => return Ok(seen),
            Err(own) => return Err(own.into()),
            Ok((head, digest, status)) => {
                let is_forwarded =
                    source.is_bare() && self.landed.as_ref().is_some_and(|it| it.commit == head.to_string());
                let unchanged = digest.sha256 == before.sha256 || is_forwarded;
                seen.ending_clean = unchanged && status.dirty.is_empty() && status.unfinished.is_empty();
                seen.after = Some(state(head.to_string(), &digest.sha256));
            }
        }
        Ok(seen)
    }

    /// Takes a landed commit off its branch again: a run that fails leaves no branch. The
    /// mark of the approval stays.
    fn undo(&mut self, run: &mut RunFile<'_>, material: &LandingMaterial, dirty: String) -> Result<(), Stopped> {
        let text = match self.landed.take() {
            None => dirty,
            Some(landed) => match put::undo(material, &landed, &run.id().mark()) {
                Ok(branch) => format!("{dirty}; branch {branch} was removed again"),
                Err(why) => {
                    let text = format!("{dirty}; branch {} stays: {why}", landed.branch);
                    self.landed = Some(landed);
                    text
                }
            },
        };
        run.standing.block_run(Reason::DirtyEndingTree, text, names::TRACE);
        Ok(())
    }
}

/// Everything that would keep the run from a pass, also what only the report will say.
fn stands_anything_against(run: &RunFile<'_>) -> bool {
    let is_leak = |class: HitClass| matches!(class, HitClass::Leak | HitClass::Canary);
    let mut seen = run.draft.events_seen().to_vec();
    seen.extend([EventKind::SecretScanCompleted, EventKind::RunCompleted]);
    run.standing.is_blocked()
        || run.draft.censor().result(0).hits.iter().any(|hit| is_leak(hit.class))
        || first_missing(&run.task().required_events, &seen).is_some()
}

/// The approval that a decision rests on, where it rests on one.
pub(crate) fn approval_of(decision: &Decision) -> Option<&ApprovalFacts> {
    match &decision.inputs.approval {
        Some(ApprovalInput::Found(facts)) => Some(facts),
        Some(ApprovalInput::Deferred) | None => None,
    }
}

/// Sentence of a repository that did not end as it has to.
fn judge_end(seen: &LandedIn) -> Option<String> {
    let what = match seen.kind {
        RepositoryKind::Disposable => "the disposable repository",
        RepositoryKind::Admitted => "the target repository",
    };
    let text = match &seen.after {
        None => format!("{what} can no longer be read"),
        Some(after) if after.head != seen.before.head => format!("HEAD of {what} moved while the run was going on"),
        Some(_) => format!("{what} is not what it was before the run"),
    };
    (!seen.ending_clean).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_that_does_not_end_clean_fails_the_run() {
        let state = |head: &str| SourceState { head: head.to_owned(), sha256: String::new() };
        let seen = |after: Option<&str>, ending_clean| LandedIn {
            kind: RepositoryKind::Admitted,
            before: state("a"),
            after: after.map(state),
            start_clean: true,
            ending_clean,
        };
        for (after, text) in [
            (None, "the target repository can no longer be read"),
            (Some("b"), "HEAD of the target repository moved while the run was going on"),
            (Some("a"), "the target repository is not what it was before the run"),
        ] {
            assert_eq!(judge_end(&seen(after, false)).as_deref(), Some(text));
        }
        assert_eq!(judge_end(&seen(Some("a"), true)), None, "control");
        assert_eq!(Reason::DirtyEndingTree.code(), "dirty_ending_tree");
    }
}
