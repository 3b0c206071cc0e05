//! Files and folders that only their owner may alter, by ssh's own rule: no key that group
//! or others can read, no evidence path that group or others can write, and none that
//! belongs to another user.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Upper bound on the rights of other users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// A folder that only its owner writes. A link to one is followed: the operator chose it.
    Folder,
    /// The same, and never a link.
    OwnFolder,
    /// A file that only its owner writes.
    OwnFile,
    /// A file that only its owner reads.
    Secret,
}

/// Something that others have a hand in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} {problem}")]
pub struct Exposed {
    pub path: PathBuf,
    #[source]
    problem: Exposure,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Exposure {
    #[error("is a symbolic link, so another path decides its content")]
    Link,
    #[error("is not a {0}")]
    Kind(&'static str),
    #[error("belongs to user {owner}, and you are user {user}")]
    Owner { owner: u32, user: u32 },
    #[error("can be {} by others than you (mode {mode:04o})", .wanted.breach())]
    Mode { mode: u32, wanted: Privacy },
}

impl Privacy {
    /// The permissions that group and others must not have.
    fn forbidden(self) -> u32 {
        if self == Self::Secret { 0o077 } else { 0o022 }
    }

    /// The use that others can make of what is not private.
    fn breach(self) -> &'static str {
        if self == Self::Secret { "read" } else { "written" }
    }

    fn is_folder(self) -> bool {
        matches!(self, Self::Folder | Self::OwnFolder)
    }
}

impl Exposed {
    /// The exact command that helps.
    pub fn remedy(&self) -> String {
        let path = self.path.display();
        match &self.problem {
            Exposure::Link => format!("to=\"$(readlink -f '{path}')\" && rm '{path}' && mv \"$to\" '{path}'"),
            Exposure::Kind(_) => format!("move it away: mv '{path}' '{path}.old'"),
            Exposure::Owner { user, .. } => {
                format!("chown {user} '{path}'     (as root), or name a home of your own with --home DIR")
            }
            Exposure::Mode { wanted: Privacy::Secret, .. } => format!("chmod 600 '{path}'"),
            Exposure::Mode { .. } => format!("chmod go-w '{path}'"),
        }
    }
}

/// Refuses a path that other users can alter; a missing path is fine.
pub fn require_private(path: &Path, wanted: Privacy) -> Result<(), Exposed> {
    let found = if wanted == Privacy::Folder { fs::metadata(path) } else { fs::symlink_metadata(path) };
    found.map_or(Ok(()), |found| judge(path, &found, wanted))
}

/// Opens a file that only its owner may read. Rights are checked on the opened descriptor,
/// so the checked file is the one that is read.
pub fn open_secret(path: &Path) -> io::Result<Result<File, Exposed>> {
    // NONBLOCK: a pipe would be waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match File::options().read(true).custom_flags(flags.bits() as i32).open(path) {
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            Ok(Err(Exposed { path: path.to_owned(), problem: Exposure::Link }))
        }
        Err(error) => Err(error),
        Ok(file) => {
            let found = file.metadata()?;
            Ok(judge(path, &found, Privacy::Secret).map(|()| file))
        }
    }
}

fn judge(path: &Path, found: &Metadata, wanted: Privacy) -> Result<(), Exposed> {
    let user = rustix::process::geteuid().as_raw();
    let refuse = |problem| Err(Exposed { path: path.to_owned(), problem });
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    if found.is_symlink() {
        return refuse(Exposure::Link);
    }
    if wanted == Privacy::OwnFile && !found.is_file() {
        // The later open has the better error.
        return Ok(());
    }
    if wanted.is_folder() != found.is_dir() || !(found.is_dir() || found.is_file()) {
        return refuse(Exposure::Kind(if wanted.is_folder() { "folder" } else { "regular file" }));
    }
    // Root may do everything anyway, but a key is its user's.
    if owner != user && (owner != 0 || wanted == Privacy::Secret) {
        return refuse(Exposure::Owner { owner, user });
    }
    match mode & wanted.forbidden() {
        0 => Ok(()),
        _ => refuse(Exposure::Mode { mode, wanted }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn check(path: &Path, wanted: Privacy, mode: u32, good: bool) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let found = require_private(path, wanted);
        assert_eq!(found.is_ok(), good, "{mode:o} {wanted:?}: {found:?}");
        if wanted == Privacy::Secret {
            assert_eq!(open_secret(path).unwrap().is_ok(), good, "{mode:o}");
        }
    }

    #[test]
    fn modes() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        fs::write(&file, "x").unwrap();
        for (mode, secret, own) in [
            (0o600, true, true),
            (0o400, true, true),
            (0o640, false, true),
            (0o604, false, true),
            (0o610, false, true),
            (0o644, false, true),
            (0o660, false, false),
            (0o602, false, false),
        ] {
            check(&file, Privacy::Secret, mode, secret);
            check(&file, Privacy::OwnFile, mode, own);
        }
        for (mode, good) in [(0o700, true), (0o755, true), (0o775, false), (0o757, false), (0o1777, false)] {
            check(dir.path(), Privacy::Folder, mode, good);
            check(dir.path(), Privacy::OwnFolder, mode, good);
        }
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn kinds() {
        let dir = tempfile::tempdir().unwrap();
        let (key, link, folder) = (dir.path().join("key"), dir.path().join("link"), dir.path().join("folder"));
        fs::write(&key, "x").unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&key, &link).unwrap();
        symlink(dir.path(), &folder).unwrap();
        assert_eq!(require_private(&link, Privacy::Secret).unwrap_err().problem, Exposure::Link);
        assert_eq!(open_secret(&link).unwrap().unwrap_err().problem, Exposure::Link);
        assert_eq!(require_private(&folder, Privacy::OwnFolder).unwrap_err().problem, Exposure::Link);
        assert!(require_private(&folder, Privacy::Folder).is_ok(), "the operator chose it");
        assert!(
            require_private(&key, Privacy::Folder).is_err() && require_private(dir.path(), Privacy::Secret).is_err()
        );
        assert!(require_private(&dir.path().join("none"), Privacy::Secret).is_ok());
    }
}
