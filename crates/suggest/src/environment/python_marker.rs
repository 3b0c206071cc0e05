//! Markers of Python's lock files: whether a package is for this machine, as far as that is
//! known without starting anything.

use std::cmp::Ordering;

/// The machine and interpreter that markers are compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct MarkerPlace {
    /// Major and minor version of the interpreter, if its folder names one.
    pub(super) python: Option<(u64, u64)>,
}

/// True if a marker leaves the package out. One that cannot be judged leaves nothing out.
pub(super) fn is_excluded(marker: &str, place: MarkerPlace) -> bool {
    let Some(tokens) = split_tokens(marker) else { return false };
    let mut reader = MarkerReader { tokens: &tokens, place };
    reader.read_any() == Some(Truth::No) && reader.tokens.is_empty()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    Yes,
    No,
    Unknown,
}

impl Truth {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Unknown,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::No, Self::No) => Self::No,
            _ => Self::Unknown,
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkerToken<'t> {
    /// A name, a word or an operator.
    Word(&'t str),
    Text(&'t str),
    Open,
    Close,
}

/// Tokens of a marker; none if it has others.
fn split_tokens(marker: &str) -> Option<Vec<MarkerToken<'_>>> {
    let (mut rest, mut tokens) = (marker.trim_start(), Vec::new());
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '(' => (MarkerToken::Open, 1),
            ')' => (MarkerToken::Close, 1),
            '\'' | '"' => {
                let text = rest[1..].split(first).next().filter(|text| text.len() + 1 < rest.len())?;
                (MarkerToken::Text(text), text.len() + 2)
            }
            _ => {
                let is_sign = |letter: char| "<>=!~".contains(letter);
                let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
                let ends = |letter: char| if is_sign(first) { !is_sign(letter) } else { !is_name(letter) };
                let length = rest.find(ends).unwrap_or(rest.len());
                (MarkerToken::Word(rest.get(..length).filter(|word| !word.is_empty())?), length)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

struct MarkerReader<'t> {
    tokens: &'t [MarkerToken<'t>],
    place: MarkerPlace,
}

impl<'t> MarkerReader<'t> {
    fn take(&mut self) -> Option<MarkerToken<'t>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    fn takes(&mut self, wanted: MarkerToken<'_>) -> bool {
        let is_next = self.tokens.first() == Some(&wanted);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    /// Parts between `or`.
    fn read_any(&mut self) -> Option<Truth> {
        let mut truth = self.read_all()?;
        while self.takes(MarkerToken::Word("or")) {
            truth = truth.or(self.read_all()?);
        }
        Some(truth)
    }

    /// Parts between `and`.
    fn read_all(&mut self) -> Option<Truth> {
        let mut truth = self.read_one()?;
        while self.takes(MarkerToken::Word("and")) {
            truth = truth.and(self.read_one()?);
        }
        Some(truth)
    }

    fn read_one(&mut self) -> Option<Truth> {
        if self.takes(MarkerToken::Open) {
            // Each parenthesis takes one token, and lines of lock files are short.
            let truth = self.read_any()?;
            return self.takes(MarkerToken::Close).then_some(truth);
        }
        let left = self.take()?;
        let MarkerToken::Word(sign) = self.take()? else { return None };
        let right = self.take()?;
        Some(match (left, right) {
            (MarkerToken::Word(name), MarkerToken::Text(text)) => compare(name, sign, text, self.place),
            (MarkerToken::Text(text), MarkerToken::Word(name)) => compare(name, turned(sign), text, self.place),
            _ => Truth::Unknown,
        })
    }
}

fn turned(sign: &str) -> &str {
    match sign {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

fn compare(name: &str, sign: &str, text: &str, place: MarkerPlace) -> Truth {
    let own = match name {
        "python_version" | "python_full_version" => return compare_version(name, sign, text, place),
        "sys_platform" => "linux",
        "platform_system" => "Linux",
        "os_name" => "posix",
        "platform_machine" => std::env::consts::ARCH,
        _ => return Truth::Unknown,
    };
    match sign {
        "==" => (own == text).into(),
        "!=" => (own != text).into(),
        _ => Truth::Unknown,
    }
}

/// The patch level of the interpreter is not known.
fn compare_version(name: &str, sign: &str, text: &str, place: MarkerPlace) -> Truth {
    let Some(own) = place.python else { return Truth::Unknown };
    let (text, is_open) = text.strip_suffix(".*").map_or((text, false), |text| (text, true));
    let parts: Vec<Option<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
    let (said, is_exact) = match parts[..] {
        [Some(major), Some(minor)] => ((major, minor), is_open || name == "python_version"),
        [Some(major), Some(minor), _] if !is_open => ((major, minor), false),
        _ => return Truth::Unknown,
    };
    let order = own.cmp(&said);
    match (sign, order) {
        // The first of a minor version is not above any other of it.
        (">=", Ordering::Equal) | ("<", Ordering::Equal) if !is_exact && parts.len() > 2 => Truth::Unknown,
        (">=", _) => (order != Ordering::Less).into(),
        ("<", _) => (order == Ordering::Less).into(),
        (_, Ordering::Equal) if !is_exact => Truth::Unknown,
        ("<=", _) => (order != Ordering::Greater).into(),
        (">", _) => (order == Ordering::Greater).into(),
        ("==", _) => (order == Ordering::Equal).into(),
        ("!=", _) => (order != Ordering::Equal).into(),
        _ => Truth::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_be_for_others_is_left_out() {
        let rows = [
            ("sys_platform == 'win32'", true),
            ("sys_platform == \"linux\"", false),
            ("sys_platform != 'linux'", true),
            ("'win32' == sys_platform", true),
            ("platform_system == 'Windows' or os_name == 'nt'", true),
            ("platform_system == 'Windows' or os_name == 'posix'", false),
            ("sys_platform == 'linux' and python_version < '3.11'", true),
            ("sys_platform == 'linux' and python_version >= '3.11'", false),
            ("(sys_platform == 'win32' or sys_platform == 'linux') and python_full_version < '3.9'", true),
            ("python_full_version >= '3.12'", true),
            ("python_full_version < '3.11'", true),
            ("python_full_version >= '3.11'", false),
            ("python_full_version == '3.10.*'", true),
            ("python_full_version == '3.11.*'", false),
            ("'3.12' <= python_version", true),
            // The patch level is not known, nor are extras and implementations.
            ("python_full_version < '3.11.4'", false),
            ("python_full_version >= '3.11.4'", false),
            ("python_full_version > '3.11'", false),
            ("extra == 'test'", false),
            ("extra == 'test' and sys_platform == 'win32'", true),
            ("platform_python_implementation == 'PyPy'", false),
            ("'linux' in sys_platform", false),
            // No markers at all.
            ("", false),
            ("sys_platform == 'win32", false),
            ("(sys_platform == 'win32'", false),
            ("sys_platform == 'win32' 'x'", false),
            ("é == 'win32'", false),
        ];
        for (marker, is_out) in rows {
            assert_eq!(is_excluded(marker, MarkerPlace { python: Some((3, 11)) }), is_out, "{marker}");
        }
        for marker in ["python_version < '3'", "python_version < '3.8'", "python_full_version == '3.10.*'"] {
            assert!(!is_excluded(marker, MarkerPlace { python: None }), "{marker}: the interpreter is not known");
        }
    }
}
