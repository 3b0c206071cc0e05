//! The subject of a document about other bundles, beside the run file that it is sealed by.

use contract::report::EngineFacts;
use contract::{CitedBundle, CollectionKind, ModelPair};

/// Subject of a document: its kind, the bundles that it read, and the engine that it is about.
#[derive(Debug, Clone)]
pub struct DocumentSubject {
    pub kind: CollectionKind,
    pub bundles: Vec<CitedBundle>,
    /// Facts of the engine, as a bundle of its has them; none where the document is about
    /// several or they are not known.
    pub engine: Option<EngineFacts>,
    pub model: Option<ModelPair>,
}

impl DocumentSubject {
    /// Subject of a document that tells nothing of an engine's source.
    pub fn of_kind(kind: CollectionKind, bundles: Vec<CitedBundle>) -> Self {
        Self { kind, bundles, engine: None, model: None }
    }
}
