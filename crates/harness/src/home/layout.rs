//! `CTO_HOME`: where runs, keys and the ledger live, and nothing else does.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use contract::{RunId, Stamp};
use evidence::key::ReadKeyError;
use evidence::private::{Exposed, Privacy, require_private};
use evidence::{HarnessKey, PublicKey, stop};
use ledger::{BUNDLES_FOLDER, Bundles, EvidencePlace, Ledger, LedgerPlace, ObjectStore, OpenLedgerError};
use untrusted_fs::own_files::{self, OwnPath};

use crate::home::clock::RunClock;

/// The place of a home, and of its ledger where that lies elsewhere: several homes can share one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomePlace {
    pub root: PathBuf,
    pub ledger: Option<LedgerPlace>,
    /// Objects that several machines share: sealed bundles and witnesses of approvals.
    pub evidence: Option<EvidencePlace>,
}

impl From<PathBuf> for HomePlace {
    fn from(root: PathBuf) -> Self {
        Self { root, ledger: None, evidence: None }
    }
}

/// The harness's own folder.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    ledger: LedgerPlace,
    bundles: Bundles,
}

/// Reason why a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenHomeError {
    #[error("there is no home at {0}")]
    Missing(PathBuf),
    #[error("{0} is not a directory, so it cannot be the home")]
    NotADirectory(PathBuf),
    /// Others have a hand in it, or in something that evidence rests on.
    #[error("{0}; nothing is signed or read there")]
    Exposed(#[source] Exposed),
    /// On a file system of another machine.
    #[error("{0} is on a network file system ({1}), where locks and renames do not hold")]
    Network(PathBuf, &'static str),
    #[error("cannot use {0} as the home: {1}")]
    Io(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Ledger(ledger::OpenLedgerError),
    #[error(transparent)]
    Key(ReadKeyError),
}

impl OpenHomeError {
    fn of_key(error: ReadKeyError) -> Self {
        match error {
            ReadKeyError::Exposed(exposed) => Self::Exposed(exposed),
            error => Self::Key(error),
        }
    }

    /// Action that would help.
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

const FOLDERS: &[&str] = &["active", BUNDLES_FOLDER, "work", "reserve", "cache", "engines", "keys", "trust", "logs"];

/// Paths that evidence relies on, relative to the home, with the most that other users may
/// do there.
const PRIVATE: &[(&str, Privacy)] = &[
    ("", Privacy::Folder),
    ("keys", Privacy::OwnFolder),
    ("trust", Privacy::OwnFolder),
    ("keys/harness.pem", Privacy::Secret),
    ("keys/operator", Privacy::Secret),
    ("trust/workspaces", Privacy::OwnFile),
    ("trust/allowed_signers", Privacy::OwnFile),
    ("trust/compromised.json", Privacy::OwnFile),
    ("trust/approval-policy.yaml", Privacy::OwnFile),
    ("trust/continuity.json", Privacy::OwnFile),
    (KEPT_IDENTITY, Privacy::OwnFile),
    (UNPACKED_KEYS, Privacy::OwnFile),
];

/// Public keys of the harnesses whose packs a home was made of, an OpenSSH line each.
const UNPACKED_KEYS: &str = "trust/harness_keys";
/// File with the id that a home keeps for a machine that has none.
pub(crate) const KEPT_IDENTITY: &str = "trust/instance.json";
/// The ledger's files, by what follows its name.
const LEDGER_FILES: &[&str] = &["", "-wal", "-shm"];

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

/// The end of the name of the file beside a ledger by which other homes are known to use it.
const SHARED_MARK: &str = "-shared";

/// The clock that requests to an object store are dated by.
pub fn read_clock() -> Option<Stamp> {
    RunClock::start_clock().ok().map(|clock| clock.started())
}

fn network(path: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(path).ok()?.f_type;
    NETWORK.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

/// The path without links, also of a file that nobody has made yet.
fn real_path(file: &Path) -> PathBuf {
    let beside = || Some(own_files::canonicalize(file.parent()?).ok()?.join(file.file_name()?));
    own_files::canonicalize(file).ok().or_else(beside).unwrap_or_else(|| file.to_owned())
}

fn shared_mark(ledger: &Path) -> PathBuf {
    let mut name = real_path(ledger).into_os_string();
    name.push(SHARED_MARK);
    name.into()
}

impl Home {
    /// Makes the folders where they are missing.
    pub fn create_folders(place: &HomePlace) -> Result<Self, OpenHomeError> {
        Self::at(place)?.require_private()?;
        let home = Self::create_to_halt(place)?;
        home.mark_shared()?;
        home.keep_identity()?;
        Ok(home)
    }

    /// Tells the home in which the ledger's file may lie that others use it. Where there is no such folder, opening the ledger says so.
    fn mark_shared(&self) -> Result<(), OpenHomeError> {
        let Some(file) = self.ledger.as_file().filter(|file| !self.holds(file)) else { return Ok(()) };
        let mark = shared_mark(file);
        if mark.own_exists() {
            return Ok(());
        }
        match own_files::write_file(&mark, b"") {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(OpenHomeError::Io(mark, error)),
            _ => Ok(()),
        }
    }

    /// True of a file that lies in this very folder, under whatever name.
    fn holds(&self, file: &Path) -> bool {
        let root = own_files::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        real_path(file).parent() == Some(&root)
    }

    fn at(place: &HomePlace) -> Result<Self, OpenHomeError> {
        let absolute =
            |path: &Path| std::path::absolute(path).map_err(|error| OpenHomeError::Io(path.to_owned(), error));
        let root = absolute(&place.root)?;
        let ledger = match &place.ledger {
            None => LedgerPlace::File(root.join("ledger.db")),
            Some(LedgerPlace::File(path)) => LedgerPlace::File(absolute(path)?),
            Some(server) => server.clone(),
        };
        let store = place.evidence.clone().map(|place| ObjectStore::at_place(place, read_clock));
        Ok(Self { bundles: Bundles::in_home(&root).sharing_store(store), root, ledger })
    }

    /// The same for the kill switch, which works in a home that is refused for everything else.
    pub fn create_to_halt(place: &HomePlace) -> Result<Self, OpenHomeError> {
        let home = Self::at(place)?;
        if own_files::metadata(&home.root).is_ok_and(|kind| !kind.is_dir()) {
            return Err(OpenHomeError::NotADirectory(home.root));
        }
        for folder in FOLDERS {
            let path = home.root.join(folder);
            if !path.own_is_dir() {
                DirBuilder::new().mode(0o700).recursive(true).create(&path).map_err(|error| home.failed(error))?;
            }
        }
        for folder in [Some(home.root.as_path()), home.ledger_folder()].into_iter().flatten() {
            if let Some(kind) = network(folder) {
                return Err(OpenHomeError::Network(folder.to_owned(), kind));
            }
        }
        Ok(home)
    }

    /// A home that is there already; makes nothing.
    pub fn existing(place: &HomePlace) -> Result<Self, OpenHomeError> {
        let home = Self::at(place)?;
        match own_files::metadata(&home.root) {
            Ok(kind) if kind.is_dir() => {
                home.require_private()?;
                Ok(home)
            }
            Ok(_) => Err(OpenHomeError::NotADirectory(home.root)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(OpenHomeError::Missing(home.root)),
            Err(error) => Err(OpenHomeError::Io(home.root, error)),
        }
    }

    /// Nobody but the user may write where keys, trust and the ledger lie, or read a key. Asked whenever a home is opened,
    /// so that no command that signs, verifies or records is without it.
    fn require_private(&self) -> Result<(), OpenHomeError> {
        for (path, wanted) in PRIVATE {
            require_private(&self.root.join(path), *wanted).map_err(OpenHomeError::Exposed)?;
        }
        let Some(ledger) = self.ledger.as_file() else { return Ok(()) };
        for ending in LEDGER_FILES {
            let mut file = ledger.as_os_str().to_owned();
            file.push(ending);
            require_private(Path::new(&file), Privacy::OwnFile).map_err(OpenHomeError::Exposed)?;
        }
        match self.ledger_folder().filter(|_| self.shares_ledger()) {
            Some(folder) => require_private(folder, Privacy::Folder).map_err(OpenHomeError::Exposed),
            None => Ok(()),
        }
    }

    fn failed(&self, error: io::Error) -> OpenHomeError {
        OpenHomeError::Io(self.root.clone(), error)
    }

    /// Root folder of the home.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Folder of unsealed runs.
    pub fn active(&self) -> PathBuf {
        self.root.join("active")
    }

    /// Folder of one unsealed run.
    pub fn active_run(&self, run: &RunId) -> PathBuf {
        self.active().join(run.as_str())
    }

    /// Bundles, and what is kept beside them.
    pub fn bundles(&self) -> &Bundles {
        &self.bundles
    }

    /// Folder of work areas, which may be removed after their process is gone.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Programs inside see the last name of it, in the kernel's list of mounts.
    pub fn work_run(&self, run: &RunId) -> PathBuf {
        self.work().join(run.mark())
    }

    /// Space that a run has set aside.
    pub(crate) fn reserve_path(&self, run: &RunId) -> PathBuf {
        self.root.join("reserve").join(run.as_str())
    }

    /// Copies of engines.
    pub fn engines(&self) -> PathBuf {
        self.root.join("engines")
    }

    /// Folder of caches. Everything in it can be made again.
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// The question to one run to end.
    pub(crate) fn stop_path(&self, run: &RunId) -> PathBuf {
        self.root.join("stops").join(run.as_str())
    }

    /// The record of the kill switch.
    pub fn halt_path(&self) -> PathBuf {
        Self::halt_path_in(&self.root)
    }

    /// Path of the kill switch's record.
    pub(crate) fn halt_path_in(root: &Path) -> PathBuf {
        root.join("halt.json")
    }

    /// Database of the ledger: a file of this home, or a server.
    pub fn ledger_place(&self) -> &LedgerPlace {
        &self.ledger
    }

    /// The folder of a ledger that is a file.
    fn ledger_folder(&self) -> Option<&Path> {
        self.ledger.as_file().and_then(Path::parent)
    }

    /// True unless the ledger is a file that nobody has made yet.
    pub fn has_ledger(&self) -> bool {
        self.ledger.as_file().is_none_or(OwnPath::own_exists)
    }

    /// True where other homes may use the ledger too: it is a server, lies outside of this home, or another home has said that it uses it.
    pub fn shares_ledger(&self) -> bool {
        self.ledger.as_file().is_none_or(|file| !self.holds(file) || shared_mark(file).own_exists())
    }

    /// Private key that signs bundles.
    pub fn harness_key_path(&self) -> PathBuf {
        self.root.join("keys/harness.pem")
    }

    /// Key of the operator of this home.
    pub fn operator_key_path(&self) -> PathBuf {
        self.root.join("keys/operator")
    }

    /// List of trusted workspaces.
    pub fn trusted_workspaces_path(&self) -> PathBuf {
        self.root.join("trust/workspaces")
    }

    /// Opens the ledger.
    pub fn ledger(&self) -> Result<Ledger, OpenHomeError> {
        Ledger::open_place(&self.ledger, &|place| stop::pass_place(place)).map_err(OpenHomeError::Ledger)
    }

    /// For commands that only look: makes nothing, and is `None` where nothing was ever recorded.
    pub fn ledger_to_read(&self) -> Result<Option<Ledger>, OpenHomeError> {
        match Ledger::open_place_read_only(&self.ledger) {
            Ok(ledger) => Ok(Some(ledger)),
            Err(OpenLedgerError::Missing { .. }) => Ok(None),
            Err(error) => Err(OpenHomeError::Ledger(error)),
        }
    }

    /// The key that seals; made on first use.
    pub fn harness_key(&self) -> Result<HarnessKey, OpenHomeError> {
        HarnessKey::open_or_create(&self.harness_key_path()).map_err(OpenHomeError::of_key)
    }

    /// The public halves this home trusts bundles of.
    pub fn trusted_keys(&self) -> Result<Vec<PublicKey>, OpenHomeError> {
        match HarnessKey::open_file(&self.harness_key_path()) {
            Ok(key) => Ok(std::iter::once(key.public()).chain(self.unpacked_keys()).collect()),
            Err(ReadKeyError::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => {
                Ok(self.unpacked_keys().collect())
            }
            Err(error) => Err(OpenHomeError::of_key(error)),
        }
    }

    /// Keys of the harnesses whose packs this home was made of.
    pub(crate) fn unpacked_keys(&self) -> impl Iterator<Item = PublicKey> + use<> {
        let text = own_files::read_to_string(self.root.join(UNPACKED_KEYS)).unwrap_or_default();
        text.lines().filter_map(PublicKey::parse_line).collect::<Vec<_>>().into_iter()
    }
}
