//! The files of a bundle: their presence, their digests, their canonical form.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::sandbox::postures;
use contract::{Digest, Statement, is_canonical};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, openat, statat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::checks::Checks;
use crate::names;

/// More files than any bundle has.
const MOST_FILES: usize = 50_000;
/// Files up to this size are kept in memory when they are judged.
const LARGEST_JUDGED: u64 = 256 << 20;
/// All of them together.
const MOST_JUDGED: u64 = 512 << 20;
const DEEPEST: usize = 32;
/// Bytes of a bundle for which one thread is enough.
const LITTLE: u64 = 4 << 20;
/// Read at once.
const CHUNK: usize = 1 << 18;
/// Room for the names of a small bundle.
const LISTING: usize = 4096;

/// The path is not a bundle at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenBundleError {
    #[error("{0} is not a bundle: it is not a directory")]
    NotADirectory(PathBuf),
    #[error("{0} does not exist")]
    Missing(PathBuf),
    /// Neither a report nor an attestation in it.
    #[error("{} is not a bundle: it has neither {} nor {}", .0.display(), names::REPORT, names::ATTESTATION)]
    NotABundle(PathBuf),
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] io::Error),
}

/// A bundle's files by relative name.
#[derive(Debug)]
pub(super) struct Tree {
    root: OwnedFd,
    /// Digest of every file.
    pub(super) files: BTreeMap<String, Digest>,
    /// Content of the files at the top, which are judged; `backend/` never is.
    content: BTreeMap<String, Vec<u8>>,
    /// Byte range of the postures in [`names::SANDBOX`]; none if that file is not
    /// canonical.
    postures: Option<Range<usize>>,
    /// Size of all files together.
    pub(super) bytes: u64,
}

impl Tree {
    /// Content of a file that was kept in memory; none for files of which only the digest
    /// is taken.
    pub(super) fn content(&self, name: &str) -> Option<&[u8]> {
        self.content.get(name).map(Vec::as_slice)
    }

    /// Bytes of the postures, over which the signed digest is taken.
    pub(super) fn postures(&self) -> Option<&[u8]> {
        self.content(names::SANDBOX)?.get(self.postures.clone()?)
    }
}

struct Found {
    name: String,
    size: u64,
}

impl Found {
    /// True if the content is judged, beyond its digest.
    fn is_judged(&self) -> bool {
        !self.name.contains('/') && self.name != names::BASELINE && self.size <= LARGEST_JUDGED
    }
}

/// Lists and digests everything below `path`; links, devices and odd names are failures,
/// never followed.
pub(super) fn read_files(path: &Path, checks: &mut Checks) -> Result<Tree, OpenBundleError> {
    let unread = |errno: Errno| OpenBundleError::Read(path.to_owned(), errno.into());
    let root = open_dir(CWD, path).map_err(|errno| match errno {
        Errno::NOENT => OpenBundleError::Missing(path.to_owned()),
        Errno::NOTDIR | Errno::LOOP => OpenBundleError::NotADirectory(path.to_owned()),
        other => unread(other),
    })?;
    if ![names::REPORT, names::ATTESTATION].iter().any(|name| look(root.as_fd(), *name).is_ok()) {
        return Err(OpenBundleError::NotABundle(path.to_owned()));
    }
    let mut found = Vec::new();
    walk(root.as_fd(), "", 0, &mut found, checks).map_err(unread)?;
    let bytes = found.iter().map(|file| file.size).sum();
    let mut tree = Tree { root, files: BTreeMap::new(), content: BTreeMap::new(), postures: None, bytes };
    for file in found.iter().filter(|file| file.size > LARGEST_JUDGED && names::ALWAYS.contains(&file.name.as_str())) {
        checks.fail(&file.name, "size", None, format!("at most {LARGEST_JUDGED} bytes"), file.size);
    }
    let judged: u64 = found.iter().filter(|file| file.is_judged()).map(|file| file.size).sum();
    if judged > MOST_JUDGED {
        checks.fail(".", "size", None, format!("at most {MOST_JUDGED} bytes in the files at the top"), judged);
        return Ok(tree);
    }
    let digested = digest_all(tree.root.as_fd(), &found);
    for (file, read) in found.into_iter().zip(digested) {
        match read {
            Ok((digest, content)) => {
                if let Some(content) = content {
                    tree.content.insert(file.name.clone(), content);
                }
                tree.files.insert(file.name, digest);
            }
            Err(error) => checks.fail(&file.name, "readable", None, "a readable file", error),
        }
    }
    Ok(tree)
}

/// Never through a link that took the directory's place.
fn open_dir(at: BorrowedFd<'_>, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn look(at: BorrowedFd<'_>, name: impl rustix::path::Arg) -> rustix::io::Result<Stat> {
    statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn walk(
    dir: BorrowedFd<'_>,
    below: &str,
    depth: usize,
    found: &mut Vec<Found>,
    checks: &mut Checks,
) -> rustix::io::Result<()> {
    let mut listing = [MaybeUninit::uninit(); LISTING];
    let mut entries = RawDir::new(dir, &mut listing);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let entry = entry.file_name();
        if matches!(entry.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(name) = entry.to_str() else {
            let shown = format!("{below}{}", entry.to_string_lossy());
            checks.fail(&shown, "name", None, "a UTF-8 name", "other bytes");
            continue;
        };
        let name = format!("{below}{name}");
        if found.len() >= MOST_FILES || depth >= DEEPEST {
            checks.fail(&name, "limit", None, format!("at most {MOST_FILES} files, {DEEPEST} deep"), "more");
            return Ok(());
        }
        let stat = look(dir, entry)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let before = found.len();
                walk(open_dir(dir, entry)?.as_fd(), &format!("{name}/"), depth + 1, found, checks)?;
                // Nothing signs a directory, and nothing of ours leaves one without a file.
                checks.count_check(
                    found.len() > before,
                    &name,
                    "directory",
                    "a directory with a signed file in it",
                    "none",
                );
            }
            FileType::RegularFile => found.push(Found { name, size: u64::try_from(stat.st_size).unwrap_or(0) }),
            kind => {
                let what = if kind == FileType::Symlink { "a symbolic link" } else { "a special file" };
                checks.count_check(false, &name, "kind", "a regular file", what);
            }
        }
    }
    Ok(())
}

/// Content of a file below `path`, without following a link; at most so many bytes of it.
pub(super) fn read_named(path: &Path, name: &str, most: u64) -> io::Result<Vec<u8>> {
    let (folders, last) = name.rsplit_once('/').unwrap_or(("", name));
    let mut at = openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        at = open_dir(at.as_fd(), folder)?;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = File::from(openat(&at, last, flags, Mode::empty())?);
    let mut content = Vec::new();
    opened.take(most).read_to_end(&mut content)?;
    Ok(content)
}

type FileRead = io::Result<(Digest, Option<Vec<u8>>)>;

/// Digests files on as many threads as the machine has; the largest first, so that one big
/// file does not come last.
fn digest_all(root: BorrowedFd<'_>, found: &[Found]) -> Vec<FileRead> {
    // Asking for the number of threads takes longer than a small file.
    let threads = || std::thread::available_parallelism().map_or(1, usize::from).min(found.len());
    let little = found.iter().map(|file| file.size).sum::<u64>() < LITTLE;
    let threads = if little { 1 } else { threads() };
    if threads <= 1 {
        return found.iter().map(|file| digest_one(root, file)).collect();
    }
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(found[*index].size));
    let next = AtomicUsize::new(0);
    let mut results: Vec<(usize, FileRead)> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            while let Some(index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((*index, digest_one(root, &found[*index])));
            }
            done
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, read)| read).collect()
}

/// Reads a file once: digest, and content where it will be judged. Never follows a link
/// that took the file's place.
fn digest_one(root: BorrowedFd<'_>, file: &Found) -> FileRead {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(root, file.name.as_str(), flags, Mode::empty())?;
    // As much as it had when it was listed: what grows while it is read is not read for ever.
    let mut opened = File::from(opened).take(file.size);
    let most = usize::try_from(file.size).unwrap_or(CHUNK).min(CHUNK);
    if file.is_judged() {
        let mut content = Vec::with_capacity(most);
        opened.read_to_end(&mut content)?;
        return Ok((Digest::of_bytes(&content), Some(content)));
    }
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; most];
    loop {
        match opened.read(&mut buffer)? {
            0 => return Ok((Digest::from_bytes(hasher.finalize().into()), None)),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// The signed subjects and the files are the same set, with the same digests.
pub(super) fn check_subjects(tree: &Tree, statement: &Statement, checks: &mut Checks) {
    let mut unsigned: BTreeMap<&str, Digest> =
        tree.files.iter().map(|(name, digest)| (name.as_str(), *digest)).collect();
    unsigned.remove(names::ATTESTATION);
    for subject in &statement.subject {
        match unsigned.remove(subject.name.as_str()) {
            Some(found) => checks.check_same(&subject.name, "digest", subject.digest.sha256, found),
            None => {
                checks.count_check(false, &subject.name, "present", "the signed file", "no such file, or signed twice")
            }
        };
    }
    for name in unsigned.keys() {
        checks.count_check(false, name, "signed", "only signed files", "a file that nobody signed");
    }
}

/// Checks that every mandatory file and the `backend/` directory are present.
pub(super) fn check_presence(tree: &Tree, checks: &mut Checks) {
    for name in names::ALWAYS {
        checks.count_check(tree.files.contains_key(*name), name, "present", "a file that every bundle has", "missing");
    }
    let backend = look(tree.root.as_fd(), names::BACKEND);
    let backend = backend.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    checks.count_check(backend, names::BACKEND, "present", "a directory that every bundle has", "missing");
}

/// Every JSON file at the top is stored as its RFC 8785 bytes, and every line of the logs too.
pub(super) fn check_canonical(tree: &mut Tree, checks: &mut Checks) {
    for (name, bytes) in &tree.content {
        if name == names::SANDBOX {
            let postures = postures(bytes);
            let canonical = postures.is_some() || is_canonical(bytes);
            checks.count_check(canonical, name, "canonical", "RFC 8785 bytes", "other bytes");
            tree.postures = postures;
        } else if name == names::ATTESTATION {
            // Was asked before its signature.
        } else if name.ends_with(".json") {
            checks.count_check(is_canonical(bytes), name, "canonical", "RFC 8785 bytes", "other bytes");
        } else if name == names::TRACE {
            let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n');
            let broken = lines.zip(1_u64..).find(|(line, _)| !is_canonical(line));
            checks.made += 1;
            if let Some((_, line)) = broken {
                checks.fail(name, "canonical", Some(line), "RFC 8785 bytes", "other bytes");
            }
        }
    }
}
