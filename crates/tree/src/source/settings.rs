//! Git configuration files as data: no setting of a repository is in force, and files that
//! it includes are not read.

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::path::Path;

use super::Source;
use super::blame::Reading as _;
use crate::error::TreeError;
use crate::source_problem::SourceProblem;
use crate::store::Store;
use crate::store::git::{Call, Input};
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
pub struct Settings(Vec<(String, String)>);

impl Settings {
    fn parse(listed: &[u8]) -> Settings {
        let rows = listed.split(|b| *b == 0).filter(|row| !row.is_empty()).map(|row| {
            let end = row.iter().position(|b| *b == b'\n').unwrap_or(row.len());
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(&row[..end]), text(row.get(end + 1..).unwrap_or_default()))
        });
        Settings(rows.collect())
    }

    /// The value that counts where a key stands more than once.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The first setting that says of the repository what this crate does not know.
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

impl Source {
    /// The repository's own configuration file.
    pub fn settings(&self, store: &Store) -> Result<Settings, TreeError> {
        let bytes = read_beneath(self.common.as_fd(), b"config", LARGEST).reading(&self.root, b"config")?;
        let bytes = bytes.unwrap_or_default();
        let mut call = Call::new("reading a repository's configuration", store.dir(), LIST);
        call.args.extend(["--no-includes", "--file", "-"].map(OsString::from));
        call.input = Input::Bytes(&bytes);
        let damaged = |error| match self.blame(error) {
            TreeError::Source { path, problem: SourceProblem::DamagedContent(why) } => {
                TreeError::Source { path, problem: SourceProblem::DamagedConfig(why) }
            }
            own => own,
        };
        Ok(Settings::parse(&store.git().run(call).map_err(damaged)?))
    }

    /// Refuses a repository whose configuration names a format that is not known here.
    pub fn require_known_format(&self, settings: &Settings) -> Result<(), TreeError> {
        match settings.unknown_format() {
            None => Ok(()),
            Some(setting) => Err(self.refuse(SourceProblem::UnknownFormat(setting))),
        }
    }
}

/// Configuration file of the operator, with the files that it includes; empty if there is
/// none.
pub fn operator_settings(store: &Store, file: &Path) -> Result<Settings, TreeError> {
    if !file.own_is_file() {
        return Ok(Settings::default());
    }
    let mut call = Call::new("reading the operator's git configuration", store.dir(), LIST);
    call.args.extend(["--includes", "--file"].map(OsString::from));
    call.args.push(file.into());
    Ok(Settings::parse(&store.git().run(call)?))
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
            assert_eq!(Settings::parse(listed.as_bytes()).unknown_format().as_deref(), expected, "{listed:?}");
        }
        let twice = Settings::parse(b"user.name\na\nb\0user.name\nc\0user.x\0");
        assert_eq!((twice.get("user.name"), twice.get("user.x"), twice.get("user.y")), (Some("c"), Some(""), None));
    }
}
