//! Trees as flat listings: every path with its mode and object id, and the tree ids that
//! follow from them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Bound;

use crate::error::{TreeError, malformed};
use crate::object::name::{parent, require_plain};
use crate::oid::Oid;

/// Kind of a path in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathMode {
    /// Regular file, not executable.
    File,
    Executable,
    Link,
    /// Commit of a submodule; its content is not in this repository.
    Gitlink,
}

/// A path's mode and content id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListingEntry {
    pub mode: PathMode,
    pub oid: Oid,
}

/// A whole tree by path: raw bytes, `/`-separated, relative, no directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing(pub BTreeMap<Vec<u8>, ListingEntry>);

/// A path that differs between two listings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    pub path: Vec<u8>,
    /// Entry before; none if the path was added.
    pub before: Option<ListingEntry>,
    /// Entry after; none if the path was removed.
    pub after: Option<ListingEntry>,
}

impl PathMode {
    /// The mode as git writes it into trees and index files.
    pub fn is_regular(self) -> bool {
        matches!(self, PathMode::File | PathMode::Executable)
    }

    /// Mode bits as trees and indexes write them.
    pub fn bits(self) -> u32 {
        match self {
            PathMode::File => 0o100_644,
            PathMode::Executable => 0o100_755,
            PathMode::Link => 0o120_000,
            PathMode::Gitlink => 0o160_000,
        }
    }

    /// The mode git means by these bits; old trees hold group-writable files, which are files.
    pub(crate) fn from_bits(bits: u32) -> Option<PathMode> {
        match bits & 0o170_000 {
            0o100_000 if bits & 0o100 != 0 => Some(PathMode::Executable),
            0o100_000 => Some(PathMode::File),
            0o120_000 => Some(PathMode::Link),
            0o160_000 => Some(PathMode::Gitlink),
            _ => None,
        }
    }
}

impl Listing {
    /// The id of the tree object of this listing.
    pub fn tree_id(&self) -> Oid {
        let Ok(root) = self.fold_trees::<Infallible>(&mut |tree| Ok(Oid::of_object("tree", tree)));
        root
    }

    /// Builds every tree object, innermost first, hands its bytes to `sink` and returns the
    /// id of the root.
    ///
    /// Sorting whole paths by bytes is git's tree order, since a directory sorts as if its
    /// name ended with `/`.
    pub(crate) fn fold_trees<E>(&self, sink: &mut dyn FnMut(&[u8]) -> Result<Oid, E>) -> Result<Oid, E> {
        let mut open: Vec<(&[u8], Vec<u8>)> = Vec::new();
        let mut root = Vec::new();
        for (path, entry) in &self.0 {
            let mut parts: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
            let name = parts.pop().unwrap_or_default();
            let shared = open.iter().zip(&parts).take_while(|((open, _), part)| open == *part).count();
            close_to(&mut open, &mut root, shared, sink)?;
            open.extend(parts[shared..].iter().map(|part| (*part, Vec::new())));
            push_entry(innermost(&mut open, &mut root), entry.mode.bits(), name, entry.oid);
        }
        close_to(&mut open, &mut root, 0, sink)?;
        sink(&root)
    }

    /// The paths below a directory; all of them below the root, whose path is empty.
    pub(crate) fn paths_below(&self, directory: &[u8]) -> impl Iterator<Item = (&Vec<u8>, &ListingEntry)> {
        let prefix = prefix(directory);
        let from = self.0.range::<[u8], _>((Bound::Included(prefix.as_slice()), Bound::Unbounded));
        from.take_while(move |(path, _)| path.starts_with(&prefix))
    }

    /// True if any path lies below this one.
    pub fn has_below(&self, directory: &[u8]) -> bool {
        self.paths_below(directory).next().is_some()
    }

    /// The names right below a directory, each once, without going through what lies below
    /// them.
    pub(crate) fn children(&self, directory: &[u8]) -> Vec<&[u8]> {
        let prefix = prefix(directory);
        let mut names = Vec::new();
        let mut from = prefix.clone();
        while let Some((path, _)) = self.0.range::<[u8], _>((Bound::Included(from.as_slice()), Bound::Unbounded)).next()
        {
            let Some(rest) = path.strip_prefix(prefix.as_slice()) else { break };
            let length = rest.iter().position(|b| *b == b'/').unwrap_or(rest.len());
            let name = &rest[..length];
            names.push(name);
            from.truncate(prefix.len());
            from.extend_from_slice(name);
            // The least bytes beyond everything below a directory, or beyond a file.
            from.push(if length < rest.len() { b'/' + 1 } else { 0 });
        }
        names
    }

    /// Refuses paths that are not plain and paths that are both a file and a directory.
    pub(crate) fn require_plain(&self) -> Result<(), TreeError> {
        let mut checked: BTreeSet<&[u8]> = BTreeSet::new();
        for path in self.0.keys() {
            require_plain(path)?;
            let mut above = parent(path);
            while !above.is_empty() && checked.insert(above) {
                if self.0.contains_key(above) {
                    return Err(TreeError::Name { path: above.to_vec(), problem: "is a file and a directory" });
                }
                above = parent(above);
            }
        }
        Ok(())
    }
}

fn prefix(directory: &[u8]) -> Vec<u8> {
    let mut prefix = directory.to_vec();
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    prefix
}

fn innermost<'a>(open: &'a mut [(&[u8], Vec<u8>)], root: &'a mut Vec<u8>) -> &'a mut Vec<u8> {
    match open.last_mut() {
        Some((_, tree)) => tree,
        None => root,
    }
}

fn close_to<E>(
    open: &mut Vec<(&[u8], Vec<u8>)>,
    root: &mut Vec<u8>,
    depth: usize,
    sink: &mut dyn FnMut(&[u8]) -> Result<Oid, E>,
) -> Result<(), E> {
    while open.len() > depth {
        if let Some((name, tree)) = open.pop() {
            let oid = sink(&tree)?;
            push_entry(innermost(open, root), 0o40_000, name, oid);
        }
    }
    Ok(())
}

fn push_entry(tree: &mut Vec<u8>, bits: u32, name: &[u8], oid: Oid) {
    tree.extend_from_slice(format!("{bits:o} ").as_bytes());
    tree.extend_from_slice(name);
    tree.push(0);
    tree.extend_from_slice(&oid.0);
}

/// One line of a tree object.
pub(crate) struct TreeLine<'a> {
    pub(crate) bits: u32,
    pub(crate) name: &'a [u8],
    pub(crate) oid: Oid,
}

/// Reads the bytes of a tree object.
pub(crate) fn parse_tree(mut bytes: &[u8]) -> Result<Vec<TreeLine<'_>>, TreeError> {
    let mut lines = Vec::new();
    while !bytes.is_empty() {
        let (line, rest) = parse_line(bytes).ok_or_else(|| malformed("tree object", "truncated line"))?;
        lines.push(line);
        bytes = rest;
    }
    Ok(lines)
}

fn parse_line(bytes: &[u8]) -> Option<(TreeLine<'_>, &[u8])> {
    let space = bytes.iter().position(|b| *b == b' ')?;
    let nul = space + bytes[space..].iter().position(|b| *b == 0)?;
    let bits = u32::from_str_radix(std::str::from_utf8(&bytes[..space]).ok()?, 8).ok()?;
    let oid = Oid::from_slice(bytes.get(nul + 1..nul + 21)?)?;
    Some((TreeLine { bits, name: &bytes[space + 1..nul], oid }, &bytes[nul + 21..]))
}

/// The paths that differ, sorted; both listings are gone through once, side by side.
pub fn changes(before: &Listing, after: &Listing) -> Vec<PathChange> {
    let mut found = Vec::new();
    let (mut old, mut new) = (before.0.iter().peekable(), after.0.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (Some((old, _)), Some((new, _))) => old.cmp(new),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return found,
        };
        let before = old.next_if(|_| order.is_le());
        let after = new.next_if(|_| order.is_ge());
        let (was, is) = (before.map(|(_, entry)| *entry), after.map(|(_, entry)| *entry));
        if let Some((path, _)) = before.or(after).filter(|_| was != is) {
            found.push(PathChange { path: path.clone(), before: was, after: is });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs() {
        let listing = |rows: &str| {
            let entry = |word: &str| {
                (
                    word.as_bytes()[..1].to_vec(),
                    ListingEntry { mode: PathMode::File, oid: Oid::of_object("blob", word.as_bytes()) },
                )
            };
            Listing(rows.split_whitespace().map(entry).collect())
        };
        for (before, after, expected) in [
            ("", "", ""),
            ("a1 b1", "a1 b1", ""),
            ("a1", "", "-a"),
            ("", "a1", "+a"),
            ("a1 c1 d1 f1", "b1 c2 d1 e1", "-a +b *c +e -f"),
            ("x1 z1", "a1 x2", "+a *x -z"),
        ] {
            let (before, after) = (listing(before), listing(after));
            let found: Vec<String> = changes(&before, &after)
                .iter()
                .map(|change| {
                    assert_eq!(
                        (change.before, change.after),
                        (before.0.get(&change.path).copied(), after.0.get(&change.path).copied())
                    );
                    let sign = match (change.before, change.after) {
                        (Some(_), None) => '-',
                        (None, Some(_)) => '+',
                        _ => '*',
                    };
                    format!("{sign}{}", change.path.escape_ascii())
                })
                .collect();
            assert_eq!(found.join(" "), expected);
        }
    }

    #[test]
    fn what_lies_below_a_directory() {
        let entry = ListingEntry { mode: PathMode::File, oid: Oid([0; 20]) };
        let paths = ["a", "a-b", "a.d/x", "d-/x", "d/a", "d/b-c", "d/b/1", "d/b/2/3", "d/b0", "d/c", "d0", "e"];
        let listing = Listing(paths.iter().map(|path| (path.as_bytes().to_vec(), entry)).collect());
        for (directory, children, below) in [
            ("", "a a-b a.d d- d d0 e", 12),
            ("d", "a b-c b b0 c", 6),
            ("d/b", "1 2", 2),
            ("d/b/2", "3", 1),
            ("a", "", 0),
            ("x", "", 0),
        ] {
            let names: Vec<String> =
                listing.children(directory.as_bytes()).iter().map(|n| n.escape_ascii().to_string()).collect();
            assert_eq!(names.join(" "), children, "{directory}");
            assert_eq!(listing.paths_below(directory.as_bytes()).count(), below, "{directory}");
        }
    }
}
