//! Loose objects written into an object directory that git also writes: whole under another
//! name, then by rename.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustix::fs::{AtFlags, Mode, OFlags, fsync, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::open_like;
use crate::error::{Doing, TreeError, malformed};
use crate::object::loose::ObjectKind;
use crate::oid::Oid;
use crate::source::SourceRepository;
use crate::worktree::fsdir::{lstat, open_dir};

const YOUNG: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW);

/// The object directory of a repository, held open.
pub(super) struct LooseObjects<'t> {
    token: &'t str,
    objects: OwnedFd,
    /// Directories that were written to, by the first two digits.
    open: RefCell<BTreeMap<String, OwnedFd>>,
    next: Cell<u64>,
}

impl<'t> LooseObjects<'t> {
    /// Opens the object directory of a source; temporary names carry `token`, so that a
    /// recovery can find them.
    pub(super) fn open_folder(source: &SourceRepository, token: &'t str) -> Result<LooseObjects<'t>, TreeError> {
        let objects = open_dir(source.common(), b"objects").doing("opening the objects of", source.root())?;
        Ok(LooseObjects { token, objects, open: RefCell::default(), next: Cell::new(0) })
    }

    /// Writes an object, even if it exists: a fresh file keeps git from pruning it before a
    /// branch names it.
    pub(super) fn put_object(&self, kind: ObjectKind, oid: Oid, body: &[u8]) -> Result<(), TreeError> {
        if Oid::of_object(kind.word(), body) != oid {
            return Err(malformed("object", oid.to_string()));
        }
        let hex = oid.to_string();
        let (folder, name) = hex.split_at(2);
        let mut open = self.open.borrow_mut();
        if !open.contains_key(folder) {
            open.insert(folder.to_owned(), self.folder(folder)?);
        }
        let Some(dir) = open.get(folder) else { return Err(malformed("object", hex)) };
        self.next.set(self.next.get() + 1);
        let young = young_object(self.token, Some(self.next.get()));
        let written = write(dir, &young, &compressed(kind, body)?)
            .and_then(|()| renameat(dir, &young, dir, name).doing_at("placing object", hex.as_bytes()));
        if written.is_err() {
            // The earlier error is the one reported.
            let _ = unlinkat(dir, &young, AtFlags::empty());
        }
        written
    }

    /// True if the object has a loose file.
    pub(super) fn has_object(&self, oid: Oid) -> bool {
        let hex = oid.to_string();
        let (folder, name) = hex.split_at(2);
        open_dir(&self.objects, folder.as_bytes()).and_then(|dir| lstat(&dir, name.as_bytes())).is_ok()
    }

    fn folder(&self, name: &str) -> Result<OwnedFd, TreeError> {
        let made = match mkdirat(&self.objects, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error).doing_at("creating directory of objects", name.as_bytes()),
        };
        let dir = open_dir(&self.objects, name.as_bytes()).doing_at("opening directory of objects", name.as_bytes())?;
        if made {
            open_like(&dir, &self.objects);
        }
        Ok(dir)
    }

    /// The names reach the disk before a branch does.
    pub(super) fn settle(&self) -> Result<(), TreeError> {
        let open = self.open.borrow();
        for dir in open.values().chain([&self.objects]) {
            fsync(dir).doing_at("writing out", b"objects")?;
        }
        Ok(())
    }
}

/// The name of an object that is not whole yet, or how all such names begin. Git, too,
/// removes what is left under them.
pub(super) fn young_object(token: &str, number: Option<u64>) -> String {
    let number = number.map(|number| number.to_string()).unwrap_or_default();
    format!("tmp_obj_cto_{token}_{number}")
}

fn compressed(kind: ObjectKind, body: &[u8]) -> Result<Vec<u8>, TreeError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let head = format!("{} {}\0", kind.word(), body.len());
    let written = encoder.write_all(head.as_bytes()).and_then(|()| encoder.write_all(body));
    written.and_then(|()| encoder.finish()).doing("compressing", "an object".as_ref())
}

fn write(dir: &OwnedFd, name: &str, bytes: &[u8]) -> Result<(), TreeError> {
    let doing = "writing object file";
    let fd = openat(dir, name, YOUNG | OFlags::CLOEXEC, Mode::from_raw_mode(0o444));
    let mut file = File::from(fd.doing_at(doing, name.as_bytes())?);
    file.write_all(bytes).and_then(|()| file.sync_all()).doing_at(doing, name.as_bytes())
}
