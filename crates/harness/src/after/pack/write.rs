//! Writing a pack: listed, digested, signed, written aside, put in place whole.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use contract::canonical_bytes;
use evidence::tarball::{TarForm, TarKind, TarWriter};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use untrusted_fs::own_files::{self, OwnOptions as _, OwnPath as _};
use zstd::stream::write::Encoder;

use super::check::verify_home;
use super::names::{HOME_FILES, LEDGER_FILE, PackDecision, SCRATCH, home_folders, judge_part, name_problem};
use super::private_keys::KeySearch;
use super::{
    FORMAT, MANIFEST, MOST_FILES, PackError, PackManifest, PackedFile, SIGNATURE, VERSION, copy_digested, signed_bytes,
};
use crate::home::layout::Home;

const LEVEL: i32 = 9;
/// Files of a ledger, by what follows its name.
const LEDGER_ENDS: [&str; 3] = ["", "-wal", "-shm"];
/// Attempts to find the same bundles before and after the ledger was copied.
const SETTLING: usize = 5;

/// A pack that was written.
#[derive(Debug)]
pub struct Packed {
    pub path: PathBuf,
    pub files: usize,
    pub bytes: u64,
    pub archive_bytes: u64,
}

/// A file with its place and its bits.
pub(super) struct FoundFile {
    path: PathBuf,
    size: u64,
    executable: bool,
}

/// Packs a workspace with the home's ledger and bundles.
pub fn write_pack(home: &Home, workspace: &Path, to: &Path) -> Result<Packed, PackError> {
    if own_files::symlink_metadata(to).is_ok() {
        return Err(PackError::Occupied(to.to_owned()));
    }
    let scratch = tempfile_beside(to)?;
    let done = pack_into(home, workspace, to, &scratch);
    let _ = untrusted_fs::remove_tree(&scratch);
    done
}

fn tempfile_beside(to: &Path) -> Result<PathBuf, PackError> {
    let scratch = to.with_file_name(format!("{SCRATCH}{}", std::process::id()));
    fs::create_dir(&scratch).map_err(|error| PackError::Write(scratch.clone(), error))?;
    Ok(scratch)
}

fn pack_into(home: &Home, workspace: &Path, to: &Path, scratch: &Path) -> Result<Packed, PackError> {
    // What would be refused at its destination is not sent there.
    verify_home(home, &home.trusted_keys()?)?;
    let (files, ledger_id) = list_settled(home, workspace, scratch)?;
    let manifest = PackManifest {
        format: FORMAT.to_owned(),
        schema_version: VERSION.to_owned(),
        ledger_id,
        files: files.iter().map(|(name, file)| describe_file(name, file)).collect::<Result<_, _>>()?,
    };
    let manifest_bytes = canonical_bytes(&manifest).map_err(PackError::Encode)?;
    let signature = home.harness_key()?.sign_message(&signed_bytes(&manifest_bytes));
    let draft = scratch.join("pack");
    let archive_bytes = write_archive(&draft, &manifest_bytes, &signature, &files, to)?;
    renameat_with(CWD, &draft, CWD, to, RenameFlags::NOREPLACE)
        .map_err(|error| PackError::Write(to.to_owned(), error.into()))?;
    let bytes = manifest.files.iter().map(|file| file.size).sum();
    Ok(Packed { path: to.to_owned(), files: files.len(), bytes, archive_bytes })
}

/// Files by their names in the pack.
type FoundFiles = BTreeMap<String, FoundFile>;

/// Everything that travels, with a ledger of the same moment: a run that is sealed while it
/// is collected would be in one of the two alone.
fn list_settled(home: &Home, workspace: &Path, scratch: &Path) -> Result<(FoundFiles, Option<String>), PackError> {
    for _ in 0..SETTLING {
        let before = list_sealed_names(home)?;
        let mut files = list_parts(home, workspace)?;
        let ledger_id = copy_ledger(home, scratch, &mut files)?;
        if list_sealed_names(home)? == before {
            return Ok((files, ledger_id));
        }
    }
    Err(PackError::Unfit { name: "home".to_owned(), why: "runs end in it all the time" })
}

fn list_sealed_names(home: &Home) -> Result<Vec<String>, PackError> {
    let sealed = home.bundles().list_sealed().map_err(|error| PackError::Read(home.root().to_owned(), error))?;
    Ok(sealed.into_iter().map(|folder| folder.name).collect())
}

/// Everything that travels beside the ledger, by its name in the pack.
pub(super) fn list_parts(home: &Home, workspace: &Path) -> Result<FoundFiles, PackError> {
    let apart = HomeFiles::of_home(home);
    if apart.hold(workspace) {
        return Err(PackError::HomeIsWorkspace(workspace.to_owned()));
    }
    let mut files = BTreeMap::new();
    list_tree(workspace, "workspace", &apart, &mut files)?;
    for part in home_folders().chain(HOME_FILES).filter(|part| *part != LEDGER_FILE) {
        let path = home.root().join(part);
        if path.own_is_dir() {
            list_tree(&path, &format!("home/{part}"), &apart, &mut files)?;
        } else if path.own_is_file() {
            add_file(path, format!("home/{part}"), &mut files)?;
        }
    }
    Ok(files)
}

/// The home and its ledger, by their numbers on the file system: neither is a part of a workspace, by whatever name it lies there.
struct HomeFiles(Vec<(u64, u64)>);

impl HomeFiles {
    fn of_home(home: &Home) -> Self {
        let ledger = home.ledger_place().as_file().into_iter().flat_map(|file| {
            LEDGER_ENDS.iter().map(move |end| {
                let mut name = file.as_os_str().to_owned();
                name.push(end);
                PathBuf::from(name)
            })
        });
        Self(ledger.chain([home.root().to_owned()]).filter_map(|path| number_of(&path)).collect())
    }

    /// True of this home, of its ledger, and of any other folder that is a home.
    fn hold(&self, path: &Path) -> bool {
        number_of(path).is_some_and(|number| self.0.contains(&number)) || (path.own_is_dir() && is_home(path))
    }
}

fn number_of(path: &Path) -> Option<(u64, u64)> {
    own_files::metadata(path).ok().map(|stat| (stat.dev(), stat.ino()))
}

/// True of a folder with keys, trust or runs as only a home has them.
fn is_home(dir: &Path) -> bool {
    let has = |parts: &[&str]| parts.iter().all(|part| dir.join(part).own_exists());
    has(&["keys/harness.pem"]) || has(&["keys/operator"]) || has(&["trust", "keys", "harness-runs", "active"])
}

/// Consistent copy of the ledger, also while others write to it.
fn copy_ledger(
    home: &Home,
    scratch: &Path,
    files: &mut BTreeMap<String, FoundFile>,
) -> Result<Option<String>, PackError> {
    let Some(ledger) = home.ledger_to_read()? else { return Ok(None) };
    let copy = scratch.join("ledger.db");
    let _ = fs::remove_file(&copy);
    ledger.copy_to(&copy).map_err(|error| PackError::Failed(error.into()))?;
    add_file(copy, format!("home/{LEDGER_FILE}"), files)?;
    Ok(Some(ledger.ledger_id().to_owned()))
}

fn list_tree(
    dir: &Path,
    below: &str,
    apart: &HomeFiles,
    files: &mut BTreeMap<String, FoundFile>,
) -> Result<(), PackError> {
    let failed = |error| PackError::Read(dir.to_owned(), error);
    for entry in own_files::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().into_string().map_err(|name| PackError::Unfit {
            name: format!("{below}/{}", name.to_string_lossy()),
            why: "its name is not UTF-8",
        })?;
        let name = format!("{below}/{name}");
        match judge_part(&name) {
            PackDecision::Travels => {}
            PackDecision::LeftOut => continue,
            PackDecision::Stops(why) => return Err(PackError::Unfit { name, why }),
        }
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_file() && name == "workspace/.git" {
            return Err(PackError::Unfit { name, why: "the workspace is a linked work tree, whose repository stays" });
        }
        let is_of_home = name.starts_with("workspace/") && !kind.is_symlink() && apart.hold(&entry.path());
        if is_of_home {
            continue;
        }
        if kind.is_dir() {
            list_tree(&entry.path(), &name, apart, files)?;
        } else if kind.is_file() {
            add_file(entry.path(), name, files)?;
        } else {
            return Err(PackError::Unfit { name, why: "it is neither a file nor a folder" });
        }
    }
    Ok(())
}

fn add_file(path: PathBuf, name: String, files: &mut BTreeMap<String, FoundFile>) -> Result<(), PackError> {
    if let Some(why) = name_problem(&name) {
        return Err(PackError::Unfit { name, why });
    }
    if files.len() >= MOST_FILES {
        return Err(PackError::Unfit { name, why: "it is one file too many" });
    }
    let stat = own_files::metadata(&path).map_err(|error| PackError::Read(path.clone(), error))?;
    let executable = stat.permissions().mode() & 0o100 != 0;
    files.insert(name, FoundFile { path, size: stat.len(), executable });
    Ok(())
}

/// Size and digest of a file. Fails if it changes while it is read, and if it holds a private key.
pub(super) fn describe_file(name: &str, file: &FoundFile) -> Result<PackedFile, PackError> {
    let failed = |error| PackError::Read(file.path.clone(), error);
    let from = own_files::open_file(&file.path).map_err(failed)?.take(file.size.saturating_add(1));
    let mut search = KeySearch::default();
    let (size, sha256) = copy_digested(from, &mut search).map_err(failed)?;
    if size != file.size {
        return Err(failed(io::Error::other("it changed while it was read")));
    }
    if search.finish_search() {
        return Err(PackError::Unfit { name: name.to_owned(), why: "it holds a private key, which no pack may hold" });
    }
    Ok(PackedFile { name: name.to_owned(), size, sha256, executable: file.executable })
}

fn write_archive(
    draft: &Path,
    manifest: &[u8],
    signature: &[u8],
    files: &BTreeMap<String, FoundFile>,
    to: &Path,
) -> Result<u64, PackError> {
    let place = |error| PackError::Write(to.to_owned(), error);
    let file = OpenOptions::new().write(true).create_new(true).own_open(draft).map_err(place)?;
    let mut out = Encoder::new(io::BufWriter::new(file), LEVEL).map_err(place)?;
    out.include_checksum(true).map_err(place)?;
    let mut tar = TarWriter::new(TarForm::Archive, out);
    tar.add_entry(MANIFEST.as_bytes(), TarKind::File, manifest).map_err(place)?;
    tar.add_entry(SIGNATURE.as_bytes(), TarKind::File, signature).map_err(place)?;
    for (name, found) in files {
        let failed = |error| PackError::Read(found.path.clone(), error);
        let file = own_files::open_file(&found.path).map_err(failed)?;
        let is_whole = tar.add_from(name.as_bytes(), TarKind::File, found.size, file).map_err(place)?;
        is_whole.then_some(()).ok_or_else(|| failed(io::Error::other("it changed while it was read")))?;
    }
    let file = tar
        .write_end()
        .and_then(Encoder::finish)
        .and_then(|buffer| buffer.into_inner().map_err(io::Error::from))
        .map_err(place)?;
    file.sync_all().and_then(|()| file.metadata()).map(|stat| stat.len()).map_err(place)
}
