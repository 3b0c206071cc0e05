//! The one pass over all bytes: which of thousands of literals may begin where.
//!
//! Each literal is entered under four of its bytes, its gram, with letters folded. The pass
//! looks up every gram of the text in one table that fits the first levels of cache and
//! does no more work for more literals; an automaton of the same literals was eight times
//! slower and took longer to build than a small run takes. What passes is compared in full.

use std::borrow::Cow;

/// Text to search for, with a value that is returned when it is found.
#[derive(Debug, Clone)]
pub(crate) struct Literal<T> {
    pub(crate) text: Vec<u8>,
    /// Letters match in either case.
    pub(crate) fold: bool,
    pub(crate) target: T,
}

const GRAM: usize = 4;

/// Number of positions that are examined together.
const BLOCK: usize = 2 * GRAM;

/// Number of bits of a gram's hash that choose its byte in the table. Three more choose the
/// bit.
pub(crate) const TABLE_BITS: u32 = 19;

/// Set of the grams that occur in any literal, by hash.
#[derive(Clone)]
pub(crate) struct Grams(pub(crate) Cow<'static, [u8]>);

/// Number of bits of a gram's hash that choose its entries. Few, so that the whole index
/// stays in the cache.
const HEAD_BITS: u32 = 14;

/// The literals themselves, by their grams. Made here, or when this crate was built.
pub(crate) struct LiteralIndex<T: Clone + 'static> {
    /// The gram of each entry, in the order of their hashes.
    pub(crate) grams: Cow<'static, [u32]>,
    /// Bytes around the gram of each entry.
    pub(crate) around: Cow<'static, [GramContext]>,
    pub(crate) entries: Cow<'static, [GramEntry<T>]>,
    /// First entry of each hash, and one more at the end.
    pub(crate) heads: Cow<'static, [u32]>,
    /// Texts to compare with, one after the other.
    pub(crate) texts: Cow<'static, [u8]>,
}

/// Literal under its gram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GramEntry<T> {
    /// Offset of the gram in the literal.
    pub(crate) gram_at: usize,
    /// The literal's place in the texts.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) fold: bool,
    pub(crate) target: T,
}

/// Up to four bytes before a gram and four after it, with letters folded. Dozens of
/// literals share a gram that is common in text, such as that of `token`; this tells them
/// apart without comparing each in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GramContext {
    pub(crate) expected: u64,
    /// The bytes that the literal has.
    pub(crate) mask: u64,
}

impl GramContext {
    fn of(literal: &[u8], gram_at: usize) -> GramContext {
        let present = |byte: Option<&u8>| u64::from(byte.is_some()) * 0xff;
        let read = |at: Option<usize>| at.and_then(|at| literal.get(at));
        let mut around = GramContext { expected: 0, mask: 0 };
        for (place, at) in places_around(gram_at).into_iter().enumerate() {
            around.expected |= u64::from(read(at).copied().unwrap_or_default()) << (8 * place);
            around.mask |= present(read(at)) << (8 * place);
        }
        around.expected = (around.expected | FOLD) & around.mask;
        around
    }

    fn fits(self, found: u64) -> bool {
        found & self.mask == self.expected
    }
}

/// The places of the bytes around a gram.
fn places_around(gram_at: usize) -> [Option<usize>; 2 * GRAM] {
    std::array::from_fn(|place| if place < GRAM { (gram_at + place).checked_sub(GRAM) } else { Some(gram_at + place) })
}

/// The bytes around the gram at `at`, folded. Where there are none, a literal that needs
/// some is compared with bytes that are not there and refused afterwards.
fn found_around(bytes: &[u8], at: usize) -> u64 {
    let near = at.checked_sub(GRAM).and_then(|low| bytes.get(low..)?.first_chunk::<{ 3 * GRAM }>());
    let found = match near {
        Some([a, b, c, d, _, _, _, _, e, f, g, h]) => [*a, *b, *c, *d, *e, *f, *g, *h],
        None => places_around(at).map(|place| place.and_then(|place| bytes.get(place)).copied().unwrap_or_default()),
    };
    u64::from_le_bytes(found) | FOLD
}

impl<T: Clone> LiteralIndex<T> {
    /// Builds the index. Literals shorter than a gram are left out; callers must make them
    /// long enough.
    pub(crate) fn new(mut literals: Vec<Literal<T>>) -> LiteralIndex<T> {
        // The shortest have the least choice.
        let longest = literals.iter().map(|literal| literal.text.len()).max().unwrap_or(0);
        (literals, _) = in_order(literals, longest + 1, |literal| literal.text.len());
        let mut taken = Grams::none();
        let (mut found, mut texts) = (Vec::with_capacity(literals.len()), Vec::new());
        for Literal { text, fold, target } in literals {
            if let Some((gram_at, gram)) = best_gram(&text, &taken) {
                mark(taken.0.to_mut(), gram);
                let start = texts.len();
                texts.extend_from_slice(&text);
                found.push((gram, GramEntry { gram_at, start, end: texts.len(), fold, target }));
            }
        }
        let (found, heads) = in_order(found, 1 << HEAD_BITS, |(gram, _)| hash(*gram, HEAD_BITS));
        let (grams, entries): (Vec<_>, Vec<GramEntry<T>>) = found.into_iter().unzip();
        let around: Vec<GramContext> =
            entries.iter().map(|entry| GramContext::of(&texts[entry.start..entry.end], entry.gram_at)).collect();
        LiteralIndex {
            grams: grams.into(),
            around: around.into(),
            entries: entries.into(),
            heads: heads.into(),
            texts: texts.into(),
        }
    }

    /// True if there is nothing to search for.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Literals in `bytes` whose gram is at `at`, each with its position.
    pub(crate) fn standing_at(&self, bytes: &[u8], at: usize) -> impl Iterator<Item = (usize, &T)> {
        let gram = bytes.get(at..at + GRAM).map_or(0, folded);
        let head = hash(gram, HEAD_BITS);
        let near = self.heads[head] as usize..self.heads[head + 1] as usize;
        let around = found_around(bytes, at);
        let keys = self.grams[near.clone()].iter().zip(&self.around[near.clone()]);
        let may_stand = move |(_, (of_entry, its)): &(_, (&u32, &GramContext))| **of_entry == gram && its.fits(around);
        self.entries[near].iter().zip(keys).filter(may_stand).filter_map(move |(entry, _)| {
            let start = at.checked_sub(entry.gram_at)?;
            let text = &self.texts[entry.start..entry.end];
            stands(text, entry.fold, bytes.get(start..start + text.len())?).then_some((start, &entry.target))
        })
    }
}

fn stands(text: &[u8], fold: bool, found: &[u8]) -> bool {
    if fold { found.eq_ignore_ascii_case(text) } else { found == text }
}

/// The items in the order of their keys, which are below `keys`, and where those of each
/// key begin; one more at the end. Quicker than a sort.
fn in_order<T>(items: Vec<T>, keys: usize, key: impl Fn(&T) -> usize) -> (Vec<T>, Vec<u32>) {
    let mut heads = vec![0; keys + 1];
    for item in &items {
        heads[key(item) + 1] += 1;
    }
    for head in 1..heads.len() {
        heads[head] += heads[head - 1];
    }
    let mut next = heads.clone();
    let mut placed: Vec<Option<T>> = std::iter::repeat_with(|| None).take(items.len()).collect();
    for item in items {
        let place = &mut next[key(&item)];
        placed[*place as usize] = Some(item);
        *place += 1;
    }
    (placed.into_iter().flatten().collect(), heads)
}

/// Grams of words that occur in every log: a literal with another gram is entered under
/// that.
const FREQUENT: [&[u8; GRAM]; 8] = [b"toke", b"oken", b"pass", b"assw", b"word", b"secr", b"s://", b"http"];

/// The gram to enter a literal under, and its place: one that is rare in text, or one that
/// another literal has already, since each gram less makes the pass quicker.
fn best_gram(literal: &[u8], taken: &Grams) -> Option<(usize, u32)> {
    const WORTH: u32 = 10;
    const CHOICES: usize = 12;
    let cost = |(_, gram): &(usize, &[u8])| {
        let cost: u32 = gram.iter().map(|byte| commonness(*byte)).sum();
        if FREQUENT.iter().any(|frequent| gram.eq_ignore_ascii_case(*frequent)) {
            cost + WORTH
        } else if taken.has(folded(gram)) {
            cost.saturating_sub(WORTH)
        } else {
            cost
        }
    };
    literal.windows(GRAM).take(CHOICES).enumerate().min_by_key(cost).map(|(at, gram)| (at, folded(gram)))
}

impl Grams {
    /// A table that was made before.
    pub(crate) const fn made(table: &'static [u8; 1 << TABLE_BITS]) -> Grams {
        Grams(Cow::Borrowed(table))
    }

    /// Table without any gram.
    pub(crate) fn none() -> Grams {
        Grams(vec![0; 1 << TABLE_BITS].into())
    }

    /// Adds the grams of an index.
    pub(crate) fn add_index<T: Clone>(&mut self, index: &LiteralIndex<T>) {
        if !index.grams.is_empty() {
            let table = self.0.to_mut();
            index.grams.iter().for_each(|gram| mark(table, *gram));
        }
    }

    /// Calls `found` with each place in `from..to` where a gram begins that some literal has.
    pub(crate) fn each(&self, bytes: &[u8], from: usize, to: usize, mut found: impl FnMut(usize)) {
        let Ok(table) = <&[u8; 1 << TABLE_BITS]>::try_from(&*self.0) else { return };
        let marked = |bytes: u64| table[hash(bytes as u32, TABLE_BITS)];
        let mut at = from;
        while at + BLOCK <= to
            && let Some([a, b, c, d, e, f, g, h, i, j, k, l]) = bytes.get(at..).and_then(|rest| rest.first_chunk())
        {
            let low = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]) | FOLD;
            let high = u64::from_le_bytes([*e, *f, *g, *h, *i, *j, *k, *l]) | FOLD;
            let any_low = marked(low) | marked(low >> 8) | marked(low >> 16) | marked(low >> 24);
            let any_high = marked(high) | marked(high >> 8) | marked(high >> 16) | marked(high >> 24);
            // Most blocks have none: one branch for all of their grams, and no bit is
            // looked at.
            if any_low | any_high != 0 {
                let gram = |place: usize| if place < GRAM { low >> (8 * place) } else { high >> (8 * (place - GRAM)) };
                let mut marks = u64::from_le_bytes(std::array::from_fn(|place| marked(gram(place))));
                while marks != 0 {
                    let place = marks.trailing_zeros() as usize / 8;
                    marks &= !(0xff << (8 * place));
                    if self.has(gram(place) as u32) {
                        found(at + place);
                    }
                }
            }
            at += BLOCK;
        }
        for at in at..to {
            if bytes.get(at..at + GRAM).is_some_and(|gram| self.has(folded(gram))) {
                found(at);
            }
        }
    }

    fn has(&self, gram: u32) -> bool {
        self.0[hash(gram, TABLE_BITS)] & bit(gram) != 0
    }
}

fn mark(table: &mut [u8], gram: u32) {
    table[hash(gram, TABLE_BITS)] |= bit(gram);
}

/// Makes letters of either case the same, and keeps apart most of what is no letter.
const FOLD: u64 = 0x2020_2020_2020_2020;

fn folded(gram: &[u8]) -> u32 {
    u32::from_le_bytes([gram[0], gram[1], gram[2], gram[3]]) | FOLD as u32
}

fn hash(folded: u32, bits: u32) -> usize {
    (folded.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}

/// The bit of a gram in its byte of the table.
fn bit(folded: u32) -> u8 {
    1 << (hash(folded, TABLE_BITS + 3) & 7)
}

/// Rough frequency of a byte in text; only the order matters.
pub(crate) fn commonness(byte: u8) -> u32 {
    const ALL: [u8; 256] = {
        let mut all = [0; 256];
        let mut byte = 0;
        while byte < all.len() {
            all[byte] = of_byte(byte as u8);
            byte += 1;
        }
        all
    };
    u32::from(ALL[usize::from(byte)])
}

const fn of_byte(byte: u8) -> u8 {
    match byte.to_ascii_lowercase() {
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b' ' => 12,
        b'h' | b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'0' | b'1' | b'2' | b'/' | b'.' | b':' => 8,
        b'f' | b'g' | b'w' | b'y' | b'b' | b'v' | b'3'..=b'9' | b'-' | b'_' | b'"' | b'=' => 6,
        b'%' | b'\\' | b'k' | b'x' | b'j' | b'q' | b'z' => 3,
        // Written in more than one way, so a poor choice wherever there is another.
        0x80.. => 24,
        _ => 1,
    }
}

impl<T: Clone> std::fmt::Debug for LiteralIndex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Index({} literals)", self.entries.len())
    }
}

impl std::fmt::Debug for Grams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Grams")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_literal_is_found_wherever_it_stands() {
        let texts = ["abcd", "Zebra-", "%41%42", "password", "////"];
        let literal = |(target, text): (usize, &&str)| Literal { text: text.as_bytes().to_vec(), fold: false, target };
        let index = LiteralIndex::new(texts.iter().enumerate().map(literal).collect());
        let mut grams = Grams::none();
        grams.add_index(&index);
        for (target, text) in texts.iter().enumerate() {
            for (before, after) in (0..20).flat_map(|before| (0..12).map(move |after| (before, after))) {
                let bytes = [&b"~".repeat(before), text.as_bytes(), &b"~".repeat(after)].concat();
                let mut found = Vec::new();
                grams.each(&bytes, 0, bytes.len(), |at| found.extend(index.standing_at(&bytes, at).map(copied)));
                assert_eq!(found, [(before, target)], "{text} {before} {after}");
            }
        }
    }

    fn copied((at, target): (usize, &usize)) -> (usize, usize) {
        (at, *target)
    }

    #[test]
    fn case_counts_unless_folded() {
        for (fold, expected) in [(true, 1), (false, 0)] {
            let index = LiteralIndex::new(vec![Literal { text: b"token".to_vec(), fold, target: () }]);
            let found = (0..8).flat_map(|at| index.standing_at(b"my TOKEN", at).collect::<Vec<_>>()).count();
            assert_eq!(found, expected);
        }
    }
}
