//! Links of documents: files, anchors, work items and bundles have to be there.

use std::collections::{HashMap, HashSet};

use crate::board::Workboard;
use crate::check_rule::CheckRule;
use crate::document::{DocumentKind, PlanningDocument, TextLine};
use crate::evidence::{BundleFact, EvidenceSource};
use crate::files::WorkspaceFiles;
use crate::finding::Finding;
use crate::locate::ColumnCounter;
use crate::markup::target_length;
use crate::rendered::LinkLabels;

/// Everything that a link can lead to.
pub(crate) struct LinkTargets<'a> {
    pub(crate) files: &'a WorkspaceFiles,
    pub(crate) board: &'a Workboard,
    pub(crate) source: &'a dyn EvidenceSource,
    /// Anchors of each document, by path.
    pub(crate) anchors: HashMap<&'a str, HashSet<String>>,
}

impl<'a> LinkTargets<'a> {
    /// Collects everything that a link can point to.
    pub(crate) fn list_targets(
        files: &'a WorkspaceFiles,
        board: &'a Workboard,
        source: &'a dyn EvidenceSource,
        documents: &'a [PlanningDocument<'_>],
    ) -> Self {
        let anchors = documents.iter().map(|document| (document.path, list_anchors(document))).collect();
        Self { files, board, source, anchors }
    }

    /// Problem of a link, as rule, message and remedy.
    fn judge_link(&self, document: &PlanningDocument<'_>, target: &str) -> Option<(CheckRule, String, &'static str)> {
        if let Some(id) = target.strip_prefix("work:").or_else(|| is_work_id(target).then_some(target)) {
            let message = format!("the link leads to {id}, which is not on the board");
            // A board without one readable item is reported once, not by every link to it.
            let is_judged = !self.board.items().is_empty() || self.board.problems.is_empty();
            return (is_judged && self.board.find_item(id).is_none()).then_some((
                CheckRule::LinkWork,
                message,
                "name an item of the board",
            ));
        }
        if let Some(run) = target.strip_prefix("bundle:") {
            return self.judge_bundle(run);
        }
        let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        let file = if path.is_empty() { Some(document.path.to_owned()) } else { resolve_path(document.path, path) };
        let Some(file) = file.filter(|file| file.is_empty() || self.files.has_path(file)) else {
            let message = format!("the link leads to a file that is not there: {path}");
            return Some((CheckRule::LinkFile, message, "name a file of this workspace, relative to this document"));
        };
        let (anchors, anchor) = (self.anchors.get(file.as_str())?, anchor.filter(|anchor| !anchor.is_empty())?);
        let message = format!("{file} has no heading for the anchor #{anchor}");
        (!anchors.contains(&anchor.to_lowercase())).then_some((
            CheckRule::LinkAnchor,
            message,
            "name a heading that is there",
        ))
    }

    fn judge_bundle(&self, run: &str) -> Option<(CheckRule, String, &'static str)> {
        let why = match self.source.find_bundle(run) {
            BundleFact::Verified { .. } | BundleFact::Legacy(None) => return None,
            BundleFact::NotVerified(why) | BundleFact::Collected(why) | BundleFact::Unknown(why) => why,
            BundleFact::Legacy(Some(why)) => why,
        };
        Some((
            CheckRule::LinkBundle,
            format!("the link leads to a bundle that does not hold: {why}"),
            "name a bundle that verifies",
        ))
    }
}

/// Checks every link of a document; of evidence and closeouts also paths in code font, as
/// advice.
pub(crate) fn check_links(document: &PlanningDocument<'_>, targets: &LinkTargets<'_>, found: &mut Vec<Finding>) {
    for line in document.prose() {
        let mut columns = ColumnCounter::of_line(line.text);
        for (target, at) in list_links(line.text) {
            if is_external(target) {
                continue;
            }
            if let Some((rule, message, remedy)) = targets.judge_link(document, target) {
                let column = columns.column_of(at);
                found.push(Finding::at_place(document.path, (line.number, column), rule, message, remedy));
            }
        }
    }
    if matches!(document.kind, Some(DocumentKind::Evidence | DocumentKind::Closeout)) {
        check_named_paths(document, targets.files, found);
    }
}

fn is_work_id(text: &str) -> bool {
    contract::WorkId::try_from(text.to_owned()).is_ok()
}

/// An address, or a path outside of the workspace.
fn is_external(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:") || target.starts_with(['/', '~'])
}

/// Targets of `[text](target)` and of a definition `[label]: target` in a line with their
/// bytes, code font and escaped brackets left out.
fn list_links(line: &str) -> Vec<(&str, usize)> {
    let mut links = Vec::new();
    let mut from = 0;
    let (mut ticks, mut counted) = (0, 0);
    while let Some(at) = line[from..].find("](").map(|at| from + at + 2) {
        // The end of a whole link, in which parentheses come in pairs; else the first that closes.
        let whole = target_length(&line[at - 1..], &LinkLabels::new()).checked_sub(2);
        let Some(length) = whole.or_else(|| line[at..].find(')')) else { break };
        let is_escaped = line[..at - 2].ends_with('\\');
        ticks += line[counted..at].matches('`').count();
        counted = at;
        let (target, start) = read_target(&line[at..at + length]);
        if !target.is_empty() && ticks % 2 == 0 && !is_escaped {
            links.push((target, at + start));
        }
        from = at + length;
    }
    links.extend(read_definition(line));
    links
}

/// A target without its title, in angle brackets or up to a space; and the byte at which it
/// begins.
fn read_target(inner: &str) -> (&str, usize) {
    let bare = inner.trim_start();
    let start = inner.len() - bare.len();
    match bare.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((target, _)) => (target, start),
        None => (bare.split_whitespace().next().unwrap_or_default(), start),
    }
}

/// The target of a line that defines a label. A label that begins with `^` is a footnote's.
fn read_definition(line: &str) -> Option<(&str, usize)> {
    let bare = line.trim_start();
    let indent = line.len() - bare.len();
    let (label, rest) = bare.strip_prefix('[')?.split_once("]:")?;
    let (target, start) = read_target(rest);
    let is_definition = indent < 4 && !label.is_empty() && !label.contains('[') && !label.starts_with('^');
    (is_definition && !target.is_empty()).then_some((target, line.len() - rest.len() + start))
}

/// Text with `%20` and the like as the bytes that they stand for; as it is where those are
/// no text.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Path below the workspace that a relative link means; `None` if it leads out of it.
fn resolve_path(document: &str, link: &str) -> Option<String> {
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(percent_decoded(&parts.join("/")))
}

/// Anchors of the headings, as Markdown renderers make them.
fn list_anchors(document: &PlanningDocument<'_>) -> HashSet<String> {
    let mut anchors = HashSet::new();
    // Numbers go on where the last heading of that name ended, so that many equal headings
    // stay cheap.
    let mut counts: HashMap<String, usize> = HashMap::new();
    for heading in &document.headings {
        let kept = heading.text.to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = counts.entry(slug.clone()).or_default();
        let mut anchor = slug.clone();
        while anchors.contains(&anchor) {
            *count += 1;
            anchor = format!("{slug}-{count}");
        }
        anchors.insert(anchor);
    }
    anchors
}

fn check_named_paths(document: &PlanningDocument<'_>, files: &WorkspaceFiles, found: &mut Vec<Finding>) {
    for line in document.lines.iter().filter(|line| !line.is_front) {
        let mut columns = ColumnCounter::of_line(line.text);
        for (path, at) in list_named_paths(line) {
            let is_there =
                files.has_path(path) || resolve_path(document.path, path).is_some_and(|path| files.has_path(&path));
            if !is_there {
                let place = (line.number, columns.column_of(at));
                let message = format!("the path {path} is not in this workspace");
                let remedy = "name a file that is kept, or give its place as an absolute path";
                found
                    .push(Finding::at_place(document.path, place, CheckRule::PathMissing, message, remedy).as_advice());
            }
        }
    }
}

/// Relative paths in code font, alone on a line of a fence, or alone in a cell of a table.
fn list_named_paths<'t>(line: &TextLine<'t>) -> Vec<(&'t str, usize)> {
    let text: &'t str = line.text;
    let bare = text.trim();
    if line.is_code {
        let at = text.len() - text.trim_start().len();
        return if is_named_path(bare) { vec![(bare, at)] } else { Vec::new() };
    }
    let mut paths = Vec::new();
    if bare.starts_with('|') {
        let mut at = 0;
        for cell in text.split('|') {
            let inner = cell.trim();
            if is_named_path(inner) {
                paths.push((inner, at + (cell.len() - cell.trim_start().len())));
            }
            at += cell.len() + 1;
        }
    }
    let mut at = 0;
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 && is_named_path(part) {
            paths.push((part, at));
        }
        at += part.len() + 1;
    }
    paths
}

fn is_named_path(text: &str) -> bool {
    const ENDINGS: [&str; 8] = [".md", ".json", ".jsonl", ".yaml", ".yml", ".diff", ".log", ".sig"];
    let is_path = text.contains('/') && !text.contains(char::is_whitespace) && !is_external(text);
    is_path && !text.contains(['*', '<', '{', '$', '`']) && ENDINGS.iter().any(|ending| text.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_link_is_read() {
        for (line, expected) in [
            ("See [a](b.md) and [c](d.md \"title\").", vec![("b.md", 8), ("d.md", 22)]),
            ("See [a](<b c.md>).", vec![("b c.md", 8)]),
            ("See [a](b_(c).md) and [c](d.md 'a (title)').", vec![("b_(c).md", 8), ("d.md", 26)]),
            ("[label]: b.md 'title'", vec![("b.md", 9)]),
            ("[label]: <b c.md>", vec![("b c.md", 9)]),
            ("[^1]: a note", vec![]),
            ("`[a](b.md)` and \\[a\\](b.md)", vec![]),
            ("    [label]: b.md", vec![]),
        ] {
            assert_eq!(list_links(line), expected, "{line}");
        }
        assert_eq!(resolve_path("a/b.md", "../gr%C3%BCn%20x.md").as_deref(), Some("gr\u{fc}n x.md"));
        assert_eq!(resolve_path("a/b.md", "100%.md").as_deref(), Some("a/100%.md"));
    }
}
