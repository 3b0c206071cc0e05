//! Numbers that look random and are the same in every run.

pub(super) const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const HEX: &str = "0123456789abcdef";
pub(super) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
pub(super) const DIGITS: &str = "0123456789";
pub(super) const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
pub(super) const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub(super) const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// An xorshift generator.
pub(super) struct Random(u64);

impl Random {
    /// Generator with a fixed seed, so that every run makes the same samples.
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Number below `limit`.
    pub(super) fn number_below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit.max(1)
    }

    /// One of the given values.
    pub(super) fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.number_below(all.len())]
    }

    /// So many characters of a set, the first and last of which are letters or digits.
    pub(super) fn random_text(&mut self, set: &str, len: usize) -> String {
        let set = set.as_bytes();
        let mut text = String::with_capacity(len);
        while text.len() < len {
            let byte = set[self.number_below(set.len())];
            let is_edge = text.is_empty() || text.len() + 1 == len;
            if byte.is_ascii_alphanumeric() || !is_edge {
                text.push(char::from(byte));
            }
        }
        text
    }

    /// Text in the form of a UUID.
    pub(super) fn uuid(&mut self) -> String {
        let parts = [8, 4, 4, 4, 12].map(|len| self.random_text(HEX, len));
        parts.join("-")
    }

    /// As people and password managers choose them.
    pub(super) fn password(&mut self) -> String {
        match self.number_below(4) {
            0 => self.random_text(ALNUM, 12),
            1 => format!(
                "{}{}{}",
                self.random_text(ALNUM, 8),
                self.pick(&["!", "#", "_", "*", "@"]),
                self.random_text(DIGITS, 3)
            ),
            2 => {
                format!("{}-{}-{}", self.random_text(ALNUM, 6), self.random_text(ALNUM, 6), self.random_text(ALNUM, 6))
            }
            _ => self.random_text(LOWER, 16),
        }
    }

    /// Pieces in braces are made: a letter for the set and a length, `{A24}`; `{G}` is a
    /// UUID, `{P}` a password.
    pub(super) fn fill_template(&mut self, template: &str) -> String {
        let (mut out, mut rest) = (String::new(), template);
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            match after.split_once('}').and_then(|(inside, tail)| Some((self.piece(inside)?, tail))) {
                Some((made, tail)) => {
                    out.push_str(&made);
                    rest = tail;
                }
                None => {
                    out.push('{');
                    rest = after;
                }
            }
        }
        out + rest
    }

    fn piece(&mut self, inside: &str) -> Option<String> {
        match inside {
            "G" => return Some(self.uuid()),
            "P" => return Some(self.password()),
            _ => {}
        }
        let set = match inside.as_bytes().first()? {
            b'A' => ALNUM,
            b'H' => HEX,
            b'L' => LOWER,
            b'U' => UPPER,
            b'D' => DIGITS,
            b'W' => URL,
            b'B' => BASE64,
            b'T' => BASE32,
            _ => return None,
        };
        Some(self.random_text(set, inside[1..].parse().ok()?))
    }
}
