//! Records that a person writes and signs, and the signers whose signatures count: places, strict loading, signature checks,
//! lists and drafts. The shapes of records are in `contract::record`.
//!
//! Reads files and decides nothing: a loaded record is a fact that the gates judge. Writes nothing but drafts, and no draft
//! over a record. Times are given.

mod draft;
mod load;
mod model;
mod places;
mod rows;
mod signers;
mod source;

pub use draft::{
    SourceDraftFacts, WriteDraftError, draft_model_admission, draft_source_admission, source_draft_path,
    write_model_draft, write_source_draft,
};
pub use model::{load_model_admission, load_provider_decision};
pub use places::RecordPlaces;
pub use rows::{RecordKind, RecordRow, check_model_admission, check_source_admission, list_records};
pub use signers::RecordSigners;
pub use source::load_source_admission;
