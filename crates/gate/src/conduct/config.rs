//! Reader of git's configuration syntax: it reads what git would read, and refuses what git
//! would refuse. Git itself is never asked, because the file may make it execute something.

use std::collections::BTreeMap;

/// More is not read: a configuration that a person or git wrote is far smaller.
pub(super) const BYTES_MAX: usize = 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A name of a setting, which compares as git compares it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SettingKey {
    /// In lower case.
    pub(super) section: String,
    pub(super) subsection: Option<Vec<u8>>,
    /// In lower case.
    pub(super) name: String,
}

/// The values of each key in their order; git takes the last, or all of them. A key without
/// `=` has none.
pub(super) type Settings = BTreeMap<SettingKey, Vec<Option<Vec<u8>>>>;

/// The line on which the file stops being a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no git configuration")]
pub(super) struct ReadConfigError {
    pub(super) line: usize,
}

/// Reads a configuration file of an untrusted repository. Fails where git itself would
/// refuse the file, and on files over the size limit.
pub(super) fn read_config(bytes: &[u8]) -> Result<Settings, ReadConfigError> {
    let mut reader = Reader { rest: bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes), line: 1, over: false };
    // Git would read up to the null character, and its length from there.
    if bytes.len() > BYTES_MAX || bytes.contains(&0) {
        return Err(ReadConfigError { line: 1 });
    }
    let mut settings = Settings::new();
    reader.read_into(&mut settings).ok_or(ReadConfigError { line: reader.line })?;
    Ok(settings)
}

struct Reader<'a> {
    rest: &'a [u8],
    line: usize,
    over: bool,
}

impl Reader<'_> {
    /// The next character; line breaks of both kinds are `\n`, and so is the end.
    fn next(&mut self) -> u8 {
        let (character, length) = match self.rest {
            [] => {
                self.over = true;
                return b'\n';
            }
            [b'\r', b'\n', ..] => (b'\n', 2),
            [other, ..] => (*other, 1),
        };
        self.rest = self.rest.get(length..).unwrap_or_default();
        self.line += usize::from(character == b'\n');
        character
    }

    fn read_into(&mut self, settings: &mut Settings) -> Option<()> {
        let (mut section, mut subsection) = (String::new(), None);
        while !self.over {
            match self.next() {
                b'#' | b';' => while self.next() != b'\n' {},
                b'[' => (section, subsection) = self.heading()?,
                space if is_space(space) => {}
                letter if letter.is_ascii_alphabetic() => {
                    let (name, value) = self.setting(letter)?;
                    let key = SettingKey { section: section.clone(), subsection: subsection.clone(), name };
                    settings.entry(key).or_default().push(value);
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// `name]`, `name.sub]` or `name "sub"]`, behind the bracket. The second way is old,
    /// and its `sub` in lower case.
    fn heading(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        let mut name = String::new();
        let quoted = loop {
            match self.next() {
                b']' if !name.is_empty() => break None,
                b'\n' => return None,
                space if is_space(space) => break Some(self.subsection()?),
                letter if is_of_name(letter) || letter == b'.' => name.push(char::from(letter.to_ascii_lowercase())),
                _ => return None,
            }
        };
        let (section, dotted) = name.split_once('.').map_or((name.as_str(), None), |(name, sub)| (name, Some(sub)));
        let parts: Vec<&[u8]> = dotted.map(str::as_bytes).into_iter().chain(quoted.as_deref()).collect();
        let subsection = (!parts.is_empty()).then(|| parts.join(&b'.'));
        Some((section.to_owned(), subsection))
    }

    /// Reads ` "sub"]` after the first space. A backslash makes the next character literal.
    fn subsection(&mut self) -> Option<Vec<u8>> {
        while *self.rest.first()? != b'"' {
            Some(self.next()).filter(|character| is_space(*character) && *character != b'\n')?;
        }
        self.next();
        let mut subsection = Vec::new();
        loop {
            match self.next() {
                b'"' => break,
                b'\n' => return None,
                b'\\' => subsection.push(Some(self.next()).filter(|character| *character != b'\n')?),
                other => subsection.push(other),
            }
        }
        (self.next() == b']').then_some(subsection)
    }

    fn setting(&mut self, first: u8) -> Option<(String, Option<Vec<u8>>)> {
        let mut name = String::from(char::from(first.to_ascii_lowercase()));
        let mut next = self.next();
        while is_of_name(next) {
            name.push(char::from(next.to_ascii_lowercase()));
            next = self.next();
        }
        while matches!(next, b' ' | b'\t') {
            next = self.next();
        }
        match next {
            b'\n' => Some((name, None)),
            b'=' => self.value().map(|value| (name, Some(value))),
            _ => None,
        }
    }

    /// Up to the end of the line. Quotes may be anywhere; spaces count between other
    /// characters and in quotes.
    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut quoted) = (Vec::new(), false);
        // Up to where spaces at the end do not count.
        let mut length = 0;
        loop {
            match self.next() {
                b'\n' if quoted => return None,
                b'\n' => break,
                b'#' | b';' if !quoted => {
                    while self.next() != b'\n' {}
                    break;
                }
                space if is_space(space) && !quoted => {
                    if !value.is_empty() {
                        value.push(space);
                    }
                    continue;
                }
                b'"' => quoted = !quoted,
                b'\\' => value.extend(self.escaped()?),
                other => value.push(other),
            }
            length = value.len();
        }
        value.truncate(length);
        Some(value)
    }

    /// Behind a backslash; at the end of a line it joins the next one.
    fn escaped(&mut self) -> Option<Option<u8>> {
        match self.next() {
            b'\n' => Some(None),
            b't' => Some(Some(b'\t')),
            b'b' => Some(Some(8)),
            b'n' => Some(Some(b'\n')),
            same @ (b'\\' | b'"') => Some(Some(same)),
            _ => None,
        }
    }
}

fn is_space(character: u8) -> bool {
    matches!(character, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_of_name(character: u8) -> bool {
    character.is_ascii_alphanumeric() || character == b'-'
}
