//! The nouns of the product: contracts, decisions, events, reports, reasons, statuses.
//!
//! Pure: no clock, no file system, no network. What a person writes is loaded through
//! [`source`]; what the program writes is a serde type here, so that its JSON Schema and
//! its reader are the same declaration.

mod admission_status;
pub mod approval;
pub mod baseline_exam;
mod bounds;
mod canonical;
pub mod case;
pub mod claim;
pub mod collection;
pub mod continuity;
pub mod core_route;
pub mod coverage;
pub mod decision;
pub mod digest;
pub mod engine;
pub mod event;
pub mod event_data;
pub mod exam;
pub mod fake;
pub mod id;
mod identity_check;
pub mod model;
mod model_pair;
mod path_set;
pub mod paths;
pub mod product;
pub mod proof;
pub mod reason;
pub mod record;
pub mod remedy;
pub mod report;
pub mod reverification;
pub mod sandbox;
pub mod schema;
pub mod setup_inputs;
pub mod signer;
pub mod source;
pub mod stage;
pub mod stage6;
pub mod start_detail;
pub mod statement;
pub mod status;
pub mod taken;
pub mod task;
pub mod text;
pub mod time;
mod unkept;
pub mod version;
pub mod worker;

pub use bounds::TaskBounds;
pub use canonical::{from_json, is_canonical};
pub use collection::{CitedBundle, CollectionKind};
pub use coverage::Coverage;
pub use decision::{Decision, Escalation, Gate};
pub use digest::{Digest, canonical_bytes, canonical_digest, canonical_text};
pub use event::{Event, EventKind};
pub use event_data::EventData;
pub use exam::Ecosystem;
pub use id::{RunId, TaskId, WorkId};
pub use model::ModelPair;
pub use reason::Reason;
pub use report::Report;
pub use stage::{MutationMode, Stage};
pub use statement::Statement;
pub use status::{Purpose, Status};
pub use task::TaskContract;
pub use time::Stamp;
pub use unkept::AnyText;

/// Version of the bundle's formats (report, events, decision, statement), as written into
/// each of them.
pub const BUNDLE_VERSION: &str = "1.1";

/// The set of built-in cases that this program ships: a rung that was earned with another
/// one is stale. Raised when a case asks for or checks something else, which a test of
/// `fixtures` finds by its digest; not for a title.
pub const FIXTURE_SET: &str = "r1";

/// The set of every bundle that names none.
pub const FIRST_FIXTURE_SET: &str = "r1";
/// Version of the rules that judge a decision and a verdict; `verify` judges again only with the same rules
/// ([`version::has_these_rules`]).
pub const RULES_VERSION: &str = "1.4";
/// Version of the renderer of `report.md`.
pub const RENDERER_VERSION: &str = "1.3";
