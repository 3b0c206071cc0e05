//! Note of the ledger that an engine is about to start. Recovery makes the decision of a dead run again from its inputs.

use std::borrow::Cow;

use contract::Digest;
use contract::decision::Inputs;
use serde::{Deserialize, Serialize};

/// Body of the entry that starts an engine.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EngineIntent<'a> {
    pub(crate) argv_sha256: Option<Digest>,
    pub(crate) engine: Cow<'a, str>,
    pub(crate) inputs: Option<Cow<'a, Inputs>>,
}
