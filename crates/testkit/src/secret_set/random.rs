//! Numbers that look random and are the same every time.

/// Deterministic source of random values.
#[derive(Debug)]
pub struct Random(u64);

pub const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
pub const DIGITS: &str = "0123456789";
pub const HEX: &str = "0123456789abcdef";
pub const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub const URL_SAFE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
pub const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Number from 0 up to and without `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Number between two bounds.
    pub fn within(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }

    /// One of several choices.
    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// Text of characters of an alphabet.
    pub fn text(&mut self, alphabet: &str, len: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..len).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    /// Random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    /// UUID.
    pub fn uuid(&mut self) -> String {
        let [a, b, c, d, e] = [8, 4, 3, 3, 12].map(|len| self.text(HEX, len));
        format!("{a}-{b}-4{c}-a{d}-{e}")
    }

    /// Ordinary words.
    pub fn words(&mut self, count: usize) -> String {
        const WORDS: &[&str] = &[
            "request",
            "response",
            "worker",
            "queue",
            "retry",
            "timeout",
            "connection",
            "database",
            "cache",
            "session",
            "user",
            "order",
            "payment",
            "token",
            "password",
            "secret",
            "key",
            "value",
            "started",
            "finished",
            "failed",
            "slow",
            "query",
            "index",
            "commit",
            "lock",
            "thread",
            "buffer",
            "socket",
            "stream",
            "header",
            "status",
            "module",
            "package",
            "version",
            "release",
            "config",
            "option",
            "the",
            "for",
            "with",
            "from",
            "after",
        ];
        (0..count).map(|_| self.pick(WORDS)).collect::<Vec<_>>().join(" ")
    }

    /// Time of a log line.
    pub fn time(&mut self) -> String {
        let [day, hour, minute, second] = [28, 24, 60, 60].map(|end| self.below(end));
        format!("2026-11-{:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", day + 1, self.below(1000))
    }
}
