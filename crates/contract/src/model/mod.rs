//! Models: the requested pair, the state of its admission, and its use in a report.

mod facts;
mod refusal;
mod report;
mod usage;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::admission_status::AdmissionStatus;
pub use crate::model_pair::{ModelPair, ParsePairError};
pub use facts::{AnswerFact, AuthBridgeFact, CredentialFact, EndpointFact, ModelFacts};
pub use refusal::RefusalCode;
pub use report::{ModelCost, ModelReport, ModelUse, ObservedPair, TokenSums};
pub use usage::{
    AnswerShape, Cost, Feature, LARGEST, RequestOutcome, RequestPurpose, Served, ShimApplied, Tokens, UsageRecord,
};

/// A protocol between an engine and a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    ChatCompletions,
    Responses,
    Messages,
}

impl Wire {
    /// Every value, in order.
    pub const ALL: [Self; 3] = [Self::ChatCompletions, Self::Responses, Self::Messages];

    /// The path below the version prefix.
    pub const fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }
}
