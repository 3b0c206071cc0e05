//! Configuration of a run's bridge: the operator's settings for the admitted pair, and the
//! run's own limits.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bridge::{
    AccountKeeper, AdmittedPair, AnswerSource, BridgeConfig, Credential, Endpoint, NetworkClass, PriceTable, Proxy,
    Recorder, Redact, ReplaySource, ResponsesWire, RunToken, Secret, Spent, Upstream, UseLimits,
};
use contract::model::ModelFacts;
use untrusted_fs::own_files;

use super::day::Share;
use super::reach::Reach;
use super::values::SecretValues;
use super::{account, facts};
use crate::home::model_settings::ModelAsk;
use crate::run::file::RunFile;

/// Requests of one run, whatever the contract says: each is a line of evidence.
const MOST_REQUESTS: u64 = 20_000;

/// Everything that starting the bridge needs.
pub(super) struct BridgeSetup {
    pub(super) config: BridgeConfig,
    /// Values that must not be written anywhere.
    pub(super) values: Arc<SecretValues>,
    /// Reservation of the run in a limited day.
    pub(super) share: Option<Share>,
}

/// Reads what is to be read, and reserves the run's share of the day.
pub(super) fn set_up(
    run: &RunFile<'_>,
    facts: &ModelFacts,
    token: &str,
    recording: Option<&Path>,
) -> Result<BridgeSetup, String> {
    let (Some(pair), Some(record)) = (&facts.requested, facts.admission.record()) else {
        return Err("no pair is admitted".to_owned());
    };
    let settings = &run.harness().models;
    let setting = settings.models.get(&pair.to_string()).cloned().unwrap_or_default();
    let endpoint = facts::endpoint(settings, &run.ask().model, pair, &facts.decision).and_then(Result::ok);
    let now = run.clock().now();
    // A recording stands for the upstream, and for all that lies on the way to it.
    let is_live = run.ask().model.replay.is_none();
    let reach = if is_live { Reach::read_setting(&setting, now)? } else { Reach::default() };
    let values = Arc::new(known(token, endpoint.as_ref(), &reach));
    let credential = settings.credential_sources.get(&record.credential_source_class).cloned();
    let credential = watched(credential.unwrap_or(Credential::None), &values);
    // Known before anything is written. A value that is missing now is reported when the model is
    // asked.
    let _ = credential.check_fetch(now);

    let source = source(&run.ask().model, endpoint, credential, reach, setting.responses, &values)?;
    let class = settings.network_classes.get(&record.allowed_network_class).cloned();
    let network = class.unwrap_or_else(NetworkClass::default);
    let mut admission = AdmittedPair::new(&pair.provider, &pair.model);
    admission.aliases = setting.aliases;
    admission.sent_as = setting.sent_as;
    let token = RunToken::new(&Secret::new(token));
    let mut config = BridgeConfig::new(admission, network, source, token, now);
    let limits = &run.task().contract.limits;
    config.limits = UseLimits {
        requests: Some(limits.model_requests.unwrap_or(MOST_REQUESTS).min(MOST_REQUESTS)),
        tokens: limits.model_tokens,
        money_micros: limits.money_micros,
    };
    config.prices = PriceTable { currency: String::new(), prices: setting.price.into_iter().collect() };
    config.forbidden = vec![Secret::new(run.confinement().canary().as_bytes())];
    config.shim = setting.shape;
    config.recorder = recording.map(|path| recorder(path, &values)).transpose()?;
    let reserved = Share::reserve_share(run, pair, config.limits).map_err(|error| error.to_string())?;
    let (share, day) = reserved.unzip();
    config.day = day.unwrap_or_default();
    // Only what is reserved of a day is to be settled for a run that dies.
    if let Some(share) = &share {
        config.account = Some(kept_account(run, share)?);
    }
    Ok(BridgeSetup { config, values, share })
}

fn kept_account(run: &RunFile<'_>, share: &Share) -> Result<AccountKeeper, String> {
    account::keep_account(run.work()).map_err(|error| {
        // Nothing was asked, so nothing is held of the day either.
        let settled = share.settle_share(run, Spent::default());
        let why = settled.err().map_or_else(|| error.to_string(), |error| error.to_string());
        format!("the account of the run cannot be kept: {why}")
    })
}

fn known(token: &str, endpoint: Option<&Endpoint>, reach: &Reach) -> SecretValues {
    let mut places: Vec<String> = endpoint.into_iter().flat_map(Endpoint::values).collect();
    places.extend(reach.proxy.as_ref().map(Proxy::value));
    let values = SecretValues::new(token, &places);
    if let Some(login) = &reach.login {
        values.learn(login);
    }
    values
}

/// Wraps the source, so that each value is registered for redaction before it is used.
fn watched(credential: Credential, values: &Arc<SecretValues>) -> Credential {
    let values = Arc::clone(values);
    Credential::Watched(Box::new(credential), Arc::new(move |secret| values.learn(secret)))
}

fn source(
    ask: &ModelAsk,
    endpoint: Option<Endpoint>,
    credential: Credential,
    reach: Reach,
    responses: Option<ResponsesWire>,
    values: &Arc<SecretValues>,
) -> Result<AnswerSource, String> {
    if let Some(path) = &ask.replay {
        let file = own_files::open_file(path).map_err(|error| format!("the recording cannot be opened: {error}"))?;
        let replay = ReplaySource::read_recording(file, redact(values)).map_err(|error| error.to_string())?;
        return Ok(AnswerSource::Replay(replay));
    }
    let mut upstream = Upstream::new(endpoint.ok_or("no endpoint is configured")?, credential);
    upstream.responses = responses.unwrap_or(ResponsesWire::Native);
    upstream.trust = reach.trust;
    upstream.proxy = reach.proxy;
    Ok(AnswerSource::Live(Box::new(upstream)))
}

fn recorder(path: &Path, values: &Arc<SecretValues>) -> Result<Recorder, String> {
    let file = File::create_new(path).map_err(|error| format!("the recording cannot be written: {error}"))?;
    Ok(Recorder::new(Box::new(file), redact(values)))
}

fn redact(values: &Arc<SecretValues>) -> Redact {
    let values = Arc::clone(values);
    Arc::new(move |bytes| values.redact(bytes))
}
