//! A digest of a source's work tree, to show that a run left it as it was.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Stat, readlinkat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::blame::BlameReading as _;
use super::{SourceRepository, head};
use crate::error::TreeError;
use crate::source_problem::SourceProblem;
use crate::worktree::fsdir::{kind, lstat, open_dir, open_regular, sorted_names};
use crate::worktree::stat::{FileStat, StatTrust};

const DEEPEST: usize = 256;
/// Files that git opens in any folder. A pipe of that name would make it wait for a writer.
const GIT_OPENS: [&[u8]; 3] = [b".gitignore", b".gitattributes", b".gitmodules"];

/// A SHA-256 over HEAD and every path, mode and content of a work tree without its `.git`s;
/// of a bare repository, over HEAD alone.
#[derive(Debug, Clone)]
pub struct SourceDigest {
    /// Lower-case hexadecimal.
    pub sha256: String,
    files: HashMap<Vec<u8>, (FileStat, [u8; 32])>,
    trust: StatTrust,
}

impl PartialEq for SourceDigest {
    fn eq(&self, other: &SourceDigest) -> bool {
        self.sha256 == other.sha256
    }
}

impl SourceRepository {
    /// The digest of the source as it is now; with an earlier one, only files whose stat
    /// moved are read again.
    pub fn digest(&self, earlier: Option<&SourceDigest>) -> Result<SourceDigest, TreeError> {
        let top = untrusted_fs::open_root(&self.root).reading(&self.root, b"")?;
        let trust = StatTrust::trust_below(&top, &self.root)?;
        let mut walk = Walk { root: &self.root, earlier, files: HashMap::new(), trust, hash: Sha256::new() };
        let now = head::resolve_head(&self.git_dir, &self.common, &self.root)?;
        walk.line(b"HEAD", b"", now.to_string().as_bytes());
        if !self.bare {
            walk.directory(&top, &mut Vec::new(), 0)?;
        }
        Ok(walk.finish())
    }
}

/// The digest of a folder that is no repository, as it is now.
pub fn folder_digest(root: &Path, earlier: Option<&SourceDigest>) -> Result<SourceDigest, TreeError> {
    let top = untrusted_fs::open_root(root).reading(root, b"")?;
    let trust = StatTrust::trust_below(&top, root)?;
    let mut walk = Walk { root, earlier, files: HashMap::new(), trust, hash: Sha256::new() };
    walk.directory(&top, &mut Vec::new(), 0)?;
    Ok(walk.finish())
}

struct Walk<'a> {
    root: &'a Path,
    earlier: Option<&'a SourceDigest>,
    files: HashMap<Vec<u8>, (FileStat, [u8; 32])>,
    trust: StatTrust,
    hash: Sha256,
}

impl Walk<'_> {
    fn finish(self) -> SourceDigest {
        let sum = self.hash.finalize();
        let sha256 = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        SourceDigest { sha256, files: self.files, trust: self.trust }
    }

    fn refuse(&self, problem: SourceProblem) -> TreeError {
        TreeError::Source { path: self.root.to_path_buf(), problem }
    }

    /// Lengths before bytes, so that no two trees share a line.
    fn line(&mut self, what: &[u8], path: &[u8], value: &[u8]) {
        for part in [what, path, value] {
            self.hash.update((part.len() as u64).to_be_bytes());
            self.hash.update(part);
        }
    }

    fn directory(&mut self, dir: &OwnedFd, path: &mut Vec<u8>, depth: usize) -> Result<(), TreeError> {
        if depth > DEEPEST {
            let why = format!("its work tree is more than {DEEPEST} folders deep at \"{}\"", path.escape_ascii());
            return Err(self.refuse(SourceProblem::TooLarge(why)));
        }
        let length = path.len();
        for name in sorted_names(dir).reading(self.root, path)? {
            if name == b".git" {
                continue;
            }
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            self.entry(dir, &name, path, depth)?;
            path.truncate(length);
        }
        Ok(())
    }

    fn entry(&mut self, dir: &OwnedFd, name: &[u8], path: &mut Vec<u8>, depth: usize) -> Result<(), TreeError> {
        let stat = lstat(dir, name).reading(self.root, path)?;
        match kind(&stat) {
            FileType::Directory => match open_dir(dir, name) {
                Ok(below) => {
                    self.line(b"directory", path, b"");
                    self.directory(&below, path, depth + 1)?;
                }
                Err(Errno::ACCESS) => self.line(b"unreadable directory", path, b""),
                Err(e) => return Err(e).reading(self.root, path),
            },
            FileType::Symlink => {
                let target = readlinkat(dir, name, Vec::new()).reading(self.root, path)?;
                self.line(b"link", path, target.as_bytes());
            }
            FileType::RegularFile => self.regular(dir, name, path, &stat)?,
            _ if GIT_OPENS.contains(&name) => {
                return Err(self.refuse(SourceProblem::SpecialFile(path.escape_ascii().to_string())));
            }
            _ => self.line(b"special", path, b""),
        }
        Ok(())
    }

    fn regular(&mut self, dir: &OwnedFd, name: &[u8], path: &[u8], stat: &Stat) -> Result<(), TreeError> {
        let now = FileStat::of_stat(stat);
        let what: &[u8] = if now.mode & 0o100 != 0 { b"executable" } else { b"file" };
        let sum = match self.known(path, &now) {
            Some(sum) => sum,
            None => match open_regular(dir, name) {
                Ok((file, _)) => sha256(file).reading(self.root, path)?,
                Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                    self.line(b"unreadable file", path, &now.size.to_be_bytes());
                    return Ok(());
                }
                Err(e) => return Err(e).reading(self.root, path),
            },
        };
        self.trust.note_stat(&now);
        self.files.insert(path.to_vec(), (now, sum));
        self.line(what, path, &sum);
        Ok(())
    }

    fn known(&self, path: &[u8], now: &FileStat) -> Option<[u8; 32]> {
        let earlier = self.earlier?;
        let (stat, sum) = earlier.files.get(path)?;
        (stat == now && earlier.trust.holds_for(now)).then_some(*sum)
    }
}

fn sha256(mut file: File) -> std::io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            n => hash.update(&buffer[..n]),
        }
    }
}
