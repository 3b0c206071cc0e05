//! The places of records: a workspace holds admissions and decisions, the home holds the
//! lists of keys and the approval policy.

use std::path::{Path, PathBuf};

/// Home and workspace in which records are looked for. The default has neither, so every
/// record is missing.
#[derive(Debug, Clone, Default)]
pub struct RecordPlaces {
    home: Option<PathBuf>,
    workspace: Option<PathBuf>,
}

impl RecordPlaces {
    /// Places below a home and, if the command has one, a workspace.
    pub fn new(home: &Path, workspace: Option<&Path>) -> Self {
        Self { home: Some(home.to_owned()), workspace: workspace.map(Path::to_owned) }
    }

    /// The workspace, where there is one.
    pub fn workspace(&self) -> Option<&Path> {
        self.workspace.as_deref()
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

    /// Folder of target admissions.
    pub(crate) fn target_admissions(&self) -> Option<PathBuf> {
        self.in_workspace("admissions/target")
    }

    /// File of the workspace's approval policy, which tightens the home's.
    pub(crate) fn workspace_policy(&self) -> Option<PathBuf> {
        self.in_workspace("approval-policy.yaml")
    }

    /// File of the home's approval policy.
    pub(crate) fn home_policy(&self) -> Option<PathBuf> {
        self.in_home("trust/approval-policy.yaml")
    }

    /// File of the compromised keys.
    pub(crate) fn compromised_keys(&self) -> Option<PathBuf> {
        self.in_home("trust/compromised.json")
    }

    /// File of the keys whose signatures count.
    pub(crate) fn allowed_signers(&self) -> Option<PathBuf> {
        self.in_home("trust/allowed_signers")
    }

    fn in_home(&self, below: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(below))
    }

    fn in_workspace(&self, below: &str) -> Option<PathBuf> {
        Some(self.workspace.as_ref()?.join(below))
    }
}
