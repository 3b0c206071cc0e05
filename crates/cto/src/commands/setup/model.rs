//! The model that an engine is connected with: its pair, its classes, and how this machine
//! reaches it.

use contract::ModelPair;
use serde_json::json;

use crate::args::{KeySource, SetupArgs, key_source};
use crate::config::hosts_in;
use crate::error::CommandError;
use crate::settings_file::{OtherKeys, set_keys, set_value};

/// A provider whose public address is known.
struct KnownProvider {
    name: &'static str,
    host: &'static str,
    endpoint: &'static str,
}

const OPENAI: KnownProvider =
    KnownProvider { name: "openai", host: "api.openai.com", endpoint: "https://api.openai.com/v1" };
const ANTHROPIC: KnownProvider =
    KnownProvider { name: "anthropic", host: "api.anthropic.com", endpoint: "https://api.anthropic.com/v1" };
const KNOWN: [&KnownProvider; 2] = [&OPENAI, &ANTHROPIC];

/// Provider of a server that a person names by its address.
const LOCAL: &str = "local";

/// A model and everything that the configuration has to say about it.
#[derive(Debug)]
pub(super) struct ChosenModel {
    pub(super) pair: ModelPair,
    pub(super) credential_class: String,
    pub(super) network_class: String,
    key: Option<KeySource>,
    host: String,
    endpoint: String,
    over_chat: bool,
}

impl ChosenModel {
    /// Chooses by the flags alone: nothing is guessed that a person would pay for.
    pub(super) fn choose_model(arguments: &SetupArgs) -> Result<Self, CommandError> {
        let example = match arguments.engine.as_str() {
            "claude" => "--key env:ANTHROPIC_API_KEY --model claude-sonnet-5",
            _ => "--key env:OPENAI_API_KEY --model gpt-5.5",
        };
        let hint =
            format!("cto setup {} {example}, or --endpoint URL --model M for a server of your own", arguments.engine);
        let named = |message: &str| CommandError::usage(message).hint(&hint);
        let key = match arguments.key.as_deref().map(key_source) {
            Some(None) => {
                return Err(named("name the place of the key, env:NAME or file:/PATH, not the key itself"));
            }
            key => key.flatten(),
        };
        let model = arguments.model.as_deref().ok_or_else(|| named("name the model that the engine is to use"))?;
        if key.is_none() && arguments.endpoint.is_none() {
            return Err(named("say where the key of the provider is, or the address of a server of your own"));
        }
        let default = match (&arguments.endpoint, arguments.engine.as_str()) {
            (Some(_), _) => LOCAL,
            (None, "claude") => ANTHROPIC.name,
            (None, _) => OPENAI.name,
        };
        let pair = match model.split_once('/') {
            Some((provider, model)) => ModelPair::new(provider, model),
            None => ModelPair::new(default, model),
        };
        let pair = pair.map_err(|error| named(&error.to_string()))?;
        let (host, endpoint) = match &arguments.endpoint {
            Some(endpoint) => {
                let wrong = "the endpoint is no http:// or https:// address with a host";
                (host_of(endpoint).ok_or_else(|| named(wrong))?, endpoint.clone())
            }
            None => KNOWN
                .iter()
                .find(|known| known.name == pair.provider)
                .map(|known| (known.host.to_owned(), known.endpoint.to_owned()))
                .ok_or_else(|| named("the address of this provider is not known: say --endpoint URL"))?,
        };
        let credential_class = if key.is_some() { format!("{}-key", pair.provider) } else { "none".to_owned() };
        let network_class = format!("{}-api", pair.provider);
        Ok(Self { pair, credential_class, network_class, key, host, endpoint, over_chat: arguments.over_chat })
    }

    /// The text of a configuration with this model in it; none where it cannot be edited or
    /// says something else.
    pub(super) fn write_model(&self, text: &str) -> Option<String> {
        let source = |key, value| {
            set_keys(text, "credential_sources", &self.credential_class, &[(key, value)], OtherKeys::Refused)
        };
        let text = match &self.key {
            Some(KeySource::Env(name)) => source("env", name.clone()),
            Some(KeySource::File(path)) => source("file", json!(path.display().to_string()).to_string()),
            None => set_value(text, "credential_sources", &self.credential_class, "none"),
        }?;
        let text = self.write_hosts(text)?;
        let mut keys = vec![("endpoint", json!(self.endpoint).to_string())];
        keys.extend(self.over_chat.then(|| ("responses", "over_chat".to_owned())));
        set_keys(&text, "models", &key_text(&self.pair.to_string()), &keys, OtherKeys::Kept)
    }

    /// Adds the host to its network class. Hosts that are there stay: other models of the class use them.
    fn write_hosts(&self, text: String) -> Option<String> {
        let mut hosts = hosts_in(&text, &self.network_class)?;
        if hosts.contains(&self.host) {
            return Some(text);
        }
        hosts.push(self.host.clone());
        let keys = [("hosts", json!(hosts).to_string())];
        set_keys(&text, "network_classes", &self.network_class, &keys, OtherKeys::Kept)
    }
}

/// A key of YAML: plain where nothing in it means something else.
fn key_text(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(plain) {
        name.to_owned()
    } else {
        json!(name).to_string()
    }
}

/// The host of an address, without its port.
fn host_of(endpoint: &str) -> Option<String> {
    let rest = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => authority.split(':').next()?,
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':');
    (!host.is_empty() && host.bytes().all(plain)).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_what_the_bridge_compares() {
        for (endpoint, host) in [
            ("http://127.0.0.1:8000/v1", Some("127.0.0.1")),
            ("https://api.example.org/v1", Some("api.example.org")),
            ("http://[::1]:80/v1", Some("::1")),
            ("ftp://x/", None),
            ("http:///v1", None),
            ("http://user@host/", None),
        ] {
            assert_eq!(host_of(endpoint).as_deref(), host, "{endpoint}");
        }
    }
}
