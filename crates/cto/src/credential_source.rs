//! Sources of a credential, as configuration and flags name them.

use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

/// Source of the credential of a class.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CredentialSource {
    /// The provider wants none.
    None,
    /// The environment variable of this name.
    Env(String),
    /// A file that holds the value.
    File(PathBuf),
    /// A program that prints the value.
    Command(Vec<String>),
    /// A token file that somebody else's login keeps; only read.
    OauthFile(PathBuf),
}

/// `env:NAME`, `file:PATH`, `oauth-file:PATH` or `none`, as a flag says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CredentialName(pub(crate) CredentialSource);

impl FromStr for CredentialName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let source = match text.split_once(':') {
            None if text == "none" => CredentialSource::None,
            Some(("env", name)) if !name.is_empty() => CredentialSource::Env(name.to_owned()),
            Some(("file", path)) if !path.is_empty() => CredentialSource::File(path.into()),
            Some(("oauth-file", path)) if !path.is_empty() => CredentialSource::OauthFile(path.into()),
            _ => return Err("a credential is named by env:NAME, file:PATH, oauth-file:PATH or none".to_owned()),
        };
        Ok(Self(source))
    }
}
