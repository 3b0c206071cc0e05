//! The places of records: a workspace holds admissions and decisions, the home holds the list of allowed signers.

use std::path::{Path, PathBuf};

/// Home and workspace in which records are looked for. The default has neither, so every record is missing.
#[derive(Debug, Clone, Default)]
pub struct RecordPlaces {
    home: Option<PathBuf>,
    workspace: Option<PathBuf>,
}

impl RecordPlaces {
    pub fn new(home: &Path, workspace: Option<&Path>) -> Self {
        Self { home: Some(home.to_owned()), workspace: workspace.map(Path::to_owned) }
    }

    /// Folder of model admissions.
    pub(crate) fn model_admissions(&self) -> Option<PathBuf> {
        self.in_workspace("admissions/model")
    }

    /// Folder of source admissions, one file for each engine.
    pub(crate) fn source_admissions(&self) -> Option<PathBuf> {
        self.in_workspace("admissions/source")
    }

    /// File of the source admission of an engine.
    pub(crate) fn source_admission(&self, engine: &str) -> Option<PathBuf> {
        Some(self.source_admissions()?.join(format!("{engine}.yaml")))
    }

    /// File of the provider decision.
    pub(crate) fn provider_decision(&self) -> Option<PathBuf> {
        self.in_workspace("decisions/provider.yaml")
    }

    /// File of the keys whose signatures count.
    pub(crate) fn allowed_signers(&self) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join("trust/allowed_signers"))
    }

    fn in_workspace(&self, below: &str) -> Option<PathBuf> {
        Some(self.workspace.as_ref()?.join(below))
    }
}
