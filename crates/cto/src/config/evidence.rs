//! Settings of the object store that several machines share: its place and what it takes to get in.

use std::path::PathBuf;
use std::time::Duration;

use ledger::{BucketAccess, BucketPlace, EvidencePlace};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{EffectiveSetting, Layer, LayerOf, variable};
use crate::error::CommandError;

/// The place of evidence that is not this machine's alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EvidenceFile {
    /// `s3://BUCKET/PREFIX`: a bucket that any number of machines share. `file:///PATH`: a folder of this machine. Without it bundles lie in
    /// the home alone, and approvals have no witness.
    pub(crate) url: Option<String>,
    /// The server of the bucket: `https://HOST:PORT`.
    pub(crate) endpoint: Option<String>,
    /// The region that requests are signed for; default: `us-east-1`.
    pub(crate) region: Option<String>,
    /// The variable of the environment that has the id of the access key.
    pub(crate) access_key_env: Option<String>,
    /// The variable of the environment that has its secret.
    pub(crate) secret_key_env: Option<String>,
    /// PEM file with the certificate authorities that vouch for the server. Required for a server of another machine.
    pub(crate) ca: Option<PathBuf>,
    /// Longest wait for one object, in seconds: 1 to 3600; default: 60.
    #[schemars(range(min = 1, max = 3600))]
    pub(crate) timeout_seconds: Option<u32>,
}

const DEFAULT_REGION: &str = "us-east-1";
const DEFAULT_PATIENCE: u32 = 60;
const LONGEST_PATIENCE: u32 = 3600;

/// The last layer that says something counts, as a whole. A workspace's file may not say where evidence is kept.
pub(super) fn resolve_evidence(
    layers: &[Layer],
    settings: &mut Vec<EffectiveSetting>,
) -> Result<Option<EvidencePlace>, CommandError> {
    let says_something = |layer: &&Layer| layer.file.evidence != EvidenceFile::default();
    if let Some(layer) = layers.iter().filter(says_something).find(|layer| layer.of == LayerOf::Workspace) {
        let message = format!("{}: a workspace's file may not have `evidence`", layer.path.display());
        return Err(CommandError::usage(message).hint("put it into your own config.yaml"));
    }
    let Some(Layer { path, file, .. }) = layers.iter().rev().find(says_something) else { return Ok(None) };
    let source = path.display().to_string();
    let refuse = |what: String| CommandError::usage(format!("{source}: {what}"));
    let place = file.evidence.place().map_err(refuse).map_err(|error| error.hint("docs/fleet.md has an example"))?;
    let note = |(name, value)| EffectiveSetting { name: format!("evidence.{name}"), value, source: source.clone() };
    settings.extend(file.evidence.list_settings(&place).into_iter().map(note));
    Ok(Some(place))
}

impl EvidenceFile {
    fn place(&self) -> Result<EvidencePlace, String> {
        let url = self.url.as_deref().ok_or("`evidence` has no `url`")?;
        if let Some(folder) = EvidencePlace::parse_folder(url) {
            return match *self == (Self { url: self.url.clone(), ..Self::default() }) {
                true => Ok(EvidencePlace::Folder(folder)),
                false => Err("`evidence.url` is a folder, which takes no other setting".to_owned()),
            };
        }
        let address = url.parse().map_err(|error| format!("`evidence.url`: {error}"))?;
        let endpoint = self.endpoint.as_deref().ok_or("`evidence.endpoint` is missing")?;
        let endpoint = endpoint.parse().map_err(|error| format!("`evidence.endpoint`: {error}"))?;
        let region = self.region.clone().unwrap_or_else(|| DEFAULT_REGION.to_owned());
        if region.is_empty() || !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err("`evidence.region` is no region".to_owned());
        }
        let seconds = self.timeout_seconds.unwrap_or(DEFAULT_PATIENCE);
        if !(1..=LONGEST_PATIENCE).contains(&seconds) {
            return Err(format!("`evidence.timeout_seconds` is {seconds}, and not 1 to {LONGEST_PATIENCE}"));
        }
        let patience = Duration::from_secs(u64::from(seconds));
        let (access, authorities) = (self.access()?, self.ca.clone());
        Ok(EvidencePlace::Bucket(Box::new(BucketPlace { address, endpoint, region, access, authorities, patience })))
    }

    fn access(&self) -> Result<Option<BucketAccess>, String> {
        match (&self.access_key_env, &self.secret_key_env) {
            (None, None) => Ok(None),
            (Some(key), Some(secret)) => Ok(Some(BucketAccess {
                key_id: read_variable("access_key_env", key)?,
                secret: read_variable("secret_key_env", secret)?.into(),
            })),
            _ => Err("`evidence.access_key_env` and `evidence.secret_key_env` go together".to_owned()),
        }
    }

    /// Names and values for those who look; of a credential only the name of its variable.
    fn list_settings(&self, place: &EvidencePlace) -> Vec<(&'static str, String)> {
        let mut listed = vec![("url", place.to_string())];
        let rows = [
            ("endpoint", self.endpoint.clone()),
            ("region", self.region.clone()),
            ("access_key_env", self.access_key_env.clone()),
            ("secret_key_env", self.secret_key_env.clone()),
            ("ca", self.ca.as_ref().map(|ca| ca.display().to_string())),
            ("timeout_seconds", self.timeout_seconds.map(|seconds| seconds.to_string())),
        ];
        listed.extend(rows.into_iter().filter_map(|(name, value)| Some((name, value?))));
        listed
    }
}

fn read_variable(setting: &str, name: &str) -> Result<String, String> {
    let value = variable(name).and_then(|value| value.into_string().ok());
    // The value stands in a header: a line break would end that.
    let value = value.filter(|value| value.bytes().all(|byte| byte.is_ascii_graphic()));
    value.ok_or_else(|| format!("`evidence.{setting}` names {}, which is not set", contract::text::show_controls(name)))
}
