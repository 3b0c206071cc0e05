//! The scanner: candidates from the filter, each checked where it stands.

use std::ops::Range;
use std::sync::Arc;

use crate::allowance::{Allowance, allows_somewhere, value_digest};
use crate::baseline::BaselineValues;
use crate::confirm::{LiteralContext, SecretSpan, deserves_a_try, may_go_on, secret, secret_start};
use crate::filter::{Grams, LiteralIndex};
use crate::joint::{JoinedText, each_joint};
use crate::known::Known;
use crate::literal::Form;
use crate::marker;
use crate::needle::{NeedleLead, Needles};
use crate::rule::SecretRule;
use crate::rule_set::RuleSet;
use crate::settle::Settler;
use crate::view::{DecodedView, Edge};
use crate::{Class, Encoding, Hit};

/// Finds known values and secret shapes. Made once for a run, used for everything the run
/// wrote; it can be shared between threads.
#[derive(Debug)]
pub struct Scanner {
    rules: &'static RuleSet,
    known: Vec<Known>,
    needles: Needles,
    index: LiteralIndex<NeedleLead>,
    grams: Grams,
    baseline: BaselineValues,
    pub(crate) allowances: Vec<Allowance>,
}

/// Something found, before it is settled what overlaps what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) source: HitSource,
    pub(crate) class: Class,
    pub(crate) encoding: Encoding,
    /// The digest of a shape's value.
    pub(crate) digest: Option<[u8; 32]>,
    /// Stretches to leave out, if lines must keep more than the value; empty if all of it
    /// goes.
    pub(crate) parts: Vec<Range<usize>>,
}

impl Match {
    /// The same in a text that begins so many bytes earlier.
    pub(crate) fn moved_by(mut self, base: usize) -> Match {
        (self.start, self.end) = (self.start + base, self.end + base);
        for part in &mut self.parts {
            *part = part.start + base..part.end + base;
        }
        self
    }

    /// The stretches that are left out.
    pub(crate) fn stretches(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let whole = self.parts.is_empty().then_some(self.start..self.end);
        whole.into_iter().chain(self.parts.iter().cloned())
    }
}

/// In the order of who is named where several are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HitSource {
    Known(usize),
    Rule(usize),
    GeneralRule(usize),
}

impl Scanner {
    /// Scanner for known values and rules. Known values too short to be meaningful are left
    /// out.
    pub fn new(known: &[Known], rules: &'static RuleSet) -> Scanner {
        Scanner::with_all(known.iter().filter(|known| known.is_searched_for()).cloned().collect(), rules)
    }

    /// The same for values of any length.
    pub(crate) fn with_all(known: Vec<Known>, rules: &'static RuleSet) -> Scanner {
        let mut needles = Needles::default();
        for (number, known) in known.iter().enumerate() {
            needles.add_value(number, &known.value);
        }
        let index = LiteralIndex::new(std::mem::take(&mut needles.literals));
        let mut grams = rules.grams.clone();
        grams.add_index(&index);
        Scanner { rules, known, needles, index, grams, baseline: BaselineValues::default(), allowances: Vec::new() }
    }

    /// Same scanner, for which shapes of the baseline are no leak.
    pub fn with_baseline(self, baseline: BaselineValues) -> Scanner {
        Scanner { baseline, ..self }
    }

    /// Same scanner, for which allowed shapes are no leak.
    pub fn with_allowances(self, allowances: Vec<Allowance>) -> Scanner {
        Scanner { allowances, ..self }
    }

    /// All hits, in the order they stand.
    pub fn scan(&self, bytes: &[u8]) -> Vec<Hit> {
        let mut settler = Settler::default();
        self.each_match(bytes, 0, bytes.len(), |found, _| settler.add_match(found));
        settler.settle_hits(self, bytes.len())
    }

    /// Name under which a source is reported.
    pub(crate) fn source_name(&self, source: HitSource) -> Arc<str> {
        match source {
            HitSource::Known(number) => self.known.get(number).map(|known| known.name.clone()),
            HitSource::Rule(number) | HitSource::GeneralRule(number) => self.rules.rule_name(number),
        }
        .unwrap_or_default()
    }

    /// Calls `found` with whatever a gram in `from..to` leads to and, where it is a shape,
    /// its value. `text` must hold everything before and after that range, or a
    /// [`LOOKBACK`](crate::LOOKBACK) and a
    /// [`LOOKAHEAD`](crate::LOOKAHEAD) of it.
    pub(crate) fn each_match(&self, text: &[u8], from: usize, to: usize, mut found: impl FnMut(Match, &[u8])) {
        self.each_unbroken_match(text, from, to, &mut found);
        each_joint(text, from, to, |joint| self.each_joined_match(text, &joint, &mut found));
    }

    /// Finds values whose pieces a joint separates.
    fn each_joined_match(&self, text: &[u8], joint: &Range<usize>, found: &mut impl FnMut(Match, &[u8])) {
        let joined = JoinedText::around(text, joint);
        self.each_unbroken_match(&joined.bytes, 0, joined.bytes.len(), |whole, value| {
            let stretch = whole.start..whole.end;
            let parts = joined.places(&stretch);
            if joined.spans(&stretch)
                && !self.is_block(whole.source)
                && let (Some(first), Some(last)) = (parts.first(), parts.last())
            {
                let (start, end) = (first.start, last.end);
                found(Match { start, end, parts, ..whole }, value);
            }
        });
    }

    /// Key blocks are read across literals and lines as they stand.
    fn is_block(&self, source: HitSource) -> bool {
        match source {
            HitSource::Known(_) => false,
            HitSource::Rule(number) | HitSource::GeneralRule(number) => {
                self.rules.rule(number).is_some_and(|rule| rule.block.is_some())
            }
        }
    }

    fn each_unbroken_match(&self, text: &[u8], from: usize, to: usize, mut found: impl FnMut(Match, &[u8])) {
        self.grams.each(text, from, to, |at| {
            if !self.index.is_empty() {
                for (start, lead) in self.index.standing_at(text, at) {
                    if let Some(known) = self.known_at(text, start, *lead) {
                        found(known, &[]);
                    }
                }
            }
            for (start, (number, form)) in self.rules.index.standing_at(text, at) {
                self.shape_at(text, start, *number, *form, &mut found);
            }
        });
    }

    fn known_at(&self, text: &[u8], at: usize, lead: NeedleLead) -> Option<Match> {
        let (number, standing) = self.needles.standing(lead, text, at)?;
        let class = self.known.get(number)?.class.into();
        let (start, end) = (standing.start, standing.end);
        Some(Match {
            start,
            end,
            source: HitSource::Known(number),
            class,
            encoding: standing.encoding,
            digest: None,
            parts: Vec::new(),
        })
    }

    fn shape_at(&self, text: &[u8], at: usize, number: usize, form: Form, found: &mut impl FnMut(Match, &[u8])) {
        let Some(rule) = self.rules.rule(number) else { return };
        let mut report = |parts: Vec<Range<usize>>, encoding, value: &[u8]| {
            let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
            let (start, end) = (first.start, last.end);
            if !marker::touching(text, at.min(start), end) {
                let source = if rule.general { HitSource::GeneralRule(number) } else { HitSource::Rule(number) };
                let digest = value_digest(value);
                let class = self.class_of(rule, value, &digest);
                let parts = if parts.len() > 1 { parts } else { Vec::new() };
                found(Match { start, end, source, class, encoding, digest: Some(digest), parts }, value);
            }
        };
        if form == Form::Plain {
            let hay = plain(text, at, rule);
            if secret_start(rule, &hay).is_none() || !deserves_a_try(rule, &hay) {
                return;
            }
            if let Some(secret) = self.rules.regex(number).and_then(|regex| secret(rule, regex, &hay)) {
                let low = at - hay.at;
                let parts = secret.parts.iter().map(|part| low + part.start..low + part.end).collect();
                report(parts, Encoding::Plain, &secret.value);
                return;
            }
            if !is_escaped(text, at, rule) {
                return;
            }
        }
        if let Some((view, secret)) = self.decoded(text, at, form, rule, number)
            && let Some(whole) = view.place_of(&secret.whole())
        {
            report(vec![whole], view.encoding, &secret.value);
        }
    }

    fn class_of(&self, rule: &SecretRule, value: &[u8], digest: &[u8; 32]) -> Class {
        if self.baseline.holds_value(value) {
            Class::Baseline
        } else if allows_somewhere(&self.allowances, rule.id, digest) {
            Class::Allowed
        } else {
            Class::Shape
        }
    }

    fn decoded(
        &self,
        text: &[u8],
        at: usize,
        form: Form,
        rule: &SecretRule,
        number: usize,
    ) -> Option<(DecodedView, SecretSpan)> {
        let regex = self.rules.regex(number)?;
        // A few bytes show whether something begins here at all, some more whether it goes on.
        for ahead in [1, GLANCE, rule.span] {
            let view = DecodedView::new(text, at, form, back(rule), ahead.min(rule.span))?;
            let hay = hay(&view);
            secret_start(rule, &hay)?;
            if ahead > 1 {
                let secret = secret(rule, regex, &hay);
                if view.end != Edge::More || ahead >= rule.span || !may_go_on(rule, regex, &hay) {
                    return Some((view, secret?));
                }
            }
        }
        None
    }
}

/// Bytes of an encoded text that are decoded before it is clear that the pattern fits.
const GLANCE: usize = 512;

fn plain<'a>(text: &'a [u8], at: usize, rule: &SecretRule) -> LiteralContext<'a> {
    let low = at.saturating_sub(back(rule));
    let high = text.len().min(at + rule.span);
    let edge = |more| if more { Edge::More } else { Edge::Ended };
    LiteralContext { bytes: &text[low..high], at: at - low, start: edge(low > 0), end: edge(high < text.len()) }
}

fn hay(view: &DecodedView) -> LiteralContext<'_> {
    LiteralContext { bytes: &view.bytes, at: view.at, start: view.start, end: view.end }
}

/// Distance before the literal that a rule reads: the lead, and enough to see where a word
/// begins.
fn back(rule: &SecretRule) -> usize {
    rule.lead.longest() + 16
}

/// True if decoding escapes could change the rule's view: there is one close by, on the
/// same line.
fn is_escaped(text: &[u8], at: usize, rule: &SecretRule) -> bool {
    const CLOSE: usize = 160;
    let close = &text[at..text.len().min(at + CLOSE.min(rule.span))];
    memchr::memchr3(b'%', b'\\', b'\n', close).is_some_and(|found| close[found] != b'\n')
}
