//! Settings of the console. A workspace can only switch them off.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{EffectiveSetting, Layer, LayerOf, path_variable};

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
}

/// The settings, all of them off unless a person's own file says otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HermesSettings {
    pub(crate) open_read_only: bool,
    pub(crate) capture_approvals: bool,
    pub(crate) capture_with_software_key: bool,
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
pub(super) fn resolve_hermes(layers: &[Layer], settings: &mut Vec<EffectiveSetting>) -> HermesSettings {
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
    HermesSettings {
        open_read_only: find(("hermes.open_read_only", |file| file.open_read_only)),
        capture_approvals: find(("hermes.capture_approvals", |file| file.capture_approvals)),
        capture_with_software_key: find(("hermes.capture_with_software_key", |file| file.capture_with_software_key)),
    }
}
