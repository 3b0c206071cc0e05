//! Drafting the admission of an engine's source. The copy is made; nothing is approved.

use std::path::{Path, PathBuf};

use contract::Stamp;
use contract::decision::Shortfall;
use contract::record::{SourceAdmission, is_temporary};
use cortex::{SourceDraftFacts, draft_source_admission};
use serde::Deserialize;
use untrusted_fs::own_files::{self, OwnPath as _};

use super::equip::{admission, program_on_path};
use super::kept::KeptTree;
use super::locate;
use crate::home::engines::Engine;
use crate::run::harness::Harness;

/// Manifest of a package, as far as a draft needs it. Claims of the package, to be checked
/// by a person.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Package {
    name: Option<String>,
    version: Option<String>,
    license: Option<serde_json::Value>,
    repository: Option<serde_json::Value>,
    homepage: Option<String>,
}

/// Copies the engine into the home and drafts its record. What only a person knows is left
/// for one to fill in.
pub fn draft_source(harness: &Harness, engine: &Engine, now: Stamp) -> Result<SourceAdmission, Shortfall> {
    let executable = locate::program(engine, &harness.tools.operator_path)?.executable();
    // Without the record that stands: what is on the path is what is admitted.
    let (pieces, program) = program_on_path(harness, engine, None)?;
    let package = package(&executable);
    let facts = SourceDraftFacts {
        engine: engine.id.clone(),
        program,
        executable_path: lasting_path(&executable, &pieces.program),
        identity_check: engine.identity(None).clone(),
        command_shape: engine.definition.argv.clone(),
        package_url: url(&package),
        package_license: package.license.and_then(|license| license.as_str().map(str::to_owned)),
        package_name: package.name,
        package_version: package.version,
    };
    Ok(draft_source_admission(facts, &admission(harness, &engine.id, now), now))
}

/// The path by which a record names the program. One that lies where nothing lasts is named
/// by its copy, which is what runs.
fn lasting_path(found: &Path, kept: &KeptTree) -> String {
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
        .and_then(|file| own_files::read_file(file).ok())
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

fn url(package: &Package) -> Option<String> {
    let stated = package.repository.as_ref().and_then(|repository| match repository {
        serde_json::Value::String(url) => Some(url.clone()),
        other => other.get("url").and_then(|url| url.as_str()).map(str::to_owned),
    });
    stated.or_else(|| package.homepage.clone())
}
