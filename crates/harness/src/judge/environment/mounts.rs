//! Content of a contract's mounts: a digest over the files, remembered by the file system's
//! stats of them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use contract::sandbox::MountDigest;
use contract::task::Mount;
use contract::{Digest, canonical_bytes};
use serde::{Deserialize, Serialize};
use untrusted_fs::own_files;

use crate::home::host::{digest_file, write_aside};
use crate::home::placement::PlacedPath;
use crate::run::file::Stopped;
use crate::run::harness::Harness;

/// More than this is not looked through.
const MOST_FILES: u64 = 500_000;

/// One file as the file system has it, without its content.
struct Entry {
    path: PathBuf,
    below: String,
    kind: Kind,
    mode: u32,
    stat: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Link,
    Other,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    digest: MountDigest,
}

/// The digests of all mounts of an environment. What did not change since the last time is
/// not read again.
pub(crate) fn digests(harness: &Harness, mounts: &[Mount]) -> Result<Vec<MountDigest>, Stopped> {
    mounts.iter().map(|mount| digest(harness, mount)).collect()
}

fn digest(harness: &Harness, mount: &Mount) -> Result<MountDigest, Stopped> {
    let failed = |error: io::Error| Stopped::Io(PathBuf::from(&mount.source), error);
    // A sandbox shows what a link leads to.
    let source = own_files::canonicalize(&mount.source).map_err(failed)?;
    let target = PlacedPath::of_mount(mount).target.display().to_string();
    let mut entries = Vec::new();
    list(&source, String::new(), &mut entries).map_err(failed)?;
    entries.sort_by(|a, b| a.below.cmp(&b.below));
    let looks: String = entries.iter().map(|entry| format!("{}\0{}\n", entry.below, entry.stat)).collect();
    let folder = harness.home.cache().join("mounts");
    let file = folder.join(format!("{}.json", Digest::of_bytes(looks.as_bytes())));
    let kept = own_files::read_file(&file).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
    if let Some(Kept { digest }) = kept {
        crate::home::lock::touch(&file);
        return Ok(MountDigest { target, ..digest });
    }
    let digest = read(&entries, &target).map_err(failed)?;
    if let Ok(bytes) = canonical_bytes(&Kept { digest: digest.clone() })
        && fs::create_dir_all(&folder).is_ok()
    {
        write_aside(&file, &bytes);
    }
    Ok(digest)
}

fn list(path: &Path, below: String, entries: &mut Vec<Entry>) -> io::Result<()> {
    let stat = own_files::symlink_metadata(path)?;
    if stat.is_dir() {
        for entry in own_files::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = if below.is_empty() { name } else { format!("{below}/{name}") };
            list(&entry.path(), name, entries)?;
        }
        return Ok(());
    }
    if entries.len() as u64 >= MOST_FILES {
        return Err(io::Error::other(format!("more than {MOST_FILES} files in a mount")));
    }
    let kind = match stat.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    };
    let times = (stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec());
    let looks = format!("{} {} {} {} {times:?}", stat.dev(), stat.ino(), stat.size(), stat.mode());
    entries.push(Entry { path: path.to_owned(), below, kind, mode: stat.mode() & 0o777, stat: looks });
    Ok(())
}

fn read(entries: &[Entry], target: &str) -> io::Result<MountDigest> {
    let (mut lines, mut bytes) = (String::new(), 0);
    for entry in entries {
        let of_text = |text: &[u8]| (Digest::of_bytes(text), text.len() as u64);
        let (digest, size) = match entry.kind {
            Kind::File => digest_file(&entry.path)?,
            Kind::Link => of_text(own_files::read_link(&entry.path)?.as_os_str().as_encoded_bytes()),
            Kind::Other => of_text(b""),
        };
        bytes += size;
        lines.push_str(&format!("{:?} {:o} {digest} {}\n", entry.kind, entry.mode, entry.below));
    }
    Ok(MountDigest {
        target: target.to_owned(),
        tree_sha256: Digest::of_bytes(lines.as_bytes()),
        files: entries.len() as u64,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::run::tests::Trial;

    #[test]
    fn a_digest_is_of_kinds_modes_names_and_contents() {
        let trial = Trial::new();
        let folder = trial.folder().join("mount");
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/a"), "four").unwrap();
        fs::write(folder.join("b"), "seven..").unwrap();
        let mounts = |target: &str| {
            let mount = Mount { source: folder.display().to_string(), target: Some(target.to_owned()) };
            digests(&trial.harness, &[mount]).unwrap().remove(0)
        };
        let first = mounts("/opt/x");
        assert_eq!((first.target.as_str(), first.files, first.bytes), ("/opt/x", 2, 11));
        let moved = mounts("/opt/y");
        assert_eq!(
            (moved.target.as_str(), moved.tree_sha256),
            ("/opt/y", first.tree_sha256),
            "known, at another place"
        );
        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(folder.join("b"), "eight...").unwrap(),
            &|| fs::set_permissions(folder.join("b"), fs::Permissions::from_mode(0o755)).unwrap(),
            &|| fs::rename(folder.join("b"), folder.join("c")).unwrap(),
            &|| {
                fs::remove_file(folder.join("c")).unwrap();
                symlink("eight...", folder.join("c")).unwrap();
            },
        ];
        let mut seen = vec![first.tree_sha256];
        for (number, change) in changes.iter().enumerate() {
            change();
            let now = mounts("/opt/x").tree_sha256;
            assert!(!seen.contains(&now), "change {number}");
            seen.push(now);
        }
    }

    #[test]
    fn only_the_rights_of_a_file_and_its_kind_are_part_of_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "x").unwrap();
        symlink("a", folder.path().join("l")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        rustix::fs::mknodat(rustix::fs::CWD, folder.path().join("p"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        fs::set_permissions(folder.path().join("a"), fs::Permissions::from_mode(0o4751)).unwrap();
        let mut entries = Vec::new();
        list(folder.path(), String::new(), &mut entries).unwrap();
        entries.sort_by(|one, other| one.below.cmp(&other.below));
        let kinds: Vec<(&str, Kind)> = entries.iter().map(|entry| (entry.below.as_str(), entry.kind)).collect();
        assert_eq!(kinds, [("a", Kind::File), ("l", Kind::Link), ("p", Kind::Other)]);
        assert_eq!(entries[0].mode, 0o751);
        assert_eq!(read(&entries, "/t").unwrap().bytes, 2, "a pipe has no content");
    }
}
