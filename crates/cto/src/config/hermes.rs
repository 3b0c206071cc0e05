//! Settings of the console. A workspace can only switch them off, and shorten a session.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{EffectiveSetting, Layer, LayerOf, path_variable};
use crate::error::CommandError;

/// Length of a session without a setting, which is also the longest.
const LONGEST_SESSION: u32 = 12 * 3600;

/// Settings of the console in a configuration file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HermesFile {
    /// Pages can be read without a login, on loopback only.
    pub(crate) open_read_only: Option<bool>,
    /// An operator can approve in the browser; the ssh-agent signs.
    pub(crate) capture_approvals: Option<bool>,
    /// An agent's software key may sign what is approved in the browser; else only a
    /// security key.
    pub(crate) capture_with_software_key: Option<bool>,
    /// Length of a login in seconds: 1 to 43200, which is also the default. A workspace's
    /// file can only shorten it.
    #[schemars(range(min = 1, max = 43200))]
    pub(crate) session_seconds: Option<u32>,
}

/// The settings, all switches off unless a person's own file says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HermesSettings {
    pub(crate) open_read_only: bool,
    pub(crate) capture_approvals: bool,
    pub(crate) capture_with_software_key: bool,
    /// Length of a login.
    pub(crate) session: Duration,
}

impl Default for HermesSettings {
    fn default() -> Self {
        Self {
            open_read_only: false,
            capture_approvals: false,
            capture_with_software_key: false,
            session: Duration::from_secs(LONGEST_SESSION.into()),
        }
    }
}

/// Files in which a hermes-webui keeps the token of an extension's sidecar, in the order in
/// which they are looked for.
pub(super) fn find_token_files(extension: &str) -> Vec<PathBuf> {
    let name = format!("sidecar-auth/{extension}.token");
    let below = |folder: Option<PathBuf>, rest: &str| folder.map(|folder| folder.join(rest).join(&name));
    let files = [
        path_variable("HERMES_EXT_SIDECAR_TOKEN_FILE"),
        below(path_variable("HERMES_WEBUI_STATE_DIR"), ""),
        below(path_variable("HERMES_HOME"), "webui"),
        below(path_variable("HOME"), ".hermes/webui"),
    ];
    files.into_iter().flatten().collect()
}

/// One setting: its name, and where it stands in a file.
type HermesField = (&'static str, fn(&HermesFile) -> Option<bool>);

/// Combines the layers. The workspace's file can only switch a setting off.
pub(super) fn resolve_hermes(
    layers: &[Layer],
    settings: &mut Vec<EffectiveSetting>,
) -> Result<HermesSettings, CommandError> {
    let session = resolve_session(layers, settings)?;
    let mut find = |(name, get): HermesField| {
        let mut value = false;
        for Layer { path, file, of, .. } in layers {
            let Some(said) = get(&file.hermes) else { continue };
            let next = if *of == LayerOf::Workspace { value && said } else { said };
            if next != value {
                settings.retain(|setting| setting.name != name);
                let (name, source) = (name.to_owned(), path.display().to_string());
                settings.push(EffectiveSetting { name, value: next.to_string(), source });
            }
            value = next;
        }
        value
    };
    Ok(HermesSettings {
        open_read_only: find(("hermes.open_read_only", |file| file.open_read_only)),
        capture_approvals: find(("hermes.capture_approvals", |file| file.capture_approvals)),
        capture_with_software_key: find(("hermes.capture_with_software_key", |file| file.capture_with_software_key)),
        session,
    })
}

/// The last layer that says a length counts; a workspace's file counts only where it is shorter.
fn resolve_session(layers: &[Layer], settings: &mut Vec<EffectiveSetting>) -> Result<Duration, CommandError> {
    let mut seconds = LONGEST_SESSION;
    for Layer { path, file, of, .. } in layers {
        let Some(said) = file.hermes.session_seconds else { continue };
        if !(1..=LONGEST_SESSION).contains(&said) {
            let message =
                format!("{}: `hermes.session_seconds` is 1 to {LONGEST_SESSION}, found {said}", path.display());
            return Err(CommandError::usage(message).hint("cto schema config     every field"));
        }
        if *of == LayerOf::Workspace && said >= seconds {
            continue;
        }
        seconds = said;
        let name = "hermes.session_seconds";
        settings.retain(|setting| setting.name != name);
        let source = path.display().to_string();
        settings.push(EffectiveSetting { name: name.to_owned(), value: said.to_string(), source });
    }
    Ok(Duration::from_secs(seconds.into()))
}
