//! Evidence of items: what it names has to exist and, for a bundle, to verify. Whoever asks
//! answers about bundles and commits.

use crate::board::{BOARD, BoardEvidence, BoardItem, EvidenceKind, WorkStatus, Workboard};
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

/// Answers about evidence that lies outside of the workspace.
pub trait EvidenceSource {
    fn find_bundle(&self, reference: &str) -> BundleFact;
    fn find_commit(&self, commit: &str) -> CommitFact;
}

/// Knows no bundle and no commit.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvidenceSource;

impl EvidenceSource for NoEvidenceSource {
    fn find_bundle(&self, _: &str) -> BundleFact {
        BundleFact::Unknown("there is no ledger to ask".to_owned())
    }

    fn find_commit(&self, _: &str) -> CommitFact {
        CommitFact::Unreadable
    }
}

/// Checks the evidence of a validated item.
pub(crate) fn check_evidence(
    item: &BoardItem,
    board: &Workboard,
    files: &WorkspaceFiles,
    source: &dyn EvidenceSource,
    found: &mut Vec<Finding>,
) {
    let place = (item.spans.status.line, item.spans.status.column);
    if item.evidence.is_empty() && item.has_broken_evidence {
        return;
    }
    if item.evidence.is_empty() {
        let message = format!("{} is validated and names no evidence", item.id);
        let remedy = format!("cto work status {} validated --evidence KIND:REF", item.id);
        return found.push(Finding::at(BOARD, place, CheckRule::EvidenceMissing, message, remedy));
    }
    let mut governed = false;
    for piece in &item.evidence {
        governed |= check_piece(item, piece, board, files, source, found);
    }
    if item.claims_execution && !governed {
        let message = format!("{} claims an execution and no governed bundle of it holds", item.id);
        let remedy = format!("name the bundle of a governed run made with --work {}", item.id);
        found.push(Finding::at(BOARD, place, CheckRule::ExecutionWithoutBundle, message, remedy));
    }
}

/// Checks one piece; true if it is a governed bundle that holds.
fn check_piece(
    item: &BoardItem,
    piece: &BoardEvidence,
    board: &Workboard,
    files: &WorkspaceFiles,
    source: &dyn EvidenceSource,
    found: &mut Vec<Finding>,
) -> bool {
    let place = (piece.span.line, piece.span.column);
    let mut note = |rule: CheckRule, message: String, remedy: &str| {
        found.push(Finding::at(BOARD, place, rule, message, remedy));
    };
    let (id, name) = (&item.id, &piece.reference);
    match piece.kind.unwrap_or_else(|| guess_kind(name)) {
        EvidenceKind::Bundle => return check_bundle(item, piece, source, found),
        EvidenceKind::Document => check_document(item, piece, files, found),
        EvidenceKind::Commit => check_commit(item, piece, source, found),
        EvidenceKind::Work => match board.item(name).map(|other| other.status) {
            Some(Some(WorkStatus::Validated)) => {}
            Some(_) => note(
                CheckRule::EvidenceWork,
                format!("{id} rests on {name}, which is not validated"),
                "validate that item first",
            ),
            None => note(
                CheckRule::EvidenceWork,
                format!("{id} rests on {name}, which is not on the board"),
                "name an item of the board",
            ),
        },
        EvidenceKind::Validator | EvidenceKind::External => {}
    }
    if piece.kind.is_none() {
        let message = format!("evidence of {id} has no kind");
        let remedy = "write {kind: ..., ref: ...}; the kind is guessed";
        found.push(Finding::at(BOARD, place, CheckRule::EvidenceKind, message, remedy).as_advice());
    }
    false
}

fn check_bundle(
    item: &BoardItem,
    piece: &BoardEvidence,
    source: &dyn EvidenceSource,
    found: &mut Vec<Finding>,
) -> bool {
    let place = (piece.span.line, piece.span.column);
    let (id, name) = (&item.id, &piece.reference);
    let refuse = |rule: CheckRule, message: String, remedy: &str| Finding::at(BOARD, place, rule, message, remedy);
    let finding = match source.find_bundle(name) {
        BundleFact::Verified { work_id, is_governed, has_passed, attestation_sha256, .. } => {
            let other = work_id.as_deref() != Some(id.as_str());
            let digest_differs = piece.sha256.as_ref().is_some_and(|sha256| *sha256 != attestation_sha256);
            match (is_governed, other, has_passed, digest_differs) {
                (true, false, true, false) => return true,
                (false, ..) => refuse(
                    CheckRule::EvidencePurpose,
                    format!("the bundle {name} has the purpose `validation` and counts for no item"),
                    "name the bundle of a governed run",
                ),
                (_, true, ..) => refuse(
                    CheckRule::EvidenceOtherWork,
                    format!("the bundle {name} is of {}, not of {id}", work_id.as_deref().unwrap_or("no work item")),
                    "name the bundle of a run made with --work for this item",
                ),
                (_, _, false, _) => refuse(
                    CheckRule::EvidenceNotPass,
                    format!("the bundle {name} is no pass"),
                    "name the bundle of a run that passed",
                ),
                (.., true) => refuse(
                    CheckRule::EvidenceDigest,
                    format!("the attestation of {name} has another digest"),
                    "write the digest that `cto verify` prints, or name the right bundle",
                ),
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
            refuse(CheckRule::EvidenceLegacy, message, "keep it as history, and add the bundle of a governed run")
                .as_advice()
        }
        BundleFact::Legacy(Some(why)) => {
            let message = format!("{name} is a run of an older harness, and its files differ from its report: {why}");
            refuse(CheckRule::EvidenceLegacyBroken, message, "restore the folder as it was")
        }
    };
    found.push(finding);
    false
}

fn check_document(item: &BoardItem, piece: &BoardEvidence, files: &WorkspaceFiles, found: &mut Vec<Finding>) {
    let place = (piece.span.line, piece.span.column);
    let (id, name) = (&item.id, &piece.reference);
    if name.starts_with('/') {
        return;
    }
    let Some(path) = resolve_artifact(files, name) else {
        let message = format!("evidence of {id} does not exist: {name}");
        return found.push(Finding::at(
            BOARD,
            place,
            CheckRule::EvidenceDocument,
            message,
            "name a file of this workspace",
        ));
    };
    let Some(expected) = &piece.sha256 else { return };
    let is_same = files.text_digest(&path).is_some_and(|digest| digest.to_string() == *expected);
    if !is_same {
        let message = format!("{name} is not the document that {id} was validated with: its digest differs");
        found.push(Finding::at(
            BOARD,
            place,
            CheckRule::EvidenceDigest,
            message,
            "review it and write its digest of now",
        ));
    }
}

fn check_commit(item: &BoardItem, piece: &BoardEvidence, source: &dyn EvidenceSource, found: &mut Vec<Finding>) {
    let place = (piece.span.line, piece.span.column);
    let (id, name) = (&item.id, &piece.reference);
    let Some(commits) = split_commits(name) else {
        let message = format!("evidence of {id} is no commit: {name}");
        let remedy = "write 7 to 40 hexadecimal digits, or a range of two such with `..`";
        return found.push(Finding::at(BOARD, place, CheckRule::EvidenceCommit, message, remedy));
    };
    for commit in commits {
        if source.find_commit(commit) == CommitFact::NotHere {
            let message = format!("the commit {commit} of {id} is not in this workspace's repository");
            let remedy = "say in the closeout which repository has it";
            found.push(Finding::at(BOARD, place, CheckRule::EvidenceCommitElsewhere, message, remedy).as_advice());
        }
    }
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
pub(crate) fn resolve_artifact(files: &WorkspaceFiles, name: &str) -> Option<String> {
    let bare = name.trim().trim_matches('`').trim_start_matches("./");
    let bare = bare.split('#').next().unwrap_or(bare);
    let tries = [bare.to_owned(), format!("{PROTOCOLS}/{bare}")];
    tries.into_iter().find(|path| !path.is_empty() && files.has_path(path))
}

fn guess_kind(reference: &str) -> EvidenceKind {
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
