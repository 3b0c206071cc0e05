//! WORKBOARD.yaml: the items, each with the place of everything that a finding or an edit
//! may point at.

use std::collections::HashMap;

use contract::source::{self, Node, Span, ValueKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check_rule::CheckRule;

/// Path of the board.
pub const BOARD: &str = "WORKBOARD.yaml";

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name { $(#[serde(rename = $word)] $variant,)* }

        impl $name {
            /// Every value, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Word of the value in WORKBOARD.yaml.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The value of exactly this word.
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word)
            }
        }
    };
}

words! {
    /// Status of an item or a document.
    WorkStatus { Draft "draft", Candidate "candidate", Validated "validated", Blocked "blocked", }
}

words! {
    /// AFK may be done without a person; HITL needs a human decision.
    WorkType { Afk "AFK", Hitl "HITL", }
}

words! {
    /// Kind of a piece of evidence.
    EvidenceKind {
        Bundle "bundle", Document "document", Commit "commit", Work "work", Validator "validator", External "external",
    }
}

/// One piece of evidence of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoardEvidence {
    /// `None` where the item only names something; its kind is then guessed and said as advice.
    pub kind: Option<EvidenceKind>,
    #[serde(rename = "ref")]
    pub reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(skip)]
    pub(crate) span: Span,
}

/// An item of the board.
#[derive(Debug, Clone, Serialize)]
pub struct BoardItem {
    pub id: String,
    pub title: String,
    #[serde(rename = "type")]
    pub work_type: Option<WorkType>,
    pub status: Option<WorkStatus>,
    pub blocked_by: Vec<String>,
    pub artifacts: Vec<String>,
    pub evidence: Vec<BoardEvidence>,
    pub acceptance: Vec<String>,
    /// True if the item claims that something was executed: a governed bundle has to show it.
    pub claims_execution: bool,
    /// Every other key, as written.
    pub other: serde_json::Map<String, serde_json::Value>,
    /// True if a piece of evidence has another shape, which is reported as a problem of the board.
    #[serde(skip)]
    pub(crate) has_broken_evidence: bool,
    #[serde(skip)]
    pub(crate) spans: ItemSpans,
}

/// Places of an item's parts; the item's own place where a part is missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemSpans {
    pub(crate) item: Span,
    pub(crate) status: Span,
    pub(crate) blocked_by: Vec<Span>,
    pub(crate) artifacts: Vec<Span>,
}

/// A part of the board that has another shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoardProblem {
    pub(crate) span: Span,
    pub(crate) rule: CheckRule,
    pub(crate) message: String,
    pub(crate) remedy: String,
}

/// The board, read as far as it can be.
#[derive(Debug, Clone, Default)]
pub struct Workboard {
    items: Vec<BoardItem>,
    by_id: HashMap<String, usize>,
    pub(crate) problems: Vec<BoardProblem>,
}

/// Reason why there is no board.
#[derive(Debug, thiserror::Error)]
pub enum ReadBoardError {
    #[error("there is no WORKBOARD.yaml in this workspace")]
    Missing,
    #[error("WORKBOARD.yaml:{line}:{column}: {message}")]
    Broken { line: usize, column: usize, message: String },
}

impl Workboard {
    /// Reads a board. Anything that is not a board's shape is kept as a problem.
    pub fn read_board(text: &str) -> Self {
        let mut board = Self::default();
        let reading = source::read(BOARD, text);
        for problem in reading.problems {
            let span = Span { line: problem.line, column: problem.column, length: problem.length };
            board.note_problem(
                span,
                CheckRule::BoardUnreadable,
                problem.message,
                "write plain YAML, as in docs/workboard.md",
            );
        }
        let Some(root) = reading.node else { return board };
        match list_nodes(&root) {
            Some(nodes) => nodes.iter().for_each(|node| board.take_item(node)),
            None => board.note_problem(
                Span::DOCUMENT,
                CheckRule::BoardShape,
                "the board has no list `items`".to_owned(),
                "begin it with `items:` and one `- id:` for each item",
            ),
        }
        board
    }

    /// Reads a board that has to be whole, for commands that work on it.
    pub fn read_whole(text: Option<&str>) -> Result<Self, ReadBoardError> {
        let board = Self::read_board(text.ok_or(ReadBoardError::Missing)?);
        match board.problems.first() {
            None => Ok(board),
            Some(BoardProblem { span, message, .. }) => {
                Err(ReadBoardError::Broken { line: span.line, column: span.column, message: message.clone() })
            }
        }
    }

    /// Items in the order of the file.
    pub fn items(&self) -> &[BoardItem] {
        &self.items
    }

    /// Item by id.
    pub fn find_item(&self, id: &str) -> Option<&BoardItem> {
        self.by_id.get(id).map(|index| &self.items[*index])
    }

    /// Position of an item in the file.
    pub(crate) fn index_of(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    fn note_problem(&mut self, span: Span, rule: CheckRule, message: String, remedy: &str) {
        self.problems.push(BoardProblem { span, rule, message, remedy: remedy.to_owned() });
    }

    fn take_item(&mut self, node: &Node) {
        let ValueKind::Map(entries) = &node.kind else {
            let message = "an item is not a map".to_owned();
            return self.note_problem(
                node.span,
                CheckRule::BoardShape,
                message,
                "write `- id: NAME-WORK-001` and its keys",
            );
        };
        let span = entries.first().map_or(node.span, |(key, _)| key.span);
        let text = |key: &str| node.get_child(key).and_then(node_text);
        let Some(id) = text("id").filter(|id| contract::WorkId::try_from(id.clone()).is_ok()) else {
            let at = node.get_child("id").map_or(span, |id| id.span);
            let message = "an item has no id of the form NAME-WORK-001".to_owned();
            return self.note_problem(
                at,
                CheckRule::WorkId,
                message,
                "give it `id:` with capitals, `-WORK-` and three digits",
            );
        };
        if let Some(first) = self.by_id.get(&id) {
            let line = self.items[*first].spans.item.line;
            let message = format!("{id} stands on the board twice, first at line {line}");
            return self.note_problem(span, CheckRule::WorkIdTwice, message, "give one of the two items another id");
        }
        let item = self.read_item(id, node, span);
        self.by_id.insert(item.id.clone(), self.items.len());
        self.items.push(item);
    }

    fn read_item(&mut self, id: String, node: &Node, span: Span) -> BoardItem {
        let title = node.get_child("title").and_then(node_text).unwrap_or_default();
        if title.trim().is_empty() {
            self.note_problem(span, CheckRule::WorkTitle, format!("{id} has no title"), "give it `title:`");
        }
        let status =
            self.read_word(&id, node, span, "status", WorkStatus::of_word, "draft, candidate, validated or blocked");
        let work_type = self.read_word(&id, node, span, "type", WorkType::of_word, "AFK or HITL");
        let (blocked_by, blocked_spans) = self.read_list(&id, node, "blocked_by");
        let (artifacts, artifact_spans) = self.read_list(&id, node, "artifacts");
        let (acceptance, _) = self.read_list(&id, node, "acceptance");
        let known = self.problems.len();
        let evidence = self.read_evidence(&id, node);
        let has_broken_evidence = self.problems.len() > known;
        let claims_execution = claims_execution(node, &evidence);
        let spans = ItemSpans {
            item: span,
            status: node.get_child("status").map_or(span, |status| status.span),
            blocked_by: blocked_spans,
            artifacts: artifact_spans,
        };
        let other = other_keys(node);
        BoardItem {
            id,
            title,
            work_type,
            status,
            blocked_by,
            artifacts,
            evidence,
            acceptance,
            claims_execution,
            other,
            has_broken_evidence,
            spans,
        }
    }

    fn read_word<T>(
        &mut self,
        id: &str,
        node: &Node,
        span: Span,
        key: &str,
        read: fn(&str) -> Option<T>,
        words: &str,
    ) -> Option<T> {
        let found = node.get_child(key);
        let value = found.and_then(node_text).and_then(|word| read(&word));
        if value.is_none() {
            let rule = if key == "status" { CheckRule::WorkStatus } else { CheckRule::WorkType };
            let message = match found {
                Some(_) => format!("the {key} of {id} is none of {words}"),
                None => format!("{id} has no {key}"),
            };
            self.note_problem(
                found.map_or(span, |node| node.span),
                rule,
                message,
                &format!("write `{key}:` with {words}"),
            );
        }
        value
    }

    /// Texts of a list, of a map's values, or of one text.
    fn read_list(&mut self, id: &str, node: &Node, key: &str) -> (Vec<String>, Vec<Span>) {
        let Some(found) = node.get_child(key) else { return Default::default() };
        let nodes: Vec<&Node> = match &found.kind {
            ValueKind::Null => Vec::new(),
            ValueKind::Seq(items) => items.iter().collect(),
            ValueKind::Map(entries) => entries.iter().map(|(_, node)| node).collect(),
            _ => vec![found],
        };
        let mut texts = (Vec::new(), Vec::new());
        for node in nodes {
            let text = node_text(node)
                .or_else(|| node.get_child("path").or_else(|| node.get_child("ref")).and_then(node_text));
            match text {
                Some(text) => {
                    texts.0.push(text);
                    texts.1.push(node.span);
                }
                None => {
                    let message = format!("`{key}` of {id} holds something that is no text");
                    self.note_problem(node.span, CheckRule::BoardShape, message, "write one text for each entry");
                }
            }
        }
        texts
    }

    fn read_evidence(&mut self, id: &str, node: &Node) -> Vec<BoardEvidence> {
        let Some(found) = node.get_child("evidence") else { return Vec::new() };
        let nodes = match &found.kind {
            ValueKind::Null => return Vec::new(),
            ValueKind::Seq(items) => items.as_slice(),
            _ => std::slice::from_ref(found),
        };
        nodes.iter().filter_map(|node| self.read_piece(id, node)).collect()
    }

    fn read_piece(&mut self, id: &str, node: &Node) -> Option<BoardEvidence> {
        if let Some(reference) = node_text(node) {
            return Some(BoardEvidence { kind: None, reference, sha256: None, span: node.span });
        }
        let word = node.get_child("kind").and_then(node_text);
        let kind = word.as_deref().and_then(EvidenceKind::of_word);
        let reference = node.get_child("ref").and_then(node_text).filter(|text| !text.trim().is_empty());
        let span = match &node.kind {
            ValueKind::Map(entries) => entries.first().map_or(node.span, |(key, _)| key.span),
            _ => node.span,
        };
        match (kind, reference) {
            (Some(kind), Some(reference)) => {
                let sha256 = node.get_child("sha256").and_then(node_text);
                Some(BoardEvidence { kind: Some(kind), reference, sha256, span })
            }
            _ => {
                let remedy = "write {kind: bundle|document|commit|work|validator|external, ref: ...}";
                self.note_problem(
                    span,
                    CheckRule::EvidenceShape,
                    format!("evidence of {id} lacks its kind or its ref"),
                    remedy,
                );
                None
            }
        }
    }
}

/// The list of items: `items`, an older name of it, or the document itself.
fn list_nodes(root: &Node) -> Option<&[Node]> {
    let list = ["items", "work_items", "work"].iter().find_map(|key| match &root.kind {
        ValueKind::Map(_) => root.get_child(key),
        _ => None,
    });
    match &list.unwrap_or(root).kind {
        ValueKind::Seq(items) => Some(items),
        ValueKind::Null if list.is_some() => Some(&[]),
        _ => None,
    }
}

/// Scalar as text; none for lists, maps and null.
pub(crate) fn node_text(node: &Node) -> Option<String> {
    match &node.kind {
        ValueKind::Text(text) | ValueKind::Float(text) => Some(text.clone()),
        ValueKind::Int(number) => Some(number.to_string()),
        ValueKind::Bool(yes) => Some(yes.to_string()),
        ValueKind::Null | ValueKind::Seq(_) | ValueKind::Map(_) => None,
    }
}

/// An item says `execution: true`, or its evidence is a bundle, or what it calls done is a
/// run's report, as one text or in a list.
fn claims_execution(node: &Node, evidence: &[BoardEvidence]) -> bool {
    let said = node.get_child("execution").and_then(node_text).map(|word| word.trim().to_ascii_lowercase());
    let says = said.is_some_and(|word| ["true", "yes", "on"].contains(&word.as_str()));
    let has_bundle = evidence.iter().any(|piece| piece.kind == Some(EvidenceKind::Bundle));
    says || has_bundle || node.get_child("done_evidence").is_some_and(names_a_run)
}

/// True of a text that names the report of a run, wherever it lies.
fn names_a_run(node: &Node) -> bool {
    match &node.kind {
        ValueKind::Seq(items) => items.iter().any(names_a_run),
        ValueKind::Map(entries) => entries.iter().any(|(_, value)| names_a_run(value)),
        _ => {
            node_text(node).is_some_and(|text| ["harness-runs/", "report.json"].iter().any(|mark| text.contains(mark)))
        }
    }
}

const READ_KEYS: [&str; 8] = ["id", "title", "type", "status", "blocked_by", "artifacts", "evidence", "acceptance"];

fn other_keys(node: &Node) -> serde_json::Map<String, serde_json::Value> {
    let ValueKind::Map(entries) = &node.kind else { return serde_json::Map::new() };
    let others = entries.iter().filter(|(key, _)| !READ_KEYS.contains(&key.text.as_str()));
    others.map(|(key, value)| (key.text.clone(), value.to_value())).collect()
}
