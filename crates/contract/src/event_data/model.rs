//! Data of events about requests to a model.

use serde::{Deserialize, Serialize};

use crate::model::{RefusalCode, RequestOutcome, RequestPurpose, Served, Tokens, UsageRecord, Wire};
use crate::reason::Reason;

/// Data of `model.requested`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequestedData {
    /// Model that the engine asked for.
    pub model: String,
    pub provider: String,
    pub purpose: RequestPurpose,
    /// Sequence number of the request's record.
    pub request: u64,
    pub wire: Wire,
}

/// Data of `model.answered` and `model.refused`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelEndedData {
    pub detail: Option<String>,
    pub model_answered: Option<String>,
    pub model_asked: Option<String>,
    pub outcome: RequestOutcome,
    pub purpose: RequestPurpose,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    pub refusal: Option<RefusalCode>,
    /// Sequence number of the request's record.
    pub request: u64,
    pub served: Served,
    pub status: Option<u16>,
    pub tokens: Tokens,
    pub total_ms: u64,
    pub wire: Option<Wire>,
}

impl From<&UsageRecord> for ModelEndedData {
    fn from(record: &UsageRecord) -> Self {
        Self {
            detail: record.detail.clone(),
            model_answered: record.model_answered.clone(),
            model_asked: record.model_asked.clone(),
            outcome: record.outcome,
            purpose: record.purpose,
            reason: None,
            refusal: record.refusal,
            request: record.seq,
            served: record.served,
            status: record.status,
            tokens: record.tokens,
            total_ms: record.total_ms,
            wire: record.wire,
        }
    }
}
