//! Decision records in Markdown beside the YAML that counts: a difference is advice.

use std::collections::HashMap;

use contract::source::{self, Node, ValueKind};

use crate::board::node_text;
use crate::check_rule::CheckRule;
use crate::document::{PlanningDocument, file_stem};
use crate::files::WorkspaceFiles;
use crate::finding::Finding;
use crate::items::read_fact;

/// Compares the facts of each `*-DECISION-RECORD.md` with the decision that it is about.
pub(super) fn check_decisions(files: &WorkspaceFiles, documents: &[PlanningDocument<'_>], found: &mut Vec<Finding>) {
    let mut read: HashMap<&str, Option<Node>> = HashMap::new();
    for document in documents {
        let stem = file_stem(document.path).to_ascii_uppercase();
        if !stem.ends_with("DECISION-RECORD") {
            continue;
        }
        let record =
            if stem.contains("PROVIDER") { "decisions/provider.yaml" } else { "decisions/core-promotion.yaml" };
        let read = read
            .entry(record)
            .or_insert_with(|| files.text_of(record).and_then(|text| source::read(record, text).node));
        if let Some(node) = read {
            compare_decision(node, document, record, found);
        }
    }
}

fn compare_decision(node: &Node, document: &PlanningDocument<'_>, record: &str, found: &mut Vec<Finding>) {
    if !matches!(node.kind, ValueKind::Map(_)) {
        return;
    }
    for line in document.prose() {
        let Some((name, said)) = read_fact(line.text) else { continue };
        let Some(counts) = node.get_child(&name).and_then(node_text) else { continue };
        if counts.trim().to_ascii_lowercase() != said {
            let message =
                format!("{record} says that {name} is {counts:?}, this document says {said:?}; the record counts");
            let place = (line.number, line.text.len() - line.text.trim_start().len() + 1);
            found.push(
                Finding::at_place(
                    document.path,
                    place,
                    CheckRule::DecisionDiffers,
                    message,
                    "say here what the record says",
                )
                .as_advice(),
            );
        }
    }
}
