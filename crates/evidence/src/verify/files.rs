//! The files of a bundle: what lies there, their digests, their canonical form.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::sandbox::postures;
use contract::{Digest, Statement, is_canonical};
use sha2::{Digest as _, Sha256};

use super::{Checks, OpenBundleError};
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

/// A bundle's files by relative name.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    pub(super) files: BTreeMap<String, Digest>,
    /// Content of the files at the top, which are judged; `backend/` never is.
    content: BTreeMap<String, Vec<u8>>,
    /// How the sandboxes were, in [`names::SANDBOX`]; none where that is not canonical.
    postures: Option<Range<usize>>,
    pub(super) bytes: u64,
}

impl Tree {
    pub(super) fn content(&self, name: &str) -> Option<&[u8]> {
        self.content.get(name).map(Vec::as_slice)
    }

    pub(super) fn postures(&self) -> Option<&[u8]> {
        self.content(names::SANDBOX)?.get(self.postures.clone()?)
    }
}

struct Found {
    name: String,
    size: u64,
}

impl Found {
    /// Whether its content is looked at, beyond its digest.
    fn is_judged(&self) -> bool {
        !self.name.contains('/') && self.name != names::BASELINE && self.size <= LARGEST_JUDGED
    }
}

/// Lists and digests everything below `path`; links, devices and odd names are failures, never followed.
pub(super) fn read(path: &Path, checks: &mut Checks) -> Result<Tree, OpenBundleError> {
    let kind = fs::symlink_metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => OpenBundleError::Missing(path.to_owned()),
        _ => OpenBundleError::Read(path.to_owned(), error),
    })?;
    if !kind.is_dir() {
        return Err(OpenBundleError::NotADirectory(path.to_owned()));
    }
    if ![names::REPORT, names::ATTESTATION].iter().any(|name| fs::symlink_metadata(path.join(name)).is_ok()) {
        return Err(OpenBundleError::NotABundle(path.to_owned()));
    }
    let mut found = Vec::new();
    walk(path, "", 0, &mut found, checks).map_err(|error| OpenBundleError::Read(path.to_owned(), error))?;
    let bytes = found.iter().map(|file| file.size).sum();
    let mut tree =
        Tree { root: path.to_owned(), files: BTreeMap::new(), content: BTreeMap::new(), postures: None, bytes };
    for file in found.iter().filter(|file| file.size > LARGEST_JUDGED && names::ALWAYS.contains(&file.name.as_str())) {
        checks.fail(&file.name, "size", None, format!("at most {LARGEST_JUDGED} bytes"), file.size);
    }
    let judged: u64 = found.iter().filter(|file| file.is_judged()).map(|file| file.size).sum();
    if judged > MOST_JUDGED {
        checks.fail(".", "size", None, format!("at most {MOST_JUDGED} bytes in the files at the top"), judged);
        return Ok(tree);
    }
    for (file, read) in found.iter().zip(digest_all(path, &found)) {
        match read {
            Ok((digest, content)) => {
                tree.files.insert(file.name.clone(), digest);
                if let Some(content) = content {
                    tree.content.insert(file.name.clone(), content);
                }
            }
            Err(error) => checks.fail(&file.name, "readable", None, "a readable file", error),
        }
    }
    Ok(tree)
}

fn walk(root: &Path, below: &str, depth: usize, found: &mut Vec<Found>, checks: &mut Checks) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = match entry.file_name().into_string() {
            Ok(name) => name,
            Err(name) => {
                let shown = format!("{below}{}", name.to_string_lossy());
                checks.fail(&shown, "name", None, "a UTF-8 name", "other bytes");
                continue;
            }
        };
        let name = format!("{below}{name}");
        if found.len() >= MOST_FILES || depth >= DEEPEST {
            checks.fail(&name, "limit", None, format!("at most {MOST_FILES} files, {DEEPEST} deep"), "more");
            return Ok(());
        }
        if kind.is_dir() {
            let before = found.len();
            walk(root, &format!("{name}/"), depth + 1, found, checks)?;
            // Nothing signs a directory, and nothing of ours leaves one without a file.
            checks.check(found.len() > before, &name, "directory", "a directory with a signed file in it", "none");
        } else if kind.is_file() {
            found.push(Found { name, size: entry.metadata()?.len() });
        } else {
            let what = if kind.is_symlink() { "a symbolic link" } else { "a special file" };
            checks.check(false, &name, "kind", "a regular file", what);
        }
    }
    Ok(())
}

type FileRead = io::Result<(Digest, Option<Vec<u8>>)>;

/// Digests files on as many threads as the machine has; the largest first, so that one big file does not come last.
fn digest_all(root: &Path, found: &[Found]) -> Vec<FileRead> {
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

/// Reads a file once: digest, and content where it will be judged. Never follows a link that took the file's place.
fn digest_one(root: &Path, file: &Found) -> FileRead {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = File::options().read(true).custom_flags(flags.bits() as i32).open(root.join(&file.name))?;
    // As much as it had when it was listed: what grows while it is read is not read for ever.
    let mut opened = opened.take(file.size);
    let most = usize::try_from(file.size).unwrap_or(CHUNK).min(CHUNK);
    if file.is_judged() {
        let mut content = Vec::with_capacity(most);
        opened.read_to_end(&mut content)?;
        return Ok((Digest::of(&content), Some(content)));
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
            Some(found) => checks.same(&subject.name, "digest", subject.digest.sha256, found),
            None => checks.check(false, &subject.name, "present", "the signed file", "no such file, or signed twice"),
        };
    }
    for name in unsigned.keys() {
        checks.check(false, name, "signed", "only signed files", "a file that nobody signed");
    }
}

pub(super) fn check_presence(tree: &Tree, checks: &mut Checks) {
    for name in names::ALWAYS {
        checks.check(tree.files.contains_key(*name), name, "present", "a file that every bundle has", "missing");
    }
    let backend = fs::symlink_metadata(tree.root.join(names::BACKEND)).is_ok_and(|kind| kind.is_dir());
    checks.check(backend, names::BACKEND, "present", "a directory that every bundle has", "missing");
}

/// Every JSON file at the top is stored as its RFC 8785 bytes, and every line of the logs too.
pub(super) fn check_canonical(tree: &mut Tree, checks: &mut Checks) {
    for (name, bytes) in &tree.content {
        if name == names::SANDBOX {
            let postures = postures(bytes);
            let canonical = postures.is_some() || is_canonical(bytes);
            checks.check(canonical, name, "canonical", "RFC 8785 bytes", "other bytes");
            tree.postures = postures;
        } else if name.ends_with(".json") {
            checks.check(is_canonical(bytes), name, "canonical", "RFC 8785 bytes", "other bytes");
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
