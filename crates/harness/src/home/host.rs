//! Facts about this machine that matter for reproducing a run, and the places of its
//! programs.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use contract::decision::Profile;
use contract::report::HostFacts;
use contract::start_detail::HostDetail;
use contract::{Digest, canonical_bytes};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use untrusted_fs::own_files::{self, OwnPath as _};

use crate::home::placement::{is_plain, is_system};

/// Search path for commands of a contract that names none of its own.
const SYSTEM_PATH: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Settings that come from the operator's environment; read at the edge, handed in.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    /// The operator's PATH, searched after the system's.
    pub operator_path: Vec<PathBuf>,
    /// Rustup's folder of toolchains, so that `cargo` works with a private home.
    pub rustup_home: Option<PathBuf>,
}

impl Tools {
    /// The search path of a supervised program: the contract's, the system's, and of the
    /// operator's all without a sandbox, in one only what it shows. Their Rust comes before
    /// the system's where it does so for them.
    pub fn search_path(&self, first: &[String], profile: Profile) -> Vec<PathBuf> {
        let mut dirs: Vec<PathBuf> = first.iter().map(PathBuf::from).collect();
        let shown = self.rust_programs();
        dirs.extend(shown.filter(|dir| self.is_before_system(dir)).cloned());
        dirs.extend(SYSTEM_PATH.iter().map(PathBuf::from));
        for dir in &self.operator_path {
            let visible = profile == Profile::None || Some(dir) == shown;
            if visible && dir.is_absolute() && !dirs.contains(dir) {
                dirs.push(dir.clone());
            }
        }
        dirs
    }

    /// Directories of the operator's that every sandbox shows: toolchains, which hold no
    /// secret.
    pub fn shown(&self) -> Vec<PathBuf> {
        let toolchains = self.rustup_home.as_ref().filter(|home| home.own_is_dir());
        let places = self.rust_programs().into_iter().chain(toolchains);
        places.filter(|place| is_plain(place) && !is_system(place)).cloned().collect()
    }

    fn is_before_system(&self, dir: &Path) -> bool {
        let system = |dir: &&PathBuf| SYSTEM_PATH.iter().any(|system| **dir == Path::new(system));
        self.operator_path.iter().take_while(|known| !system(known)).any(|known| known == dir)
    }

    /// Folder of rustup's proxies for cargo and rustc.
    fn rust_programs(&self) -> Option<&PathBuf> {
        self.rustup_home.as_ref()?;
        self.operator_path.iter().find(|dir| is_plain(dir) && dir.join("rustup").own_is_file())
    }
}

/// A file's identity without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileSighting {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileSighting {
    /// Stat of a file by which a change to it shows.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let stat = own_files::metadata(path)?;
        Ok(Self {
            device: stat.dev(),
            inode: stat.ino(),
            size: stat.size(),
            modified: (stat.mtime(), stat.mtime_nsec()),
            changed: (stat.ctime(), stat.ctime_nsec()),
        })
    }
}

/// Facts about one pair of executables. They are kept, because digesting and asking cost
/// more than a small run.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Remembered {
    harness: FileSighting,
    harness_sha256: Digest,
    git: FileSighting,
    git_version: String,
}

/// Facts that this process has found: commands that show what runs do open a home for each.
static FOUND: OnceLock<Remembered> = OnceLock::new();

/// Digests and asks the executables.
fn find_facts(
    exe: &Path,
    git: &tree::Git,
    harness: FileSighting,
    git_seen: FileSighting,
) -> Result<Remembered, GatherHostError> {
    let git_version = git.version()?.to_string();
    let (harness_sha256, _) = digest_file(exe)?;
    let found = Remembered { harness, harness_sha256, git: git_seen, git_version };
    let _ = FOUND.set(found.clone());
    Ok(found)
}

/// Gathers the facts, from the cache where the executables are the same.
pub(crate) fn gather_facts(exe: &Path, git: &tree::Git, cache: &Path) -> Result<HostFacts, GatherHostError> {
    let (harness, git_seen) = (FileSighting::of_file(exe)?, FileSighting::of_file(git.program())?);
    let file = cache.join("executables.json");
    let is_same = |known: &Remembered| known.harness == harness && known.git == git_seen;
    let remembered =
        own_files::read_file(&file).ok().and_then(|bytes| serde_json::from_slice::<Remembered>(&bytes).ok());
    let known = match remembered.filter(is_same) {
        Some(known) => known,
        None => {
            let known = match FOUND.get().filter(|known| is_same(known)) {
                Some(known) => known.clone(),
                None => find_facts(exe, git, harness, git_seen)?,
            };
            remember(&file, &known);
            known
        }
    };
    let system = rustix::system::uname();
    Ok(HostFacts {
        system: system.sysname().to_string_lossy().into_owned(),
        kernel: system.release().to_string_lossy().into_owned(),
        architecture: system.machine().to_string_lossy().into_owned(),
        git: known.git_version,
        harness_version: env!("CARGO_PKG_VERSION").to_owned(),
        harness_sha256: known.harness_sha256,
    })
}

/// Bytes of a file that are in memory while it is digested.
const PIECE: usize = 1 << 18;

/// Digest and size of a file of any size, such as a program.
pub(crate) fn digest_file(path: &Path) -> io::Result<(Digest, u64)> {
    let mut file = own_files::open_file(path)?;
    let most = usize::try_from(file.metadata()?.len()).unwrap_or(PIECE).clamp(1, PIECE);
    let (mut hasher, mut piece, mut size) = (Sha256::new(), vec![0; most], 0);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((Digest::from_bytes(hasher.finalize().into()), size)),
            read => {
                hasher.update(&piece[..read]);
                size += read as u64;
            }
        }
    }
}

/// A cache that cannot be written costs time, nothing else.
fn remember(file: &Path, known: &Remembered) {
    if let Ok(bytes) = canonical_bytes(known) {
        write_aside(file, &bytes);
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write_aside(file: &Path, bytes: &[u8]) {
    let aside = file.with_extension(format!("new-{}", std::process::id()));
    if own_files::write_file(&aside, bytes).and_then(|()| fs::rename(&aside, file)).is_err() {
        let _ = fs::remove_file(&aside);
    }
}

/// Reason why the facts could not be gathered.
#[derive(Debug, thiserror::Error)]
pub enum GatherHostError {
    #[error("cannot look at the own executable: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Git(#[from] tree::TreeError),
}

/// Identity of the machine's current boot. The ledger entry of a run has it, which distinguishes a
/// restart from a kill.
pub(crate) fn boot_id() -> String {
    own_files::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The space of process numbers that this process is in: containers of one machine, which share its boot, differ by it.
pub(crate) fn process_space() -> String {
    own_files::read_link("/proc/self/ns/pid").map(|space| space.display().to_string()).unwrap_or_default()
}

/// Boot and process space of this process, as the ledger keeps them.
pub(crate) fn describe_host() -> HostDetail {
    HostDetail { boot_id: Some(boot_id()), process_space: Some(process_space()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_comes_where_the_operator_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let rust = folder.path().to_owned();
        own_files::write_file(rust.join("rustup"), "").unwrap();
        let position = |operator_path: Vec<PathBuf>, dir: &Path| {
            let tools = Tools { operator_path, rustup_home: Some("/x".into()) };
            tools.search_path(&["/first".to_owned()], Profile::Strict).iter().position(|known| known == dir)
        };
        let system = || PathBuf::from("/usr/bin");
        for (operator_path, expected) in [
            (vec![rust.clone(), system()], Some(1)),
            (vec!["/else".into(), rust.clone(), system()], Some(1)),
            (vec![system(), rust.clone()], Some(1 + SYSTEM_PATH.len())),
            (vec![system()], None),
        ] {
            assert_eq!(position(operator_path.clone(), &rust), expected, "{operator_path:?}");
        }
    }
}
