//! Redacting a patch so that it stays one: each side of a hunk is searched as the text it
//! stands for, without the marks of its lines, and of what is found only the value itself
//! is left out, line by line.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::allowance::allows_at;
use crate::baseline::Suspects;
use crate::marker;
use crate::patch_text::{PatchText, split_texts};
use crate::redact::Keep;
use crate::scanner::{HitSource, Match, Scanner};
use crate::settle::Settler;
use crate::{Class, Hit};

impl Scanner {
    /// The patch with a marker in the place of everything found, and the hits. Every byte
    /// outside of a value stays, so does every line. What `keep` names and what is allowed
    /// at its path stays too.
    pub fn redact_patch(&self, patch: &[u8], keep: Keep) -> (Vec<u8>, Vec<Hit>) {
        let (mut stretches, mut hits) = (Vec::new(), BTreeSet::new());
        for part in split_texts(patch) {
            let mut settler = Settler::default();
            self.each_match(&part.text, 0, part.text.len(), |found, _| {
                let found = self.at_path(found, part.path.as_deref());
                if !keep.keeps(&found) && found.class != Class::Allowed {
                    stretches.extend(pieces(&part, &found).map(|piece| (piece, found.source)));
                }
                settler.add_match(found);
            });
            hits.extend(settler.settle_hits(self, part.text.len()).into_iter().map(|hit| placed(&part, hit)));
        }
        (self.written_without(patch, stretches), hits.into_iter().collect())
    }

    /// The values of the shapes in a patch.
    pub fn suspects_in_patch(&self, patch: &[u8]) -> Suspects {
        let mut all = Suspects::default();
        for part in split_texts(patch) {
            all.add_suspects(self.suspects(&part.text));
        }
        all
    }

    /// An allowance is for one file: the same value in another one is a leak.
    fn at_path(&self, found: Match, path: Option<&str>) -> Match {
        let allows = |digest: &[u8; 32]| {
            path.is_some_and(|path| allows_at(&self.allowances, &self.source_name(found.source), digest, path))
        };
        match found.class {
            Class::Allowed if !found.digest.as_ref().is_some_and(allows) => Match { class: Class::Shape, ..found },
            _ => found,
        }
    }

    fn written_without(&self, patch: &[u8], mut stretches: Vec<(Range<usize>, HitSource)>) -> Vec<u8> {
        stretches.sort_by_key(|(stretch, source)| (stretch.start, *source));
        let (mut out, mut written_to) = (Vec::with_capacity(patch.len()), 0);
        for (stretch, source) in stretches {
            if stretch.start >= written_to {
                out.extend_from_slice(&patch[written_to..stretch.start]);
                marker::push_marker(&self.source_name(source), &mut out);
            }
            written_to = written_to.max(stretch.end);
        }
        out.extend_from_slice(&patch[written_to..]);
        out
    }
}

/// The places in the patch of what a match leaves out: a part of each line that it touches,
/// without the blanks around it.
fn pieces<'a>(part: &'a PatchText, found: &'a Match) -> impl Iterator<Item = Range<usize>> + 'a {
    found.stretches().flat_map(move |stretch| part.lines_of(stretch))
}

fn placed(part: &PatchText, hit: Hit) -> Hit {
    let (start, end) = (hit.offset as usize, (hit.offset + hit.len) as usize);
    let from = part.place_at(start);
    let to = part.place_at(end.saturating_sub(1).max(start)) + 1;
    Hit { offset: from as u64, len: (to - from) as u64, ..hit }
}
