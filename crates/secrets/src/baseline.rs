//! Comparison of found shapes with the baseline: those that a run wrote and those that were
//! there before.

use std::collections::BTreeSet;
use std::fmt;

use crate::known::{Known, KnownClass};
use crate::read::wrapped;
use crate::rule_set::RuleSet;
use crate::scanner::{HitSource, Scanner};

/// Values of found shapes. They stay in memory and are never shown.
#[derive(Clone, Default)]
pub struct Suspects(BTreeSet<Vec<u8>>);

/// Values of shapes that occur in the baseline.
#[derive(Clone, Default)]
pub struct BaselineValues(BTreeSet<Vec<u8>>);

impl Scanner {
    /// The values of the shapes in `bytes`. Most runs have none, and then the baseline need
    /// not be read at all.
    pub fn suspects(&self, bytes: &[u8]) -> Suspects {
        let mut values = BTreeSet::new();
        self.each_match(bytes, 0, bytes.len(), |found, value| {
            if !matches!(found.source, HitSource::Known(_)) {
                values.insert(bare(value));
            }
        });
        Suspects(values)
    }
}

impl Suspects {
    /// True if nothing has to be looked up.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Suspects that the other set does not have.
    pub fn without(mut self, other: &Suspects) -> Suspects {
        self.0.retain(|value| !other.0.contains(value));
        self
    }

    /// Adds the suspects of another text.
    pub fn add_suspects(&mut self, other: Suspects) {
        self.0.extend(other.0);
    }

    /// Suspects that occur in the given files of the baseline, in any of the encodings.
    pub fn standing_in<'a>(&self, files: impl IntoIterator<Item = &'a [u8]>) -> BaselineValues {
        let mut search = self.search();
        files.into_iter().for_each(|file| search.file(file));
        search.found()
    }

    /// The same for files that come one by one.
    pub fn search(&self) -> Search {
        let values: Vec<Vec<u8>> = self.0.iter().cloned().collect();
        let known = values.iter().map(|value| Known::new("suspect", KnownClass::Credential, value));
        let scanner = Scanner::with_all(known.collect(), RuleSet::none());
        Search { values, scanner, standing: BTreeSet::new() }
    }
}

/// Looks for suspects in one file after the other.
pub struct Search {
    values: Vec<Vec<u8>>,
    scanner: Scanner,
    standing: BTreeSet<Vec<u8>>,
}

impl Search {
    /// Searches one file of the baseline.
    pub fn file(&mut self, content: &[u8]) {
        let Self { values, scanner, standing } = self;
        scanner.each_match(content, 0, content.len(), |found, _| {
            if let HitSource::Known(number) = found.source
                && let Some(value) = values.get(number)
            {
                standing.insert(value.clone());
            }
        });
    }

    /// Values that were found.
    pub fn found(self) -> BaselineValues {
        BaselineValues(self.standing)
    }
}

impl BaselineValues {
    /// Adds values that another search found.
    pub fn add_values(&mut self, other: BaselineValues) {
        self.0.extend(other.0);
    }

    /// True if the baseline contains the value, compared without line breaks.
    pub(crate) fn holds_value(&self, value: &[u8]) -> bool {
        !self.0.is_empty() && self.0.contains(&bare(value))
    }
}

/// A value without its line breaks and their indentation, whether they are written out or
/// escaped: a key is the same key however it is wrapped.
pub(crate) fn bare(value: &[u8]) -> Vec<u8> {
    let (mut bare, mut at) = (Vec::with_capacity(value.len()), 0);
    while let Some(byte) = value.get(at) {
        match wrapped(value, at) {
            Some((indented, _)) => at = indented,
            None => {
                bare.push(*byte);
                at += 1;
            }
        }
    }
    bare
}

impl fmt::Debug for Suspects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Suspects({})", self.0.len())
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Search({} of {})", self.standing.len(), self.values.len())
    }
}

impl fmt::Debug for BaselineValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Baseline({})", self.0.len())
    }
}
