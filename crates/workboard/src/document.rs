//! One Markdown document: its kind, front matter, headings, and the lines that are text and
//! not code.

use serde::Serialize;

use crate::front_matter::FrontMatter;
use crate::items::{DocumentItem, read_bullet, read_items};
use crate::locate::LineIndex;
use crate::rendered::{LinkLabels, render_text};

/// The sentence that every planning document carries.
pub(crate) const DISCLAIMER: &str = "Local planning SOT only. Not a Core Protocol. Not active Core authority.";
const NOTICE_HEADING: &str = "Non-Authority Notice";

macro_rules! document_kinds {
    ($($kind:ident $suffix:literal,)*) => {
        /// Kind of a document, by the end of its file's name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum DocumentKind { $($kind,)* }

        impl DocumentKind {
            /// Every value, in order.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Word that a file's name ends with.
            pub const fn suffix(self) -> &'static str {
                match self { $(Self::$kind => $suffix,)* }
            }
        }
    };
}

document_kinds! {
    Prd "PRD",
    Issues "ISSUES",
    Evidence "EVIDENCE",
    Closeout "CLOSEOUT",
    Record "RECORD",
    Contract "CONTRACT",
    Matrix "MATRIX",
    Gates "GATES",
    Template "TEMPLATE",
    Packet "PACKET",
    Guard "GUARD",
    Brief "BRIEF",
    Attempt "ATTEMPT",
}

impl DocumentKind {
    /// Kind by the name of a file.
    pub fn of_path(path: &str) -> Option<Self> {
        let stem = file_stem(path).to_ascii_uppercase();
        Self::ALL.iter().copied().find(|kind| {
            stem.strip_suffix(kind.suffix()).is_some_and(|before| before.is_empty() || before.ends_with(['-', '_']))
        })
    }

    /// Kind by its word in a rule file.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.suffix().eq_ignore_ascii_case(word))
    }
}

/// Name of a file without folders and ending.
pub(crate) fn file_stem(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// A heading outside of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) level: usize,
    pub(crate) text: String,
    pub(crate) line: usize,
}

impl Heading {
    /// True of a heading of these words, with or without emphasis and a colon.
    pub(crate) fn is_titled(&self, title: &str) -> bool {
        self.text.trim_matches(['*', '_', '`', ':', ' ']).eq_ignore_ascii_case(title)
    }
}

/// A line with what it is part of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextLine<'t> {
    pub(crate) number: usize,
    pub(crate) text: &'t str,
    /// Byte at which the line begins.
    pub(crate) start: usize,
    /// True of code, and of comments, which no reader sees.
    pub(crate) is_code: bool,
    /// True of the lines of the front matter, its dashes included.
    pub(crate) is_front: bool,
}

/// A document, read.
#[derive(Debug, Clone)]
pub struct PlanningDocument<'t> {
    pub(crate) path: &'t str,
    pub(crate) text: &'t str,
    pub(crate) index: LineIndex,
    pub(crate) kind: Option<DocumentKind>,
    pub(crate) front: FrontMatter,
    pub(crate) lines: Vec<TextLine<'t>>,
    pub(crate) headings: Vec<Heading>,
    items: Vec<DocumentItem>,
}

impl<'t> PlanningDocument<'t> {
    /// Parses a document. Faults become findings later; parsing itself never fails.
    pub fn read_document(path: &'t str, text: &'t str) -> Self {
        let index = LineIndex::index_lines(text);
        let front = FrontMatter::parse_front(text, &index);
        let lines = mark_lines(text, &front, &index);
        let headings = lines.iter().filter(|line| !line.is_code && !line.is_front).filter_map(read_heading).collect();
        let kind = DocumentKind::of_path(path);
        let mut document = Self { path, text, index, kind, front, lines, headings, items: Vec::new() };
        document.items = read_items(&document);
        document
    }

    /// Path relative to the workspace.
    pub fn path(&self) -> &'t str {
        self.path
    }

    /// Kind of the document, by its path; none for other Markdown files.
    pub fn kind(&self) -> Option<DocumentKind> {
        self.kind
    }

    /// Name or title of the front matter.
    pub fn name(&self) -> Option<&str> {
        self.front.first_value("name").or_else(|| self.front.first_value("title"))
    }

    /// `status` of the front matter.
    pub fn status(&self) -> Option<&str> {
        self.front.first_value("status")
    }

    /// `owner` of the front matter.
    pub fn owner(&self) -> Option<&str> {
        self.front.first_value("owner")
    }

    /// Items that have a heading of their own in the document.
    pub fn items(&self) -> &[DocumentItem] {
        &self.items
    }

    /// Work item that the document closes or belongs to, as it says itself.
    pub fn work_item(&self) -> Option<String> {
        let listed = || {
            let bullets = self.section("Workboard")?.iter().filter_map(|line| read_bullet(line.text));
            bullets.flat_map(crate::items::find_work_ids).next().map(|(id, _)| id.to_owned())
        };
        let said = self.prose().find_map(|line| {
            let bare = read_bullet(line.text).unwrap_or(line.text.trim()).trim_start_matches(['*', '_', '`']);
            let after = ["This evidence closes", "Work item:"].iter().find_map(|label| {
                let is_said = bare.get(..label.len())?.eq_ignore_ascii_case(label);
                is_said.then(|| &bare[label.len()..])
            })?;
            crate::items::find_work_ids(after).into_iter().next().map(|(id, _)| id.to_owned())
        });
        said.or_else(listed)
    }

    /// Lines that are neither code nor front matter.
    pub(crate) fn prose(&self) -> impl Iterator<Item = &TextLine<'t>> {
        self.lines.iter().filter(|line| !line.is_code && !line.is_front)
    }

    /// Lines of the section under a heading, up to the next heading of its level or above.
    pub(crate) fn section(&self, title: &str) -> Option<&[TextLine<'t>]> {
        let (index, heading) = self.headings.iter().enumerate().find(|(_, heading)| heading.is_titled(title))?;
        let end = self.headings[index + 1..].iter().find(|next| next.level <= heading.level);
        let last = end.map_or(self.lines.len(), |next| next.line - 1);
        self.lines.get(heading.line..last)
    }

    /// True if the disclaimer follows the first heading, at most one subtitle between, or
    /// has a section of its own.
    pub(crate) fn has_disclaimer(&self) -> bool {
        if let Some(section) = self.section(NOTICE_HEADING)
            && joined_text(section).contains(DISCLAIMER)
        {
            return true;
        }
        let Some(first) = self.headings.first() else { return false };
        let after: Vec<TextLine<'_>> = self.lines[first.line..].iter().copied().filter(|line| !line.is_code).collect();
        let paragraphs = after.split(|line| line.text.trim().is_empty()).filter(|lines| !lines.is_empty());
        paragraphs.take(2).any(|lines| joined_text(lines).contains(DISCLAIMER))
    }
}

/// Lines as a reader sees them, joined by single spaces, quote marks taken off.
pub(crate) fn joined_text(lines: &[TextLine<'_>]) -> String {
    let trimmed = lines.iter().filter(|line| !line.is_code).map(|line| line.text.trim().trim_start_matches(['>', ' ']));
    render_text(&trimmed.collect::<Vec<_>>().join(" "), &LinkLabels::new()).text
}

fn mark_lines<'t>(text: &'t str, front: &FrontMatter, index: &LineIndex) -> Vec<TextLine<'t>> {
    let mut fence: Option<&str> = None;
    let mut is_comment = false;
    let mut list_indent = 0;
    let mut marked = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let is_front = number <= front.last_line;
        let was_code = fence.is_some();
        let is_unseen = !is_front && !was_code && is_unseen_line(line, &mut is_comment);
        let mark = if is_front || is_unseen { None } else { fence_mark(line, list_indent) };
        match (fence, mark) {
            (None, Some(mark)) if opens_fence(line, mark) => fence = Some(mark),
            (Some(open), Some(mark)) if mark.starts_with(open) && line.trim() == mark => fence = None,
            _ => {}
        }
        if !was_code {
            list_indent = indent_of_list(line, list_indent);
        }
        let is_code = was_code || fence.is_some() || is_unseen;
        marked.push(TextLine { number, text: line, start: index.start_of(text, number), is_code, is_front });
    }
    marked
}

/// True of a line of a comment with nothing behind its end; `is_open` says if a comment goes on from line to line.
fn is_unseen_line(line: &str, is_open: &mut bool) -> bool {
    if !*is_open && !line.trim_start().starts_with("<!--") {
        return false;
    }
    let behind = line.find("-->").map(|end| &line[end + 3..]);
    *is_open = behind.is_none();
    behind.is_none_or(|text| text.trim().is_empty())
}

/// The backticks or tildes of a fence. Four columns more than the text around it make a line
/// of code of its own, which is no fence.
fn fence_mark(line: &str, list_indent: usize) -> Option<&str> {
    let bare = line.trim_start();
    let indent = &line[..line.len() - bare.len()];
    let first = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = bare.chars().take_while(|c| *c == first).count();
    (length >= 3 && indent.len() < list_indent + 4 && !indent.contains('\t')).then(|| &bare[..length])
}

/// A fence of backticks has none behind them: that would be code within a line.
fn opens_fence(line: &str, mark: &str) -> bool {
    mark.starts_with('~') || !line.trim_start()[mark.len()..].contains('`')
}

/// Column at which the text of the list around a line begins; 0 outside of lists.
fn indent_of_list(line: &str, known: usize) -> usize {
    let bare = line.trim_start();
    let indent = line.len() - bare.len();
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let marker = match bare.as_bytes().get(digits..) {
        Some([b'-' | b'*' | b'+', b' ', ..]) if digits == 0 => 2,
        Some([b'.' | b')', b' ', ..]) if (1..=9).contains(&digits) => digits + 2,
        _ if bare.is_empty() => return known,
        _ => return if indent == 0 { 0 } else { known },
    };
    indent + marker
}

fn read_heading(line: &TextLine<'_>) -> Option<Heading> {
    let text = line.text.trim_start_matches('\u{feff}');
    let bare = text.trim_start_matches(' ');
    let level = bare.bytes().take_while(|byte| *byte == b'#').count();
    let rest = bare.get(level..).filter(|_| text.len() - bare.len() < 4)?;
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    let text = rest.trim().trim_end_matches('#').trim_end().to_owned();
    is_heading.then_some(Heading { level, text, line: line.number })
}
