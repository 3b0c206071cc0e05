//! Settings of the records: the Core workspace that the guard looks at, and external
//! validators.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Layer, LayerOf};
use crate::error::CommandError;

/// The Core workspace, which is only ever read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CoreFile {
    /// Its folder.
    pub(crate) path: Option<PathBuf>,
    /// Further worktrees of it that count as active.
    pub(crate) worktrees: Vec<PathBuf>,
    /// The file that names the current sequence route, below the path; one that is not idle
    /// blocks.
    pub(crate) sequence_route: Option<PathBuf>,
    /// Branches, folders or words that stand for work of others.
    pub(crate) conflicts: Vec<String>,
}

/// A program that `cto validate workspace` runs, read-only and in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValidatorFile {
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
}

/// The last layer that names a Core workspace, its paths made absolute.
pub(super) fn resolve_core(layers: &[Layer]) -> CoreFile {
    let named = layers.iter().rev().find(|layer| layer.file.core.path.is_some());
    let Some(Layer { path, file, .. }) = named else { return CoreFile::default() };
    let base = path.parent().unwrap_or(Path::new("/"));
    let root = base.join(file.core.path.as_deref().unwrap_or(Path::new(".")));
    CoreFile {
        worktrees: file.core.worktrees.iter().map(|tree| base.join(tree)).collect(),
        sequence_route: file.core.sequence_route.as_ref().map(|route| root.join(route)),
        conflicts: file.core.conflicts.clone(),
        path: Some(root),
    }
}

/// The workspace's own validators.
pub(super) fn resolve_validators(layers: &[Layer]) -> Result<Vec<ValidatorFile>, CommandError> {
    let layer = layers.iter().find(|layer| layer.of == LayerOf::Workspace);
    let validators = layer.map(|layer| layer.file.validators.clone()).unwrap_or_default();
    match validators.iter().find(|validator| validator.argv.is_empty()) {
        Some(validator) => {
            let message = format!("the validator `{}` has no argv", contract::text::show_controls(&validator.name));
            Err(CommandError::usage(message).hint("cto schema config     every field"))
        }
        None => Ok(validators),
    }
}
