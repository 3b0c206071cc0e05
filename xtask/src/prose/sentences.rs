//! Sentences of a Markdown page, with their lines. Code blocks and comments are left out; each cell of a table is a text of its own.

/// A sentence and the line of the page on which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Sentence {
    /// Number of words. A list of names in backticks is read at one glance and counts as one.
    pub(crate) fn count_words(&self) -> usize {
        let words: Vec<&str> =
            self.text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).collect();
        let listed = words.windows(2).filter(|pair| pair.iter().all(|word| is_code(word))).count();
        words.len() - listed
    }
}

/// Sentences of a page in Markdown.
pub(crate) fn split_page(page: &str) -> Vec<Sentence> {
    let mut blocks = PageBlocks::default();
    for (index, line) in page.lines().enumerate() {
        blocks.add_line(index + 1, line);
    }
    blocks.close();
    let sentences = blocks.texts.iter().flat_map(|words| split_words(words));
    sentences.filter(|sentence| sentence.count_words() > 0).collect()
}

fn is_code(word: &str) -> bool {
    word.trim_start_matches('(').starts_with('`')
}

/// A word with its line.
type PlacedWord = (usize, String);

/// Texts of a page: paragraphs, items of lists, headings and cells of tables, each as its words.
#[derive(Debug, Default)]
struct PageBlocks {
    texts: Vec<Vec<PlacedWord>>,
    open: Vec<PlacedWord>,
    in_code: bool,
    in_comment: bool,
}

impl PageBlocks {
    fn add_line(&mut self, number: usize, line: &str) {
        let bare = line.trim().trim_start_matches("> ");
        if bare.starts_with("```") {
            self.close();
            self.in_code = !self.in_code;
        } else if !self.in_code {
            self.add_prose(number, bare);
        }
    }

    fn add_prose(&mut self, number: usize, line: &str) {
        if line.starts_with("<!--") {
            self.in_comment = true;
        }
        if self.in_comment {
            self.close();
            self.in_comment = !line.contains("-->");
        } else if line.is_empty() {
            self.close();
        } else if line.starts_with('|') {
            self.close();
            for cell in split_cells(line) {
                self.open = place_words(number, &cell);
                self.close();
            }
        } else {
            self.add_text(number, line);
        }
    }

    fn add_text(&mut self, number: usize, line: &str) {
        let (begins, text) = strip_bullet(line);
        if begins {
            self.close();
        }
        self.open.extend(place_words(number, text));
        if line.starts_with('#') {
            self.close();
        }
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.texts.push(std::mem::take(&mut self.open));
        }
    }
}

/// The text behind a bullet, a number or the marks of a heading, and true if there was one.
fn strip_bullet(line: &str) -> (bool, &str) {
    if let Some(rest) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        return (true, rest);
    }
    if line.starts_with('#') {
        return (true, line.trim_start_matches('#').trim_start());
    }
    let digits = line.len() - line.trim_start_matches(|first: char| first.is_ascii_digit()).len();
    match line[digits..].strip_prefix(". ") {
        Some(rest) if digits > 0 => (true, rest),
        _ => (false, line),
    }
}

/// Cells of a row of a table. A bar in code or behind a backslash does not end a cell.
fn split_cells(row: &str) -> Vec<String> {
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let (mut in_code, mut escaped) = (false, false);
    for letter in row.chars() {
        if letter == '|' && !in_code && !escaped {
            cells.push(std::mem::take(&mut cell));
            continue;
        }
        in_code ^= letter == '`';
        escaped = letter == '\\';
        cell.push(letter);
    }
    cells.push(cell);
    cells
}

fn place_words(line: usize, text: &str) -> Vec<PlacedWord> {
    join_code(text).split_whitespace().map(|word| (line, word.to_owned())).collect()
}

/// A link is read as its text.
fn strip_links(text: &str) -> String {
    let mut read = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        read.push_str(before);
        rest = after.split_once(')').map_or("", |(_, behind)| behind);
    }
    read.push_str(rest);
    read.replace(['[', ']'], "")
}

/// Code between backticks is one word. Brackets in it are no link.
fn join_code(text: &str) -> String {
    let join = |(index, part): (usize, &str)| match index % 2 {
        0 => strip_links(part),
        _ => {
            let word = part.replace(char::is_whitespace, "\u{a0}").replace(['.', '?', '!'], "\u{b7}");
            format!("`{}`", word.replace('`', "'"))
        }
    };
    split_code(text).into_iter().enumerate().map(join).collect::<String>().replace('\u{a0}', "_")
}

/// Text and code in turn. Code ends at as many backticks as it begins with, or with the line.
fn split_code(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, marked)) = rest.find('`').map(|at| rest.split_at(at)) {
        let code = marked.trim_start_matches('`');
        let mark = &marked[..marked.len() - code.len()];
        let (code, behind) = code.split_once(mark).unwrap_or((code, ""));
        parts.extend([before, code]);
        rest = behind;
    }
    parts.push(rest);
    parts
}

fn split_words(words: &[PlacedWord]) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let mut open: Vec<&PlacedWord> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        open.push(word);
        let next = words.get(index + 1).map(|(_, word)| word.as_str());
        if next.is_none_or(|next| ends_sentence(&word.1) && begins_sentence(next)) {
            let text = open.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>().join(" ");
            sentences.extend(open.first().map(|(line, _)| Sentence { line: *line, text }));
            open.clear();
        }
    }
    sentences
}

fn ends_sentence(word: &str) -> bool {
    let bare = word.trim_end_matches([')', '*', '"', '_', '”']);
    bare.ends_with(['.', '?', '!']) && !["e.g.", "i.e.", "vs."].contains(&bare)
}

/// Names of files and programs begin with a small letter, and sentences with them.
fn begins_sentence(word: &str) -> bool {
    let first = word.trim_start_matches(['(', '*', '"', '“']).chars().next();
    first.is_some_and(|first| first.is_uppercase() || first.is_numeric() || first == '`')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str, expected: &[(usize, usize)]) {
        let sentences = split_page(page);
        let found: Vec<(usize, usize)> = sentences.iter().map(|it| (it.line, it.count_words())).collect();
        assert_eq!(found, expected, "{page}: {sentences:?}");
    }

    #[test]
    fn a_sentence_ends_where_a_reader_ends_it() {
        check("One two three. Four five.", &[(1, 3), (1, 2)]);
        check("One two,\nthree. Four", &[(1, 3), (2, 1)]);
        check("Version 1.2 is out, e.g. here. `cto run` works.", &[(1, 6), (1, 2)]);
        check("It has (a note.) Then more.", &[(1, 4), (1, 2)]);
        check("It ends. [A page](a.md) follows.", &[(1, 2), (1, 3)]);
        check("See [the long page](a/b.md#c) now.", &[(1, 5)]);
        check("`cto run TASK. Now` is one word.", &[(1, 4)]);
        check("A rule `[a](b c` has two\nparts.", &[(1, 6)]);
        check("A rule ``a`b. C`` is one.", &[(1, 5)]);
        check("Keys are `a`, `b`, `c` and `d`.", &[(1, 5)]);
    }

    #[test]
    fn blocks_are_apart_and_code_is_left_out() {
        check("# A head\n\ntext\n- one\n- two\n  more\n1. three\n", &[(1, 2), (3, 1), (4, 1), (5, 2), (7, 1)]);
        check("a\n```console\n$ cto run x y z\n```\nb", &[(1, 1), (5, 1)]);
        check("<!-- not run: no\nnetwork -->\nb", &[(3, 1)]);
        check("| a b | `c | d` e |\n| --- | --- |\n| f \\| g | |", &[(1, 2), (1, 2), (3, 2)]);
        check("> quoted words\n> go on", &[(1, 4)]);
    }
}
