//! The stamp of a checkout: the digests of its content and manifest, and the identity of
//! its directory.

use std::os::fd::OwnedFd;

use sha2::{Digest, Sha256};

use super::{FORM, TREE};
use crate::error::{Doing, TreeError};
use crate::object::listing::Listing;
use crate::oid::Oid;
use crate::worktree::fsdir::lstat;
use crate::worktree::stat::FileStat;
use crate::worktree::work_repository::Author;

/// Name of the stamp file.
pub(super) const NAME: &str = "stamp";
/// Bytes of a stamp at most.
pub(super) const LONGEST: u64 = 4096;

/// Identity of a checkout's content, manifest and root directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckoutStamp {
    content: String,
    manifest: String,
    root: FileStat,
}

/// The digest of everything a checkout is made from.
pub(super) fn digest(listing: &Listing, commit: Oid, author: Author<'_>) -> String {
    let mut hash = Sha256::new();
    let form = format!("checkout {FORM}");
    for part in [form.as_bytes(), author.name.as_bytes(), author.email.as_bytes(), &commit.0] {
        add(&mut hash, part);
    }
    for (path, entry) in &listing.0 {
        add(&mut hash, path);
        hash.update(entry.mode.bits().to_be_bytes());
        hash.update(entry.oid.0);
    }
    hex(&hash.finalize())
}

/// Lengths before bytes, so that no two contents are the same row of parts.
fn add(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_be_bytes());
    hash.update(part);
}

fn hex(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl CheckoutStamp {
    /// The stamp of the checkout in the open folder, as it is now.
    pub(super) fn of_folder(folder: &OwnedFd, content: &str, manifest: &[u8]) -> Result<CheckoutStamp, TreeError> {
        let root = lstat(folder, TREE.as_bytes()).doing("looking at", TREE.as_ref())?;
        Ok(CheckoutStamp {
            content: content.to_owned(),
            manifest: hex(&Sha256::digest(manifest)),
            root: FileStat::of_stat(&root),
        })
    }

    /// True if the stamp fits this content and the directory in the open folder.
    pub(super) fn fits_folder(&self, folder: &OwnedFd, content: &str) -> bool {
        let root = lstat(folder, TREE.as_bytes()).map(|stat| FileStat::of_stat(&stat));
        self.content == content && root == Ok(self.root)
    }

    /// True if the manifest has the stamped digest.
    pub(super) fn is_of_manifest(&self, bytes: &[u8]) -> bool {
        self.manifest == hex(&Sha256::digest(bytes))
    }

    /// Text form, one fact per line.
    pub(super) fn text(&self) -> String {
        let FileStat { size, mtime, ctime, inode, mode } = self.root;
        format!(
            "content {}\nmanifest {}\nroot {inode} {mode} {size} {} {} {} {}\n",
            self.content, self.manifest, mtime.0, mtime.1, ctime.0, ctime.1
        )
    }

    /// Reads what `text` wrote, and nothing else.
    pub(super) fn parse_stamp(bytes: &[u8]) -> Option<CheckoutStamp> {
        let mut lines = std::str::from_utf8(bytes).ok()?.lines();
        let content = lines.next()?.strip_prefix("content ")?.to_owned();
        let manifest = lines.next()?.strip_prefix("manifest ")?.to_owned();
        let words: Vec<&str> = lines.next()?.strip_prefix("root ")?.split(' ').collect();
        let [inode, mode, size, m, mn, c, cn] = words.as_slice() else { return None };
        let root = FileStat {
            size: size.parse().ok()?,
            mtime: (m.parse().ok()?, mn.parse().ok()?),
            ctime: (c.parse().ok()?, cn.parse().ok()?),
            inode: inode.parse().ok()?,
            mode: mode.parse().ok()?,
        };
        let stamp = CheckoutStamp { content, manifest, root };
        (stamp.text().as_bytes() == bytes).then_some(stamp)
    }
}
