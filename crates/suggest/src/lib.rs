//! Drafts for a contract from a repository and the operator's machine.
//!
//! The repository is hostile: names and small manifests are read through `untrusted_fs`, no
//! link of it is followed, and nothing is started. Facts about the machine come in as data;
//! its own folders are read by path.

mod contract_draft;
mod environment;
mod machine;
mod node_manager;
mod repository;
mod yaml;

pub use contract_draft::{ContractDraft, ContractWords, EnvironmentVariant, VariantSearch, draft_contract, task_id_of};
pub use environment::{EnvironmentDraft, SuggestEnvironmentError, suggest_environment};
pub use machine::MachineTools;
