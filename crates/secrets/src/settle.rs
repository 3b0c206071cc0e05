//! Choice among overlapping matches: which are hits of their own, and which repeat another
//! one.

use std::cmp::Reverse;

use crate::Hit;
use crate::known::SHORTEST;
use crate::scanner::{HitSource, Match, Scanner};

/// Collects matches and gives out hits, in order, as soon as nothing that is still to come
/// can change them.
#[derive(Debug, Default)]
pub(crate) struct Settler {
    matches: Vec<Match>,
    /// Number of settled matches. They stay as long as they may overlap later ones.
    settled: usize,
    /// The longest match so far: how far back one may begin that overlaps another.
    widest: usize,
    /// End of the last hit of a rule, and of a general rule.
    rule_to: usize,
    general_to: usize,
}

impl Settler {
    /// Adds a match to be settled later.
    pub(crate) fn add_match(&mut self, found: Match) {
        self.widest = self.widest.max(found.end - found.start);
        self.matches.push(found);
    }

    /// The hits among the matches that end no later than `known_to`; all matches that begin
    /// before it must be there.
    pub(crate) fn settle_hits(&mut self, scanner: &Scanner, known_to: usize) -> Vec<Hit> {
        self.matches.sort_by_key(|found| (found.start, found.source, Reverse(found.end), found.encoding));
        self.matches.dedup_by_key(|found| (found.start, found.source, found.end));
        let mut hits = Vec::new();
        while let Some(found) = self.matches.get(self.settled).filter(|found| found.end <= known_to).cloned() {
            self.settled += 1;
            if self.is_of_its_own(&found) {
                hits.push(hit(scanner, &found));
            }
        }
        let needed_from = self.matches.get(self.settled).map_or(known_to, |next| next.start.min(known_to));
        let forgotten = self.matches[..self.settled].iter().take_while(|found| found.end <= needed_from).count();
        self.matches.drain(..forgotten);
        self.settled -= forgotten;
        hits
    }

    fn is_of_its_own(&mut self, found: &Match) -> bool {
        match found.source {
            HitSource::Known(_) => {
                !self.overlapping(found).any(|other| other.source == found.source && contains(other, found))
            }
            HitSource::Rule(_) if found.start < self.rule_to || self.is_known(found) => false,
            HitSource::Rule(_) => {
                self.rule_to = found.end;
                true
            }
            HitSource::GeneralRule(_) if found.start < self.general_to || self.is_known(found) => false,
            HitSource::GeneralRule(_)
                if self.overlapping(found).any(|other| matches!(other.source, HitSource::Rule(_))) =>
            {
                false
            }
            HitSource::GeneralRule(_) => {
                self.general_to = found.end;
                true
            }
        }
    }

    /// True if known values cover so much of it that no other secret fits into the rest.
    fn is_known(&self, found: &Match) -> bool {
        let known = self.overlapping(found).filter(|other| matches!(other.source, HitSource::Known(_)));
        let (mut covered_to, mut bare) = (found.start, 0);
        for other in known {
            bare += other.start.saturating_sub(covered_to);
            covered_to = covered_to.max(other.end);
        }
        covered_to > found.start && bare + found.end.saturating_sub(covered_to) < SHORTEST
    }

    /// The other matches that overlap it, in order.
    fn overlapping<'a>(&'a self, found: &'a Match) -> impl Iterator<Item = &'a Match> {
        let earliest = found.start.saturating_sub(self.widest);
        let from = self.matches.partition_point(|other| other.start < earliest);
        let near = self.matches[from..].iter().take_while(|other| other.start < found.end);
        near.filter(move |other| other.end > found.start && *other != found)
    }
}

fn contains(outer: &Match, inner: &Match) -> bool {
    outer.start <= inner.start && outer.end >= inner.end
}

fn hit(scanner: &Scanner, found: &Match) -> Hit {
    Hit {
        offset: found.start as u64,
        len: (found.end - found.start) as u64,
        rule: scanner.source_name(found.source),
        class: found.class,
        encoding: found.encoding,
        value_sha256: found.digest,
    }
}
