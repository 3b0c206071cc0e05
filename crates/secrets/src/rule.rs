//! Definition of a rule and its parts.

/// A well-known secret shape. The tables in `rules/` are made of these; `RULE` has the
/// defaults.
#[derive(Debug, Clone, Copy)]
pub struct SecretRule {
    /// Names the rule in hits and markers: lower case, digits, dashes.
    pub id: &'static str,
    /// Description for people.
    pub what: &'static str,
    /// One of these stands where the pattern begins. Four bytes at least, or three that a
    /// letter, digit, `-` or `_` follows.
    pub literals: &'static [&'static str],
    /// Letters of literals and pattern match in either case.
    pub fold: bool,
    /// Matched from the literal on. The group that took part is the secret; without one,
    /// all of it.
    pub pattern: &'static str,
    /// Character that every match contains on its first line. Without it the pattern is not
    /// tried.
    pub holds: Option<u8>,
    /// Characters before the literal that belong to the secret.
    pub lead: Lead,
    /// Condition on the byte before: the secret, or the literal that announces it, must not
    /// continue a word.
    pub before: PrecedingByte,
    /// Words right before the literal that say that what follows is no secret.
    pub unless_after: &'static [&'static str],
    /// Bytes that must not follow the secret.
    pub after: After,
    /// The pattern ends where lines of base64 begin, of so many characters at least. They
    /// are the secret, whatever stands before and after them on each line.
    pub block: Option<usize>,
    /// Further check of a match.
    pub check: MatchCheck,
    pub glance: LiteralCheck,
    /// Gives way where a rule that is not general finds something.
    pub general: bool,
    /// Upper bound on the bytes that the pattern may read.
    pub span: usize,
    /// Examples that must match and that must not, each in pieces, so that no file here
    /// holds one whole.
    pub yes: &'static [&'static [&'static str]],
    pub no: &'static [&'static [&'static str]],
}

/// A rule as it is unless its row says otherwise.
pub(crate) const RULE: SecretRule = SecretRule {
    id: "",
    what: "",
    literals: &[],
    fold: false,
    pattern: "",
    holds: None,
    lead: Lead::None,
    before: PrecedingByte::NoLetterOrDigit,
    unless_after: &[],
    after: After::NoLetterOrDigit,
    block: None,
    check: MatchCheck::Random,
    glance: LiteralCheck::Anything,
    general: false,
    span: 200,
    yes: &[],
    no: &[],
};

/// Quick condition at the literal before the pattern is tried: patterns are compiled when
/// they are first needed, and that takes longer than searching a small run's evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralCheck {
    Anything,
    /// At least this many letters, digits, dashes and underscores in a row.
    Run(usize),
    /// One of the literals and nothing more of a word, but for a number or the name of an
    /// environment behind it; then what gives it a value.
    Name,
    /// Same as `Name`, followed by the word `value`.
    NamedValue,
    /// A word and then, behind quotes, brackets and blanks at most, what gives it a value:
    /// `=`, `:` or `>`.
    Assigned,
}

/// Number and kind of the characters before the literal that belong to the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    None,
    Digits {
        min: usize,
        max: usize,
    },
    /// Letters and digits, `-`, `_`, `~` and `.`.
    Token {
        min: usize,
        max: usize,
    },
}

impl Lead {
    /// Largest number of such characters.
    pub(crate) fn longest(self) -> usize {
        match self {
            Lead::None => 0,
            Lead::Digits { max, .. } | Lead::Token { max, .. } => max,
        }
    }

    /// Least number of such characters.
    pub(crate) fn shortest(self) -> usize {
        match self {
            Lead::None => 0,
            Lead::Digits { min, .. } | Lead::Token { min, .. } => min,
        }
    }

    /// True if the byte can be one of them.
    pub(crate) fn holds_byte(self, byte: u8) -> bool {
        match self {
            Lead::None => false,
            Lead::Digits { .. } => byte.is_ascii_digit(),
            Lead::Token { .. } => byte.is_ascii_alphanumeric() || b"-_~.".contains(&byte),
        }
    }
}

/// Condition on the byte before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrecedingByte {
    Anything,
    NoLetterOrDigit,
}

/// Condition on the byte after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Anything,
    NoLetterOrDigit,
    /// Letters and digits, `-`, `_`, `(` and `[`.
    NoToken,
    /// Letters and digits, `+`, `/`, `=`, `(` and `[`.
    NoBase64,
    /// `(` and `[`: what looks like a value is a function or a list.
    NoCall,
}

impl After {
    /// True if the byte must not follow.
    pub(crate) fn forbids(self, byte: u8) -> bool {
        let word = byte.is_ascii_alphanumeric();
        match self {
            After::Anything => false,
            After::NoLetterOrDigit => word,
            After::NoToken => word || b"-_([".contains(&byte),
            After::NoBase64 => word || b"+/=([".contains(&byte),
            After::NoCall => matches!(byte, b'(' | b'['),
        }
    }
}

/// Check of a match beyond its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchCheck {
    /// No check: the shape is enough.
    Shape,
    /// No placeholder: no runs, no alphabet in order, no word such as `example`, and a mix
    /// of characters.
    Random,
    /// Same as `Random`, and the last six characters are the CRC-32 of the thirty before
    /// them, in base 62; or as `Generated`.
    Crc32Base62,
    /// Same as `Random`, with several kinds of characters, and not made of words.
    Generated,
    /// Same as `Generated`, with the length of a usual key's private number in base64.
    KeyNumber,
    /// Three parts, the first of them base64 of a JSON object that names an algorithm or a
    /// type.
    Jwt,
    /// Base64 of `name:password`.
    NamePassword,
    /// Base64 of a PEM private key.
    PrivateKey,
    /// Password chosen by a person: several kinds of characters, no placeholder, no
    /// expression of a program.
    Password,
    /// The same where its place already says that it is a password: eight characters of two
    /// kinds are enough.
    UrlPassword,
    /// A long random value: letters and digits, high entropy, no placeholder, no words, no
    /// path, no UUID.
    Assigned,
}
