//! Clean start: git's list of dirty paths in the source, asked in a GIT_DIR of the harness
//! with a copy of the source's index.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Timespec, Timestamps, futimens};
use untrusted_fs::own_files::{self, OwnOptions as _};

use super::SourceRepository;
use super::blame::BlameReading as _;
use crate::capture::{STASH, unfinished};
use crate::error::{Doing, TreeError};
use crate::object::index::{self, IndexEntry};
use crate::object::listing::PathMode;
use crate::source_problem::SourceProblem;
use crate::store::git::{Git, GitCall, alternates_value};
use crate::worktree::fsdir::{is_there, open_regular, read_beneath, read_limited};

const LARGEST_INDEX: u64 = 1 << 30;
const LARGEST_EXCLUDE: u64 = 1 << 20;
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
const STATUS: [&str; 6] =
    ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--no-ahead-behind"];
const WITHOUT_SUBMODULES: &str = "--ignore-submodules=all";
/// Has git compare the commits of submodules, which it reads from their files; it starts nothing in one.
const WITH_THEIR_COMMITS: &str = "--ignore-submodules=dirty";

/// Obstacles to a clean start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceStatus {
    /// Paths that differ from HEAD or are untracked, sorted; an untracked repository ends
    /// with `/`.
    pub dirty: Vec<Vec<u8>>,
    /// Paths (directories end with `/`) that a sparse checkout leaves out.
    pub sparse: Vec<Vec<u8>>,
    /// Names in its GIT_DIR of something begun and not ended.
    pub unfinished: Vec<String>,
    /// Paths of the index that are submodules.
    pub submodules: Vec<Vec<u8>>,
}

impl SourceRepository {
    /// Dirty paths of the source, submodules left out; `scratch` is a fresh directory of the caller.
    pub fn dirty_paths(&self, git: &Git, scratch: &Path) -> Result<SourceStatus, TreeError> {
        self.list_dirty(git, scratch, WITHOUT_SUBMODULES)
    }

    /// The same with submodules whose commit is another than the source's. What is dirty inside of one, the caller asks the
    /// submodule itself.
    pub fn dirty_with_submodules(&self, git: &Git, scratch: &Path) -> Result<SourceStatus, TreeError> {
        self.list_dirty(git, scratch, WITH_THEIR_COMMITS)
    }

    fn list_dirty(&self, git: &Git, scratch: &Path, of_submodules: &str) -> Result<SourceStatus, TreeError> {
        if self.bare {
            return Ok(SourceStatus::default());
        }
        let copy = IndexCopy::of(self)?;
        let git_dir = self.borrowed_git_dir(scratch, &copy)?;
        let arguments: Vec<&str> = STATUS.into_iter().chain([of_submodules]).collect();
        let mut call = GitCall::new("asking for a source's status", &git_dir, &arguments);
        call.env = vec![("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates_value(&self.objects()))];
        call.work_tree = Some(&self.root);
        let out = git.run_child(call).map_err(|error| self.blame_source(error))?;
        let lines = out.split(|b| *b == 0).filter(|line| line.len() > 3);
        let mut dirty: Vec<Vec<u8>> =
            lines.filter(|line| !copy.leaves_out(&line[..2], &line[3..])).map(|line| line[3..].to_vec()).collect();
        dirty.sort_unstable();
        dirty.dedup();
        // A stash is work put aside: what a person does to a dirty tree, and no part of the
        // copy.
        let unfinished = unfinished(&self.git_dir, is_there).into_iter().filter(|name| name != STASH).collect();
        let is_submodule = |entry: &&IndexEntry| PathMode::from_bits(entry.bits) == Some(PathMode::Gitlink);
        let submodules = copy.entries.iter().filter(is_submodule).map(|entry| entry.path.clone()).collect();
        Ok(SourceStatus { dirty, sparse: copy.sparse, unfinished, submodules })
    }

    fn borrowed_git_dir(&self, scratch: &Path, copy: &IndexCopy) -> Result<PathBuf, TreeError> {
        let git_dir = std::path::absolute(scratch).doing("resolving", scratch)?.join("status.git");
        for part in ["", "objects", "refs", "info"] {
            let path = git_dir.join(part);
            fs::create_dir(&path).doing("creating directory", &path)?;
        }
        let exclude =
            read_beneath(self.common.as_fd(), b"info/exclude", LARGEST_EXCLUDE).reading(&self.root, b"info/exclude")?;
        let head = format!("{}\n", self.head).into_bytes();
        for (name, bytes) in [("HEAD", head), ("config", CONFIG.into()), ("info/exclude", exclude.unwrap_or_default())]
        {
            let path = git_dir.join(name);
            own_files::write_file(&path, bytes).doing("writing", &path)?;
        }
        copy.write(&git_dir.join("index"))?;
        Ok(git_dir)
    }
}

/// The source's index, rewritten: no extensions, no assume-unchanged, no skip-worktree.
struct IndexCopy {
    entries: Vec<IndexEntry>,
    sparse: Vec<Vec<u8>>,
    /// Time at which the source's index was written: git trusts only files older than that.
    written: Option<Timespec>,
}

impl IndexCopy {
    fn of(source: &SourceRepository) -> Result<IndexCopy, TreeError> {
        let (file, stat) = match open_regular(&source.git_dir, b"index") {
            Ok(found) => found,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(IndexCopy { entries: Vec::new(), sparse: Vec::new(), written: None });
            }
            Err(e) => return Err(e).reading(&source.root, b"index"),
        };
        let bytes = read_limited(file, LARGEST_INDEX).reading(&source.root, b"index")?;
        let damaged = |error: TreeError| source.refuse_source(SourceProblem::DamagedIndex(error.to_string()));
        let read = index::decode_index(&bytes).map_err(damaged)?;
        if read.split {
            return Err(source.refuse_source(SourceProblem::SplitIndex));
        }
        read.require_plain().map_err(damaged)?;
        let sparse = read.entries.iter().filter(|entry| entry.skip_worktree).map(|entry| entry.path.clone()).collect();
        // What was only announced with `add -N` shows as untracked; what is sparse as a
        // directory is not in the index at all.
        let keep = |entry: &IndexEntry| !entry.intent_to_add && PathMode::from_bits(entry.bits).is_some();
        let entries = read.entries.into_iter().filter(keep).collect();
        let written = Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ };
        Ok(IndexCopy { entries, sparse, written: Some(written) })
    }

    fn write(&self, path: &Path) -> Result<(), TreeError> {
        own_files::write_file(path, index::encode_index(&self.entries, &[])?).doing("writing index", path)?;
        let Some(written) = self.written else { return Ok(()) };
        let file = fs::File::options().write(true).own_open(path).doing("opening index", path)?;
        futimens(&file, &Timestamps { last_access: written, last_modification: written }).doing("dating index", path)
    }

    /// True if a status line only says that a sparse checkout has no such file.
    fn leaves_out(&self, state: &[u8], path: &[u8]) -> bool {
        let holds = |left_out: &Vec<u8>| left_out == path || (left_out.ends_with(b"/") && path.starts_with(left_out));
        matches!(state, b" D" | b"D ") && self.sparse.iter().any(holds)
    }
}
