//! Names that may occur in a tree: plain components that no file system folds to `.git`.

use crate::error::TreeError;

/// True if some file system reads this component as `.git`: by case folding, HFS+ ignorable
/// code points, NTFS short names, streams or trailing dots.
pub fn folds_to_git(component: &[u8]) -> bool {
    let visible = match std::str::from_utf8(component) {
        Ok(text) => text.chars().filter(|c| !hfs_ignores(*c)).collect::<String>().into_bytes(),
        Err(_) => component.to_vec(),
    };
    // A backslash separates components on Windows; git checks each side of it on every
    // platform.
    visible.split(|b| *b == b'\\').any(|piece| {
        let name = ntfs_stem(piece);
        name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1")
    })
}

/// True for a name under which git refuses to read a symbolic link.
pub(crate) fn is_gitmodules(component: &[u8]) -> bool {
    ntfs_stem(component).eq_ignore_ascii_case(b".gitmodules")
}

fn hfs_ignores(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

fn ntfs_stem(name: &[u8]) -> &[u8] {
    let name = name.split(|b| *b == b':').next().unwrap_or(name);
    let end = name.iter().rposition(|b| !matches!(b, b' ' | b'.')).map_or(0, |last| last + 1);
    &name[..end]
}

/// Refuses a path with a component that is empty, `.`, `..`, folds to `.git` or holds a NUL.
pub(crate) fn require_plain(path: &[u8]) -> Result<(), TreeError> {
    let refuse = |problem| Err(TreeError::Name { path: path.to_vec(), problem });
    for component in path.split(|b| *b == b'/') {
        match component {
            b"" => return refuse("has an empty component"),
            b"." | b".." => return refuse("has a component . or .."),
            _ if component.contains(&0) => return refuse("holds a NUL"),
            _ if folds_to_git(component) => return refuse("has a component that folds to .git"),
            _ => {}
        }
    }
    Ok(())
}

/// The directory part of a path, empty at the root.
pub(crate) fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|b| *b == b'/').map_or(b"", |slash| &path[..slash])
}

/// The folders that a path lies in, the outermost first.
pub fn folders_above(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

/// Goes down to `name`; the length to cut the path to afterwards.
pub(crate) fn descend(path: &mut Vec<u8>, name: &[u8]) -> usize {
    let length = path.len();
    if length > 0 {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    length
}

/// The last component of a path.
pub(crate) fn leaf(path: &[u8]) -> &[u8] {
    path.iter().rposition(|b| *b == b'/').map_or(path, |slash| &path[slash + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_fold_to_git() {
        for yes in [
            ".git",
            ".GIT",
            ".Git. .",
            "git~1",
            "GIT~1",
            ".git::$INDEX_ALLOCATION",
            "a\\.git",
            ".git\\x",
            ".g\u{200c}it",
            "\u{feff}.git",
        ] {
            assert!(folds_to_git(yes.as_bytes()), "{yes:?}");
        }
        for no in ["git", ".gitignore", ".gitmodules", "git~2", "x.git", "a.git\\b", ".gi", "\u{e9}.git", ""] {
            assert!(!folds_to_git(no.as_bytes()), "{no:?}");
        }
    }

    #[test]
    fn paths_that_are_not_plain() {
        for bad in ["", "/a", "a/", "a//b", "./a", "a/..", ".git/config", "a/.GIT/b", "a\0b"] {
            assert!(require_plain(bad.as_bytes()).is_err(), "{bad:?}");
        }
        for good in ["a", "a b/ c", "-x", "a\nb", "...", "a\\b"] {
            assert!(require_plain(good.as_bytes()).is_ok(), "{good:?}");
        }
    }
}
