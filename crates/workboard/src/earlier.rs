//! Records that are older than the workspace: they say so, and the history of the workspace had them before its first `cto init`.

use std::collections::HashSet;

use crate::board::{BOARD, BoardItem, WorkStatus, Workboard};
use crate::document::PlanningDocument;
use crate::evidence::EvidenceSource;

/// Paths and validated items of records from before the first `cto init`.
#[derive(Debug, Default)]
pub(crate) struct EarlierRecords {
    first_day: Option<String>,
    paths: HashSet<String>,
    validated: HashSet<String>,
}

impl EarlierRecords {
    /// Asks for the history only if a document says that it is older.
    pub(crate) fn find_earlier(
        documents: &[PlanningDocument<'_>],
        source: &dyn EvidenceSource,
        first_day: Option<String>,
    ) -> Self {
        let mut earlier = Self { first_day, ..Self::default() };
        if !documents.iter().any(|document| earlier.is_dated_before(document)) {
            return earlier;
        }
        for (path, text) in source.read_earlier_records() {
            let is_validated = |status: Option<WorkStatus>| status == Some(WorkStatus::Validated);
            if path == BOARD {
                let board = Workboard::read_board(&text);
                let items = board.items().iter().filter(|item| is_validated(item.status));
                earlier.validated.extend(items.map(|item| item.id.clone()));
            } else {
                let document = PlanningDocument::read_document(&path, &text);
                let items = document.items().iter().filter(|item| is_validated(item.status));
                earlier.validated.extend(items.map(|item| item.id.clone()));
                earlier.paths.insert(path);
            }
        }
        earlier
    }

    /// True of a document that was created before the workspace's first `cto init`.
    pub(crate) fn holds(&self, document: &PlanningDocument<'_>) -> bool {
        self.paths.contains(document.path) && self.is_dated_before(document)
    }

    /// True of an item that was validated before it.
    pub(crate) fn holds_item(&self, item: &BoardItem) -> bool {
        self.validated.contains(&item.id)
    }

    fn is_dated_before(&self, document: &PlanningDocument<'_>) -> bool {
        let created = document.front.first_value("created").filter(|day| crate::validate::is_day(day));
        matches!((created, &self.first_day), (Some(created), Some(first_day)) if created < first_day.as_str())
    }
}
