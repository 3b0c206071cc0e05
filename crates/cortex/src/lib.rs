//! Records that a person writes and signs, and the signers whose signatures count: places,
//! strict loading, signature checks, approval policies, lists and drafts. The shapes of
//! records are in `contract::record`.
//!
//! Reads files and decides nothing: a loaded record is a fact that the gates judge. Writes
//! nothing but drafts, and no draft over a record. Times are given.

mod check;
mod draft;
mod load;
mod model;
mod people;
mod places;
mod policy;
mod rows;
mod signers;
mod source;
mod target;

pub use check::{CheckRecordError, GoodFor, SignableRecord, check_record, read_signable};
pub use draft::{
    SourceDraftFacts, WriteDraftError, draft_model_admission, draft_source_admission, draft_target_admission,
    source_draft_path, write_model_draft, write_source_draft, write_target_draft,
};
pub use model::{load_model_admission, load_provider_decision};
pub use people::{CompromisedKey, CompromisedKeys, CompromisedVersion, PersonSigners};
pub use places::RecordPlaces;
pub use policy::{LoadPolicyError, load_approval_policy};
pub use rows::{
    ListedKind, RecordRow, check_model_admission, check_source_admission, check_target_admission, list_records,
};
pub use signers::{RECORD_NAMESPACE, RecordSigners};
pub use source::load_source_admission;
pub use target::load_target_admission;
