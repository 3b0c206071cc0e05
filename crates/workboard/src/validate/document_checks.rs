//! Checks of one document: front matter, disclaimer, constants; and of the items in
//! documents against the board.

use std::collections::{HashMap, HashSet};

use crate::board::{WorkStatus, Workboard};
use crate::check_rule::CheckRule;
use crate::document::{DISCLAIMER, DocumentKind, PlanningDocument};
use crate::finding::{Finding, TextFix};
use crate::front_matter::{FrontField, FrontProblem};
use crate::items::read_fact;
use crate::templates::PROTOCOLS;

const REQUIRED_KEYS: [&str; 6] =
    ["status", "owner", "created", "last_reviewed", "lifecycle_classification", "core_promotion_status"];
const NOT_PROMOTED: &str = "not-promoted";

/// Adds the findings about one document. `today` is a date of the form `yyyy-mm-dd`.
pub(super) fn check_document(document: &PlanningDocument<'_>, today: &str, found: &mut Vec<Finding>) {
    // Keys that are missing after a paste follow from it, and the paste is reported.
    let is_pasted = document.front.problems.iter().any(|problem| matches!(problem, FrontProblem::Pasted { .. }));
    let is_read = document.front.last_line > 0 && !is_pasted;
    document.front.problems.iter().for_each(|problem| found.push(describe_problem(document, problem)));
    if is_read {
        check_keys(document, found);
        check_values(document, today, found);
    }
    if !document.has_disclaimer() {
        found.push(missing_disclaimer(document));
    }
}

fn describe_problem(document: &PlanningDocument<'_>, problem: &FrontProblem) -> Finding {
    let remedy = "begin the document with a line `---`, one `key: value` a line, and a line `---`";
    let at = |line: usize, rule: CheckRule, message: String| {
        Finding::at_place(document.path, (line, 1), rule, message, remedy)
    };
    match problem {
        FrontProblem::Missing => at(1, CheckRule::FrontMatterMissing, "the document has no front matter".to_owned()),
        FrontProblem::Unclosed => {
            at(1, CheckRule::FrontMatterUnclosed, "the front matter has no closing `---`".to_owned())
        }
        FrontProblem::Pasted { form, line } => {
            at(*line, CheckRule::FrontMatterPasted, format!("the front matter was pasted: {form}"))
        }
        FrontProblem::Stray { line } => {
            at(*line, CheckRule::FrontMatterLine, "a line of the front matter is no `key: value`".to_owned())
        }
        FrontProblem::Repeated { key, line } => {
            at(*line, CheckRule::FrontMatterKeyTwice, format!("the front matter has `{key}` twice"))
        }
    }
}

fn check_keys(document: &PlanningDocument<'_>, found: &mut Vec<Finding>) {
    let is_missing = |key: &&str| document.front.first_value(key).is_none_or(|value| value.trim().is_empty());
    let place = (document.front.last_line, 1);
    if is_missing(&"name") && is_missing(&"title") {
        let message = "the front matter has no `name` and no `title`";
        found.push(Finding::at_place(
            document.path,
            place,
            CheckRule::FrontMatterKey,
            message,
            "add `name:` or `title:`",
        ));
    }
    for key in REQUIRED_KEYS.iter().filter(|key| is_missing(key)) {
        let message = format!("the front matter has no `{key}`");
        let finding =
            Finding::at_place(document.path, place, CheckRule::FrontMatterKey, message, format!("add `{key}:`"));
        // The only key with one possible value.
        let start = document.index.start_of(document.text, document.front.last_line);
        let is_absent = document.front.first_field(key).is_none();
        found.push(match *key == "core_promotion_status" && is_absent {
            true => finding.with_fix(TextFix { start, end: start, text: format!("{key}: {NOT_PROMOTED}\n") }),
            false => finding,
        });
    }
}

fn check_values(document: &PlanningDocument<'_>, today: &str, found: &mut Vec<Finding>) {
    let at = |field: &FrontField, rule: CheckRule, message: String, remedy: &str| {
        Finding::at_place(document.path, (field.line, field.column), rule, message, remedy)
    };
    if let Some(field) = document.front.first_field("status").filter(|field| !field.value.is_empty())
        && WorkStatus::of_word(&field.value).is_none()
    {
        let remedy = "write draft, candidate, validated or blocked";
        let finding = at(field, CheckRule::DocumentStatus, "the status is none of the four".to_owned(), remedy);
        let meant = WorkStatus::of_word(&field.value.trim_end_matches('.').to_ascii_lowercase());
        found.push(match meant {
            Some(meant) => finding.with_fix(replace_value(field, meant.as_str())),
            None => finding,
        });
    }
    if let Some(field) = document.front.first_field("lifecycle_classification").filter(|field| !field.value.is_empty())
        && !["planning", "sot"].contains(&field.value.as_str())
    {
        let message = "the lifecycle classification is neither planning nor sot".to_owned();
        found.push(at(field, CheckRule::LifecycleClassification, message, "write planning or sot"));
    }
    if let Some(field) = document.front.first_field("core_promotion_status").filter(|field| !field.value.is_empty())
        && field.value != NOT_PROMOTED
    {
        let message = "core_promotion_status is a constant: not-promoted".to_owned();
        let finding = at(field, CheckRule::CorePromotionStatus, message, "write not-promoted");
        found.push(finding.with_fix(replace_value(field, NOT_PROMOTED)));
    }
    check_days(document, today, found);
}

fn check_days(document: &PlanningDocument<'_>, today: &str, found: &mut Vec<Finding>) {
    let day = |key: &str| document.front.first_field(key).filter(|field| !field.value.is_empty());
    for field in ["created", "last_reviewed"].into_iter().filter_map(day) {
        let place = (field.line, field.column);
        if !is_day(&field.value) {
            let message = format!("`{}` is no day", field.key);
            found.push(Finding::at_place(
                document.path,
                place,
                CheckRule::DocumentDay,
                message,
                "write it as yyyy-mm-dd",
            ));
        } else if field.value.as_str() > today {
            let message = format!("`{}` lies in the future", field.key);
            found.push(Finding::at_place(
                document.path,
                place,
                CheckRule::DocumentStale,
                message,
                "write the day on which it was so",
            ));
        }
    }
    if let (Some(created), Some(reviewed)) = (day("created"), day("last_reviewed"))
        && is_day(&created.value)
        && is_day(&reviewed.value)
        && reviewed.value < created.value
    {
        let message = "the document was last reviewed before it was created";
        let place = (reviewed.line, reviewed.column);
        found.push(Finding::at_place(
            document.path,
            place,
            CheckRule::DocumentStale,
            message,
            "review it, and write that day",
        ));
    }
}

fn replace_value(field: &FrontField, text: &str) -> TextFix {
    TextFix { start: field.span.0, end: field.span.1, text: text.to_owned() }
}

/// A day as `yyyy-mm-dd` that exists in the calendar.
pub(crate) fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |part: &str, digits: usize| {
        (part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| part.parse::<u32>().ok())
            .flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn missing_disclaimer(document: &PlanningDocument<'_>) -> Finding {
    let line = document.headings.first().map_or(document.front.last_line + 1, |heading| heading.line);
    let remedy = format!("write after the first heading: {DISCLAIMER}");
    let finding = Finding::at_place(
        document.path,
        (line, 1),
        CheckRule::DisclaimerMissing,
        "the document lacks the disclaimer",
        remedy,
    );
    let Some(heading) = document.headings.first() else { return finding };
    let start = document.index.start_of(document.text, heading.line + 1);
    let gap = if start == document.text.len() && !document.text.ends_with('\n') { "\n" } else { "" };
    finding.with_fix(TextFix { start, end: start, text: format!("{gap}\n{DISCLAIMER}\n") })
}

/// Facts in lists, tables and the front matter whose value is a constant everywhere.
pub(super) fn check_constants(document: &PlanningDocument<'_>, found: &mut Vec<Finding>) {
    for line in document.prose() {
        let Some((name, value)) = read_fact(line.text).or_else(|| read_row_fact(line.text)) else { continue };
        let column = line.text.len() - line.text.trim_start().len() + 1;
        check_constant(document.path, &name, &value, (line.number, column), found);
    }
    // The front matter's own key has a rule of its own.
    for field in document.front.fields.iter().filter(|field| field.key != "core_promotion_status") {
        check_constant(document.path, &field.key, &field.value, (field.line, field.column), found);
    }
}

/// A fact in the first two cells of a row.
fn read_row_fact(line: &str) -> Option<(String, String)> {
    let mut cells =
        line.trim().strip_prefix('|')?.split('|').map(|cell| cell.trim().trim_matches(['`', '*', '"', '.']));
    let name = cells.next()?.to_ascii_lowercase().replace([' ', '-'], "_");
    Some((name, cells.next()?.to_ascii_lowercase()))
}

/// Adds a finding if a fact with a constant value has another one.
pub(super) fn check_constant(file: &str, name: &str, value: &str, place: (usize, usize), found: &mut Vec<Finding>) {
    let name = name.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    let constant = match name.as_str() {
        "runtime_default_activation" => "false",
        "core_promotion_status" => NOT_PROMOTED,
        _ => return,
    };
    let value = value.trim().to_ascii_lowercase();
    // A table may have the name as its heading, above a row of dashes.
    let is_heading = value.is_empty() || value.bytes().all(|byte| matches!(byte, b'-' | b':'));
    let is_constant = value.replace(['_', ' '], "-") == constant || value.starts_with(&format!("{constant} "));
    if !is_heading && !is_constant {
        let message = format!("`{name}` is a constant: {constant}");
        found.push(Finding::at_place(file, place, CheckRule::ConstantChanged, message, format!("write {constant}")));
    }
}

/// Items in documents: the board wins, so that every difference is advice.
pub(super) fn check_items(board: &Workboard, documents: &[PlanningDocument<'_>], found: &mut Vec<Finding>) {
    let mut first: HashMap<(&str, &str), usize> = HashMap::new();
    for document in documents {
        for item in document.items() {
            let place = (item.line, 1);
            let mut advise = |rule: CheckRule, message: String, remedy: &str| {
                found.push(Finding::at_place(document.path, place, rule, message, remedy).as_advice());
            };
            if let Some(line) = first.insert((document.path, &item.id), item.line) {
                advise(
                    CheckRule::ItemTwice,
                    format!("{} has a heading at line {line} too", item.id),
                    "keep one of the two",
                );
            }
            match board.find_item(&item.id) {
                None => advise(
                    CheckRule::ItemNotOnBoard,
                    format!("{} is not on the board", item.id),
                    "add it to WORKBOARD.yaml",
                ),
                Some(listed) if item.status.is_some() && listed.status.is_some() && item.status != listed.status => {
                    advise(
                        CheckRule::ItemStatusDiffers,
                        format!(
                            "the board says that {} is {}, this document says {}; the board counts",
                            item.id,
                            listed.status.map_or("", WorkStatus::as_str),
                            item.status.map_or("", WorkStatus::as_str)
                        ),
                        "say here what the board says",
                    )
                }
                Some(_) => {}
            }
        }
    }
}

/// Sequences of issues: numbers that are left out, and items that name the document and
/// have no heading in it. Both are advice.
pub(super) fn check_sequences(board: &Workboard, documents: &[PlanningDocument<'_>], found: &mut Vec<Finding>) {
    let is_sequence = |document: &&PlanningDocument<'_>| document.kind == Some(DocumentKind::Issues);
    let sequences: HashMap<&str, &PlanningDocument<'_>> =
        documents.iter().filter(is_sequence).map(|document| (document.path, document)).collect();
    for document in sequences.values() {
        for pair in document.items().windows(2) {
            if let Some(missing) = find_gap(&pair[0].id, &pair[1].id) {
                let message = format!("{missing} is left out before {}", pair[1].id);
                let remedy = "say what became of it, or leave the gap as it is";
                let finding = Finding::at_place(document.path, (pair[1].line, 1), CheckRule::ItemGap, message, remedy);
                found.push(finding.as_advice());
            }
        }
    }
    let headed: HashMap<&str, HashSet<&str>> = sequences
        .iter()
        .map(|(path, document)| (*path, document.items().iter().map(|item| item.id.as_str()).collect()))
        .collect();
    for item in board.items() {
        let named = item.artifacts.iter().filter_map(|name| {
            sequences.get(name.as_str()).or_else(|| sequences.get(format!("{PROTOCOLS}/{name}").as_str()))
        });
        for document in named.filter(|document| !headed[document.path].contains(item.id.as_str())) {
            let message = format!("{} names this document, which has no heading for it", item.id);
            let remedy = format!("add `## {} - {}`", item.id, item.title);
            let finding = Finding::about_file(document.path, CheckRule::ItemWithoutHeading, message, remedy);
            found.push(finding.as_advice());
        }
    }
}

/// First id between two of the same series that is left out.
fn find_gap(before: &str, after: &str) -> Option<String> {
    let split = |id: &str| {
        let (series, number) = id.rsplit_once('-')?;
        Some((series.to_owned(), number.len(), number.parse::<u64>().ok()?))
    };
    let ((series, digits, first), (other, _, second)) = (split(before)?, split(after)?);
    let next = first.checked_add(1)?;
    (series == other && second > next).then(|| format!("{series}-{next:0digits$}"))
}
