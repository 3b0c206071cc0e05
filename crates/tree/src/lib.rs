//! Raw trees: the harness-owned object store, capture of a hostile workspace, tree-to-tree patch, reading a hostile source repository,
//! putting one commit into one.
//!
//! The only code that runs `git` and the only code that meets a hostile repository. No git child ever has its `GIT_DIR` inside a
//! repository that somebody else wrote, no symlink is followed, no attribute or filter touches a byte. It knows no domain type,
//! prints nothing and reads no environment.

mod batch;
mod cache_tree;
mod capture;
mod checkout;
mod claimed;
mod commit;
mod committed;
mod effort;
mod error;
mod fsdir;
mod git;
mod ignore;
mod index;
mod land;
mod lines;
mod link;
mod listing;
mod manifest;
mod materialise;
mod name;
mod object;
mod oid;
mod pack;
mod patch;
mod pending;
mod plain;
mod source;
mod stat;
mod store;
mod talk;
mod whole;
mod work_repository;

pub use batch::{Absent, AbsentWhy, BlobReader, absent_content};
pub use capture::{Beneath, Capture, Limits, Refused, RefusedWhy, capture, capture_layer};
pub use checkout::{Checkout, checkout};
pub use claimed::{FoundCommit, find_commit, find_commit_in_layer};
pub use commit::{Commit, CommitSpec};
pub use committed::{Committed, committed_since};
pub use error::{Limit, TreeError};
pub use git::{Git, GitOutcome, GitVersion};
pub use ignore::ignored;
pub use land::{BranchName, BranchNameProblem, Landing, Removal, UsedMark};
pub use listing::{Change, Entry, Listing, Mode, changes};
pub use manifest::Manifest;
pub use materialise::{FileAge, TREE_TIME, materialise, materialise_aged, rematerialise_aged};
pub use name::{folders_above, folds_to_git};
pub use oid::{Oid, ParseOidError};
pub use patch::Proof;
pub use plain::{PlainFile, plain_patch};
pub use source::{Settings, Source, SourceBaseline, SourceDigest, SourceProblem, SourceStatus, operator_settings};
pub use store::Store;
pub use work_repository::{Author, work_repository};
