//! Managers of Node's packages: which one a repository uses.

use serde_json::Value;

use crate::repository::ProjectFolder;

/// Package manager of Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeManager {
    Npm,
    Pnpm,
    Yarn,
    /// Yarn 2 or newer, whose packages and words are others.
    NewYarn,
}

const LOCKS: [(&str, NodeManager); 4] = [
    ("npm-shrinkwrap.json", NodeManager::Npm),
    ("package-lock.json", NodeManager::Npm),
    ("pnpm-lock.yaml", NodeManager::Pnpm),
    ("yarn.lock", NodeManager::Yarn),
];

/// Files of one manager alone, beside its lock file.
const OWN_FILES: [(&str, NodeManager); 4] = [
    ("pnpm-workspace.yaml", NodeManager::Pnpm),
    (".pnpmfile.cjs", NodeManager::Pnpm),
    (".yarnrc.yml", NodeManager::NewYarn),
    (".yarnrc", NodeManager::Yarn),
];

impl NodeManager {
    /// Name of its program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn | Self::NewYarn => "yarn",
        }
    }

    /// Finds the manager of a package: by a lock file that git keeps, by the field
    /// `packageManager`, by a file of its own, by a lock file that git ignores.
    pub(crate) fn find(place: &ProjectFolder<'_>) -> Self {
        let by_lock = |is_kept: bool| {
            let mut locks = LOCKS.iter().filter(|(lock, _)| place.has_file(lock) && (!is_kept || !place.ignores(lock)));
            locks.next().map(|(_, manager)| *manager)
        };
        let by_file = || OWN_FILES.iter().find(|(name, _)| place.has_file(name)).map(|(_, manager)| *manager);
        let manifest = place.read_text("package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let by_field = || by_field(manifest.as_ref()?["packageManager"].as_str()?);
        let found = by_lock(true).or_else(by_field).or_else(by_file).or_else(|| by_lock(false));
        match found.unwrap_or(Self::Npm) {
            Self::Yarn if place.has_file(".yarnrc.yml") => Self::NewYarn,
            manager => manager,
        }
    }
}

/// Name of the lock file that git keeps.
pub(crate) fn find_node_lock(place: &ProjectFolder<'_>) -> Option<&'static str> {
    LOCKS.iter().map(|(lock, _)| *lock).find(|lock| place.has_file(lock) && !place.ignores(lock))
}

/// The manager that a field like `pnpm@10.1.0+sha512.abc` names.
fn by_field(field: &str) -> Option<NodeManager> {
    let (name, version) = field.split_once('@')?;
    match (name, version.split('.').next()?.parse::<u32>().ok()?) {
        ("npm", _) => Some(NodeManager::Npm),
        ("pnpm", _) => Some(NodeManager::Pnpm),
        ("yarn", 0 | 1) => Some(NodeManager::Yarn),
        ("yarn", _) => Some(NodeManager::NewYarn),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_names_a_manager() {
        for (field, manager) in [
            ("pnpm@10.34.9", Some(NodeManager::Pnpm)),
            ("yarn@1.22.22+sha512.a6b2", Some(NodeManager::Yarn)),
            ("yarn@4.1.0", Some(NodeManager::NewYarn)),
            ("npm@11", Some(NodeManager::Npm)),
            ("bun@1.0.0", None),
            ("pnpm", None),
            ("yarn@", None),
            ("", None),
        ] {
            assert_eq!(by_field(field), manager, "{field}");
        }
    }
}
