//! Everything that an engine is given, searched for repositories of the operator's before
//! anything is started.

use std::path::{Path, PathBuf};

use contract::proof::{LookedAt, PlaceLooked};
use contract::{Digest, canonical_bytes};
use untrusted_fs::own_files;

use crate::home::named_repositories::ReadTargetError;
use crate::home::placement::{GIVEN, TREE};
use crate::run::conceal::salted_digest;
use crate::run::file::{RunFile, Stopped};

/// Places of an engine's order that were searched for paths of repositories.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchedPlaces {
    pub(crate) places: Vec<PlaceLooked>,
    pub(crate) looked_for: Vec<String>,
    /// Writable paths as the engine sees them.
    pub(crate) writable: Vec<String>,
}

/// Order of an engine, as it is handed over.
pub(super) struct EngineInput<'a> {
    pub(super) argv: &'a [String],
    pub(super) input: &'a [u8],
    /// Environment without the run's token, which is worthless and written nowhere.
    pub(super) environment: Vec<(String, String)>,
    pub(super) configuration: &'a [u8],
    pub(super) writable: Vec<String>,
}

impl SearchedPlaces {
    /// Searches everything before anything is started. The place where a path stands, if
    /// one does.
    pub(super) fn search(
        run: &RunFile<'_>,
        handed: &EngineInput<'_>,
        paths: &[String],
    ) -> Result<(Self, Option<LookedAt>), Stopped> {
        let mut contract = run.task().contract.clone();
        contract.source_repository = None;
        contract.target_repository = None;
        let environment: String = handed.environment.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let rows = [
            (LookedAt::Contract, canonical_bytes(&contract)?),
            (LookedAt::Argv, handed.argv.join("\n").into_bytes()),
            (LookedAt::Input, handed.input.to_vec()),
            (LookedAt::Environment, environment.into_bytes()),
            (LookedAt::Configuration, handed.configuration.to_vec()),
        ];
        let places: Vec<PlaceLooked> = rows
            .into_iter()
            .map(|(place, bytes)| PlaceLooked {
                place,
                sha256: Digest::of_bytes(&bytes),
                bytes: bytes.len() as u64,
                occurrences: paths.iter().map(|path| occurrences(&bytes, path.as_bytes())).sum(),
            })
            .collect();
        let found = places.iter().find(|looked| looked.occurrences > 0).map(|looked| looked.place);
        let salted = |path: &String| salted_digest(run.confinement().canary(), path);
        Ok((Self { places, looked_for: paths.iter().map(salted).collect(), writable: handed.writable.clone() }, found))
    }
}

/// Places that every sandbox has of its own.
const OWN: &[&str] = &[TREE, GIVEN, sandbox::HOME_DEFAULT, "/tmp"];

/// Repositories of the operator's that records, configuration and contract name: everything
/// that the proof looks for. A path that every sandbox has of its own cannot be distinguished;
/// nor does the target count that the run is admitted to.
pub(super) fn repository_paths(run: &RunFile<'_>, target: Option<&Path>) -> Result<Vec<String>, ReadTargetError> {
    let contract = &run.task().contract;
    let of_contract = contract.target_repository.iter().chain(&contract.source_repository).cloned();
    let named = run.harness().named_repositories.paths()?;
    let opened = run.task().repository().map(Path::to_owned);
    let text = |path: PathBuf| path.display().to_string();
    let all = of_contract.chain(named.into_iter().chain(opened).map(text));
    let mut paths: Vec<String> = all.map(|path| path.trim_end_matches('/').to_owned()).collect();
    let everywhere = |path: &str| OWN.iter().any(|own| Path::new(own).starts_with(path));
    let resolved = target.and_then(|target| own_files::canonicalize(target).ok());
    let is_target = |path: &str| target.into_iter().chain(resolved.as_deref()).any(|target| target == Path::new(path));
    paths.retain(|path| path.starts_with('/') && !everywhere(path) && !is_target(path));
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Number of occurrences of a path in a text. `/src/site-cache` is not `/src/site`;
/// doubtful cases count.
fn occurrences(bytes: &[u8], path: &[u8]) -> u64 {
    let goes_on =
        |end: usize| bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let windows = bytes.windows(path.len().max(1)).enumerate();
    windows.filter(|(start, window)| *window == path && !goes_on(start + path.len())).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_and_its_neighbours_are_not() {
        for (text, times) in [
            ("/src/site", 1),
            ("in /src/site. And /src/site/a, \"/src/site\"", 3),
            ("/src/site.git", 1),
            ("/src/siteä", 1),
            ("/src/site-cache:/src/site2:/src/site_old", 0),
            ("/src", 0),
        ] {
            assert_eq!(occurrences(text.as_bytes(), b"/src/site"), times, "{text}");
        }
    }
}
