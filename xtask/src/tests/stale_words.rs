//! Sentences that were true of an earlier state: a page that says "not there yet" is forgotten when the thing comes.

use super::documented::{DocumentedPage, join_lines, read_page, read_pages};
use crate::process::repository_root;

/// Phrases with which pages announced things to come. `docs/limits-of-this-version.md` lists what is missing.
const STALE: [&str; 7] = [
    "not there yet",
    "nothing raises",
    "that this version does not have",
    "refused in this version",
    "earlier version gave",
    "no command makes",
    "not implemented",
];

fn find_stale(page: &DocumentedPage) -> Vec<String> {
    let text = join_lines(&page.text).to_lowercase();
    STALE.iter().filter(|it| text.contains(**it)).map(|it| format!("{}: `{it}`", page.name)).collect()
}

#[test]
fn no_page_tells_of_things_to_come() {
    let changes = read_page(&repository_root().join("CHANGELOG.md"));
    let found: Vec<String> = read_pages().iter().chain([&changes]).flat_map(find_stale).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let page = |text: &str| DocumentedPage { name: "page".to_owned(), text: text.to_owned() };
    assert_eq!(find_stale(&page("| `x` | not\nthere yet |")).len(), 1, "control");
}
