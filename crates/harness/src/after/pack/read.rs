//! Reading a pack from somebody else: the signed list first, then exactly the files that it names, all of it aside until every
//! bundle and the ledger verify.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use contract::Digest;
use evidence::PublicKey;
use evidence::verify::VerifiedBundle;
use tar::EntryType;
use untrusted_fs::own_files::{self, OwnOptions as _, OwnPath as _};
use zstd::stream::read::Decoder;

use super::{
    FORMAT, LARGEST_MANIFEST, MANIFEST, MOST_BYTES, MOST_FILES, PackError, PackManifest, PackedFile, SIGNATURE,
    VERSION, name_problem, signed_bytes,
};
use crate::after::audit::audit;
use crate::home::layout::{Home, HomePlace};

const WINDOW_LOG: u32 = 23;
/// Settings of the git directory that a workspace comes with; the sender's stay behind.
const GIT_CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";

/// A pack that was taken in.
#[derive(Debug)]
pub struct Unpacked {
    pub files: usize,
    /// Bundles that verified.
    pub bundles: usize,
    pub ledger_id: Option<String>,
    pub signer: String,
}

/// Takes a pack into a home and a folder, neither of which may hold anything yet.
pub fn unpack(file: &Path, home: &HomePlace, workspace: &Path, keys: &[PublicKey]) -> Result<Unpacked, PackError> {
    for place in [&home.root, &workspace.to_owned()] {
        let is_occupied = own_files::read_dir(place).is_ok_and(|mut entries| entries.next().is_some());
        if is_occupied || (own_files::symlink_metadata(place).is_ok() && !place.own_is_dir()) {
            return Err(PackError::Occupied(place.clone()));
        }
    }
    let aside = aside_of(&home.root);
    let done = unpack_aside(file, &aside, home, workspace, keys);
    let _ = untrusted_fs::remove_tree(&aside);
    done
}

fn aside_of(home: &Path) -> PathBuf {
    let name = home.file_name().unwrap_or_default().to_string_lossy();
    home.with_file_name(format!(".{name}.unpack-{}", std::process::id()))
}

fn unpack_aside(
    file: &Path,
    aside: &Path,
    home: &HomePlace,
    workspace: &Path,
    keys: &[PublicKey],
) -> Result<Unpacked, PackError> {
    let failed = |error| PackError::Write(aside.to_owned(), error);
    if let Some(parent) = aside.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    DirBuilder::new().mode(0o700).create(aside).map_err(failed)?;
    let (manifest, signer) = read_pack(file, aside, keys)?;
    let (new_home, new_workspace) = (aside.join("home"), aside.join("workspace"));
    for folder in [&new_home, &new_workspace] {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    if new_workspace.join(".git").own_is_dir() {
        own_files::write(new_workspace.join(".git/config"), GIT_CONFIG).map_err(failed)?;
    }
    let bundles = verify_home(&new_home, &signer)?;
    move_whole(&new_workspace, workspace)?;
    move_whole(&new_home, &home.root)?;
    Ok(Unpacked { files: manifest.files.len(), bundles, ledger_id: manifest.ledger_id, signer: signer.key_id() })
}

/// Reads everything below `aside`, as the signed list says.
fn read_pack(file: &Path, aside: &Path, keys: &[PublicKey]) -> Result<(PackManifest, PublicKey), PackError> {
    let not = |why: String| PackError::NotAPack(file.to_owned(), why);
    let opened = File::options().read(true).own_open(file).map_err(|error| not(error.to_string()))?;
    if !opened.metadata().is_ok_and(|stat| stat.is_file()) {
        return Err(not("it is not a regular file".to_owned()));
    }
    let mut source =
        Decoder::with_buffer(BufReader::new(opened)).map_err(|error| not(error.to_string()))?.single_frame();
    source.window_log_max(WINDOW_LOG).map_err(|error| not(error.to_string()))?;
    let mut archive = tar::Archive::new(source);
    let mut entries = archive.entries().map_err(|error| not(error.to_string()))?;
    let mut next = |expected: &str, largest: u64| -> Result<Vec<u8>, PackError> {
        let entry = entries.next().ok_or_else(|| not(format!("it ends before {expected}")))?;
        let mut entry = entry.map_err(|error| not(error.to_string()))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if name != expected {
            return Err(not(format!("`{}` stands where {expected} must be", contract::text::shown(&name))));
        }
        read_entry(&mut entry, expected, largest)
    };
    let manifest_bytes = next(MANIFEST, LARGEST_MANIFEST)?;
    let signature = next(SIGNATURE, 64)?;
    let signer = keys.iter().find(|key| key.verifies(&signed_bytes(&manifest_bytes), &signature));
    let signer = signer.ok_or(PackError::OtherKey)?.clone();
    let manifest: PackManifest = serde_json::from_slice(&manifest_bytes).map_err(|error| not(error.to_string()))?;
    check_manifest(&manifest, file)?;
    for expected in &manifest.files {
        let refuse = |why: String| PackError::Refused { name: expected.name.clone(), why };
        let entry = entries.next().ok_or_else(|| refuse("is listed and is not there".to_owned()))?;
        let mut entry = entry.map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if name != expected.name {
            return Err(PackError::Refused { name, why: format!("stands where {} must be", expected.name) });
        }
        let bytes = read_entry(&mut entry, &name, expected.size)?;
        if Digest::of(&bytes) != expected.sha256 || bytes.len() as u64 != expected.size {
            return Err(refuse("is not the file that was packed".to_owned()));
        }
        write_file(&aside.join(&name), expected, &bytes)?;
    }
    match entries.next() {
        None => Ok((manifest, signer)),
        Some(_) => {
            Err(PackError::Refused { name: "the pack".to_owned(), why: "has a file that is not listed".to_owned() })
        }
    }
}

fn read_entry(entry: &mut tar::Entry<'_, impl Read>, name: &str, largest: u64) -> Result<Vec<u8>, PackError> {
    let refuse = |why: String| PackError::Refused { name: name.to_owned(), why };
    if entry.header().entry_type() != EntryType::Regular {
        return Err(refuse("is no plain file".to_owned()));
    }
    if entry.size() > largest {
        return Err(refuse("is larger than it may be".to_owned()));
    }
    let mut bytes = Vec::new();
    entry.take(largest + 1).read_to_end(&mut bytes).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    Ok(bytes)
}

/// Names in order, each in its place and once; sizes with an end.
fn check_manifest(manifest: &PackManifest, file: &Path) -> Result<(), PackError> {
    if manifest.format != FORMAT || manifest.schema_version != VERSION {
        let why = format!(
            "it has the format {} {}",
            contract::text::shown(&manifest.format),
            contract::text::shown(&manifest.schema_version)
        );
        return Err(PackError::NotAPack(file.to_owned(), why));
    }
    let mut last = "";
    let mut bytes = 0_u64;
    for PackedFile { name, size, .. } in &manifest.files {
        let refuse = |why: &str| PackError::Refused { name: name.clone(), why: why.to_owned() };
        if let Some(why) = name_problem(name) {
            return Err(refuse(why));
        }
        if name.as_str() <= last {
            return Err(refuse("is there twice or out of order"));
        }
        bytes = bytes.saturating_add(*size);
        if bytes > MOST_BYTES || manifest.files.len() > MOST_FILES {
            return Err(refuse("makes the pack too large"));
        }
        last = name;
    }
    Ok(())
}

fn write_file(path: &Path, file: &PackedFile, bytes: &[u8]) -> Result<(), PackError> {
    let failed = |error: io::Error| PackError::Write(path.to_owned(), error);
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(path).map_err(failed)?;
    io::Write::write_all(&mut to, bytes).map_err(failed)?;
    if file.executable {
        own_files::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Verifies every bundle by the key that signed the pack, and the ledger by its chain. Trusts that key in the new home.
fn verify_home(home: &Path, signer: &PublicKey) -> Result<usize, PackError> {
    let home = Home::create(&HomePlace::from(home.to_owned()))?;
    home.trust_harness_key(signer)?;
    // The signer vouches for the keys of harnesses that its own home was made of.
    let keys: Vec<PublicKey> = home.unpacked_keys().collect();
    let found = home.bundles().list_sealed().map_err(|error| PackError::Read(home.root().to_owned(), error))?;
    for folder in &found {
        VerifiedBundle::verify(&folder.dir, &keys, None)
            .map_err(|error| PackError::DoesNotVerify(folder.name.clone(), error.to_string()))?;
    }
    let audited = audit(&home).map_err(|error| PackError::Failed(error.into()))?;
    match audited.and_then(|audit| audit.problems.into_iter().next()) {
        Some(problem) => Err(PackError::DoesNotVerify("the ledger".to_owned(), format!("{problem:?}"))),
        None => Ok(found.len()),
    }
}

/// Puts a folder in the place of an empty or missing one.
fn move_whole(from: &Path, to: &Path) -> Result<(), PackError> {
    let failed = |error| PackError::Write(to.to_owned(), error);
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    if to.own_is_dir() {
        fs::remove_dir(to).map_err(failed)?;
    }
    fs::rename(from, to).map_err(failed)
}
