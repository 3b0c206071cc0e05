//! Items in documents: headings with a work id, and the labelled lines below them. Order
//! and status are judged on the board alone; a document that says otherwise is advice.

use std::collections::HashSet;

use serde::Serialize;

use crate::board::{WorkStatus, WorkType};
use crate::document::{Heading, PlanningDocument, TextLine};
use crate::rendered::{LinkLabels, render_text};

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
    let headings: Vec<(&Heading, Option<(String, String)>)> =
        document.headings.iter().map(|heading| (heading, split_item_heading(&heading.text))).collect();
    let mut items = Vec::new();
    for (index, (heading, item)) in headings.iter().enumerate() {
        let Some((id, title)) = item.clone() else { continue };
        let end = section_end(&headings[index + 1..], heading.level, document.lines.len());
        let body = document.lines.get(heading.line..end).unwrap_or_default();
        items.push(read_item(id, title, heading.line, body));
    }
    items
}

fn section_end(following: &[(&Heading, Option<(String, String)>)], level: usize, last: usize) -> usize {
    following.iter().find(|(next, item)| next.level <= level || item.is_some()).map_or(last, |(next, _)| next.line - 1)
}

/// Id and title of `ID - Title`, `Issue: ID - Title` and `ID: Title`, with any dash, number and emphasis.
pub(crate) fn split_item_heading(text: &str) -> Option<(String, String)> {
    if !text.contains("-WORK-") {
        return None;
    }
    let seen = render_text(text, &LinkLabels::new()).text;
    let bare = read_bullet(&seen).unwrap_or(seen.trim());
    let bare = bare.split_once(':').filter(|(word, _)| is_issue_word(word)).map_or(bare, |(_, rest)| rest.trim_start());
    let (id, from) = find_work_ids(bare).into_iter().next().filter(|(_, at)| *at == 0)?;
    let rest = &bare[from + id.len()..];
    let dashed = || DASHES.iter().find_map(|dash| rest.trim_start().strip_prefix(dash));
    let title = rest.strip_prefix(':').or_else(dashed)?.trim();
    (!title.is_empty()).then(|| (id.to_owned(), title.to_owned()))
}

/// Dashes between an id and its title.
const DASHES: [&str; 4] = ["- ", "-- ", "\u{2013} ", "\u{2014} "];

/// `Issue`, or `Issue 7`.
fn is_issue_word(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let is_issue = words.next().is_some_and(|word| word.eq_ignore_ascii_case("issue"));
    is_issue && words.all(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
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
        let bullets = || read_bullets(&text[index + 1..], line.text, !value.is_empty());
        match label.to_ascii_lowercase().as_str() {
            "status" if item.status.is_none() => {
                item.status = WorkStatus::of_word(&first_word(value).to_ascii_lowercase());
            }
            "type" if item.work_type.is_none() => {
                item.work_type = WorkType::of_word(&first_word(value).to_ascii_uppercase());
            }
            "blocked by" => take_blockers(&mut item, value, &bullets()),
            "acceptance" | "acceptance criteria" => item.acceptance = bullets(),
            _ if LABELS.iter().any(|known| known.eq_ignore_ascii_case(label)) => {
                let value = if value.is_empty() { bullets().join("; ") } else { value.to_owned() };
                item.labels.push((label.to_owned(), value));
            }
            _ => {}
        }
    }
    item
}

fn take_blockers(item: &mut DocumentItem, value: &str, bullets: &[String]) {
    let texts = std::iter::once(value).chain(bullets.iter().map(String::as_str));
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
    let bare = read_bullet(line).unwrap_or(line.trim());
    let marks = &bare[..bare.len() - bare.trim_start_matches(['*', '_']).len()];
    let (label, value) = bare.split_once(':')?;
    let label = label.trim().trim_matches(['*', '`', '_']);
    let is_label =
        !label.is_empty() && label.len() <= 40 && label.chars().all(|c| c.is_alphanumeric() || " _-".contains(c));
    let value = value.trim();
    // Marks that opened before the label close behind the colon, or behind the value.
    let bare_value = value.strip_prefix(marks).or_else(|| value.strip_suffix(marks)).unwrap_or(value);
    is_label.then(|| (label, bare_value.trim()))
}

/// Text of a bullet, a numbered entry or a box.
pub(crate) fn read_bullet(line: &str) -> Option<&str> {
    let bare = line.trim_start();
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => bare.strip_prefix(['-', '*', '+']),
        1..=9 => bare[digits..].strip_prefix(['.', ')']),
        _ => None,
    }?;
    let text = rest.strip_prefix([' ', '\t'])?.trim();
    let boxed = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| text.strip_prefix(mark)?.strip_prefix([' ', '\t']));
    Some(boxed.unwrap_or(text).trim())
}

/// Bullets below a label, each with the lines that it wraps to. Blank lines may stand before and between them, but not between them and
/// a label with a value. Where the label is a bullet itself, the next bullet with a label of its own ends them.
fn read_bullets(lines: &[&TextLine<'_>], label_line: &str, has_value: bool) -> Vec<String> {
    let is_bullet = read_bullet(label_line).is_some();
    let is_label = |text: &str| split_label(text).is_some_and(|(label, _)| is_known_label(label));
    let mut bullets: Vec<String> = Vec::new();
    let mut is_parted = false;
    for line in lines {
        let bare = line.text.trim();
        match read_bullet(line.text) {
            Some(_) if is_bullet && is_label(line.text) => break,
            Some(_) if has_value && is_parted && bullets.is_empty() => break,
            Some(text) => bullets.push(text.to_owned()),
            None if bare.is_empty() => {
                is_parted = true;
                continue;
            }
            None => {
                let wraps = !is_parted || line.text.starts_with([' ', '\t']);
                match bullets.last_mut().filter(|_| wraps && !bare.starts_with(['#', '|', '>']) && !is_label(bare)) {
                    Some(last) => last.push_str(&format!(" {bare}")),
                    None => break,
                }
            }
        }
        is_parted = false;
    }
    bullets
}

fn is_known_label(label: &str) -> bool {
    let read = ["status", "type", "blocked by", "acceptance", "acceptance criteria"];
    read.iter().chain(&LABELS).any(|known| known.eq_ignore_ascii_case(label))
}

fn first_word(text: &str) -> &str {
    let mut words = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.find(|word| !word.is_empty()).unwrap_or_default()
}

/// A fact of a list, such as `- approval_granted: false`: its name in snake case and its
/// value, neither with decoration.
pub(crate) fn read_fact(line: &str) -> Option<(String, String)> {
    read_written_fact(line).map(|(name, value)| (name, value.to_ascii_lowercase()))
}

/// The same, with the value's capitals.
fn read_written_fact(line: &str) -> Option<(String, String)> {
    let text = read_bullet(line)?;
    let text = text.trim().trim_end_matches('.').trim_matches('`');
    let (name, value) = text.split_once(':')?;
    let name = name.trim().trim_matches(['`', '*', '_']).to_ascii_lowercase().replace([' ', '-'], "_");
    let is_mark = |c: char| matches!(c, '`' | '*' | '_' | '"') || c.is_whitespace();
    let value = value.trim_matches(is_mark).trim_end_matches('.').trim_matches(is_mark).to_owned();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value))
}

/// Facts of a Markdown record in small letters, in order, each name once.
pub fn list_facts(text: &str) -> Vec<(String, String)> {
    let small = |(name, value): (String, String)| (name, value.to_ascii_lowercase());
    list_written_facts(text).into_iter().map(small).collect()
}

/// Facts of a Markdown record with the capitals of their values, in order, each name once.
pub fn list_written_facts(text: &str) -> Vec<(String, String)> {
    let mut known = HashSet::new();
    text.lines().filter_map(read_written_fact).filter(|(name, _)| known.insert(name.clone())).collect()
}
