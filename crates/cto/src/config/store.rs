//! Settings of the ledger: its place, and the time for which a run is left alone when nothing is heard of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ledger::{LedgerPlace, QueueLimits, ServerAddress, ServerPlace};
use schemars::JsonSchema;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::{EffectiveSetting, Layer, LayerOf, variable};
use crate::error::CommandError;

/// The ledger of this machine's homes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StoreFile {
    /// `sqlite:///PATH`: a ledger that several homes of this machine share. `postgres://USER@HOST:PORT/DATABASE`: one on a server,
    /// that any number of machines share. Without it each home has its own.
    pub(crate) url: Option<String>,
    /// The variable of the environment that has the password for the server.
    pub(crate) password_env: Option<String>,
    /// PEM file with the certificate authorities that vouch for the server. Required for a server of another machine.
    pub(crate) ca: Option<PathBuf>,
    /// A run of another home whose lease has lapsed for so long may be sealed as interrupted: 1 to 86400.
    #[schemars(range(min = 1, max = 86400))]
    pub(crate) lease_seconds: Option<u32>,
    /// The most runs that this machine's workers take from the queue.
    pub(crate) queue_limits: QueueLimitsFile,
}

/// The most runs of the queue that may be active at once, or start in a day. A worker counts those of all workers; `machine` counts those of its home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct QueueLimitsFile {
    /// Active runs of an engine, by its id.
    pub(crate) engines: BTreeMap<String, u32>,
    /// Active runs of one workspace.
    pub(crate) workspace: Option<u32>,
    /// Runs that start on one day (UTC).
    pub(crate) day: Option<u32>,
    /// Active runs of this home, over all of its workers.
    pub(crate) machine: Option<u32>,
}

/// The same, resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StoreSettings {
    pub(crate) ledger: Option<LedgerPlace>,
    pub(crate) lease: Option<Duration>,
    pub(crate) queue_limits: QueueLimits,
    /// Active runs of all workers of this home.
    pub(crate) machine_limit: Option<u32>,
    password: Option<Zeroizing<String>>,
    authorities: Option<PathBuf>,
}

const SQLITE: &str = "sqlite://";
const LONGEST_LEASE: u32 = 86_400;

impl StoreFile {
    fn says_something(&self) -> bool {
        *self != Self::default()
    }
}

impl StoreSettings {
    /// The place that an address names, with the credential and the authorities of the configuration.
    pub(crate) fn place_of(&self, url: &str) -> Result<LedgerPlace, CommandError> {
        if let Some(path) = url.strip_prefix(SQLITE).filter(|path| path.starts_with('/')) {
            return Ok(LedgerPlace::File(PathBuf::from(path)));
        }
        let address = url.parse::<ServerAddress>().map_err(|error| {
            let message = match ServerAddress::is_meant(url) {
                // What stands in it may be a password.
                true => format!("a ledger cannot be there: {error}"),
                false => format!("a ledger cannot be at `{}`", contract::text::show_controls(url)),
            };
            CommandError::usage(message).hint("sqlite:///PATH/ledger.db or postgres://USER@HOST:PORT/DATABASE")
        })?;
        let (password, authorities) = (self.password.clone(), self.authorities.clone());
        Ok(LedgerPlace::Server(Box::new(ServerPlace { address, password, authorities })))
    }
}

/// The last layer that says something counts. A workspace's file may not say where evidence is kept.
pub(super) fn resolve_store(
    layers: &[Layer],
    settings: &mut Vec<EffectiveSetting>,
) -> Result<StoreSettings, CommandError> {
    let mut store = StoreSettings::default();
    let mut place = None;
    for Layer { path, file, of, .. } in layers {
        if file.store.says_something() && *of == LayerOf::Workspace {
            let message = format!("{}: a workspace's file may not have `store`", path.display());
            return Err(CommandError::usage(message).hint("put it into your own config.yaml"));
        }
        let refuse = |what: String| CommandError::usage(format!("{}: {what}", path.display()));
        let mut note = |name: &str, value: String| {
            settings.push(EffectiveSetting {
                name: format!("store.{name}"),
                value,
                source: path.display().to_string(),
            });
        };
        let StoreFile { url, password_env, ca, lease_seconds, queue_limits } = &file.store;
        if let Some(name) = password_env {
            let value = variable(name).and_then(|value| value.into_string().ok());
            let missing = || {
                refuse(format!("`store.password_env` names {}, which is not set", contract::text::show_controls(name)))
            };
            store.password = Some(value.ok_or_else(|| missing().hint("set the variable"))?.into());
            note("password_env", name.clone());
        }
        if let Some(ca) = ca {
            store.authorities = Some(ca.clone());
            note("ca", ca.display().to_string());
        }
        if *queue_limits != QueueLimitsFile::default() {
            let QueueLimitsFile { engines, workspace, day, machine } = queue_limits.clone();
            let told = format!("engines {engines:?}, workspace {workspace:?}, day {day:?}, machine {machine:?}");
            note("queue_limits", told);
            store.machine_limit = machine;
            store.queue_limits = QueueLimits { engines, workspace, day };
        }
        if let Some(url) = url {
            place = Some((url, path));
        }
        if let Some(seconds) = lease_seconds {
            if !(1..=LONGEST_LEASE).contains(seconds) {
                return Err(refuse(format!("`store.lease_seconds` is {seconds}")).hint("lease_seconds: 1 to 86400"));
            }
            store.lease = Some(Duration::from_secs(u64::from(*seconds)));
            note("lease_seconds", seconds.to_string());
        }
    }
    if let Some((url, path)) = place {
        let in_file = |error: CommandError| {
            let message = format!("{}: `store.url`: {}", path.display(), error.message);
            CommandError { message, ..error }
        };
        let named = store.place_of(url).map_err(in_file)?;
        let value = match &named {
            LedgerPlace::File(_) => url.clone(),
            LedgerPlace::Server(server) => server.address.to_string(),
        };
        settings.push(EffectiveSetting { name: "store.url".to_owned(), value, source: path.display().to_string() });
        store.ledger = Some(named);
    }
    Ok(store)
}
