//! What the operator's configuration says of models, and what a run asks for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bridge::{Credential, Limits, NetworkClass, Price, ResponsesWire, ShapeShim};
use contract::ModelPair;

/// Meaning of the classes that records name, on this machine. Holds where credentials come from, never one.
#[derive(Debug, Clone, Default)]
pub struct ModelSettings {
    /// By class.
    pub credential_sources: BTreeMap<String, Credential>,
    /// By class.
    pub network_classes: BTreeMap<String, NetworkClass>,
    /// By `PROVIDER/MODEL`.
    pub models: BTreeMap<String, ModelSetting>,
    /// Of all pairs together.
    pub limits_per_day: Limits,
}

/// One pair, as this machine reaches it.
#[derive(Debug, Clone, Default)]
pub struct ModelSetting {
    pub endpoint: Option<String>,
    /// Other names of the same model.
    pub aliases: Vec<String>,
    /// What the upstream calls it, when that differs from what engines ask for.
    pub sent_as: Option<String>,
    pub responses: Option<ResponsesWire>,
    pub price: Option<Price>,
    /// Certificate authorities of the operator's own, in PEM.
    pub custom_ca: Option<PathBuf>,
    pub proxy: Option<ProxySetting>,
    pub shape: ShapeShim,
    pub limits_per_day: Limits,
}

/// A proxy that tunnels to the endpoint.
#[derive(Debug, Clone)]
pub struct ProxySetting {
    /// `http://HOST:PORT`.
    pub address: String,
    /// Gives `user:password`.
    pub login: Credential,
}

/// What a run asks for: a request, which the records answer.
#[derive(Debug, Clone, Default)]
pub struct ModelAsk {
    pub pair: Option<ModelPair>,
    /// An admission named in the environment, which wins over the workspace's.
    pub admission_file: Option<PathBuf>,
    /// The endpoint of a local provider, from the environment.
    pub local_base_url: Option<String>,
    /// Keep the traffic, redacted, in the bundle.
    pub record: bool,
    /// Answer from this recording and from nothing else.
    pub replay: Option<PathBuf>,
    /// Connect to the endpoint while facts are gathered, and ask nothing: for probes.
    pub reach: bool,
}
