//! Evidence of items: what it names has to exist and, for a bundle, to verify. The caller answers
//! about bundles and commits.

mod pieces;

use crate::board::{BOARD, BoardItem, EvidenceKind, WorkStatus, Workboard};
use crate::check_rule::CheckRule;
use crate::files::WorkspaceFiles;
use crate::finding::Finding;
use crate::templates::PROTOCOLS;

/// A bundle that an item names, as the ledger and the bundle itself have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundleFact {
    /// It verifies, and this is what its statement says.
    Verified {
        run_id: String,
        work_id: Option<String>,
        is_governed: bool,
        has_passed: bool,
        attestation_sha256: String,
    },
    /// It is here and does not verify.
    NotVerified(String),
    /// `cto gc` removed it.
    Collected(String),
    /// Nothing is known by that name.
    Unknown(String),
    /// A folder of an older harness, without attestation; the problem of its digests, if
    /// there is one.
    Legacy(Option<String>),
}

/// A commit that an item names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFact {
    Found,
    /// Not in the workspace's own repository; it may be in another one.
    NotHere,
    /// The workspace lies in no repository that can be read.
    Unreadable,
}

/// A validator that an item names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidatorFact {
    Passed,
    Failed,
    /// The settings have it, and nobody has run it yet: pages run nothing.
    NotRun,
    /// The settings have none by that name.
    Unknown,
}

/// Answers about evidence that lies outside of the workspace.
pub trait EvidenceSource {
    fn find_bundle(&self, reference: &str) -> BundleFact;
    fn find_commit(&self, commit: &str) -> CommitFact;
    fn find_validator(&self, name: &str) -> ValidatorFact;

    /// Records as the workspace's history had them before its first `cto init`, by path. Nobody can write them afterwards, as a day in a
    /// document can be. Empty where there is no such history.
    fn read_earlier_records(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Looks at many commits at once, so that each answer afterwards is cheap.
    fn prepare_commits(&self, _commits: &[&str]) {}
}

/// Knows no bundle, no commit and no validator.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvidenceSource;

impl EvidenceSource for NoEvidenceSource {
    fn find_bundle(&self, _: &str) -> BundleFact {
        BundleFact::Unknown("there is no ledger to ask".to_owned())
    }

    fn find_commit(&self, _: &str) -> CommitFact {
        CommitFact::Unreadable
    }

    fn find_validator(&self, _: &str) -> ValidatorFact {
        ValidatorFact::Unknown
    }
}

/// Weight of a piece of evidence after it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PieceWeight {
    /// It does not hold.
    Refused,
    /// Nothing speaks against it, and nothing of it can be verified here.
    Named,
    /// It is here and was verified.
    Verified,
    /// A governed bundle of the item that verifies.
    Governed,
}

/// Everything that evidence is judged by.
#[derive(Clone, Copy)]
pub(crate) struct EvidenceScene<'a> {
    pub(crate) board: &'a Workboard,
    pub(crate) files: &'a WorkspaceFiles,
    pub(crate) source: &'a dyn EvidenceSource,
}

impl EvidenceScene<'_> {
    /// Checks the evidence of a validated item. Items that are older than the workspace may
    /// rest on what cannot be verified any more, which is advice.
    pub(crate) fn check_evidence(&self, item: &BoardItem, is_older: bool, found: &mut Vec<Finding>) {
        let place = (item.spans.status.line, item.spans.status.column);
        if item.evidence.is_empty() && item.has_broken_evidence {
            return;
        }
        if item.evidence.is_empty() {
            return found.push(evidence_missing(item));
        }
        let weights: Vec<PieceWeight> =
            item.evidence.iter().map(|piece| self.check_piece(item, piece, found)).collect();
        let heaviest = weights.iter().max().copied().unwrap_or(PieceWeight::Refused);
        if item.claims_execution && heaviest != PieceWeight::Governed {
            let message = format!("{} claims an execution and no governed bundle of it holds", item.id);
            let remedy = format!("name the bundle of a governed run made with --work {}", item.id);
            found.push(Finding::at_place(BOARD, place, CheckRule::ExecutionWithoutBundle, message, remedy));
        } else if heaviest < PieceWeight::Verified && !weights.contains(&PieceWeight::Refused) {
            let finding = evidence_unverified(item);
            found.push(if is_older { finding.as_advice() } else { finding });
        }
    }

    /// Checks what a moved item rests on: each of the last `given` pieces, and that one of
    /// all its pieces was verified.
    fn check_moved(&self, item: &BoardItem, given: usize, found: &mut Vec<Finding>) {
        let first = item.evidence.len().saturating_sub(given);
        let (attached, new) = item.evidence.split_at(first);
        let mut passed_over = Vec::new();
        let weights = attached.iter().map(|piece| self.check_piece(item, piece, &mut passed_over));
        let attached = weights.max();
        let new = new.iter().map(|piece| self.check_piece(item, piece, found)).max();
        if item.evidence.is_empty() {
            found.push(evidence_missing(item));
        } else if attached.max(new).is_none_or(|heaviest| heaviest < PieceWeight::Verified) {
            found.push(evidence_unverified(item));
        }
    }
}

/// Findings about a move that `board_text` is the result of: the last `given` pieces of the
/// item came with it. A status changes only with evidence that holds, whichever it is.
pub fn check_move(files: &WorkspaceFiles, source: &dyn EvidenceSource, id: &str, given: usize) -> Vec<Finding> {
    let board = Workboard::read_board(files.text_of(BOARD).unwrap_or_default());
    let scene = EvidenceScene { board: &board, files, source };
    let mut found = Vec::new();
    if let Some(item) = board.find_item(id) {
        scene.check_moved(item, given, &mut found);
    }
    found
}

fn evidence_missing(item: &BoardItem) -> Finding {
    let place = (item.spans.status.line, item.spans.status.column);
    let status = item.status.map_or("-", WorkStatus::as_str);
    let message = format!("{} is {status} and names no evidence", item.id);
    let remedy = format!("cto work status {} {status} --evidence KIND:REF", item.id);
    Finding::at_place(BOARD, place, CheckRule::EvidenceMissing, message, remedy)
}

fn evidence_unverified(item: &BoardItem) -> Finding {
    let place = (item.spans.status.line, item.spans.status.column);
    let message = format!("nothing that {} names as evidence can be verified here", item.id);
    let remedy = "add a bundle, a document or a commit of this workspace, or a validated item";
    Finding::at_place(BOARD, place, CheckRule::EvidenceUnverified, message, remedy)
}

/// Commits of a reference: an id with or without its subject, or a range.
pub(crate) fn split_commits(text: &str) -> Option<Vec<&str>> {
    let word = text.split_whitespace().next()?.trim_matches(['`', '.', ',']);
    let parts: Vec<&str> = word.split("...").flat_map(|part| part.split("..")).collect();
    let is_commit = |part: &&str| {
        (7..=40).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    (parts.len() <= 2 && parts.iter().all(is_commit)).then_some(parts)
}

/// Path of a file that an item names, below the workspace or beside the protocols.
pub fn resolve_artifact(files: &WorkspaceFiles, name: &str) -> Option<String> {
    let bare = name.trim().trim_matches('`').trim_start_matches("./");
    let inside = files.path_inside(bare);
    let bare = inside.as_deref().unwrap_or(bare);
    let bare = bare.split('#').next().unwrap_or(bare);
    let tries = [bare.to_owned(), format!("{PROTOCOLS}/{bare}")];
    tries.into_iter().find(|path| !path.is_empty() && files.has_path(path))
}

/// Kind of evidence that a reference looks like.
pub(crate) fn guess_kind(reference: &str) -> EvidenceKind {
    match () {
        () if contract::WorkId::try_from(reference.to_owned()).is_ok() => EvidenceKind::Work,
        () if split_commits(reference).is_some() => EvidenceKind::Commit,
        () if reference.starts_with('/') || reference.contains("://") => EvidenceKind::External,
        () if contract::RunId::try_from(reference.to_owned()).is_ok() || reference.contains("harness-runs/") => {
            EvidenceKind::Bundle
        }
        () => EvidenceKind::Document,
    }
}
