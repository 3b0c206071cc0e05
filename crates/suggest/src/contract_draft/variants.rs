//! Environments to be tried one after the other: each next by what the last failure says.

use std::path::Path;

use contract::task::Environment;
use untrusted_fs::own_files;

use crate::environment::{EnvironmentDraft, SuggestEnvironmentError, draft_environment};
use crate::machine::{DraftChoice, MachineTools};
use crate::repository::list_project_folders;

/// Environments that are tried at most: each takes an installation and a run of the tests.
const MOST_TRIED: usize = 7;

/// Characters of a quoted line.
const LONGEST_LINE: usize = 160;

/// A draft of an environment, and what tells it from the others.
#[derive(Debug)]
pub struct EnvironmentVariant {
    pub label: &'static str,
    /// Line of the failure that asks for it.
    pub because: Option<String>,
    /// Environment; none if nothing in the repository needs one.
    pub draft: Option<EnvironmentDraft>,
}

/// Search for an environment in which a repository's tests run.
#[derive(Debug)]
pub struct VariantSearch {
    usual: EnvironmentDraft,
    unlocked: EnvironmentDraft,
    other_cache: EnvironmentDraft,
    /// The one that was tried last.
    last: EnvironmentDraft,
    tried: Vec<Environment>,
}

/// Words of a failure and the change that they ask for.
struct FailureRule {
    words: &'static [&'static str],
    label: &'static str,
    change: fn(&VariantSearch) -> Option<EnvironmentDraft>,
}

const NO_BACKEND: &[&str] = &[
    "setuptools.build_meta",
    "BackendUnavailable",
    "Cannot import 'setuptools",
    "No module named 'setuptools'",
    "No matching distribution found for setuptools",
    "No matching distribution found for wheel",
    "No matching distribution found for hatchling",
    "No matching distribution found for flit",
    "No matching distribution found for poetry-core",
];
const STALE_LOCK: &[&str] = &[
    "package.json and package-lock.json or npm-shrinkwrap.json are in sync",
    "ERR_PNPM_OUTDATED_LOCKFILE",
    "ERR_PNPM_LOCKFILE",
    "Your lockfile needs to be updated",
    "error: Failed to parse `uv.lock`",
    "The lockfile at `uv.lock`",
];
const NOT_CACHED: &[&str] = &[
    "No matching distribution found",
    "Could not find a version that satisfies",
    "No solution found when resolving",
    "cache mode is 'only-if-cached'",
    "ENOTCACHED",
    "ERR_PNPM_NO_OFFLINE",
    "Couldn't find any versions",
    "Couldn't find the package",
    "Can't make a request in offline mode",
    "no matching package named",
    "you may need to run this command without --offline",
    "module lookup disabled by GOPROXY=off",
    "Network connectivity is disabled",
];
const NO_NETWORK: &[&str] = &[
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
    "Temporary failure in name resolution",
    "Could not resolve host",
    "Network is unreachable",
    "getaddrinfo",
    "dns error",
    "Unknown host",
];
const NOT_LOADED: &[&str] =
    &["No module named", "Cannot find module", "cannot import name", "ERR_MODULE_NOT_FOUND", "PackageNotFoundError"];

/// The first that fits and was not tried is next.
const RULES: &[FailureRule] = &[
    FailureRule {
        words: NO_BACKEND,
        label: "with the build tools that the project names",
        change: |search| search.last.named_tools_draft(),
    },
    FailureRule {
        words: NO_BACKEND,
        label: "with the build tools of the system",
        change: |search| search.last.system_tools_draft(),
    },
    FailureRule {
        words: STALE_LOCK,
        label: "without holding to the lock file",
        change: |search| Some(search.unlocked.clone()),
    },
    FailureRule {
        words: NOT_CACHED,
        label: "from another cache of this machine",
        change: |search| Some(search.other_cache.clone()),
    },
    FailureRule {
        words: NOT_LOADED,
        label: "with the project itself installed",
        change: |search| search.last.installed_draft(),
    },
    FailureRule {
        words: &[
            "No module named",
            "No file/folder found for package",
            "does not appear to be a Python project",
            "Multiple top-level packages",
        ],
        label: "with src/ on Python's path",
        change: |search| search.last.module_path_draft(),
    },
    FailureRule {
        words: NO_NETWORK,
        label: "with package managers told that there is no network",
        change: |search| search.last.offline_draft(),
    },
    FailureRule { words: NOT_CACHED, label: WITH_NETWORK, change: |search| search.last.online_draft() },
    FailureRule { words: NO_NETWORK, label: WITH_NETWORK, change: |search| search.last.online_draft() },
    FailureRule { words: NOT_LOADED, label: WITH_NETWORK, change: |search| search.last.online_draft() },
];

const WITH_NETWORK: &str = "with network for setup";

/// Another draft of the same repository, where there is one.
type OtherDraft = fn(&VariantSearch) -> Option<EnvironmentDraft>;

/// Tried in this order where a failure says nothing that is known.
const OTHERS: &[(&str, OtherDraft)] = &[
    ("the same without the build", |search| search.usual.unbuilt_draft()),
    (WITH_NETWORK, |search| search.usual.online_draft()),
    ("without setup and build", |search| search.usual.bare_draft()),
];

impl VariantSearch {
    /// Reads a repository, and starts nothing.
    pub fn new(dir: &Path, tools: &MachineTools) -> Result<Self, SuggestEnvironmentError> {
        let root = own_files::canonicalize(dir).map_err(SuggestEnvironmentError::Look)?;
        let folders = list_project_folders(&root).map_err(SuggestEnvironmentError::Look)?;
        let draft = |choice: DraftChoice| draft_environment(&folders, tools, choice);
        let usual = draft(DraftChoice::USUAL);
        Ok(Self {
            unlocked: draft(DraftChoice { holds_to_locks: false, ..DraftChoice::USUAL }),
            other_cache: draft(DraftChoice { takes_other_cache: true, ..DraftChoice::USUAL }),
            last: usual.clone(),
            usual,
            tried: Vec::new(),
        })
    }

    /// The first, before anything failed.
    pub fn first_variant(&mut self) -> EnvironmentVariant {
        self.tried.push(self.usual.environment());
        let is_known = self.usual.count_projects() > 0;
        let label = if is_known { "from what this machine has" } else { "what every sandbox shows" };
        EnvironmentVariant { label, because: None, draft: is_known.then(|| self.usual.clone()) }
    }

    /// The next by the output of the last, if any is left.
    pub fn next_variant(&mut self, failure: &str) -> Option<EnvironmentVariant> {
        if self.tried.len() >= MOST_TRIED || self.usual.count_projects() == 0 {
            return None;
        }
        let by_failure = RULES.iter().find_map(|rule| {
            let because = quote_line(failure, rule.words)?;
            Some((rule.label, Some(because), self.untried((rule.change)(self))?))
        });
        let others = || OTHERS.iter().find_map(|(label, change)| Some((*label, None, self.untried(change(self))?)));
        let (label, because, draft) = by_failure.or_else(others)?;
        self.tried.push(draft.environment());
        self.last = draft.clone();
        Some(EnvironmentVariant { label, because, draft: Some(draft) })
    }

    fn untried(&self, draft: Option<EnvironmentDraft>) -> Option<EnvironmentDraft> {
        draft.filter(|draft| !self.tried.contains(&draft.environment()))
    }
}

/// The first line that holds one of the words.
fn quote_line(text: &str, words: &[&str]) -> Option<String> {
    let line = text.lines().find(|line| words.iter().any(|word| line.contains(word)))?;
    Some(line.trim().chars().take(LONGEST_LINE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_says_why_is_quoted() {
        let long = format!("No module named {}", "x".repeat(500));
        for (text, words, line) in [
            ("a\n  npm error code ENOTCACHED\nb", NOT_CACHED, Some("npm error code ENOTCACHED".to_owned())),
            (long.as_str(), NOT_LOADED, Some(long.chars().take(LONGEST_LINE).collect())),
            ("all is well", NOT_CACHED, None),
        ] {
            assert_eq!(quote_line(text, words), line, "{text}");
        }
    }

    #[test]
    fn no_word_is_empty() {
        assert!(RULES.iter().flat_map(|rule| rule.words).all(|word| word.len() > 4));
    }
}
