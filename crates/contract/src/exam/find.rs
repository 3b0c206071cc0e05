//! Detection of a repository's ecosystems: by names and endings of its files, and by the
//! programs that its verification commands start.

use super::Ecosystem;

/// The ecosystems of a baseline, in the order of [`Ecosystem::ALL`].
///
/// A wrong find only protects more, so every word of a command counts: `uv run pytest`,
/// `env A=1 cargo test` and the text of a `sh -c` name their runner somewhere behind the
/// first word.
pub fn ecosystems_of<'a>(
    paths: impl Iterator<Item = &'a [u8]>,
    argvs: impl Iterator<Item = &'a [String]>,
) -> Vec<Ecosystem> {
    let mut missing = Ecosystem::ALL.to_vec();
    for word in argvs.flatten().flat_map(|text| words(text)) {
        missing.retain(|ecosystem| !is_named(*ecosystem, word));
    }
    for path in paths {
        if missing.is_empty() {
            break;
        }
        let name = last_part(path);
        missing.retain(|ecosystem| !is_sign(*ecosystem, name));
    }
    Ecosystem::ALL.iter().filter(|ecosystem| !missing.contains(ecosystem)).copied().collect()
}

/// The words of an argument, which may be a whole command line for a shell.
fn words(text: &str) -> impl Iterator<Item = &[u8]> {
    let between = |c: char| c.is_whitespace() || ";&|()<>{}$`'\"=".contains(c);
    text.split(between).filter(|word| !word.is_empty()).map(|word| last_part(word.as_bytes()))
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn is_named(ecosystem: Ecosystem, word: &[u8]) -> bool {
    let programs = ecosystem.signs().programs;
    let is_program = |word: &[u8]| programs.iter().any(|program| program.as_bytes() == word);
    is_program(word) || is_program(without_version(word)) || is_sign(ecosystem, word)
}

/// `python` for `python3.12`, `go` for `go1.25.1`.
fn without_version(word: &[u8]) -> &[u8] {
    let end = word.iter().rposition(|byte| !byte.is_ascii_digit() && !b".-".contains(byte));
    end.map_or(word, |end| &word[..=end])
}

fn is_sign(ecosystem: Ecosystem, name: &[u8]) -> bool {
    let signs = ecosystem.signs();
    let ending = name.iter().rposition(|byte| *byte == b'.').map(|dot| &name[dot + 1..]);
    signs.names.iter().any(|sign| sign.as_bytes() == name)
        || ending.is_some_and(|ending| signs.endings.iter().any(|sign| sign.as_bytes() == ending))
}
