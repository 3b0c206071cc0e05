//! Items in documents: headings with a work id, and the labelled lines below them. Order
//! and status are judged on the board alone; a document that says otherwise is advice.

use std::collections::HashSet;

use serde::Serialize;

use crate::board::{WorkStatus, WorkType};
use crate::document::{Heading, PlanningDocument, TextLine};

/// An item under its own heading in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentItem {
    pub id: String,
    pub title: String,
    pub line: usize,
    /// First word of its status line; `None` without one or with another word.
    pub status: Option<WorkStatus>,
    pub work_type: Option<WorkType>,
    /// Ids after `Blocked by:`, on its line or as bullets.
    pub blocked_by: Vec<String>,
    /// Condition that stands with the ids, in words.
    pub human_condition: Option<String>,
    pub acceptance: Vec<String>,
    /// Other labelled texts, such as `What to build`.
    pub labels: Vec<(String, String)>,
}

const LABELS: [&str; 9] = [
    "What to build",
    "User stories covered",
    "Allowed files",
    "Validator",
    "Done evidence",
    "Human gate",
    "Implementation route",
    "Resolved by",
    "Current unblock",
];

/// Reads the items of a document.
pub(crate) fn read_items(document: &PlanningDocument<'_>) -> Vec<DocumentItem> {
    let headings = &document.headings;
    let mut items = Vec::new();
    for (index, heading) in headings.iter().enumerate() {
        let Some((id, title)) = split_item_heading(&heading.text) else { continue };
        let end = section_end(&headings[index + 1..], heading.level, document.lines.len());
        let body = document.lines.get(heading.line..end).unwrap_or_default();
        items.push(read_item(id, title, heading.line, body));
    }
    items
}

fn section_end(following: &[Heading], level: usize, last: usize) -> usize {
    following
        .iter()
        .find(|next| next.level <= level || split_item_heading(&next.text).is_some())
        .map_or(last, |next| next.line - 1)
}

/// Id and title of `ID - Title`, `Issue: ID - Title` and `ID: Title`.
pub(crate) fn split_item_heading(text: &str) -> Option<(String, String)> {
    let bare = text.strip_prefix("Issue:").map_or(text, str::trim_start);
    let (id, from) = find_work_ids(bare).into_iter().next().filter(|(_, at)| *at == 0)?;
    let rest = &bare[from + id.len()..];
    let title = rest.strip_prefix(':').or_else(|| rest.trim_start().strip_prefix("- "))?;
    let title = title.trim();
    (!title.is_empty()).then(|| (id.to_owned(), title.to_owned()))
}

/// Work ids in a text with their bytes: capitals, `-WORK-`, three digits or more.
pub(crate) fn find_work_ids(text: &str) -> Vec<(&str, usize)> {
    const MIDDLE: &str = "-WORK-";
    const LONGEST_ID: usize = 64;
    let mut found = Vec::new();
    for (at, _) in text.match_indices(MIDDLE) {
        let is_part = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'-';
        // One byte more than an id can have is enough to refuse it.
        let before = text.as_bytes()[..at].iter().rev().take(LONGEST_ID + 1).take_while(|byte| is_part(byte)).count();
        let start = at - before;
        let digits = text.as_bytes()[at + MIDDLE.len()..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = at + MIDDLE.len() + digits;
        let is_ended = text.as_bytes().get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let id = &text[start..end];
        if digits >= 3 && is_ended && contract::WorkId::try_from(id.to_owned()).is_ok() {
            found.push((id, start));
        }
    }
    found
}

fn read_item(id: String, title: String, line: usize, body: &[TextLine<'_>]) -> DocumentItem {
    let mut item = DocumentItem {
        id,
        title,
        line,
        status: None,
        work_type: None,
        blocked_by: Vec::new(),
        human_condition: None,
        acceptance: Vec::new(),
        labels: Vec::new(),
    };
    let text: Vec<&TextLine<'_>> = body.iter().filter(|line| !line.is_code).collect();
    for (index, line) in text.iter().enumerate() {
        let Some((label, value)) = split_label(line.text) else { continue };
        let bullets = || read_bullets(&text[index + 1..], read_bullet(line.text).is_some());
        match label.to_ascii_lowercase().as_str() {
            "status" if item.status.is_none() => item.status = WorkStatus::of_word(first_word(value)),
            "type" if item.work_type.is_none() => item.work_type = WorkType::of_word(first_word(value)),
            "blocked by" => take_blockers(&mut item, value, &bullets()),
            "acceptance" | "acceptance criteria" => {
                item.acceptance = bullets().into_iter().map(str::to_owned).collect()
            }
            _ if LABELS.iter().any(|known| known.eq_ignore_ascii_case(label)) => {
                let value = if value.is_empty() { bullets().join("; ") } else { value.to_owned() };
                item.labels.push((label.to_owned(), value));
            }
            _ => {}
        }
    }
    item
}

fn take_blockers(item: &mut DocumentItem, value: &str, bullets: &[&str]) {
    let texts = std::iter::once(value).chain(bullets.iter().copied());
    for text in texts.filter(|text| !text.is_empty()) {
        let ids = find_work_ids(text);
        let is_prose = text.split_whitespace().any(|word| find_work_ids(word).is_empty() && word.len() > 3);
        if is_prose && !text.to_ascii_lowercase().starts_with("none") {
            item.human_condition = Some(text.to_owned());
        }
        item.blocked_by.extend(ids.into_iter().map(|(id, _)| id.to_owned()));
    }
}

/// `Label: value`, with or without a bullet and emphasis.
pub(crate) fn split_label(line: &str) -> Option<(&str, &str)> {
    let bare = line.trim().trim_start_matches(['-', '*', ' ']);
    let (label, value) = bare.split_once(':')?;
    let label = label.trim().trim_matches(['*', '`']);
    let is_label =
        !label.is_empty() && label.len() <= 40 && label.chars().all(|c| c.is_alphanumeric() || " _-".contains(c));
    is_label.then(|| (label, value.trim().trim_start_matches("**").trim_start()))
}

/// Text of a bullet or a box.
fn read_bullet(line: &str) -> Option<&str> {
    let bare = line.trim_start();
    let text = bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* "))?;
    let boxed = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| text.strip_prefix(mark));
    Some(boxed.unwrap_or(text).trim())
}

/// Bullets below a label. Where the label is a bullet itself, the next bullet with a label of its own ends them.
fn read_bullets<'t>(lines: &[&TextLine<'t>], is_bullet: bool) -> Vec<&'t str> {
    let is_own =
        |line: &TextLine<'_>| is_bullet && split_label(line.text).is_some_and(|(label, _)| is_known_label(label));
    lines.iter().take_while(|line| !is_own(line)).map_while(|line| read_bullet(line.text)).collect()
}

fn is_known_label(label: &str) -> bool {
    let read = ["status", "type", "blocked by", "acceptance", "acceptance criteria"];
    read.iter().chain(&LABELS).any(|known| known.eq_ignore_ascii_case(label))
}

fn first_word(text: &str) -> &str {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.trim_matches(['`', '*', '.', ',', ';'])
}

/// A fact of a list, such as `- approval_granted: false`: its name in snake case and its
/// value, neither with decoration.
pub(crate) fn read_fact(line: &str) -> Option<(String, String)> {
    let text = read_bullet(line)?;
    let text = text.trim().trim_end_matches('.').trim_matches('`');
    let (name, value) = text.split_once(':')?;
    let name = name.trim().trim_matches(['`', '*']).to_ascii_lowercase().replace([' ', '-'], "_");
    let value = value.trim().trim_matches(['`', '*', '"']).trim_end_matches('.').to_ascii_lowercase();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value))
}

/// Facts of a Markdown record, in order, each name once.
pub fn list_facts(text: &str) -> Vec<(String, String)> {
    let mut known = HashSet::new();
    text.lines().filter_map(read_fact).filter(|(name, _)| known.insert(name.clone())).collect()
}
