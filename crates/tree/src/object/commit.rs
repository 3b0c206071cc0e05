//! Commits as text: written for a tree of the harness, and read back.

use crate::oid::Oid;

/// A commit to be written; author and committer are the same.
#[derive(Debug, Clone, Copy)]
pub struct CommitSpec<'a> {
    pub tree: Oid,
    pub parents: &'a [Oid],
    pub name: &'a str,
    pub email: &'a str,
    /// Seconds since the Unix epoch; the zone is always UTC.
    pub unix_time: i64,
    pub message: &'a str,
}

/// A commit as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub tree: Oid,
    pub parents: Vec<Oid>,
    /// Name and address of the author, where they can be read.
    pub author: Option<(String, String)>,
    /// Raw bytes, since a commit of others may be in any encoding.
    pub message: Vec<u8>,
}

impl Commit {
    /// Reads the text of a commit; none if it is malformed.
    pub(crate) fn parse_text(text: &[u8]) -> Option<Commit> {
        let tree = commit_field(text, b"tree ")?;
        let parents = header(text).filter_map(|line| line.strip_prefix(b"parent ")).filter_map(Oid::from_hex);
        let parents = parents.collect();
        let end = text.windows(2).position(|pair| pair == b"\n\n")?;
        let author = header(text).find_map(|line| person(line.strip_prefix(b"author ")?));
        Some(Commit { tree, parents, author, message: text[end + 2..].to_vec() })
    }
}

/// Header lines of a commit or tag, up to the empty line.
pub(crate) fn header(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'\n').take_while(|line| !line.is_empty())
}

fn person(line: &[u8]) -> Option<(String, String)> {
    let (name, rest) = std::str::from_utf8(line).ok()?.split_once(" <")?;
    let (email, _) = rest.split_once('>')?;
    Some((name.to_owned(), email.to_owned()))
}

/// The id in the first header line of a commit that starts with `key`.
pub(crate) fn commit_field(text: &[u8], key: &[u8]) -> Option<Oid> {
    header(text).filter_map(|line| line.strip_prefix(key)).find_map(Oid::from_hex)
}

impl CommitSpec<'_> {
    /// Text of the commit. Characters that would break a header line are removed.
    pub(crate) fn text(&self) -> String {
        let parents: String = self.parents.iter().map(|parent| format!("parent {parent}\n")).collect();
        let person = format!("{} <{}> {} +0000", storable_name(self.name), storable_name(self.email), self.unix_time);
        let message = self.message.replace('\0', "");
        format!("tree {}\n{parents}author {person}\ncommitter {person}\n\n{message}", self.tree)
    }
}

/// A name as git can store it: no angle brackets, no control characters.
pub(crate) fn storable_name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect::<String>().trim().to_owned()
}
