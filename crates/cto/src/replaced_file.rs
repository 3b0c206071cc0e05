//! Replacement of a file that people own: the new text comes all at once. Links, owner and mode stay.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

/// Puts a text in the place of a file by one rename. A link stays a link, and the file that it
/// leads to keeps its owner and mode.
pub(crate) fn replace_file(file: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    let (file, before) = find_edited(file)?;
    let aside = file.with_extension(format!("new-{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    // Nobody else reads the text before the file has the mode of the one that it replaces.
    options.write(true).create_new(true).mode(if before.is_some() { 0o600 } else { 0o666 });
    let mut made = options.open(&aside)?;
    let written = made
        .write_all(text.as_bytes())
        .and_then(|()| before.map_or(Ok(()), |before| keep_owner(&made, &before)))
        .and_then(|()| made.sync_all())
        .and_then(|()| fs::rename(&aside, &file));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

/// Gives a file the owner and the mode of the one that it replaces.
fn keep_owner(made: &File, before: &Metadata) -> io::Result<()> {
    let now = made.metadata()?;
    if (before.uid(), before.gid()) != (now.uid(), now.gid()) {
        fchown(made, Some(before.uid()), Some(before.gid()))?;
    }
    made.set_permissions(before.permissions())
}

/// The file behind all links, as it is if it exists. A link that leads nowhere is an error.
fn find_edited(file: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    match fs::symlink_metadata(file) {
        Ok(_) => {
            let full = fs::canonicalize(file)?;
            let before = fs::metadata(&full)?;
            Ok((full, Some(before)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((file.to_owned(), None)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode_of(file: &Path) -> u32 {
        fs::metadata(file).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_link_and_a_mode_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (link, kept) = (folder.path().join("link"), folder.path().join("kept"));
        fs::write(&kept, "old").unwrap();
        symlink("kept", &link).unwrap();
        for mode in [0o600, 0o664, 0o400] {
            fs::set_permissions(&kept, fs::Permissions::from_mode(mode)).unwrap();
            replace_file(&link, &format!("{mode:o}")).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!((fs::read_to_string(&kept).unwrap(), mode_of(&kept)), (format!("{mode:o}"), mode));
        }
        let names = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 2, "nothing is left beside them");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("away", &link).unwrap();
        assert_eq!(replace_file(&link, "new").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        // Control: a file that is not there is made, with its folder.
        let file = folder.path().join("a/b");
        replace_file(&file, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }
}
