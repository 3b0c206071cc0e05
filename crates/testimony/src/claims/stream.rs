//! Reads lines of JSON that a hostile engine wrote. Only the needed fields are held, so
//! that memory depends on what is kept and not on what is sent.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::said::MAX_FILES;

/// Bytes of a last message that are searched. A summary is far shorter.
pub(super) const MAX_PROSE: usize = 32 * 1024;

/// Tool calls that are followed. Agents make hundreds; the list of files made from them is
/// shorter still.
const MAX_CALLS: usize = 10_000;

#[derive(serde::Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

/// The lines that are JSON objects with a `type`, and that type.
pub(super) fn events(stdout: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, &[u8])> {
    let lines = stdout.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let objects = lines.filter(|line| line.starts_with(b"{"));
    objects.filter_map(|line| serde_json::from_slice::<Head<'_>>(line).ok().map(|head| (head.kind, line)))
}

/// One event in the shape that its type has; None where it has another.
pub(crate) fn parse_event<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

/// Last part of a text, as much as is searched.
pub(super) fn tail(bytes: &[u8]) -> String {
    let start = bytes.len().saturating_sub(MAX_PROSE);
    String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned()
}

/// The first items of a list; the others are passed over without being held.
#[derive(Debug)]
pub(crate) struct CappedList<T>(pub(crate) Vec<T>);

impl<T> Default for CappedList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for CappedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(CappedListVisitor(PhantomData))
    }
}

struct CappedListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for CappedListVisitor<T> {
    type Value = CappedList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CappedList<T>, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < MAX_FILES {
            match list.next_element()? {
                Some(item) => kept.push(item),
                None => return Ok(CappedList(kept)),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(CappedList(kept))
    }
}

/// The last item of a list.
#[derive(Debug)]
pub(super) struct Last<T>(pub(super) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Last<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(LastVisitor(PhantomData))
    }
}

struct LastVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for LastVisitor<T> {
    type Value = Last<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Last<T>, A::Error> {
        let mut last = None;
        while let Some(item) = list.next_element()? {
            last = Some(item);
        }
        Ok(Last(last))
    }
}

/// Files that tool calls wrote. A call and its end are two events in most formats, joined
/// by an id.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// The id of the call, where there is one, and the file.
    calls: Vec<(Option<String>, String)>,
    failed: BTreeSet<String>,
}

impl Touched {
    /// Notes a call that ends in another event.
    pub(super) fn call(&mut self, id: String, path: String) {
        self.push(Some(id), path);
    }

    /// Notes a call that is reported when it has succeeded.
    pub(super) fn done(&mut self, path: String) {
        self.push(None, path);
    }

    fn push(&mut self, id: Option<String>, path: String) {
        if self.calls.len() < MAX_CALLS {
            self.calls.push((id, path));
        }
    }

    /// A call that failed wrote nothing.
    pub(super) fn failed(&mut self, id: String) {
        if self.failed.len() < MAX_CALLS {
            self.failed.insert(id);
        }
    }

    /// Each file once, in the order of the first call.
    pub(super) fn files(self) -> Vec<String> {
        let failed = |id: &Option<String>| id.as_ref().is_some_and(|id| self.failed.contains(id));
        let done = self.calls.into_iter().filter(|(id, _)| !failed(id));
        once_each(done.map(|(_, path)| path))
    }
}

/// Each file once, in the order it was named first.
pub(super) fn once_each(files: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = HashSet::new();
    files.filter(|file| known.insert(file.clone())).take(MAX_FILES).collect()
}
