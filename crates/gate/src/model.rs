//! The gates of a model-backed engine: its admission and the provider decision, its
//! credential, its endpoint, and, once everything else has passed, the model's answer.

#[cfg(test)]
mod tests;

use contract::decision::{Inputs, Refusal};
use contract::engine::variable_name;
use contract::model::{AdmissionStatus, AnswerFact, CredentialFact, EndpointFact, ModelFacts, RefusalCode};
use contract::record::{DecisionStatus, FoundRecord, ModelAdmission};
use contract::{Gate, Reason, Stage, Stamp, text};

use crate::rules::{refuse_gate, rests_on_signed_records};

/// Judges records and settings; nothing where what it would look at is not known yet.
pub(crate) type ModelRule = fn(&ModelFacts, &Inputs) -> Option<Vec<Refusal>>;

/// Gates of a model that look at settings.
pub(crate) const SETTINGS: &[(Gate, ModelRule)] = &[
    (Gate::ModelDecisionAndAdmission, decision_and_admission),
    (Gate::CredentialSourcePresent, credential_source_present),
    (Gate::LocalEndpointConfigured, endpoint_configured),
];

/// Judges what the model answered; nothing where it did not come that far.
pub(crate) type AnswerRule = fn(&AnswerFact) -> Option<Vec<Refusal>>;

/// Gates of a model that look at its first answer.
pub(crate) const ANSWER: &[(Gate, AnswerRule)] =
    &[(Gate::EndpointReachable, endpoint_reachable), (Gate::ResponseShape, response_shape)];

/// Status of the admission of the requested pair, for a run at this stage and time.
pub fn admission_status(model: &ModelFacts, stage: Stage, time: Stamp) -> AdmissionStatus {
    let Some(pair) = &model.requested else { return AdmissionStatus::MissingAdmission };
    match &model.admission {
        FoundRecord::Missing => AdmissionStatus::MissingAdmission,
        FoundRecord::Invalid { .. } => AdmissionStatus::InvalidAdmission,
        FoundRecord::Record { record, .. } if !record.is_for(pair) => AdmissionStatus::Mismatch,
        FoundRecord::Record { record, .. } if shortcoming(record, stage, time).is_some() => {
            AdmissionStatus::NotAdmitted
        }
        FoundRecord::Record { .. } => AdmissionStatus::Admitted,
    }
}

/// True if the provider decision names the pair as its fallback.
pub fn is_fallback(model: &ModelFacts) -> bool {
    let decided = model.decision.record().zip(model.requested.as_ref());
    decided.is_some_and(|(decision, pair)| decision.names_as_fallback(pair) && !decision.names_pair(pair))
}

/// Reason why a record for the pair does not admit it now.
fn shortcoming(record: &ModelAdmission, stage: Stage, time: Stamp) -> Option<String> {
    if record.status != ModelAdmission::ADMITTED {
        return Some(format!("its status is `{}`", text::show_controls(&record.status)));
    }
    if let Some(end) = record.expires_at.filter(|end| *end <= time) {
        return Some(format!("it expired at {end}"));
    }
    let most = record.max_stage.filter(|most| stage > *most)?;
    Some(format!("it is good up to stage {most}"))
}

fn decision_and_admission(model: &ModelFacts, inputs: &Inputs) -> Option<Vec<Refusal>> {
    let mut refusals = admission(model, inputs);
    refusals.extend(decision(model));
    if rests_on_signed_records(inputs.stage) {
        refusals.extend(signatures(model, inputs.stage));
    }
    Some(refusals)
}

/// Records that nobody signed, at a stage that takes none of them.
fn signatures(model: &ModelFacts, stage: Stage) -> Vec<Refusal> {
    let unsigned = |what: &str, remedy: String| {
        not_admitted(format!("{what} is not signed, and stage {stage} rests on signed records only"), remedy)
    };
    let mut refusals = Vec::new();
    if let Some(record) = model.admission.record().filter(|_| model.admission.is_unsigned()) {
        let pair = format!("{}/{}", text::show_controls(&record.provider), text::show_controls(&record.model));
        let remedy = format!("find the file to sign for {pair}: cto records");
        refusals.extend(unsigned(&format!("the admission of {pair}"), remedy));
    }
    if model.decision.is_unsigned() {
        refusals.extend(unsigned("the provider decision", "cto record sign decisions/provider.yaml".to_owned()));
    }
    refusals
}

fn not_admitted(text: impl Into<String>, remedy: impl Into<String>) -> Vec<Refusal> {
    refuse_gate(Gate::ModelDecisionAndAdmission, Reason::ModelNotAdmitted, text, remedy)
}

fn admission(model: &ModelFacts, inputs: &Inputs) -> Vec<Refusal> {
    let status = admission_status(model, inputs.stage, inputs.time);
    let Some(pair) = &model.requested else {
        let text = format!("{status}: engine `{}` needs a model, and none is asked for", inputs.engine);
        return not_admitted(text, "ask for one with --model PROVIDER/MODEL");
    };
    let draft = format!("cto admit model {pair}     drafts the record");
    match (status, &model.admission) {
        (AdmissionStatus::Admitted, _) => Vec::new(),
        (_, FoundRecord::Invalid { why }) => {
            not_admitted(format!("{status}: {}", text::show_controls(why)), "fix the record that is named: cto records")
        }
        (AdmissionStatus::Mismatch, FoundRecord::Record { record, .. }) => {
            let named = format!("{}/{}", text::show_controls(&record.provider), text::show_controls(&record.model));
            not_admitted(format!("{status}: the admission is for {named}, and {pair} is asked for"), draft)
        }
        (_, FoundRecord::Record { record, .. }) => {
            let why = shortcoming(record, inputs.stage, inputs.time).unwrap_or_default();
            not_admitted(format!("{status}: {pair} has an admission, and {why}"), "renew the record: cto records")
        }
        (_, FoundRecord::Missing) => not_admitted(format!("{status}: there is no admission for {pair}"), draft),
    }
}

/// A provider decision restricts further where there is one.
fn decision(model: &ModelFacts) -> Vec<Refusal> {
    let (decision, pair) = match (&model.decision, &model.requested) {
        (FoundRecord::Missing, _) => return Vec::new(),
        (FoundRecord::Invalid { why }, _) => {
            let text = format!("the provider decision cannot be used: {}", text::show_controls(why));
            return not_admitted(text, "fix decisions/provider.yaml: cto records");
        }
        (FoundRecord::Record { .. }, None) => return Vec::new(),
        (FoundRecord::Record { record, .. }, Some(pair)) => (record, pair),
    };
    let status = decision.decision_status;
    if status == DecisionStatus::NotDecided {
        let text = format!("the provider decision is `{}`", status.as_str());
        return not_admitted(text, "decide on a provider in decisions/provider.yaml; no command does it for you");
    }
    if !decision.has_pair() {
        let text = format!("`{}` names no pair, and so blocks every one", status.as_str());
        return not_admitted(text, "name a pair in decisions/provider.yaml; no command does it for you");
    }
    if !decision.names_pair(pair) && !decision.names_as_fallback(pair) {
        let (provider, named) = (text::show_controls(&decision.provider), text::show_controls(&decision.model));
        let text = format!("`{}` names {provider}/{named}; {pair} is neither it nor its fallback", status.as_str());
        return not_admitted(text, format!("ask for --model {provider}/{named}"));
    }
    // Its credential and network class describe the decision; the admission's govern.
    Vec::new()
}

fn class_of(model: &ModelFacts, class: fn(&ModelAdmission) -> &String) -> String {
    model.admission.record().map(|record| text::show_controls(class(record))).unwrap_or_default()
}

/// Reason why the bridge does not carry a login that the engine does not pass on.
fn no_auth_bridge(model: &ModelFacts, inputs: &Inputs, class: &str) -> Option<Vec<Refusal>> {
    let fact = model.auth_bridge?;
    let provider = model.requested.as_ref().map(|pair| text::show_controls(&pair.provider)).unwrap_or_default();
    let (engine, name) = (&inputs.engine, variable_name(&inputs.engine));
    let (text, remedy) = if !fact.switched_on {
        (
            format!("engine `{engine}` does not pass a login for {provider} on, and the bridge is not told to"),
            format!("export CTO_HARNESS_{name}_{}_AUTH_BRIDGE=1", variable_name(&provider)),
        )
    } else if !fact.login {
        (
            format!("credential class `{class}` is not a login, and {provider} takes nothing else"),
            format!("name one in your configuration: credential_sources.{class}: {{oauth_file: PATH}}"),
        )
    } else {
        return None;
    };
    Some(refuse_gate(Gate::CredentialSourcePresent, Reason::ProviderAuthUnavailable, text, remedy))
}

fn credential_source_present(model: &ModelFacts, inputs: &Inputs) -> Option<Vec<Refusal>> {
    let class = class_of(model, |record| &record.credential_source_class);
    let gate = Gate::CredentialSourcePresent;
    if let Some(refusals) = no_auth_bridge(model, inputs, &class) {
        return Some(refusals);
    }
    Some(match &model.credential {
        CredentialFact::NotLooked => return None,
        CredentialFact::Present => Vec::new(),
        CredentialFact::Unmapped => refuse_gate(
            gate,
            Reason::ProviderUnavailable,
            format!("credential class `{class}` is not mapped to a source"),
            format!("map it in your configuration: credential_sources.{class}"),
        ),
        CredentialFact::Unavailable { why } => refuse_gate(
            gate,
            Reason::ProviderAuthUnavailable,
            format!("the credential of class `{class}` is not available: {}", text::show_controls(why)),
            format!("provide what credential_sources.{class} names in your configuration"),
        ),
    })
}

fn endpoint_configured(model: &ModelFacts, inputs: &Inputs) -> Option<Vec<Refusal>> {
    let class = class_of(model, |record| &record.allowed_network_class);
    let pair = model.requested.as_ref().map(ToString::to_string).unwrap_or_default();
    let refused =
        |reason, text: String, remedy: String| Some(refuse_gate(Gate::LocalEndpointConfigured, reason, text, remedy));
    match &model.endpoint {
        EndpointFact::NotLooked => None,
        EndpointFact::Configured => Some(Vec::new()),
        EndpointFact::Unmapped => refused(
            Reason::ProviderUnavailable,
            format!("network class `{class}` is not mapped to hosts"),
            format!("map it in your configuration: network_classes.{class}"),
        ),
        EndpointFact::OutsideClass => refused(
            Reason::ProviderUnavailable,
            format!("the endpoint of {pair} is not a host of network class `{class}`"),
            format!("name its host in network_classes.{class}.hosts, if it belongs there"),
        ),
        EndpointFact::Unreachable { why } => refused(
            Reason::ProviderUnavailable,
            format!(
                "the endpoint of {pair}, of network class `{class}`, cannot be reached: {}",
                text::show_controls(why)
            ),
            "see that the model's server runs, then probe again".to_owned(),
        ),
        EndpointFact::NotConfigured if is_external(model) => refused(
            Reason::ProviderUnavailable,
            format!("no endpoint is configured for {pair}"),
            format!("set models.{pair}.endpoint in your configuration"),
        ),
        EndpointFact::NotConfigured => refused(
            Reason::LocalProviderConfigMissing,
            format!("no endpoint is configured for {pair}"),
            format!(
                "export CTO_HARNESS_{}_LOCAL_BASE_URL=URL, or set models.{pair}.endpoint in your configuration",
                inputs.engine.to_uppercase()
            ),
        ),
        EndpointFact::Unusable { why } => refused(
            Reason::LocalProviderConfigMissing,
            format!("the endpoint of {pair} cannot be used: {}", text::show_controls(why)),
            "write it as http://HOST:PORT/v1 or https://HOST/v1".to_owned(),
        ),
    }
}

/// True if the provider decision says that the pair is not a local one.
fn is_external(model: &ModelFacts) -> bool {
    let Some((decision, pair)) = model.decision.record().zip(model.requested.as_ref()) else { return false };
    if decision.names_pair(pair) { !decision.provider_class.is_some_and(|class| class.is_local()) } else { true }
}

fn endpoint_reachable(answer: &AnswerFact) -> Option<Vec<Refusal>> {
    let refused = |reason: Reason, text: String| {
        Some(refuse_gate(Gate::EndpointReachable, reason, text, "start the model's server"))
    };
    match answer {
        AnswerFact::Content | AnswerFact::Replayed | AnswerFact::ReasoningOnly | AnswerFact::Empty => Some(Vec::new()),
        AnswerFact::UpstreamError { status } => {
            refused(Reason::ProviderUnavailable, format!("the model's server answered with HTTP {status}"))
        }
        AnswerFact::NotAsked { why } => {
            refused(Reason::ProviderUnavailable, format!("the model could not be asked: {}", text::show_controls(why)))
        }
        AnswerFact::Refused { code: code @ (RefusalCode::CredentialUnavailable | RefusalCode::CredentialRefused) } => {
            refused(Reason::ProviderAuthUnavailable, sentence(*code))
        }
        AnswerFact::Refused { code: code @ (RefusalCode::OtherModelAnswered | RefusalCode::ModelNotAdmitted) } => {
            refused(Reason::ModelNotAdmitted, sentence(*code))
        }
        AnswerFact::Refused { code } => {
            let limit = code.reason().filter(|reason| *reason == Reason::BudgetExceeded);
            refused(limit.unwrap_or(Reason::ProviderUnavailable), sentence(*code))
        }
    }
}

/// The refusal's own sentence, as the middle of a list.
fn sentence(code: RefusalCode) -> String {
    format!("{} ({})", code.text().trim_end_matches('.'), code.code())
}

/// Not judged where nobody answered at all.
fn response_shape(answer: &AnswerFact) -> Option<Vec<Refusal>> {
    let shape = |text: &str| {
        Some(refuse_gate(
            Gate::ResponseShape,
            Reason::ProviderResponseShape,
            text,
            Reason::ProviderResponseShape.remedy(),
        ))
    };
    match answer {
        AnswerFact::Content | AnswerFact::Replayed => Some(Vec::new()),
        AnswerFact::ReasoningOnly => shape("the model answered with reasoning and no content"),
        AnswerFact::Empty => shape("the model answered with nothing"),
        AnswerFact::UpstreamError { .. } | AnswerFact::NotAsked { .. } | AnswerFact::Refused { .. } => None,
    }
}
