//! Models in the configuration: credential classes, network classes and how pairs are
//! reached. Only the user's own files may say it: a workspace names classes and never what
//! they stand for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use bridge::{Credential, FetchCredentialError, Price, Proxy, ResponsesWire, Secret, ShapeShim, UseLimits};
use contract::ModelPair;
use harness::{EngineConfig, ModelAsk, ModelSetting, ModelSettings, ProxySetting};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{EffectiveSetting, Layer, LayerOf, path_variable, variable};
use crate::credential_source::CredentialSource;
use crate::error::CommandError;

/// One pair, as this machine reaches it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelFile {
    /// `http[s]://HOST[:PORT]/v1`; its host is one of the admission's network class.
    endpoint: Option<String>,
    /// Other names of the same model, good in requests and in answers.
    aliases: Vec<String>,
    /// Name of the model at the upstream, if it differs from the one that engines request.
    sent_as: Option<String>,
    /// Route of the responses wire: `native` or `over_chat`.
    responses: Option<ResponsesWire>,
    price: Option<PriceFile>,
    /// A file with certificate authorities, in PEM, that are trusted beside the system's
    /// for this model alone.
    custom_ca: Option<PathBuf>,
    proxy: Option<ProxyFile>,
    /// Declared changes to requests, so that a reasoning model answers with content.
    shape: ShapeShim,
    /// Limit on the daily use (UTC) of this model, over all runs.
    limits_per_day: UseLimits,
}

/// A proxy that tunnels to the endpoint with CONNECT.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProxyFile {
    /// `http://HOST:PORT`.
    address: String,
    /// Source of `user:password`, if the proxy wants a login.
    #[serde(default)]
    login: Option<CredentialSource>,
}

/// Micro-units of money for a million tokens of each kind.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    prompt: u64,
    completion: u64,
    /// As `prompt` when it is not said.
    #[serde(default)]
    cached: Option<u64>,
    /// As `prompt` when it is not said.
    #[serde(default)]
    cache_written: Option<u64>,
}

impl CredentialSource {
    /// Kind and name, never a value.
    fn shown(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Env(name) => format!("env {name}"),
            Self::File(path) => format!("file {}", path.display()),
            Self::Command(argv) => format!("command {}", argv.first().map_or("", String::as_str)),
            Self::OauthFile(path) => format!("oauth_file {}", path.display()),
        }
    }

    /// Credential for the bridge. Environment and programs are asked at the moment of use.
    pub(crate) fn into_credential(self) -> Credential {
        match self {
            Self::None => Credential::None,
            Self::File(path) => Credential::File(path),
            Self::OauthFile(path) => Credential::OauthFile(path),
            Self::Env(name) => Credential::Asked(Arc::new(move || from_environment(&name))),
            Self::Command(argv) => Credential::Asked(Arc::new(move || from_command(&argv))),
        }
    }
}

fn from_environment(name: &str) -> Result<Secret, FetchCredentialError> {
    let value = variable(name).ok_or_else(|| FetchCredentialError::Source(format!("{name} is not set")))?;
    Ok(Secret::new(value.into_encoded_bytes()))
}

/// The operator's own program, with the operator's own environment. What it says beside the
/// value is not repeated.
#[expect(clippy::disallowed_methods, reason = "the door to the operator's own credential programs")]
fn from_command(argv: &[String]) -> Result<Secret, FetchCredentialError> {
    let failed = |text: &str| FetchCredentialError::Source(text.to_owned());
    let (program, arguments) = argv.split_first().ok_or_else(|| failed("the command is empty"))?;
    let mut command = std::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().map_err(|error| FetchCredentialError::Source(error.kind().to_string()))?;
    if !output.status.success() {
        return Err(failed("the command failed"));
    }
    Ok(Secret::new(output.stdout))
}

/// All layers together; for each name the last layer counts. Nobody else reads what they say about
/// models, so it is moved out.
pub(super) fn resolve_models(
    layers: &mut [Layer],
    settings: &mut Vec<EffectiveSetting>,
) -> Result<ModelSettings, CommandError> {
    let mut models = ModelSettings::default();
    let mut shown = BTreeMap::new();
    for layer in layers {
        refuse_workspace(layer)?;
        let Layer { path, file, .. } = layer;
        let source = path.display().to_string();
        for (class, credential) in std::mem::take(&mut file.credential_sources) {
            shown.insert(format!("credential_sources.{class}"), (credential.shown(), source.clone()));
            models.credential_sources.insert(class, credential.into_credential());
        }
        for (class, network) in std::mem::take(&mut file.network_classes) {
            shown.insert(format!("network_classes.{class}"), (network.hosts.join(" "), source.clone()));
            models.network_classes.insert(class, network);
        }
        if file.limits_per_day != UseLimits::default() {
            shown.insert("limits_per_day".to_owned(), (amounts(file.limits_per_day), source.clone()));
            models.limits_per_day = file.limits_per_day;
        }
        for (name, model) in std::mem::take(&mut file.models) {
            let pair: ModelPair =
                name.parse().map_err(|error| CommandError::usage(format!("{source}: models.{name}: {error}")))?;
            // An endpoint's value is shown nowhere.
            let known = if model.endpoint.is_some() { "has an endpoint" } else { "has no endpoint" };
            shown.insert(format!("models.{pair}"), (known.to_owned(), source.clone()));
            if model.proxy.as_ref().is_some_and(|proxy| Proxy::parse_proxy(&proxy.address, None).is_err()) {
                let message = format!("{source}: models.{name}.proxy: its address is no address of a proxy");
                return Err(CommandError::usage(message).hint("write it as http://HOST:PORT; a login stands apart"));
            }
            models.models.insert(pair.to_string(), setting(pair, model));
        }
    }
    settings.extend(shown.into_iter().map(|(name, (value, source))| EffectiveSetting { name, value, source }));
    Ok(models)
}

fn amounts(UseLimits { requests, tokens, money_micros }: UseLimits) -> String {
    let rows = [("requests", requests), ("tokens", tokens), ("money_micros", money_micros)];
    let said = rows.iter().filter_map(|(name, amount)| Some(format!("{name} {}", (*amount)?)));
    said.collect::<Vec<_>>().join(", ")
}

fn refuse_workspace(Layer { path, file, of, .. }: &Layer) -> Result<(), CommandError> {
    let says = [
        ("credential_sources", !file.credential_sources.is_empty()),
        ("network_classes", !file.network_classes.is_empty()),
        ("models", !file.models.is_empty()),
        ("limits_per_day", file.limits_per_day != UseLimits::default()),
    ];
    match says.iter().find(|(_, said)| *said && *of == LayerOf::Workspace) {
        None => Ok(()),
        Some((key, _)) => {
            let file = path.display();
            let message = format!("{file}: `{key}` belongs into your own configuration, not into a workspace's");
            Err(CommandError::usage(message).hint("move it to $XDG_CONFIG_HOME/cto/config.yaml"))
        }
    }
}

fn setting(pair: ModelPair, file: ModelFile) -> ModelSetting {
    let price = file.price.map(|price| Price {
        provider: pair.provider,
        model: pair.model,
        prompt: price.prompt,
        completion: price.completion,
        cached: price.cached,
        cache_written: price.cache_written,
    });
    ModelSetting {
        endpoint: file.endpoint,
        aliases: file.aliases,
        sent_as: file.sent_as,
        responses: file.responses,
        price,
        custom_ca: file.custom_ca,
        proxy: file.proxy.map(|proxy| ProxySetting {
            address: proxy.address,
            login: proxy.login.map_or(Credential::None, CredentialSource::into_credential),
        }),
        shape: file.shape,
        limits_per_day: file.limits_per_day,
    }
}

/// Model that an engine is to use: as the environment says, else the configuration.
pub(crate) fn model_ask(engine: &str, config: Option<&EngineConfig>) -> Result<ModelAsk, CommandError> {
    let name = |what: &str| format!("CTO_HARNESS_{}_{what}", contract::engine::variable_name(engine));
    let text = |what: &str| variable(&name(what)).and_then(|value| value.into_string().ok());
    let pair = match (text("MODEL_PROVIDER"), text("MODEL")) {
        (None, None) => config.and_then(|config| config.model.clone()),
        (Some(provider), Some(model)) => {
            let invalid = |error| CommandError::usage(format!("{}: {error}", name("MODEL")));
            Some(ModelPair::new(&provider, &model).map_err(invalid)?)
        }
        (provider, _) => {
            let missing = if provider.is_some() { "MODEL" } else { "MODEL_PROVIDER" };
            return Err(CommandError::usage(format!("{} is not set, and its other half is", name(missing)))
                .hint("set both, or ask with --model PROVIDER/MODEL"));
        }
    };
    Ok(ModelAsk {
        pair,
        admission_file: path_variable(&name("MODEL_ADMISSION_FILE"))
            .or_else(|| config.and_then(|config| config.model_admission_file.clone())),
        local_base_url: text("LOCAL_BASE_URL"),
        record: false,
        replay: None,
        reach: false,
    })
}

/// The token of `cto bridge`, which an argument list would show to everybody on the machine.
pub(crate) fn bridge_token() -> Option<String> {
    variable("CTO_BRIDGE_TOKEN").and_then(|value| value.into_string().ok())
}
