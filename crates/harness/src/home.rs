//! `CTO_HOME`: where runs, keys and the ledger live, and nothing else does.

use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use contract::RunId;
use evidence::key::ReadKeyError;
use evidence::private::{Exposed, Privacy, require_private};
use evidence::{HarnessKey, PublicKey};
use ledger::Ledger;
use untrusted_fs::own_files::{self, OwnPath as _};

/// The harness's own folder.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
}

/// Why a home cannot be used.
#[derive(Debug)]
pub enum OpenHomeError {
    Missing(PathBuf),
    NotADirectory(PathBuf),
    /// Others have a hand in it, or in something that evidence rests on.
    Exposed(Exposed),
    /// On a file system of another machine.
    Network(PathBuf, &'static str),
    Io(PathBuf, io::Error),
    Ledger(ledger::OpenLedgerError),
    Key(ReadKeyError),
}

impl fmt::Display for OpenHomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(f, "there is no home at {}", path.display()),
            Self::NotADirectory(path) => write!(f, "{} is not a directory, so it cannot be the home", path.display()),
            Self::Exposed(exposed) => write!(f, "{exposed}; nothing is signed or read there"),
            Self::Network(path, kind) => {
                write!(
                    f,
                    "{} is on a network file system ({kind}), where locks and renames do not hold",
                    path.display()
                )
            }
            Self::Io(path, error) => write!(f, "cannot use {} as the home: {error}", path.display()),
            Self::Ledger(error) => error.fmt(f),
            Self::Key(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenHomeError {}

impl OpenHomeError {
    fn of_key(error: ReadKeyError) -> Self {
        match error {
            ReadKeyError::Exposed(exposed) => Self::Exposed(exposed),
            error => Self::Key(error),
        }
    }

    /// What would help.
    pub fn remedy(&self) -> String {
        match self {
            Self::Missing(_) => "run something first (cto demo), or name another with --home".to_owned(),
            Self::NotADirectory(_) | Self::Network(..) | Self::Io(..) => {
                "name a directory you can write with --home DIR or CTO_HOME".to_owned()
            }
            Self::Exposed(exposed) => exposed.remedy(),
            Self::Ledger(error) => error.remedy().to_owned(),
            Self::Key(_) => "restore the key from a backup, or move it away to have a new one made".to_owned(),
        }
    }
}

const FOLDERS: &[&str] = &["active", "harness-runs", "work", "reserve", "cache", "engines", "keys", "trust", "logs"];

/// What evidence rests on, relative to the home, and what others may do with it at most.
const PRIVATE: &[(&str, Privacy)] = &[
    ("", Privacy::Folder),
    ("keys", Privacy::OwnFolder),
    ("trust", Privacy::OwnFolder),
    ("keys/harness.pem", Privacy::Secret),
    ("keys/operator", Privacy::Secret),
    ("trust/workspaces", Privacy::OwnFile),
    ("ledger.db", Privacy::OwnFile),
    ("ledger.db-wal", Privacy::OwnFile),
    ("ledger.db-shm", Privacy::OwnFile),
];

/// File systems of other machines, by the kernel's numbers: locks and renames there are not what the ledger and the seal
/// rest on.
const NETWORK: &[(rustix::fs::FsWord, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
];

fn network(path: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(path).ok()?.f_type;
    NETWORK.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

impl Home {
    /// Makes the folders where they are missing.
    pub fn create(root: &Path) -> Result<Self, OpenHomeError> {
        Self { root: root.to_owned() }.require_private()?;
        Self::create_to_halt(root)
    }

    /// The same for the kill switch, which works in a home that is refused for everything else.
    pub fn create_to_halt(root: &Path) -> Result<Self, OpenHomeError> {
        let root = std::path::absolute(root).map_err(|error| OpenHomeError::Io(root.to_owned(), error))?;
        if own_files::metadata(&root).is_ok_and(|kind| !kind.is_dir()) {
            return Err(OpenHomeError::NotADirectory(root));
        }
        let home = Self { root };
        for folder in FOLDERS {
            let path = home.root.join(folder);
            if !path.own_is_dir() {
                DirBuilder::new().mode(0o700).recursive(true).create(&path).map_err(|error| home.failed(error))?;
            }
        }
        match network(&home.root) {
            Some(kind) => Err(OpenHomeError::Network(home.root, kind)),
            None => Ok(home),
        }
    }

    /// A home that is there already; makes nothing.
    pub fn existing(root: &Path) -> Result<Self, OpenHomeError> {
        let root = std::path::absolute(root).map_err(|error| OpenHomeError::Io(root.to_owned(), error))?;
        match own_files::metadata(&root) {
            Ok(kind) if kind.is_dir() => {
                let home = Self { root };
                home.require_private()?;
                Ok(home)
            }
            Ok(_) => Err(OpenHomeError::NotADirectory(root)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(OpenHomeError::Missing(root)),
            Err(error) => Err(OpenHomeError::Io(root, error)),
        }
    }

    /// Nobody but the user may write where keys, trust and the ledger lie, or read a key. Asked whenever a home is opened,
    /// so that no command that signs, verifies or records is without it.
    fn require_private(&self) -> Result<(), OpenHomeError> {
        for (path, wanted) in PRIVATE {
            require_private(&self.root.join(path), *wanted).map_err(OpenHomeError::Exposed)?;
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> OpenHomeError {
        OpenHomeError::Io(self.root.clone(), error)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn active(&self) -> PathBuf {
        self.root.join("active")
    }

    pub fn active_run(&self, run: &RunId) -> PathBuf {
        self.active().join(run.as_str())
    }

    pub fn bundles(&self) -> PathBuf {
        self.root.join("harness-runs")
    }

    pub fn bundle(&self, run: &RunId) -> PathBuf {
        self.bundles().join(run.as_str())
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Programs inside see the last name of it, in what the kernel says of mounts.
    pub fn work_run(&self, run: &RunId) -> PathBuf {
        self.work().join(run.mark())
    }

    /// Signed statements about a sealed run, made after its seal.
    pub fn statements(&self, run: &RunId) -> PathBuf {
        self.root.join("statements").join(run.as_str())
    }

    /// Space that a run has set aside.
    pub(crate) fn reserve(&self, run: &RunId) -> PathBuf {
        self.root.join("reserve").join(run.as_str())
    }

    /// Copies of engines.
    pub fn engines(&self) -> PathBuf {
        self.root.join("engines")
    }

    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// The record of the kill switch.
    pub fn halt_path(&self) -> PathBuf {
        Self::halt_path_in(&self.root)
    }

    pub(crate) fn halt_path_in(root: &Path) -> PathBuf {
        root.join("halt.json")
    }

    /// Runs of other homes that were checked and taken in.
    pub fn imported(&self) -> PathBuf {
        self.root.join("imported")
    }

    /// Where bundles are moved before they are removed.
    pub(crate) fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    pub fn ledger_path(&self) -> PathBuf {
        self.root.join("ledger.db")
    }

    pub fn harness_key_path(&self) -> PathBuf {
        self.root.join("keys/harness.pem")
    }

    pub fn operator_key_path(&self) -> PathBuf {
        self.root.join("keys/operator")
    }

    pub fn trusted_workspaces_path(&self) -> PathBuf {
        self.root.join("trust/workspaces")
    }

    pub fn ledger(&self) -> Result<Ledger, OpenHomeError> {
        Ledger::open(&self.ledger_path()).map_err(OpenHomeError::Ledger)
    }

    /// For commands that only look: makes nothing, and is `None` where nothing was ever recorded.
    pub fn ledger_to_read(&self) -> Result<Option<Ledger>, OpenHomeError> {
        if self.ledger_path().own_exists() {
            Ledger::open_existing_read_only(&self.ledger_path()).map(Some).map_err(OpenHomeError::Ledger)
        } else {
            Ok(None)
        }
    }

    /// The key that seals; made on first use.
    pub fn harness_key(&self) -> Result<HarnessKey, OpenHomeError> {
        HarnessKey::open_or_create(&self.harness_key_path()).map_err(OpenHomeError::of_key)
    }

    /// The public halves this home trusts bundles of.
    pub fn trusted_keys(&self) -> Result<Vec<PublicKey>, OpenHomeError> {
        match HarnessKey::open(&self.harness_key_path()) {
            Ok(key) => Ok(vec![key.public()]),
            Err(ReadKeyError::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(OpenHomeError::of_key(error)),
        }
    }
}
