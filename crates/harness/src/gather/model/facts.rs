//! Facts about a model for the gates.

use bridge::{Credential, Endpoint};
use contract::model::{AuthBridgeFact, CredentialFact, EndpointFact, ModelFacts, Wire};
use contract::record::{FoundRecord, ModelAdmission, ProviderDecision};
use contract::{ModelPair, Stamp};
use cortex::{RecordPlaces, RecordSigners, load_model_admission, load_provider_decision};

use super::reach::Reach;
use crate::home::engines::Engine;
use crate::home::model_settings::{ModelAsk, ModelSettings};

/// Facts for and against the requested pair on this machine, for an engine that speaks this
/// wire.
pub(crate) fn model_facts(
    settings: &ModelSettings,
    places: &RecordPlaces,
    wire: Wire,
    ask: &ModelAsk,
    now: Stamp,
) -> ModelFacts {
    let signers = RecordSigners::read_allowed(places, now);
    let admission = load_model_admission(places, ask.admission_file.as_deref(), ask.pair.as_ref(), &signers);
    let decision = load_provider_decision(places, &signers);
    let fitting = ask.pair.as_ref().zip(admission.record()).filter(|(pair, record)| record.is_for(pair));
    let (credential, endpoint) = match fitting {
        None => (CredentialFact::NotLooked, EndpointFact::NotLooked),
        // A recording stands for the upstream: nothing is sent and no credential is put on it.
        Some(_) if ask.replay.is_some() => (CredentialFact::Present, EndpointFact::Configured),
        Some((pair, record)) => {
            let endpoint = endpoint_fact(settings, ask, (pair, record), &decision, now);
            (credential(settings, record, now), endpoint)
        }
    };
    let (requested, replayed) = (ask.pair.clone(), ask.replay.is_some());
    ModelFacts { wire, requested, admission, decision, credential, endpoint, replayed, auth_bridge: None }
}

/// Facts on using a login in the bridge, for an engine that does not pass its login on.
pub(crate) fn auth_bridge(settings: &ModelSettings, facts: &ModelFacts, engine: &Engine) -> Option<AuthBridgeFact> {
    let pair = facts.requested.as_ref()?;
    if facts.replayed || !engine.definition.auth_bridge.contains(&pair.provider) {
        return None;
    }
    let class = facts.admission.record().map(|record| &record.credential_source_class);
    let source = class.and_then(|class| settings.credential_sources.get(class));
    let login = matches!(source, Some(Credential::OauthFile(_)));
    Some(AuthBridgeFact { switched_on: engine.config.auth_bridge, login })
}

fn credential(settings: &ModelSettings, record: &ModelAdmission, now: Stamp) -> CredentialFact {
    match settings.credential_sources.get(&record.credential_source_class) {
        None => CredentialFact::Unmapped,
        Some(source) => match source.check_fetch(now) {
            Ok(()) => CredentialFact::Present,
            Err(error) => CredentialFact::Unavailable { why: error.to_string() },
        },
    }
}

fn endpoint_fact(
    settings: &ModelSettings,
    ask: &ModelAsk,
    (pair, record): (&ModelPair, &ModelAdmission),
    decision: &FoundRecord<ProviderDecision>,
    now: Stamp,
) -> EndpointFact {
    let Some(class) = settings.network_classes.get(&record.allowed_network_class) else {
        return EndpointFact::Unmapped;
    };
    match endpoint(settings, ask, pair, decision) {
        None => EndpointFact::NotConfigured,
        Some(Err(error)) => EndpointFact::Unusable { why: error.to_string() },
        Some(Ok(endpoint)) if !class.reaches_endpoint(&endpoint) => EndpointFact::OutsideClass,
        Some(Ok(endpoint)) if ask.reach => {
            let setting = settings.models.get(&pair.to_string()).cloned().unwrap_or_default();
            let connected = Reach::read_setting(&setting, now).and_then(|reach| reach.check_connect(endpoint));
            connected.map_or_else(|why| EndpointFact::Unreachable { why }, |()| EndpointFact::Configured)
        }
        Some(Ok(_)) => EndpointFact::Configured,
    }
}

/// Endpoint of the pair. The local endpoint of the environment is for the local provider: a
/// pair that the decision names as its fallback is never sent there.
pub(super) fn endpoint(
    settings: &ModelSettings,
    ask: &ModelAsk,
    pair: &ModelPair,
    decision: &FoundRecord<ProviderDecision>,
) -> Option<Result<Endpoint, bridge::ParseEndpointError>> {
    let fallback = decision.record().is_some_and(|decision| decision.names_as_fallback(pair));
    let local = ask.local_base_url.as_ref().filter(|_| !fallback);
    let configured = settings.models.get(&pair.to_string()).and_then(|model| model.endpoint.as_ref());
    local.or(configured).map(|text| Endpoint::parse_endpoint(text))
}
