//! Checks of one piece of evidence, by its kind.

use super::{
    BundleFact, CommitFact, EvidenceScene, PieceWeight, ValidatorFact, guess_kind, resolve_artifact, split_commits,
};
use crate::board::{BOARD, BoardEvidence, BoardItem, EvidenceKind, WorkStatus};
use crate::check_rule::CheckRule;
use crate::finding::Finding;

impl EvidenceScene<'_> {
    /// Weight of one piece; what speaks against it is added to `found`.
    pub(super) fn check_piece(&self, item: &BoardItem, piece: &BoardEvidence, found: &mut Vec<Finding>) -> PieceWeight {
        let judged = match piece.kind.unwrap_or_else(|| guess_kind(&piece.reference)) {
            EvidenceKind::Bundle => self.judge_bundle(item, piece),
            EvidenceKind::Document => self.judge_document(item, piece),
            EvidenceKind::Commit => self.judge_commits(item, piece, found),
            EvidenceKind::Work => self.judge_work(item, piece),
            EvidenceKind::Validator => self.judge_validator(item, piece),
            EvidenceKind::External => Ok(PieceWeight::Named),
        };
        if piece.kind.is_none() {
            let message = format!("evidence of {} has no kind", item.id);
            let remedy = "write {kind: ..., ref: ...}; the kind is guessed";
            found.push(finding_of(piece, CheckRule::EvidenceKind, message, remedy).as_advice());
        }
        judged.unwrap_or_else(|finding| {
            let is_advice = finding.severity == crate::finding::Severity::Advice;
            found.push(*finding);
            if is_advice { PieceWeight::Named } else { PieceWeight::Refused }
        })
    }

    fn judge_bundle(&self, item: &BoardItem, piece: &BoardEvidence) -> Result<PieceWeight, Box<Finding>> {
        let (id, name) = (&item.id, &piece.reference);
        let refuse = |rule, message: String, remedy: &str| Err(finding_of(piece, rule, message, remedy).into());
        match self.source.find_bundle(name) {
            BundleFact::Verified { work_id, is_governed, has_passed, attestation_sha256, .. } => {
                let has_other_digest = piece.sha256.as_ref().is_some_and(|sha256| *sha256 != attestation_sha256);
                match () {
                    () if !is_governed => refuse(
                        CheckRule::EvidencePurpose,
                        format!("the bundle {name} has the purpose `validation` and counts for no item"),
                        "name the bundle of a governed run",
                    ),
                    () if work_id.as_deref() != Some(id.as_str()) => refuse(
                        CheckRule::EvidenceOtherWork,
                        format!(
                            "the bundle {name} is of {}, not of {id}",
                            work_id.as_deref().unwrap_or("no work item")
                        ),
                        "name the bundle of a run made with --work for this item",
                    ),
                    () if !has_passed && claims_success(item) => refuse(
                        CheckRule::EvidenceNotPass,
                        format!("the bundle {name} is no pass"),
                        "name the bundle of a run that passed",
                    ),
                    () if has_other_digest => refuse(
                        CheckRule::EvidenceDigest,
                        format!("the attestation of {name} has another digest"),
                        "write the digest that `cto verify` prints, or name the right bundle",
                    ),
                    () => Ok(PieceWeight::Governed),
                }
            }
            BundleFact::NotVerified(why) => refuse(
                CheckRule::EvidenceTampered,
                format!("the bundle {name} does not verify: {why}"),
                "restore the bundle or make a new governed run",
            ),
            BundleFact::Collected(why) => refuse(
                CheckRule::EvidenceCollected,
                format!("the bundle {name} was collected: {why}"),
                "import it again, or make a new governed run",
            ),
            BundleFact::Unknown(why) => refuse(
                CheckRule::EvidenceUnknown,
                format!("the bundle {name} is not here: {why}"),
                "import the bundle, or name one that `cto runs` lists",
            ),
            BundleFact::Legacy(None) => {
                let message = format!("{name} is a run of an older harness without attestation; it counts for nothing");
                let remedy = "keep it as history, and add the bundle of a governed run";
                Err(finding_of(piece, CheckRule::EvidenceLegacy, message, remedy).as_advice().into())
            }
            BundleFact::Legacy(Some(why)) => refuse(
                CheckRule::EvidenceLegacyBroken,
                format!("{name} is a run of an older harness, and its files differ from its report: {why}"),
                "restore the folder as it was",
            ),
        }
    }

    /// A document is a plain file of the workspace. An absolute path that leads out of it is
    /// external.
    fn judge_document(&self, item: &BoardItem, piece: &BoardEvidence) -> Result<PieceWeight, Box<Finding>> {
        let (id, name) = (&item.id, &piece.reference);
        if name.starts_with('/') && self.files.path_inside(name).is_none() {
            return Ok(PieceWeight::Named);
        }
        let refuse = |rule, message: String, remedy: &str| Err(finding_of(piece, rule, message, remedy).into());
        let Some(path) = resolve_artifact(self.files, name) else {
            let message = format!("evidence of {id} does not exist: {name}");
            return refuse(CheckRule::EvidenceDocument, message, "name a file of this workspace");
        };
        if path == BOARD {
            let message = format!("{id} rests on the board, which only says what is to be proven");
            return refuse(CheckRule::EvidenceDocument, message, "name what proves the item, not what lists it");
        }
        if !self.files.is_readable_file(&path) {
            let message = format!("evidence of {id} is no plain file that can be read: {name}");
            return refuse(CheckRule::EvidenceDocument, message, "name a file, not a folder or a link");
        }
        let Some(expected) = &piece.sha256 else { return Ok(PieceWeight::Verified) };
        match self.files.file_digest(&path) {
            Some(digest) if digest.to_string() == *expected => Ok(PieceWeight::Verified),
            _ => {
                let message = format!("{name} is not the document that {id} was validated with: its digest differs");
                refuse(CheckRule::EvidenceDigest, message, "review it and write its digest of now")
            }
        }
    }

    fn judge_commits(
        &self,
        item: &BoardItem,
        piece: &BoardEvidence,
        found: &mut Vec<Finding>,
    ) -> Result<PieceWeight, Box<Finding>> {
        let (id, name) = (&item.id, &piece.reference);
        let Some(commits) = split_commits(name) else {
            let message = format!("evidence of {id} is no commit: {name}");
            let remedy = "write 7 to 40 hexadecimal digits, or a range of two such with `..`";
            return Err(finding_of(piece, CheckRule::EvidenceCommit, message, remedy).into());
        };
        let mut weight = PieceWeight::Verified;
        for commit in commits {
            let (rule, message, remedy) = match self.source.find_commit(commit) {
                CommitFact::Found => continue,
                CommitFact::NotHere => (
                    CheckRule::EvidenceCommitElsewhere,
                    format!("the commit {commit} of {id} is not in this workspace's repository"),
                    "say in the closeout which repository has it",
                ),
                CommitFact::Unreadable => (
                    CheckRule::EvidenceCommitUnread,
                    format!("the commit {commit} of {id} cannot be looked for"),
                    "keep the workspace in a git repository that can be read",
                ),
            };
            weight = PieceWeight::Named;
            found.push(finding_of(piece, rule, message, remedy).as_advice());
        }
        Ok(weight)
    }

    fn judge_work(&self, item: &BoardItem, piece: &BoardEvidence) -> Result<PieceWeight, Box<Finding>> {
        let (id, name) = (&item.id, &piece.reference);
        let (message, remedy) = match self.board.find_item(name) {
            Some(other) if other.id == *id => (format!("{id} rests on itself"), "name another item"),
            Some(other) if other.status == Some(WorkStatus::Validated) => return Ok(PieceWeight::Verified),
            Some(_) => (format!("{id} rests on {name}, which is not validated"), "validate that item first"),
            None => (format!("{id} rests on {name}, which is not on the board"), "name an item of the board"),
        };
        Err(finding_of(piece, CheckRule::EvidenceWork, message, remedy).into())
    }

    /// A validator says something of the whole workspace, so that it supports an item and
    /// does not carry it alone.
    fn judge_validator(&self, item: &BoardItem, piece: &BoardEvidence) -> Result<PieceWeight, Box<Finding>> {
        let (id, name) = (&item.id, &piece.reference);
        let (message, remedy) = match self.source.find_validator(name) {
            ValidatorFact::Passed | ValidatorFact::NotRun => return Ok(PieceWeight::Named),
            ValidatorFact::Failed => (
                format!("{id} rests on the validator {name}, which does not pass"),
                "run it yourself with `cto sandbox --` and fix what it says",
            ),
            ValidatorFact::Unknown => (
                format!("{id} rests on the validator {name}, which harness.yaml does not have"),
                "name one of `validators:` in harness.yaml",
            ),
        };
        Err(finding_of(piece, CheckRule::EvidenceValidator, message, remedy).into())
    }
}

/// True of a status that claims that something was reached. A run that failed is no evidence
/// of that; it is one of an item that is blocked.
fn claims_success(item: &BoardItem) -> bool {
    matches!(item.status, Some(WorkStatus::Candidate | WorkStatus::Validated))
}

fn finding_of(piece: &BoardEvidence, rule: CheckRule, message: String, remedy: &str) -> Finding {
    Finding::at_place(BOARD, (piece.span.line, piece.span.column), rule, message, remedy)
}
