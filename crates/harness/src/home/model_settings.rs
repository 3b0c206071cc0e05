//! Settings about models in the operator's configuration, and the model that a run
//! requests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bridge::{Credential, NetworkClass, Price, ResponsesWire, ShapeShim, UseLimits};
use contract::ModelPair;

/// Meaning of the classes that records name, on this machine. Holds where credentials come
/// from, never one.
#[derive(Debug, Clone, Default)]
pub struct ModelSettings {
    /// Sources of credentials by class.
    pub credential_sources: BTreeMap<String, Credential>,
    /// Network classes by name.
    pub network_classes: BTreeMap<String, NetworkClass>,
    /// Settings of models by `PROVIDER/MODEL`.
    pub models: BTreeMap<String, ModelSetting>,
    /// Limits of all pairs together.
    pub limits_per_day: UseLimits,
}

/// One pair, as this machine reaches it.
#[derive(Debug, Clone, Default)]
pub struct ModelSetting {
    /// Base URL of the provider's API on this machine's network.
    pub endpoint: Option<String>,
    /// Other names of the same model.
    pub aliases: Vec<String>,
    /// Name of the model at the upstream, if it differs from the one that engines request.
    pub sent_as: Option<String>,
    /// Route of responses requests, if the provider has no responses API.
    pub responses: Option<ResponsesWire>,
    /// Price of the pair; without one, limits in money refuse it.
    pub price: Option<Price>,
    /// Certificate authorities of the operator's own, in PEM.
    pub custom_ca: Option<PathBuf>,
    /// Proxy between this machine and the endpoint.
    pub proxy: Option<ProxySetting>,
    /// Declared changes to requests.
    pub shape: ShapeShim,
    /// Daily limits of this pair.
    pub limits_per_day: UseLimits,
}

/// A proxy that tunnels to the endpoint.
#[derive(Debug, Clone)]
pub struct ProxySetting {
    /// `http://HOST:PORT`.
    pub address: String,
    /// Gives `user:password`.
    pub login: Credential,
}

/// Requested model of a run. A request only: the records answer it.
#[derive(Debug, Clone, Default)]
pub struct ModelAsk {
    /// Provider and model; none for an engine that needs no model.
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
