//! The panel in the extension folder of a hermes-webui: put there, taken out, looked at.
//! Nothing of others is overwritten.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use contract::text::show_controls;
use hermes::{PANEL_SCRIPT, PANEL_STYLE};
use serde_json::json;

use super::manifest::{LARGEST, list_ids, put_entry, take_entry};
use super::{ask_status, host_of};
use crate::args::PanelPlace;
use crate::config::PANEL_ID;
use crate::context::Context;
use crate::error::CommandError;
use crate::replaced_file::replace_file;

const ASSETS: [(&str, &str); 2] = [("cto_control_panel.js", PANEL_SCRIPT), ("cto_control_panel.css", PANEL_STYLE)];
/// Words that every version of our assets has in its first line.
const OURS: &str = "ontrol panel of cto";
const EMPTY: &str = "{\"extensions\":[]}\n";
/// Mark beside a manifest that the installation made, so that no manifest of others is
/// removed with the panel.
const MADE: (&str, &str) = ("cto_control_panel.made", "Control panel of cto: the manifest was made with it.\n");

/// Installs the panel. Refuses to overwrite files of others.
pub(super) fn install_panel(context: &Context, place: &PanelPlace, sidecar: &str) -> Result<u8, CommandError> {
    let host = host_of(sidecar)?;
    if !host.starts_with("127.0.0.1:") && !host.starts_with("localhost:") && !host.starts_with("[::1]:") {
        return Err(CommandError::usage(format!("`{}` is not on this machine", show_controls(sidecar)))
            .hint("--sidecar http://127.0.0.1:4171"));
    }
    let manifest = manifest_of(place)?;
    let before = read_text(&manifest)?;
    let entry = json!({
        "id": PANEL_ID,
        "name": "cto control summary",
        "enabled": true,
        "scripts": [ASSETS[0].0],
        "stylesheets": [ASSETS[1].0],
        "permissions": {"storage": {"owned": true}},
        "settings_schema": [],
        "sidecar": {"type": "loopback", "origin": sidecar, "health_path": "/health", "proxy_auth": "token-v1"},
    });
    let text = before.as_deref().unwrap_or(EMPTY);
    let edited = put_entry(text, PANEL_ID, &entry.to_string()).map_err(|error| in_the_way(&manifest, &error))?;
    let others = list_ids(text).map_err(|error| in_the_way(&manifest, &error))?;
    let others: Vec<String> = others.into_iter().filter(|id| id != PANEL_ID).collect();
    let folder = manifest.parent().unwrap_or(Path::new("."));
    for (name, _) in ASSETS.into_iter().chain([MADE]) {
        refuse_foreign(&folder.join(name))?;
    }
    fs::create_dir_all(folder)?;
    if before.is_none() {
        replace_file(&folder.join(MADE.0), MADE.1)?;
    }
    for (name, text) in ASSETS {
        replace_file(&folder.join(name), text)?;
    }
    replace_file(&manifest, &edited)?;
    let output = context.output;
    let variable = show_controls(&place.manifest.display().to_string());
    if output.json {
        let other: Vec<String> = others.iter().map(|id| show_controls(id)).collect();
        let document = json!({"installed": true, "manifest": manifest, "other_extensions": other, "sidecar": sidecar});
        return output.print_json(&document).map(|()| 0);
    }
    output.print(&format!("installed {}\n", show_controls(&manifest.display().to_string())));
    others.iter().for_each(|id| output.print(&format!("kept {}\n", show_controls(id))));
    output.print_note(&format!(
        "start the host with HERMES_WEBUI_EXTENSION_MANIFEST={variable}; that hides extensions of its gallery\n"
    ));
    output.print_note(&format!("next  cto serve --sidecar {host}\n"));
    Ok(0)
}

/// Removes the panel, and the manifest if the installation made it and nothing else is in it.
pub(super) fn uninstall(context: &Context, place: &PanelPlace) -> Result<u8, CommandError> {
    let manifest = manifest_of(place)?;
    let text = read_text(&manifest)?;
    let edited = text.as_deref().map(|text| take_entry(text, PANEL_ID)).transpose();
    let edited = edited.map_err(|error| in_the_way(&manifest, &error))?.flatten();
    let folder = manifest.parent().unwrap_or(Path::new("."));
    match &edited {
        Some(edited) if edited == EMPTY && folder.join(MADE.0).exists() => fs::remove_file(&manifest)?,
        Some(edited) => replace_file(&manifest, edited)?,
        None => {}
    }
    for (name, _) in ASSETS.into_iter().chain([MADE]) {
        let file = folder.join(name);
        if refuse_foreign(&file).is_ok() && file.exists() {
            fs::remove_file(&file)?;
        }
    }
    // A folder that holds something of others stays.
    let _ = fs::remove_dir(folder);
    let output = context.output;
    if output.json {
        return output.print_json(&json!({"manifest": manifest, "was_installed": edited.is_some()})).map(|()| 0);
    }
    output.print(if edited.is_some() { "uninstalled\n" } else { "nothing to uninstall\n" });
    Ok(0)
}

/// Prints the state of the panel.
pub(super) fn show_status(context: &Context, place: &PanelPlace) -> Result<u8, CommandError> {
    let manifest = manifest_of(place)?;
    let text = read_text(&manifest)?.unwrap_or_else(|| EMPTY.to_owned());
    let ids = list_ids(&text).map_err(|error| in_the_way(&manifest, &error))?;
    let is_installed = ids.iter().any(|id| id == PANEL_ID);
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let is_current =
        ASSETS.iter().all(|(name, text)| fs::read(folder.join(name)).is_ok_and(|found| found == text.as_bytes()));
    let sidecar = sidecar_of(&text);
    let answers = sidecar.as_deref().and_then(|origin| ask_status(&host_of(origin).ok()?, "/health")) == Some(200);
    let has_token = context.config.sidecar_tokens.iter().any(|file| file.is_file());
    let output = context.output;
    if output.json {
        output.print_json(&json!({
            "assets_current": is_installed && is_current, "installed": is_installed, "manifest": manifest,
            "sidecar": sidecar, "sidecar_answers": answers, "token_file": has_token,
        }))?;
    } else {
        let word = |is: bool| if is { "yes" } else { "no" };
        output.print(&format!(
            "installed {}\nassets current {}\nsidecar {}\nsidecar answers {}\ntoken file {}\n",
            word(is_installed),
            word(is_installed && is_current),
            sidecar.as_deref().map_or_else(|| "none".to_owned(), show_controls),
            word(answers),
            word(has_token)
        ));
    }
    Ok(if is_installed && is_current { 0 } else { 3 })
}

/// Origin of our sidecar, as the manifest has it.
fn sidecar_of(text: &str) -> Option<String> {
    let document: serde_json::Value = serde_json::from_str(text).ok()?;
    let own = document["extensions"].as_array()?.iter().find(|entry| entry["id"] == PANEL_ID)?;
    own["sidecar"]["origin"].as_str().map(str::to_owned)
}

/// Manifest below its folder. A path that leads out of it is an error.
fn manifest_of(place: &PanelPlace) -> Result<PathBuf, CommandError> {
    let is_below = place.manifest.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_below || place.manifest.file_name().is_none() {
        return Err(CommandError::usage("the manifest is named by a path below the folder of extensions")
            .hint("--manifest cto-panel/manifest.json"));
    }
    if !place.dir.is_dir() {
        let folder = show_controls(&place.dir.display().to_string());
        return Err(CommandError::usage(format!("{folder} is not a folder")).hint(format!("mkdir -p {folder}")));
    }
    Ok(place.dir.join(&place.manifest))
}

fn read_text(file: &Path) -> Result<Option<String>, CommandError> {
    match fs::symlink_metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(found) if found.is_file() && found.len() <= LARGEST as u64 => {}
        _ => return Err(in_the_way(file, &"it is no file of at most 64 KiB")),
    }
    fs::read_to_string(file).map(Some).map_err(|error| in_the_way(file, &error))
}

/// Refuses a file that no version of this program wrote.
fn refuse_foreign(file: &Path) -> Result<(), CommandError> {
    match read_text(file)? {
        Some(text) if !text.lines().next().is_some_and(|line| line.contains(OURS)) => {
            Err(in_the_way(file, &"it was not written by this program"))
        }
        _ => Ok(()),
    }
}

fn in_the_way(file: &Path, error: &dyn std::fmt::Display) -> CommandError {
    CommandError::blocked_with(format!("{} stays as it is: {error}", show_controls(&file.display().to_string())))
        .hint("move it away, or name another with --manifest PATH")
}
