//! Places that are not temporary, where there are any: a clone of this repository may lie where nothing lasts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use contract::record::is_temporary;
use tempfile::TempDir;

/// A folder of its own that goes with the value, in the first of these places that lasts; else in the preferred one.
#[expect(clippy::disallowed_methods, reason = "tests look for a place of the user's")]
pub fn lasting_dir(preferred: &str) -> TempDir {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let places = [Some(PathBuf::from(preferred)), home, Some("/opt".into()), Some("/var/lib".into())];
    let lasts = |place: &PathBuf| !is_temporary(&format!("{}/", place.display()));
    let made = places.into_iter().flatten().filter(lasts).find_map(|place| {
        fs::create_dir_all(&place).ok()?;
        tempfile::Builder::new().prefix("cto-test-").tempdir_in(&place).ok()
    });
    let made = made.or_else(|| tempfile::Builder::new().prefix("cto-test-").tempdir_in(preferred).ok());
    made.expect("a folder to install in")
}

/// A tree in a lasting folder, by links where they can be made.
pub fn lasting_copy(tree: &Path, into: &TempDir) -> PathBuf {
    let to = into.path().join(tree.file_name().unwrap_or_default());
    copy(tree, &to).expect("a copy");
    to
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?;
    if kind.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if kind.is_file() {
        return fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop));
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
