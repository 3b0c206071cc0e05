//! Common state of all runs: the home, the key, the ledger, the programs and settings of
//! this machine.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use contract::Digest;
use contract::approval::PlannedSetting;
use contract::decision::Shortfall;
use contract::report::HostFacts;
use cortex::RecordPlaces;
use evidence::HarnessKey;
use ledger::Ledger;
use sandbox::Supervisor;

use crate::home::engines::Engines;
use crate::home::host::{self, GatherHostError, Tools};
use crate::home::layout::{Home, HomePlace, OpenHomeError};
use crate::home::model_settings::ModelSettings;
use crate::home::named_repositories::NamedRepositories;
use crate::run::lease::LEASE;

/// Everything a run needs that outlives it.
#[derive(Debug)]
pub struct Harness {
    /// Home of runs, keys and ledger.
    pub home: Home,
    /// Key that signs bundles and statements.
    pub(crate) key: HarnessKey,
    pub(crate) supervisor: Supervisor,
    /// Own executable, which is started again as a supervising stage.
    pub(crate) exe: PathBuf,
    pub(crate) git: tree::Git,
    pub(crate) tools: Tools,
    /// Machine and harness, as reports name them.
    pub(crate) host: HostFacts,
    /// Places of the operator's records.
    pub(crate) records: RecordPlaces,
    pub(crate) models: ModelSettings,
    pub(crate) engines: Engines,
    pub(crate) named_repositories: NamedRepositories,
    /// The operator's own configuration files of git, the strongest first.
    pub(crate) git_configuration: Vec<PathBuf>,
    /// Effective settings, as plans have them.
    pub(crate) settings: Vec<PlannedSetting>,
    /// Passes since the last failure that earn a rung.
    pub(crate) passes_required: u32,
    /// The record of the kill switch that is heeded.
    pub(crate) switch: PathBuf,
    /// This home on this machine.
    pub(crate) instance: Digest,
    /// The time for which other instances leave a run alone when its own says nothing.
    pub(crate) lease: Duration,
    /// Obstacle to profile `strict` on this machine; determined when it is first needed.
    pub(crate) strict_shortfall: OnceLock<Option<Shortfall>>,
    /// One connection for all threads: its operations are short, and opening one costs more
    /// than waiting.
    ledger: Mutex<Ledger>,
}

/// Reason why the harness could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum OpenHarnessError {
    #[error(transparent)]
    Home(OpenHomeError),
    #[error(transparent)]
    Git(tree::TreeError),
    #[error("git {} is too old: {} or newer is needed", .0, tree::GitVersion::OLDEST)]
    GitTooOld(tree::GitVersion),
    #[error(transparent)]
    Host(GatherHostError),
}

impl OpenHarnessError {
    /// Action that would help.
    pub fn remedy(&self) -> String {
        match self {
            Self::Home(error) => error.remedy(),
            Self::Git(_) | Self::GitTooOld(_) => format!("install git {} or newer", tree::GitVersion::OLDEST),
            Self::Host(_) => "cto doctor".to_owned(),
        }
    }
}

impl Harness {
    /// `exe` is the own executable: it supervises engines and is the fake engine.
    pub fn open_home(home: &HomePlace, exe: PathBuf, tools: Tools) -> Result<Self, OpenHarnessError> {
        let home = Home::create_folders(home).map_err(OpenHarnessError::Home)?;
        let instance = home.instance().map_err(OpenHarnessError::Home)?;
        let git = tree::Git::find_git(&tools.operator_path).map_err(OpenHarnessError::Git)?;
        let host = host::gather_facts(&exe, &git, &home.cache()).map_err(OpenHarnessError::Host)?;
        let key = home.harness_key().map_err(OpenHarnessError::Home)?;
        let ledger = Mutex::new(home.ledger().map_err(OpenHarnessError::Home)?);
        let (supervisor, strict_shortfall) = (Supervisor::new(exe.clone()), OnceLock::new());
        let switch = home.halt_path();
        Ok(Self {
            key,
            supervisor,
            exe,
            git,
            tools,
            host,
            records: RecordPlaces::default(),
            models: ModelSettings::default(),
            engines: Engines::default(),
            named_repositories: NamedRepositories::default(),
            git_configuration: Vec::new(),
            settings: Vec::new(),
            passes_required: 1,
            switch,
            instance,
            lease: LEASE,
            strict_shortfall,
            ledger,
            home,
        })
    }

    /// Sets the length of leases.
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// Sets the places of the operator's records; without them nothing is admitted.
    pub fn with_records(self, records: RecordPlaces) -> Self {
        Self { records, ..self }
    }

    /// Sets the model settings; without them no model can be used.
    pub fn with_models(self, models: ModelSettings) -> Self {
        Self { models, ..self }
    }

    /// Sets the engines of the operator's configuration, beside the fake one.
    pub fn with_engines(self, engines: Engines) -> Self {
        Self { engines, ..self }
    }

    /// Sets the repositories that records and configuration name.
    pub fn with_named_repositories(self, named_repositories: NamedRepositories) -> Self {
        Self { named_repositories, ..self }
    }

    /// Sets the operator's git configuration files; without them a commit has no author.
    pub fn with_git_configuration(self, git_configuration: Vec<PathBuf>) -> Self {
        Self { git_configuration, ..self }
    }

    /// Sets the effective settings that a plan repeats; never a secret, never an endpoint.
    pub fn with_settings(self, settings: Vec<PlannedSetting>) -> Self {
        Self { settings, ..self }
    }

    /// Sets the number of passes that a rung takes.
    pub fn with_passes_required(self, passes_required: u32) -> Self {
        Self { passes_required, ..self }
    }

    /// Fingerprint of the key that signs this home's bundles.
    pub fn key_id(&self) -> String {
        self.key.public().key_id()
    }

    /// Machine and harness, as reports name them.
    pub fn host(&self) -> &HostFacts {
        &self.host
    }

    /// The ledger, for one operation. Every operation is a transaction, so a thread that
    /// died in one left nothing half done.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
