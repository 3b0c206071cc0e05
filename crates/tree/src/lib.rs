//! Raw trees: the harness-owned object store, capture of a hostile workspace, tree-to-tree
//! patch, reading a hostile source repository, putting one commit into one.
//!
//! The only code that runs `git` and the only code that meets a hostile repository. No git
//! child ever has its `GIT_DIR` inside a repository that somebody else wrote, no symlink is
//! followed, no attribute or filter touches a byte. It knows no domain type, prints nothing
//! and reads no environment.

mod capture;
mod error;
mod object;
mod oid;
mod patch;
mod source;
mod source_problem;
mod store;
mod worktree;

pub use capture::claimed::{FoundCommit, find_commit, find_commit_in_layer};
pub use capture::committed::{Committed, committed_since};
pub use capture::{Capture, CaptureLimits, LowerLayers, RefusedPath, RefusedWhy, capture, capture_layer};
pub use error::{GitOutcome, Limit, TreeError};
pub use object::commit::{Commit, CommitSpec};
pub use object::listing::{Listing, ListingEntry, PathChange, PathMode, changes};
pub use object::name::{folders_above, folds_to_git};
pub use oid::{Oid, ParseOidError};
pub use patch::Proof;
pub use patch::plain::{PlainFile, plain_patch};
pub use source::land::{BranchName, BranchNameProblem, Forwarding, Landing, Removal, UsedMark};
pub use source::{
    EarlierFile, GitSettings, ListedWorktree, References, RepositoryPlace, SourceBaseline, SourceDigest,
    SourceRepository, SourceStatus, digest_references, folder_digest, operator_settings,
};
pub use source_problem::SourceProblem;
pub use store::ObjectDatabase;
pub use store::batch::{Absent, AbsentWhy, BlobReader, absent_content};
pub use store::git::{Git, GitVersion};
pub use worktree::checkout::{Checkout, checkout};
pub use worktree::ignore::ignored;
pub use worktree::manifest::Manifest;
pub use worktree::materialise::{FileAge, TREE_TIME, materialise, materialise_aged, rematerialise_aged};
pub use worktree::work_repository::{Author, work_repository};
