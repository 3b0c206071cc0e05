//! Facts for the gates about a model-backed engine. Names and findings only: neither a
//! credential nor an endpoint.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ModelPair, RefusalCode, Wire};
use crate::record::{FoundRecord, ModelAdmission, ProviderDecision};

/// Phase A: records and settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFacts {
    /// Protocol of the engine.
    pub wire: Wire,
    pub requested: Option<ModelPair>,
    pub admission: FoundRecord<ModelAdmission>,
    pub decision: FoundRecord<ProviderDecision>,
    pub credential: CredentialFact,
    pub endpoint: EndpointFact,
    /// The answers come from a recording; there is no upstream.
    #[serde(default)]
    pub replayed: bool,
    /// Said where the engine does not pass on a login for this provider, so that the bridge
    /// has to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_bridge: Option<AuthBridgeFact>,
}

/// Permission for the bridge to use a login that the engine does not pass on. Both
/// conditions must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthBridgeFact {
    /// The operator switched it on.
    pub switched_on: bool,
    /// The credential of the admission's class comes from a login.
    pub login: bool,
}

/// The credential of the admission's class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CredentialFact {
    /// No admission says which class.
    NotLooked,
    /// The class is not in the user's configuration.
    Unmapped,
    Unavailable {
        why: String,
    },
    Present,
}

/// The endpoint of the pair, and the hosts of the admission's network class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndpointFact {
    /// No admission says which class.
    NotLooked,
    /// The class is not in the user's configuration.
    Unmapped,
    NotConfigured,
    /// It is configured, but cannot be used.
    Unusable {
        why: String,
    },
    /// It is outside of the class's hosts.
    OutsideClass,
    /// A probe could not connect. Only a probe connects while facts are gathered; a run
    /// asks the model itself, later.
    Unreachable {
        why: String,
    },
    Configured,
}

/// Phase C: result of asking the model for a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerFact {
    Content,
    /// Only reasoning arrived.
    ReasoningOnly,
    /// Nothing arrived at all.
    Empty,
    /// The upstream answered with an error.
    UpstreamError {
        status: u16,
    },
    /// The request was refused, or the answer was not one to pass on.
    Refused {
        code: RefusalCode,
    },
    /// Answers come from a recording, so that the model was not asked.
    Replayed,
    /// The bridge could not be started.
    NotAsked {
        why: String,
    },
}
