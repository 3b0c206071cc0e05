//! The names in an archive: which there may be, and that no two are the same anywhere.

use std::collections::BTreeMap;

use super::said::StatementFile;
use super::{BUNDLE, DEEPEST, LARGEST_NOTE, LARGEST_STATEMENT, MANIFEST, MOST_BYTES, MOST_FILES, MOST_JUDGED};
use super::{PUBLIC_KEY, STATEMENTS};

/// Longest permitted name.
pub(super) const LONGEST: usize = 1024;

/// All names that are remembered together: few files with long names in many folders are as
/// bad as many files.
const MOST_NAME_BYTES: usize = 64 << 20;

/// Place of a file in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Manifest,
    /// One of the files that `verify` holds in memory.
    Judged,
    Bundle,
    Baseline,
    Key,
    Statement,
}

/// The files so far. Every check is on what was before, so that none can be undone by what
/// comes later.
#[derive(Debug, Default)]
pub(super) struct ArchiveNames {
    last: String,
    files: usize,
    bytes: u64,
    judged: u64,
    name_bytes: usize,
    /// Files and folders by their name in small letters, as a file system that does not
    /// tell them apart has them.
    taken: BTreeMap<String, (String, bool)>,
}

impl ArchiveNames {
    /// Adds a file; says why it cannot be one.
    pub(super) fn add_name(&mut self, name: &str, size: u64) -> Result<(), &'static str> {
        let place = place(name)?;
        let largest = match place {
            Place::Manifest | Place::Key => LARGEST_NOTE,
            Place::Statement => LARGEST_STATEMENT,
            Place::Judged | Place::Bundle | Place::Baseline => MOST_BYTES,
        };
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size);
        if place == Place::Judged {
            self.judged = self.judged.saturating_add(size);
        }
        if self.files > MOST_FILES {
            return Err("is one file too many");
        }
        if size > largest || self.bytes > MOST_BYTES || self.judged > MOST_JUDGED {
            return Err("is too large");
        }
        self.take(name)?;
        if name <= self.last.as_str() {
            return Err("is out of order");
        }
        name.clone_into(&mut self.last);
        Ok(())
    }

    /// True before the first file.
    pub(super) fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// Bytes of all files so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn take(&mut self, name: &str) -> Result<(), &'static str> {
        let folders = name.match_indices('/').map(|(at, _)| (&name[..at], true));
        for (path, is_folder) in folders.chain([(name, false)]) {
            match self.taken.get(&path.to_ascii_lowercase()) {
                None => {
                    self.name_bytes += 2 * path.len();
                    if self.name_bytes > MOST_NAME_BYTES {
                        return Err("lies in one folder too many");
                    }
                    self.taken.insert(path.to_ascii_lowercase(), (path.to_owned(), is_folder));
                }
                Some((known, _)) if known != path => return Err("differs from another name only in capital letters"),
                Some((_, true)) if is_folder => {}
                Some((_, true)) => return Err("is a file and a folder"),
                Some((_, false)) if is_folder => return Err("lies below a file"),
                Some((_, false)) => return Err("is there twice"),
            }
        }
        Ok(())
    }
}

fn place(name: &str) -> Result<Place, &'static str> {
    if name.starts_with('/') {
        return Err("is an absolute path");
    }
    if name.len() > LONGEST {
        return Err("has a name that is too long");
    }
    // Other letters can be written in more than one way, so that two names may be one on
    // another system.
    if !name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'\\') {
        return Err("has a name with other characters than plain ASCII");
    }
    let parts: Vec<&str> = name.split('/').collect();
    if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return Err("leads out of the archive");
    }
    match parts.as_slice() {
        [MANIFEST] => Ok(Place::Manifest),
        [evidence::names::BASELINE] => Ok(Place::Baseline),
        [PUBLIC_KEY] => Ok(Place::Key),
        [STATEMENTS, file] if StatementFile::of_name(file).is_some() => Ok(Place::Statement),
        [BUNDLE, file] if *file != evidence::names::BASELINE => Ok(Place::Judged),
        [BUNDLE, _, ..] if parts.len() > DEEPEST => Err("lies too deep"),
        [BUNDLE, _, ..] => Ok(Place::Bundle),
        _ => Err("does not belong into an archive"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[(&str, u64)], refused: &str) {
        let mut all = ArchiveNames::default();
        let last = names.iter().map(|(name, size)| all.add_name(name, *size)).collect::<Result<Vec<_>, _>>();
        match last {
            Ok(_) => assert_eq!(refused, "", "{names:?}"),
            Err(why) => assert_eq!(why, refused, "{names:?}"),
        }
    }

    #[test]
    fn only_plain_names_in_their_places() {
        check(
            &[("archive.json", 1), ("baseline.tar", 1), ("bundle/a", 1), ("bundle/a b/c", 1), ("harness.pub", 1)],
            "",
        );
        check(&[("bundle/backend/A", 1), ("statements/outcome-1.json", 1), ("statements/outcome-1.json.sig", 1)], "");
        check(&[("statements/rollback-1.json", 1), ("statements/x.dsse.json", 1)], "");
        for (name, why) in [
            ("/etc/passwd", "is an absolute path"),
            ("bundle//a", "leads out of the archive"),
            ("bundle/../a", "leads out of the archive"),
            ("bundle/./a", "leads out of the archive"),
            ("../a", "leads out of the archive"),
            ("", "leads out of the archive"),
            ("bundle/", "leads out of the archive"),
            ("bundle", "does not belong into an archive"),
            ("a", "does not belong into an archive"),
            ("statements/x.json", "does not belong into an archive"),
            ("statements/a/x.dsse.json", "does not belong into an archive"),
            ("bundle/\u{e9}", "has a name with other characters than plain ASCII"),
            ("bundle/a\nb", "has a name with other characters than plain ASCII"),
            ("bundle/a\\b", "has a name with other characters than plain ASCII"),
        ] {
            check(&[(name, 1)], why);
        }
        check(&[(&format!("bundle/{}", "a".repeat(LONGEST)), 1)], "has a name that is too long");
        check(&[(&format!("bundle/{}a", "d/".repeat(DEEPEST - 2)), 1)], "");
        check(&[(&format!("bundle/{}a", "d/".repeat(DEEPEST - 1)), 1)], "lies too deep");
    }

    #[test]
    fn no_two_are_the_same_anywhere() {
        for (names, why) in [
            (["bundle/a", "bundle/a"], "is there twice"),
            (["bundle/b", "bundle/a"], "is out of order"),
            (["bundle/A", "bundle/a"], "differs from another name only in capital letters"),
            (["bundle/D/x", "bundle/d/y"], "differs from another name only in capital letters"),
            (["bundle/a", "bundle/a/b"], "lies below a file"),
            (["bundle/a/b", "bundle/a"], "is a file and a folder"),
        ] {
            check(&names.map(|name| (name, 1)), why);
        }
    }

    #[test]
    fn sizes_and_counts_have_an_end() {
        check(&[("archive.json", LARGEST_NOTE + 1)], "is too large");
        check(&[("bundle/a", MOST_JUDGED), ("bundle/b", 1)], "is too large");
        check(&[("bundle/a/a", MOST_BYTES), ("bundle/a/b", 1)], "is too large");
        check(&[("bundle/a/a", u64::MAX), ("bundle/a/b", u64::MAX)], "is too large");
        check(&[("bundle/baseline.tar", MOST_JUDGED + 1)], "");
        let mut all = ArchiveNames::default();
        for number in 0..MOST_FILES {
            all.add_name(&format!("bundle/a/{number:06}"), 0).unwrap();
        }
        assert_eq!(all.add_name("bundle/b", 0), Err("is one file too many"));
        let mut all = ArchiveNames::default();
        let tail = "/d".repeat(DEEPEST - 4) + &"a".repeat(LONGEST - 100);
        let refused = (0..MOST_FILES).find_map(|number| all.add_name(&format!("bundle/{number:06}{tail}"), 0).err());
        assert_eq!(refused, Some("lies in one folder too many"));
    }
}
