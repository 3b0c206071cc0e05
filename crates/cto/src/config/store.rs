//! Settings of the ledger: its place, and the time for which a run is left alone when nothing is heard of it.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Layer, LayerOf, Setting};
use crate::error::CommandError;

/// The ledger of this machine's homes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StoreFile {
    /// `sqlite:///PATH`: a ledger that several homes of this machine share. Without it each home has its own.
    pub(crate) url: Option<String>,
    /// A run of another home whose lease has lapsed for so long may be sealed as interrupted: 1 to 86400.
    #[schemars(range(min = 1, max = 86400))]
    pub(crate) lease_seconds: Option<u32>,
}

/// The same, resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StoreSettings {
    pub(crate) ledger: Option<PathBuf>,
    pub(crate) lease: Option<Duration>,
}

const SQLITE: &str = "sqlite://";
const LONGEST_LEASE: u32 = 86_400;

/// The last layer that says something counts. A workspace's file may not say where evidence is kept.
pub(super) fn resolve(layers: &[Layer], settings: &mut Vec<Setting>) -> Result<StoreSettings, CommandError> {
    let mut store = StoreSettings::default();
    for Layer { path, file, of, .. } in layers {
        let StoreFile { url, lease_seconds } = &file.store;
        if (url.is_some() || lease_seconds.is_some()) && *of == LayerOf::Workspace {
            let message = format!("{}: a workspace's file may not have `store`", path.display());
            return Err(CommandError::usage(message).hint("put it into your own config.yaml"));
        }
        let refuse = |what: String| CommandError::usage(format!("{}: {what}", path.display()));
        let mut note = |name: &str, value: String| {
            settings.push(Setting { name: format!("store.{name}"), value, source: path.display().to_string() });
        };
        if let Some(url) = url {
            let place = url.strip_prefix(SQLITE).filter(|place| place.starts_with('/'));
            let place = place.ok_or_else(|| {
                refuse(format!("`store.url` is `{}`", contract::text::shown(url))).hint("url: sqlite:///PATH/ledger.db")
            })?;
            store.ledger = Some(PathBuf::from(place));
            note("url", url.clone());
        }
        if let Some(seconds) = lease_seconds {
            if !(1..=LONGEST_LEASE).contains(seconds) {
                return Err(refuse(format!("`store.lease_seconds` is {seconds}")).hint("lease_seconds: 1 to 86400"));
            }
            store.lease = Some(Duration::from_secs(u64::from(*seconds)));
            note("lease_seconds", seconds.to_string());
        }
    }
    Ok(store)
}
