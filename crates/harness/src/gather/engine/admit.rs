//! Drafting the admission of an engine's source. The copy is made; nothing is approved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::decision::Shortfall;
use contract::record::{Found, LicenseStatus, SourceAdmission, is_temporary, placeholder};
use contract::{MutationMode, Stamp};
use serde::Deserialize;
use untrusted_fs::own_files::{self, OwnPath as _};

use super::equip::{admission, program_on_path};
use super::kept::Kept;
use super::locate;
use crate::home::engines::Engine;
use crate::run::harness::Harness;

/// What a package says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Package {
    name: Option<String>,
    version: Option<String>,
    license: Option<serde_json::Value>,
    repository: Option<serde_json::Value>,
    homepage: Option<String>,
}

/// Copies the engine into the home and drafts its record. What only a person knows is left for one to fill in.
pub fn draft_source(harness: &Harness, engine: &Engine, now: Stamp) -> Result<SourceAdmission, Shortfall> {
    let located = locate::program(engine, &harness.tools.operator_path)?;
    let executable = located.executable();
    // Without the record that stands: what is on the path is what is admitted.
    let (pieces, found) = program_on_path(harness, engine, None)?;
    let package = package(&executable);
    let version = package.version.clone().unwrap_or_else(|| found.version.clone());
    let previous = match admission(harness, &engine.id, now) {
        Found::Record { record, .. } if record.source_id != found.source_id => Some(record.source_id),
        _ => None,
    };
    let license = package.license.as_ref().and_then(|license| license.as_str()).unwrap_or("none stated");
    let name = package.name.clone();
    let below = pieces.program.located.below.display().to_string();
    Ok(SourceAdmission {
        engine: engine.id.clone(),
        status: "draft".to_owned(),
        source_id: format!("{}@{version}+{}", engine.id, &found.tree_sha256.to_string()[..12]),
        source_url: url(&package),
        pinned_commit: None,
        version: Some(version.clone()),
        previous_source_id: previous,
        license_note: format!("{license}, as its package says; {}", placeholder("whether it may be used here")),
        license_status: LicenseStatus::Unresolved,
        internal_use_note: None,
        retrieval_date: now.to_string().chars().take(10).collect(),
        retrieval_command: match &name {
            Some(name) => format!("npm install {name}@{version}"),
            None => placeholder("the command that retrieved it"),
        },
        integrity_reference: None,
        observed_branch: None,
        commit_date: None,
        toolchain: BTreeMap::new(),
        built_at: None,
        build_command: None,
        executable_path: lasting_path(&executable, &pieces.program),
        package_name: name,
        executable: if below.is_empty() { ".".to_owned() } else { below },
        executable_sha256: found.executable_sha256,
        source_tree_sha256: found.tree_sha256,
        interpreter_sha256: found.interpreter_sha256,
        identity_check: engine.identity(None).clone(),
        command_shape: engine.definition.argv.clone(),
        allowed_execution_modes: vec![MutationMode::CopiedFixture],
        protected_source_boundary: "the copy in the harness's home, read-only".to_owned(),
        approval_source: placeholder("who approves, and where that is written"),
        approval_timestamp: now.to_string(),
        review_trigger: placeholder("when this is to be looked at again"),
        expires_at: None,
        max_stage: None,
    })
}

/// The path by which a record names the program. One that lies where nothing lasts is named by its copy, which is what runs.
fn lasting_path(found: &Path, kept: &Kept) -> String {
    let path = found.display().to_string();
    if !is_temporary(&path) {
        return path;
    }
    let copy = Path::new("CTO_HOME/engines").join(kept.tree_sha256.to_string()).join("tree");
    copy.components().chain(kept.located.below.components()).collect::<PathBuf>().display().to_string()
}

fn package(executable: &Path) -> Package {
    let manifest: Option<PathBuf> =
        executable.ancestors().skip(1).take(8).map(|dir| dir.join("package.json")).find(|file| file.own_is_file());
    manifest
        .and_then(|file| own_files::read(file).ok())
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

fn url(package: &Package) -> String {
    let stated = package.repository.as_ref().and_then(|repository| match repository {
        serde_json::Value::String(url) => Some(url.clone()),
        other => other.get("url").and_then(|url| url.as_str()).map(str::to_owned),
    });
    stated.or_else(|| package.homepage.clone()).unwrap_or_else(|| placeholder("where it comes from"))
}
