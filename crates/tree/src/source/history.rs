//! Files of a source as they were before its history first had some path, read from its objects alone.

use std::path::Path;

use super::SourceRepository;
use crate::error::TreeError;
use crate::oid::Oid;
use crate::store::git::{Git, GitCall, Input, alternates_value};

/// Most bytes of earlier files together.
const MOST_BYTES: u64 = 256 << 20;

/// A file with its content.
pub type EarlierFile = (Vec<u8>, Vec<u8>);

impl SourceRepository {
    /// Files of the commit before the first one of HEAD's history that has `path`, of those whose names are wanted. Nothing where no
    /// commit has it, or where the first commit of all does. Dates are not looked at: the author of a commit chooses them.
    pub fn read_files_before(
        &self,
        git: &Git,
        scratch: &Path,
        path: &str,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<EarlierFile>, TreeError> {
        let git_dir = self.bare_git_dir(scratch)?;
        let ask = |doing: &'static str, arguments: &[&str], input: &[u8]| {
            let mut call = GitCall::new(doing, &git_dir, arguments);
            call.input = Input::Bytes(input);
            call.env =
                vec![("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates_value(&self.common_path().join("objects")))];
            git.run_child(call)
        };
        let format = ["log", "--topo-order", "--full-history", "--no-renames", "--diff-filter=A", "--format=%P"];
        let log = ask("looking for a file's first commit", &[&format[..], &["HEAD", "--", path]].concat(), b"")?;
        let parents = log.strip_suffix(b"\n").unwrap_or_default().rsplit(|byte| *byte == b'\n').next();
        let Some(parent) = parents.and_then(Oid::from_hex) else { return Ok(Vec::new()) };
        let listed = ask("listing earlier files", &["ls-tree", "-r", "-l", "-z", &parent.to_string()], b"")?;
        let rows = listed.split(|byte| *byte == 0).filter_map(read_row).filter(|row| is_wanted(row.path));
        let (mut bytes, mut wanted, mut names) = (0, Vec::new(), Vec::new());
        for row in rows {
            bytes += row.size;
            wanted.extend_from_slice(row.oid);
            wanted.push(b'\n');
            names.push((row.path.to_vec(), row.size));
        }
        if names.is_empty() || bytes > MOST_BYTES {
            return Ok(Vec::new());
        }
        let contents = ask("reading earlier files", &["cat-file", "--batch=%(objecttype)"], &wanted)?;
        Ok(split_contents(&contents, names))
    }
}

struct TreeRow<'o> {
    oid: &'o [u8],
    size: u64,
    path: &'o [u8],
}

/// A line of `ls-tree -l`: mode, type, id, size, a tab and the path; none for what is no file.
fn read_row(line: &[u8]) -> Option<TreeRow<'_>> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut words = line[..tab].split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let (mode, kind, oid, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_file = kind == b"blob" && mode != b"120000";
    let size = std::str::from_utf8(size).ok()?.parse().ok()?;
    is_file.then_some(TreeRow { oid, size, path: &line[tab + 1..] })
}

/// Contents as `cat-file --batch` prints them: a line with the type, the bytes, a line's end.
fn split_contents(mut bytes: &[u8], names: Vec<(Vec<u8>, u64)>) -> Vec<EarlierFile> {
    let mut files = Vec::new();
    for (name, size) in names {
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let content =
            bytes.strip_prefix(b"blob\n").and_then(|rest| Some((rest.get(..length)?, rest.get(length + 1..)?)));
        let Some((content, rest)) = content else { return Vec::new() };
        files.push((name, content.to_vec()));
        bytes = rest;
    }
    files
}
