//! Functions and types of a file, read from its tokens.

use super::lexer::{Lexed, Token};

/// A function or type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) name: &'a str,
    /// `pub` in any form.
    pub(super) is_visible: bool,
    pub(super) is_documented: bool,
    /// Lines of a function from its first to its last; 0 of a type.
    pub(super) lines: usize,
}

/// Declarations and uses of a file.
#[derive(Debug, Default)]
pub(super) struct Items<'a> {
    pub(super) functions: Vec<Item<'a>>,
    pub(super) types: Vec<Item<'a>>,
    pub(super) unwraps: usize,
    pub(super) clones: usize,
}

const MODIFIERS: &[&str] = &["const", "async", "unsafe", "extern", "default"];
const TYPES: &[&str] = &["struct", "enum", "trait", "union", "type"];

/// Collects the items of a file.
pub(super) fn items<'a>(lexed: &Lexed<'a>) -> Items<'a> {
    let tokens = &lexed.tokens;
    let mut found = Items::default();
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map_or("", |token| token.text);
        let is_name = next.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        match token.text {
            "fn" if is_name => found.functions.push(item(lexed, at, next, body_lines(tokens, at))),
            text if TYPES.contains(&text) && is_name && begins_item(tokens, at) => {
                found.types.push(item(lexed, at, next, 0));
            }
            "unwrap" | "expect" if next == "(" && before(tokens, at) == "." => found.unwraps += 1,
            "clone" if next == "(" && before(tokens, at) == "." => found.clones += 1,
            _ => {}
        }
    }
    found
}

fn before<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |token| token.text)
}

/// `type` and `union` are words elsewhere too.
fn begins_item(tokens: &[Token<'_>], at: usize) -> bool {
    let follows = tokens.get(at + 2).map_or("", |token| token.text);
    matches!(before(tokens, at), "" | "pub" | ")" | "}" | ";" | "]" | "{" | "unsafe")
        && matches!(follows, "{" | "(" | "<" | ";" | "=" | ":" | "where")
}

/// Walks back over modifiers to `pub` or `pub(…)`, and asks whether a doc comment ends above.
fn item<'a>(lexed: &Lexed<'a>, at: usize, name: &'a str, lines: usize) -> Item<'a> {
    let tokens = &lexed.tokens;
    let mut first = at;
    while first > 0 && MODIFIERS.contains(&before(tokens, first)) {
        first -= 1;
    }
    let mut is_visible = before(tokens, first) == "pub";
    if is_visible {
        first -= 1;
    } else if before(tokens, first) == ")" {
        let open = tokens[..first].iter().rposition(|token| token.text == "(");
        if let Some(open) = open.filter(|open| first - open <= 5 && before(tokens, *open) == "pub") {
            (is_visible, first) = (true, open - 1);
        }
    }
    let from = first.checked_sub(1).map_or(0, |last| end_of_attributes(tokens, last));
    let until = tokens.get(first).map_or(0, |token| token.line);
    let is_documented = lexed.docs.iter().any(|(line, _)| (from..until).contains(line));
    Item { name, is_visible, is_documented, lines }
}

/// The line of the last token before the attributes of an item.
fn end_of_attributes(tokens: &[Token<'_>], mut last: usize) -> usize {
    while tokens[last].text == "]" {
        let Some(open) = matching_open(tokens, last) else { break };
        let hash = open.checked_sub(1).filter(|hash| tokens[*hash].text == "#");
        match hash.and_then(|hash| hash.checked_sub(1)) {
            Some(earlier) => last = earlier,
            None => return 0,
        }
    }
    tokens[last].line
}

fn matching_open(tokens: &[Token<'_>], close: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for at in (0..=close).rev() {
        match tokens[at].text {
            "]" => depth += 1,
            "[" => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Lines from `fn` to the end of its body; 1 for a declaration.
fn body_lines(tokens: &[Token<'_>], at: usize) -> usize {
    let (mut depth, mut brackets) = (0_usize, 0_i32);
    for token in &tokens[at..] {
        match token.text {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets -= 1,
            ";" if depth == 0 && brackets == 0 => return token.line - tokens[at].line + 1,
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return token.line - tokens[at].line + 1;
                }
            }
            _ => {}
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::lexer::lex;

    #[test]
    fn names_sizes_and_docs() {
        let text = "//! Head.\nuse crate::{a::B, c};\n/// Reads it.\n#[must_use]\npub(crate) const fn read_it() -> u8 {\n    crate::d::e();\n    1\n}\nstruct Plain;\n/// Typed.\npub enum Kind { A }\nfn quiet() {}\n";
        let lexed = lex(text);
        let found = items(&lexed);
        let of = |item: &Item<'_>| (item.name.to_owned(), item.is_visible, item.is_documented, item.lines);
        let functions: Vec<_> = found.functions.iter().map(of).collect();
        assert_eq!(functions, [("read_it".to_owned(), true, true, 4), ("quiet".to_owned(), false, false, 1)]);
        let types: Vec<_> = found.types.iter().map(of).collect();
        assert_eq!(types, [("Plain".to_owned(), false, false, 0), ("Kind".to_owned(), true, true, 0)]);
    }
}
