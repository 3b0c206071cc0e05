//! The report's `model` block: the requested pair, the state of its admission, and the sums
//! of `model-usage.jsonl`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::usage::{Cost, LARGEST, RequestOutcome, RequestPurpose, Served, UsageRecord};
use super::{AdmissionStatus, ModelPair, Wire};
use crate::digest::Digest;
use crate::record::DecisionStatus;

/// `model` in `report.json`; null where the engine needs no model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelReport {
    /// The pair the run asked for. A request, not an authority.
    pub requested: Option<ModelPair>,
    pub admission_status: AdmissionStatus,
    /// Digest of the admission record that was relied on.
    pub admission_sha256: Option<Digest>,
    /// Status of the provider decision, if there is one.
    pub provider_decision: Option<DecisionStatus>,
    /// The pair is the one that the provider decision names as its fallback.
    pub fallback: bool,
    /// Provider name that the engine was configured with. It can differ from the admitted
    /// provider, because the engine only knows the bridge.
    pub runtime_provider: Option<String>,
    pub wire: Wire,
    #[serde(flatten)]
    pub used: ModelUse,
}

/// Sums over the usage records of the bridge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUse {
    pub pairs_observed: Vec<ObservedPair>,
    /// Requests that went to the upstream, those of the preflight included.
    pub requests: u64,
    /// Number of requests that the preflight made, out of `requests`.
    #[serde(default, skip_serializing_if = "is_none_asked")]
    pub probes: u64,
    /// Requests of the engine that the admitted model answered.
    pub answered: u64,
    pub refused: u64,
    /// Answered from a recording; nothing was sent.
    pub replayed: u64,
    pub tokens: TokenSums,
    pub cost: ModelCost,
}

/// Model that was requested and model that answered, by name, with the number of such
/// requests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ObservedPair {
    pub provider: String,
    pub asked: Option<String>,
    pub answered: Option<String>,
    pub served: Served,
    pub requests: u64,
}

/// Sums of what was reported; what was not reported is counted, never taken for zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenSums {
    pub prompt: u64,
    pub completion: u64,
    pub cached: u64,
    pub reasoning: u64,
    /// Requests that were sent and whose use is not known.
    pub unknown_requests: u64,
}

/// Cost in micro-units of the price table's currency. Complete only if both counters are
/// zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCost {
    pub micros: u64,
    /// Requests whose model has no price.
    pub unpriced_requests: u64,
    /// Requests whose model has a price and whose use is not known.
    pub unknown_requests: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields over by reference")]
fn is_none_asked(requests: &u64) -> bool {
    *requests == 0
}

impl ModelUse {
    /// Requests of the engine that went to the upstream.
    pub fn engine_requests(&self) -> u64 {
        self.requests.saturating_sub(self.probes)
    }

    /// Adds up usage records. Requests without a model name count in the sums but form no
    /// pair.
    pub fn of_records<'a>(records: impl IntoIterator<Item = &'a UsageRecord>) -> Self {
        let mut sums = Self::default();
        let mut pairs: BTreeMap<(String, Option<String>, Option<String>, Served), u64> = BTreeMap::new();
        for record in records {
            sums.add_record(record);
            if record.model_asked.is_some() {
                let pair =
                    (record.provider.clone(), record.model_asked.clone(), record.model_answered.clone(), record.served);
                *pairs.entry(pair).or_default() += 1;
            }
        }
        let observed = pairs.into_iter().map(|((provider, asked, answered, served), requests)| ObservedPair {
            provider,
            asked,
            answered,
            served,
            requests,
        });
        sums.pairs_observed = observed.collect();
        sums
    }

    /// Adds to the sums; the pairs are those of [`ModelUse::of_records`].
    pub fn add_record(&mut self, record: &UsageRecord) {
        self.answered += u64::from(record.is_evidence());
        self.refused += u64::from(record.refused);
        self.replayed += u64::from(record.replayed);
        if !record.was_sent() {
            return;
        }
        self.requests += 1;
        self.probes += u64::from(record.purpose == RequestPurpose::Probe);
        let add = |sum: &mut u64, count: Option<u64>| *sum = sum.saturating_add(count.unwrap_or(0)).min(LARGEST);
        let tokens = &record.tokens;
        add(&mut self.tokens.prompt, tokens.prompt);
        add(&mut self.tokens.completion, tokens.completion);
        add(&mut self.tokens.cached, tokens.cached);
        add(&mut self.tokens.reasoning, tokens.reasoning);
        self.tokens.unknown_requests += u64::from(tokens.total().is_none() && answered(record));
        match record.cost_micros {
            Cost::Micros(micros) => add(&mut self.cost.micros, Some(micros)),
            Cost::Unpriced => self.cost.unpriced_requests += 1,
            Cost::Unknown => self.cost.unknown_requests += 1,
            Cost::Nothing => {}
        }
    }

    /// Each name once, in order.
    pub fn asked(&self) -> Vec<String> {
        names(self.pairs_observed.iter().filter_map(|pair| pair.asked.clone()))
    }

    /// Names of the models that answered, sorted and without duplicates.
    pub fn answered_by(&self) -> Vec<String> {
        names(self.pairs_observed.iter().filter_map(|pair| pair.answered.clone()))
    }
}

/// True if a model may have produced output for the request.
fn answered(record: &UsageRecord) -> bool {
    !matches!(record.outcome, RequestOutcome::UpstreamError)
}

fn names(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = all.collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(changed: serde_json::Value) -> UsageRecord {
        let mut record = json!({
            "seq": 0, "time": "2026-01-01T00:00:00.000000Z", "purpose": "engine", "route": "/v1/messages",
            "wire": "messages", "provider": "p", "model_asked": "m", "model_answered": "m", "served": "exact",
            "outcome": "answered", "refused": false, "refusal": null, "detail": null, "status": 200, "streamed": false,
            "replayed": false, "translated": false, "left_out": [], "shim": [], "allowed_features": [],
            "stripped_headers": 0, "stripped_fields": 0,
            "tokens": {"prompt": 10, "completion": 2, "cached": null, "cache_written": null, "reasoning": null},
            "cost_micros": 7, "finish_reason": null,
            "answer": {"content": true, "reasoning": false, "tool_calls": false}, "first_byte_ms": 1, "total_ms": 2,
            "request_bytes": 1, "response_bytes": 1, "request_sha256": null, "response_sha256": null,
        });
        for (key, value) in changed.as_object().unwrap() {
            record[key] = value.clone();
        }
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn sums_tell_unknown_from_zero() {
        let unknown =
            json!({"prompt": null, "completion": null, "cached": null, "cache_written": null, "reasoning": null});
        let records = [
            record(json!({})),
            record(json!({"purpose": "probe"})),
            record(json!({"tokens": unknown, "cost_micros": "unknown"})),
            record(json!({"cost_micros": "unpriced"})),
            record(
                json!({"outcome": "refused", "refused": true, "served": "unknown", "model_asked": "x", "model_answered": null, "cost_micros": 0}),
            ),
            record(json!({"outcome": "local", "model_asked": null})),
        ];
        let used = ModelUse::of_records(&records);
        assert_eq!((used.requests, used.answered, used.refused), (4, 3, 1));
        assert_eq!((used.tokens.prompt, used.tokens.completion, used.tokens.unknown_requests), (30, 6, 1));
        assert_eq!((used.cost.micros, used.cost.unpriced_requests, used.cost.unknown_requests), (14, 1, 1));
        assert_eq!((used.asked(), used.answered_by()), (vec!["m".to_owned(), "x".to_owned()], vec!["m".to_owned()]));
    }
}
