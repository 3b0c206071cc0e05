//! Reading a pack from somebody else: the signed list first, then exactly the files that it names, all of it aside until every
//! bundle and the ledger verify.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use contract::{Digest, Stamp};
use evidence::PublicKey;
use serde_json::json;
use tar::EntryType;
use untrusted_fs::own_files::{self, OwnOptions as _, OwnPath as _};
use zstd::stream::read::Decoder;

use super::bounded::{BoundedStream, ReadAllowance};
use super::check::verify_home;
use super::names::name_problem;
use super::{
    FORMAT, FREE_OF_RATIO, LARGEST_MANIFEST, MANIFEST, MOST_BYTES, MOST_FILES, MOST_RATIO, PackError, PackManifest,
    PackedFile, SIGNATURE, SentTrust, VERSION, copy_digested, signed_bytes,
};
use crate::home::layout::{Home, HomePlace};
use crate::home::trust::{TrustEdit, TrustFile, change_trust};

const WINDOW_LOG: u32 = 23;
/// Folders without which a git directory is none. An empty one is no file, so that no pack
/// carries it.
const GIT_FOLDERS: [&str; 3] = ["refs/heads", "objects/info", "objects/pack"];
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

/// The answer of a person to whether the sender's harness, and the people that its home trusts, count here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderTrust {
    /// Verify and say whom it would be; put nothing in its place.
    Ask,
    /// Said by a person at this moment, which the ledger keeps.
    Given(Stamp),
}

/// Takes a pack into a home and a folder, neither of which may hold anything yet.
pub fn unpack_pack(
    file: &Path,
    home: &HomePlace,
    workspace: &Path,
    keys: &[PublicKey],
    trust: SenderTrust,
) -> Result<Unpacked, PackError> {
    for place in [&home.root, &workspace.to_owned()] {
        let is_occupied = own_files::read_dir(place).is_ok_and(|mut entries| entries.next().is_some());
        if is_occupied || (own_files::symlink_metadata(place).is_ok() && !place.own_is_dir()) {
            return Err(PackError::Occupied(place.clone()));
        }
    }
    let aside = AsideFolders { home: aside_of(&home.root), workspace: aside_of(workspace) };
    let done = unpack_aside(file, &aside, home, workspace, keys, trust);
    let _ = untrusted_fs::remove_tree(&aside.home);
    let _ = untrusted_fs::remove_tree(&aside.workspace);
    done
}

/// Folders in which everything waits until all of it verifies. Each is on the file system of
/// its place, so that a rename puts it there.
#[derive(Debug)]
struct AsideFolders {
    home: PathBuf,
    workspace: PathBuf,
}

impl AsideFolders {
    /// Place of a file of the pack.
    fn place_of(&self, name: &str) -> PathBuf {
        match name.strip_prefix("home/") {
            Some(inner) => self.home.join(inner),
            None => self.workspace.join(name.strip_prefix("workspace/").unwrap_or(name)),
        }
    }
}

/// A folder beside a place, or above it where folders on the way are still missing: a refused pack leaves none of them.
fn aside_of(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let above = place.ancestors().skip(1).find(|folder| folder.own_is_dir()).unwrap_or(Path::new("/"));
    above.join(format!(".{name}.unpack-{}", std::process::id()))
}

fn unpack_aside(
    file: &Path,
    aside: &AsideFolders,
    home: &HomePlace,
    workspace: &Path,
    keys: &[PublicKey],
    trust: SenderTrust,
) -> Result<Unpacked, PackError> {
    for folder in [&aside.home, &aside.workspace] {
        let made = DirBuilder::new().mode(0o700).create(folder);
        made.map_err(|error| PackError::Write(folder.clone(), error))?;
    }
    let (manifest, signer) = read_pack(file, aside, keys)?;
    complete_git(&aside.workspace.join(".git")).map_err(|error| PackError::Write(aside.workspace.clone(), error))?;
    let made = Home::create_folders(&HomePlace::from(aside.home.clone()))?;
    let bundles = verify_home(&made, &list_keys(&made, &signer))?;
    match trust {
        SenderTrust::Ask => {
            return Err(PackError::SenderNotTrusted { key: signer.key_id(), trust: describe_trust(&made)? });
        }
        SenderTrust::Given(now) => trust_sender(&made, &signer, now)?,
    }
    drop(made);
    move_whole(&aside.workspace, workspace)?;
    if let Err(error) = move_whole(&aside.home, &home.root) {
        // Half of a pack is worse than none.
        let _ = fs::rename(workspace, &aside.workspace);
        return Err(error);
    }
    Ok(Unpacked { files: manifest.files.len(), bundles, ledger_id: manifest.ledger_id, signer: signer.key_id() })
}

/// Makes a git directory whole: settings of ours, and the folders that were empty.
fn complete_git(git_dir: &Path) -> io::Result<()> {
    if !git_dir.own_is_dir() {
        return Ok(());
    }
    for folder in GIT_FOLDERS {
        fs::create_dir_all(git_dir.join(folder))?;
    }
    own_files::write_file(git_dir.join("config"), GIT_CONFIG)
}

/// Reads everything below `aside`, as the signed list says.
fn read_pack(file: &Path, aside: &AsideFolders, keys: &[PublicKey]) -> Result<(PackManifest, PublicKey), PackError> {
    let not = |why: String| PackError::NotAPack(file.to_owned(), why);
    let opened = File::options().read(true).own_open(file).map_err(|error| not(error.to_string()))?;
    let Some(stat) = opened.metadata().ok().filter(|stat| stat.is_file()) else {
        return Err(not("it is not a regular file".to_owned()));
    };
    let most_bytes = stat.len().saturating_mul(MOST_RATIO).max(FREE_OF_RATIO);
    let mut source =
        Decoder::with_buffer(BufReader::new(opened)).map_err(|error| not(error.to_string()))?.single_frame();
    source.window_log_max(WINDOW_LOG).map_err(|error| not(error.to_string()))?;
    let allowance = ReadAllowance::default();
    let mut archive = tar::Archive::new(BoundedStream::new(source, allowance.clone()));
    let mut entries = archive.entries().map_err(|error| not(error.to_string()))?;
    let mut next = |expected: &str, largest: u64| -> Result<Vec<u8>, PackError> {
        allowance.allow_entry(0);
        let entry = entries.next().ok_or_else(|| not(format!("it ends before {expected}")))?;
        let mut entry = entry.map_err(|error| not(error.to_string()))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if name != expected {
            return Err(not(format!("`{}` stands where {expected} must be", contract::text::show_controls(&name))));
        }
        allowance.allow_entry(largest);
        read_entry(&mut entry, expected, largest)
    };
    let manifest_bytes = next(MANIFEST, LARGEST_MANIFEST.min(most_bytes))?;
    let signature = next(SIGNATURE, 64)?;
    let signer = keys.iter().find(|key| key.verifies(&signed_bytes(&manifest_bytes), &signature));
    let signer = signer.ok_or(PackError::OtherKey)?.clone();
    let manifest: PackManifest = serde_json::from_slice(&manifest_bytes).map_err(|error| not(error.to_string()))?;
    check_manifest(&manifest, file, most_bytes)?;
    for expected in &manifest.files {
        let refuse = |why: String| PackError::Refused { name: expected.name.clone(), why };
        allowance.allow_entry(0);
        let entry = entries.next().ok_or_else(|| refuse("is listed and is not there".to_owned()))?;
        let mut entry = entry.map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if name != expected.name {
            return Err(PackError::Refused { name, why: format!("stands where {} must be", expected.name) });
        }
        check_entry(&entry, &name, expected.size)?;
        allowance.allow_entry(expected.size);
        if write_file(&aside.place_of(&name), expected, &mut entry)? != (expected.size, expected.sha256) {
            return Err(refuse("is not the file that was packed".to_owned()));
        }
    }
    allowance.allow_entry(0);
    if entries.next().is_some() {
        return Err(PackError::Refused {
            name: "the pack".to_owned(),
            why: "has a file that is not listed".to_owned(),
        });
    }
    expect_end(archive.into_inner(), &allowance)?;
    Ok((manifest, signer))
}

/// Expects nothing but the zeros that end a tar file, and nothing behind them.
fn expect_end<R: BufRead>(mut rest: BoundedStream<Decoder<'_, R>>, allowance: &ReadAllowance) -> Result<(), PackError> {
    allowance.allow_entry(0);
    let mut bytes = Vec::new();
    let has_zeros = rest.read_to_end(&mut bytes).is_ok() && bytes.iter().all(|byte| *byte == 0);
    let is_at_end = has_zeros && rest.into_inner().finish().fill_buf().is_ok_and(<[u8]>::is_empty);
    match is_at_end {
        true => Ok(()),
        false => Err(PackError::Refused { name: "the pack".to_owned(), why: "goes on behind its end".to_owned() }),
    }
}

fn check_entry(entry: &tar::Entry<'_, impl Read>, name: &str, largest: u64) -> Result<(), PackError> {
    let refuse = |why: &str| Err(PackError::Refused { name: name.to_owned(), why: why.to_owned() });
    match () {
        () if entry.header().entry_type() != EntryType::Regular => refuse("is no plain file"),
        () if entry.size() > largest => refuse("is larger than it may be"),
        () => Ok(()),
    }
}

fn read_entry(entry: &mut tar::Entry<'_, impl Read>, name: &str, largest: u64) -> Result<Vec<u8>, PackError> {
    let refuse = |why: String| PackError::Refused { name: name.to_owned(), why };
    check_entry(entry, name, largest)?;
    let mut bytes = Vec::new();
    entry.take(largest + 1).read_to_end(&mut bytes).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    Ok(bytes)
}

/// Names in order, each in its place and once; sizes with an end.
fn check_manifest(manifest: &PackManifest, file: &Path, most_bytes: u64) -> Result<(), PackError> {
    if manifest.format != FORMAT || manifest.schema_version != VERSION {
        let why = format!(
            "it has the format {} {}",
            contract::text::show_controls(&manifest.format),
            contract::text::show_controls(&manifest.schema_version)
        );
        return Err(PackError::NotAPack(file.to_owned(), why));
    }
    if let Some(file) = manifest.files.get(MOST_FILES) {
        return Err(PackError::Refused { name: file.name.clone(), why: "is one file too many".to_owned() });
    }
    let mut last = "";
    let mut bytes = 0_u64;
    let files: BTreeSet<&str> = manifest.files.iter().map(|file| file.name.as_str()).collect();
    for PackedFile { name, size, .. } in &manifest.files {
        let refuse = |why: &str| PackError::Refused { name: name.clone(), why: why.to_owned() };
        if let Some(why) = name_problem(name) {
            return Err(refuse(why));
        }
        if name.as_str() <= last {
            return Err(refuse("is there twice or out of order"));
        }
        let is_below = |end: usize| files.contains(&name[..end]) && name_problem(&name[..end]).is_none();
        if name.match_indices('/').any(|(end, _)| is_below(end)) {
            return Err(refuse("lies below a file of the pack"));
        }
        bytes = bytes.saturating_add(*size);
        if bytes > MOST_BYTES {
            return Err(refuse("makes the pack too large"));
        }
        if bytes > most_bytes {
            return Err(refuse("is far larger than what was packed of it can be"));
        }
        last = name;
    }
    Ok(())
}

/// Writes an entry as it is read, so that no file has to fit into memory; its size and digest.
fn write_file(path: &Path, file: &PackedFile, entry: &mut impl Read) -> Result<(u64, Digest), PackError> {
    let failed = |error: io::Error| PackError::Write(path.to_owned(), error);
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let mode = if file.executable { 0o700 } else { 0o600 };
    let mut to = OpenOptions::new().write(true).create_new(true).mode(mode).own_open(path).map_err(failed)?;
    copy_digested(entry.take(file.size.saturating_add(1)), &mut to).map_err(failed)
}

/// Keys by which the bundles of an unpacked home count: the signer's, and those of harnesses that its own home was made of.
fn list_keys(home: &Home, signer: &PublicKey) -> Vec<PublicKey> {
    std::iter::once(signer.clone()).chain(home.unpacked_keys()).collect()
}

/// Trust that came with the pack and would count in this home.
fn describe_trust(home: &Home) -> Result<SentTrust, PackError> {
    let text = own_files::read_to_string(TrustFile::AllowedSigners.path_in(home)).unwrap_or_default();
    let imported = home.bundles().list_imported().map_err(|error| PackError::Read(home.root().to_owned(), error))?;
    Ok(SentTrust {
        people: text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count(),
        harnesses: home.unpacked_keys().count(),
        imports: imported.len(),
        approval_policy: home.root().join("trust/approval-policy.yaml").own_exists(),
    })
}

/// Adds the signer to the keys that this home trusts bundles of; the ledger entry comes first, as for every change of trust.
fn trust_sender(home: &Home, signer: &PublicKey, now: Stamp) -> Result<(), PackError> {
    change_trust(home, TrustFile::HarnessKeys, now, |before| {
        if home.unpacked_keys().any(|known| known.key_id() == signer.key_id()) {
            return Ok(None);
        }
        let mut text = String::from_utf8_lossy(before).into_owned();
        text.push_str(&format!("{}\n", signer.openssh("cto-harness").trim_end()));
        let SentTrust { people, harnesses, imports, approval_policy } = describe_trust(home)?;
        let detail = json!({"key": signer.key_id(), "people": people, "harnesses": harnesses, "imports": imports, "approval_policy": approval_policy});
        Ok::<_, PackError>(Some(TrustEdit { bytes: text.into_bytes(), act: "harness_key_added", detail }))
    })?;
    Ok(())
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
