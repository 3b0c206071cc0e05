//! Git configuration files as data: no setting of a repository is in force, and files that
//! it includes are not read.

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::path::Path;

use super::SourceRepository;
use super::blame::BlameReading as _;
use crate::error::TreeError;
use crate::source_problem::SourceProblem;
use crate::store::ObjectDatabase;
use crate::store::git::{GitCall, Input};
use crate::worktree::fsdir::read_beneath;
use untrusted_fs::own_files::OwnPath as _;

const LARGEST: u64 = 1 << 20;
const LIST: &[&str] = &["config", "--null", "--list"];

/// Extensions under which loose objects and reference files are what they always were, with
/// the value that must be there.
const HARMLESS: &[(&str, Option<&str>)] = &[
    ("noop", None),
    ("noop-v1", None),
    ("partialclone", None),
    ("preciousobjects", None),
    ("worktreeconfig", None),
    ("relativeworktrees", None),
    ("objectformat", Some("sha1")),
    ("refstorage", Some("files")),
];

/// Keys and values in the order of the file, keys as git spells them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitSettings(Vec<(String, String)>);

impl GitSettings {
    fn parse(listed: &[u8]) -> GitSettings {
        let rows = listed.split(|b| *b == 0).filter(|row| !row.is_empty()).map(|row| {
            let end = row.iter().position(|b| *b == b'\n').unwrap_or(row.len());
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(&row[..end]), text(row.get(end + 1..).unwrap_or_default()))
        });
        GitSettings(rows.collect())
    }

    /// The value that counts where a key stands more than once.
    pub fn get_value(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The first setting of the repository that this crate does not know.
    fn unknown_format(&self) -> Option<String> {
        let unknown = |(key, value): &&(String, String)| match key.strip_prefix("extensions.") {
            Some(extension) => !HARMLESS
                .iter()
                .any(|(known, must)| *known == extension && must.is_none_or(|must| value.eq_ignore_ascii_case(must))),
            None => key == "core.repositoryformatversion" && !matches!(value.as_str(), "0" | "1"),
        };
        self.0.iter().find(unknown).map(|(key, value)| format!("{key}={value}"))
    }
}

impl SourceRepository {
    /// The repository's own configuration file.
    pub fn settings(&self, store: &ObjectDatabase) -> Result<GitSettings, TreeError> {
        let bytes = read_beneath(self.common.as_fd(), b"config", LARGEST).reading(&self.root, b"config")?;
        let bytes = bytes.unwrap_or_default();
        let mut call = GitCall::new("reading a repository's configuration", store.dir(), LIST);
        call.args.extend(["--no-includes", "--file", "-"].map(OsString::from));
        call.input = Input::Bytes(&bytes);
        let damaged = |error| match self.blame_source(error) {
            TreeError::Source { path, problem: SourceProblem::DamagedContent(why) } => {
                TreeError::Source { path, problem: SourceProblem::DamagedConfig(why) }
            }
            own => own,
        };
        Ok(GitSettings::parse(&store.git().run_child(call).map_err(damaged)?))
    }

    /// Refuses a repository whose configuration names a format that is not known here.
    pub fn require_known_format(&self, settings: &GitSettings) -> Result<(), TreeError> {
        match settings.unknown_format() {
            None => Ok(()),
            Some(setting) => Err(self.refuse_source(SourceProblem::UnknownFormat(setting))),
        }
    }
}

/// Configuration file of the operator, with the files that it includes; empty if there is
/// none.
pub fn operator_settings(store: &ObjectDatabase, file: &Path) -> Result<GitSettings, TreeError> {
    if !file.own_is_file() {
        return Ok(GitSettings::default());
    }
    let mut call = GitCall::new("reading the operator's git configuration", store.dir(), LIST);
    call.args.extend(["--includes", "--file"].map(OsString::from));
    call.args.push(file.into());
    Ok(GitSettings::parse(&store.git().run_child(call)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_are_not_known_are_found() {
        for (listed, expected) in [
            ("core.repositoryformatversion\n0\0", None),
            ("core.repositoryformatversion\n1\0extensions.worktreeconfig\ntrue\0", None),
            ("extensions.objectformat\nSHA1\0extensions.refstorage\nfiles\0", None),
            ("core.repositoryformatversion\n2\0", Some("core.repositoryformatversion=2")),
            ("extensions.objectformat\nsha256\0", Some("extensions.objectformat=sha256")),
            ("extensions.refstorage\nreftable\0", Some("extensions.refstorage=reftable")),
            ("extensions.compatobjectformat\nsha256\0", Some("extensions.compatobjectformat=sha256")),
            ("extensions.bare\0", Some("extensions.bare=")),
        ] {
            assert_eq!(GitSettings::parse(listed.as_bytes()).unknown_format().as_deref(), expected, "{listed:?}");
        }
        let twice = GitSettings::parse(b"user.name\na\nb\0user.name\nc\0user.x\0");
        assert_eq!(
            (twice.get_value("user.name"), twice.get_value("user.x"), twice.get_value("user.y")),
            (Some("c"), Some(""), None)
        );
    }
}
