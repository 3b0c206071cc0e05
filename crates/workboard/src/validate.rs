//! `cto validate workspace`: every check over every record, in time linear in their size.

mod board_checks;
mod decision_checks;
mod document_checks;

use contract::source::{self, ValueKind};
use secrets::{RuleSet, Scanner};
use serde::Serialize;

use crate::board::{BOARD, Workboard};
use crate::check_rule::CheckRule;
use crate::closeout::closeout_path;
use crate::document::PlanningDocument;
use crate::earlier::EarlierRecords;
use crate::evidence::EvidenceSource;
use crate::files::WorkspaceFiles;
use crate::finding::{Finding, Severity};
use crate::links::{LinkTargets, check_links};
use crate::locate::LineIndex;
use crate::required::{check_phrases, check_required, list_demanded_phrases};
use crate::rules::RuleBook;
use crate::templates::{CHECKED_TERMS, CONTEXT, MARK, PROTOCOLS};
use crate::wording::check_wording;

pub(crate) use document_checks::is_day;

/// Result of a check of a workspace.
#[derive(Debug, Clone, Default, Serialize)]
pub struct WorkspaceCheck {
    /// Files that were looked at.
    pub checked: usize,
    /// Sorted by file, line, column and rule.
    pub findings: Vec<Finding>,
}

impl WorkspaceCheck {
    /// True without an error; advice does not count.
    pub fn is_valid(&self) -> bool {
        self.errors().next().is_none()
    }

    /// Findings that make the check fail.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// Adds findings of somebody else and keeps the order.
    pub fn add_findings(&mut self, more: Vec<Finding>) {
        self.findings.extend(more);
        let order = |finding: &Finding| (finding.file.clone(), finding.line, finding.column, finding.rule.clone());
        self.findings.sort_by_cached_key(order);
        self.findings.dedup();
    }
}

/// Checks a workspace. `today` is the day (`yyyy-mm-dd`) that no document can have been
/// reviewed after.
pub fn validate_workspace(files: &WorkspaceFiles, source: &dyn EvidenceSource, today: &str) -> WorkspaceCheck {
    let mut found = Vec::new();
    let book = load_rule_book(files, &mut found);
    let board = files.text_of(BOARD).map(Workboard::read_board);
    let documents: Vec<PlanningDocument<'_>> = files
        .texts()
        .filter(|(path, _)| path.to_ascii_lowercase().ends_with(".md"))
        .map(|(path, text)| PlanningDocument::read_document(path, text))
        .collect();
    check_presence(files, &documents, &mut found);
    let day = first_day(files, today, &mut found);
    let empty = Workboard::default();
    let board_read = board.as_ref().unwrap_or(&empty);
    let earlier = EarlierRecords::find_earlier(&documents, source, day);
    let older = board_checks::list_older_items(board_read, files, &documents, &earlier);
    board_checks::check_board(board_read, files, source, &older, &mut found);
    board_checks::check_board_words(files, &book, &mut found);
    document_checks::check_items(board_read, &documents, &mut found);
    document_checks::check_sequences(board_read, &documents, &mut found);
    let targets = LinkTargets::list_targets(files, board_read, source, &documents);
    for document in &documents {
        if document.path.starts_with(PROTOCOLS) {
            document_checks::check_document(document, today, &mut found);
            check_required(document, &book, earlier.holds(document), &mut found);
        }
        check_wording(document, &book, &mut found);
        document_checks::check_constants(document, &mut found);
        check_links(document, &targets, &mut found);
    }
    check_phrases(&documents, |document| earlier.holds(document), &mut found);
    decision_checks::check_decisions(files, &documents, &mut found);
    check_secrets(files, &mut found);
    let mut check = WorkspaceCheck { checked: files.texts().count(), findings: Vec::new() };
    check.add_findings(found);
    check
}

/// Built-in rules, and those of the workspace; a file of rules that does not load is a finding.
fn load_rule_book(files: &WorkspaceFiles, found: &mut Vec<Finding>) -> RuleBook {
    let mut book = RuleBook::built_in().unwrap_or_else(|error| {
        found.push(Finding::about_file(
            "rules/",
            CheckRule::RuleFile,
            error.to_string(),
            "install a whole build of cto",
        ));
        RuleBook::default()
    });
    let is_rule_file = |path: &str| path.starts_with("rules/") && (path.ends_with(".yaml") || path.ends_with(".yml"));
    for (path, text) in files.texts().filter(|(path, _)| is_rule_file(path)) {
        if let Err(error) = book.add_file(path, text) {
            let message = error.to_string();
            let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("it cannot be read").to_owned();
            found.push(Finding::about_file(
                path,
                CheckRule::RuleFile,
                first,
                "fix the rule; `cto schema rules` has its shape",
            ));
        }
    }
    book
}

fn check_presence(files: &WorkspaceFiles, documents: &[PlanningDocument<'_>], found: &mut Vec<Finding>) {
    for name in [BOARD, CONTEXT, MARK].into_iter().filter(|name| files.text_of(name).is_none()) {
        let (message, remedy) = (format!("the workspace has no {name}"), "cto init     makes it where it is missing");
        let finding = Finding::about_file(name, CheckRule::FileMissing, message, remedy);
        // A folder that was trusted without `cto init` has no mark, and is none the worse.
        found.push(if name == MARK { finding.as_advice() } else { finding });
    }
    let is_intent = |document: &&PlanningDocument<'_>| {
        let named = crate::document::file_stem(document.path).to_ascii_uppercase().ends_with("INTENT");
        document.path.starts_with(PROTOCOLS)
            && (named || document.name().is_some_and(|name| name.to_lowercase().contains("workspace intent")))
    };
    if documents.iter().find(is_intent).is_none() {
        let (message, remedy) = ("the workspace has no workspace intent", "cto init     makes WORKSPACE-INTENT.md");
        found.push(Finding::about_file(PROTOCOLS, CheckRule::IntentMissing, message, remedy));
    }
    for unread in files.unread() {
        let remedy = "make it a plain, readable text file, or move it out of the workspace";
        let finding = Finding::about_file(&unread.path, CheckRule::FileUnreadable, unread.why.clone(), remedy);
        found.push(if unread.is_record { finding } else { finding.as_advice() });
    }
    if let Some(text) = files.text_of(CONTEXT) {
        for term in CHECKED_TERMS.iter().filter(|term| !text.contains(**term)) {
            let message = format!("CONTEXT.md does not define {term}");
            let remedy = format!("add `## {term}` with what it means here");
            found.push(Finding::about_file(CONTEXT, CheckRule::TermMissing, message, remedy));
        }
    }
}

/// Day of the workspace's first `cto init`. A day in the future would make everything older
/// than the workspace, and is none.
fn first_day(files: &WorkspaceFiles, today: &str, found: &mut Vec<Finding>) -> Option<String> {
    let node = source::read(MARK, files.text_of(MARK)?).node?;
    let initialised = node.get_child("initialised")?;
    let (place, ValueKind::Text(day)) = ((initialised.span.line, initialised.span.column), &initialised.kind) else {
        return None;
    };
    if document_checks::is_day(day) && day.as_str() <= today {
        return Some(day.clone());
    }
    let message = "`initialised` is no day up to today";
    let remedy = "write the day of the first `cto init`, as yyyy-mm-dd";
    found.push(Finding::at_place(MARK, place, CheckRule::DocumentDay, message, remedy));
    None
}

/// Phrases that plans beside an item's closeout demand of it.
pub fn list_closeout_phrases(files: &WorkspaceFiles, id: &str) -> Vec<String> {
    let documents: Vec<PlanningDocument<'_>> = files
        .texts()
        .filter(|(path, _)| path.starts_with(PROTOCOLS) && path.contains(id))
        .map(|(path, text)| PlanningDocument::read_document(path, text))
        .collect();
    list_demanded_phrases(&documents, &closeout_path(id))
}

/// Looks for anything secret-shaped. The finding has its rule and place, never its value.
fn check_secrets(files: &WorkspaceFiles, found: &mut Vec<Finding>) {
    let scanner = Scanner::new(&[], RuleSet::standard());
    for (path, text) in files.texts() {
        let hits = scanner.scan(text.as_bytes());
        let index = if hits.is_empty() { None } else { Some(LineIndex::index_lines(text)) };
        for (hit, index) in hits.into_iter().zip(index.iter().cycle()) {
            let at = usize::try_from(hit.offset).unwrap_or(usize::MAX);
            let place = index.place_of(text, at.min(text.len()));
            found.push(describe_secret(path, place, hit.rule.as_ref()));
        }
    }
    found.extend(files.stray_secrets().iter().map(|secret| describe_secret(&secret.path, secret.place, &secret.rule)));
}

fn describe_secret(path: &str, place: (usize, usize), rule: &str) -> Finding {
    let message = format!("this looks like a secret ({rule})");
    let remedy = "take it out, and make the credential useless: it stands in the history";
    Finding::at_place(path, place, CheckRule::SecretShaped, message, remedy)
}
