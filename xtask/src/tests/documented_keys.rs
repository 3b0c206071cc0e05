//! Dotted keys and names of files that pages use: keys are in the schemas or in the source, files are made or read by the source.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::documented::{find_names, read_pages, source_texts};
use crate::process::repository_root;

/// Dotted names and files of other programs, and names that the program makes of parts.
const OTHERS: [&str; 8] = [
    // Keys of Case's own log.
    "findings.critical",
    "models.default",
    // Registries of an example.
    "index.crates.io",
    "static.crates.io",
    "proxy.golang.org",
    "sum.golang.org",
    // Made of an engine's name, and of a signed item's.
    "case-gate.log",
    "ID.md",
];

/// Endings of files that the program writes or reads.
const FILE_ENDINGS: [&str; 10] = ["json", "jsonl", "log", "db", "pem", "pub", "txt", "md", "diff", "tar"];

fn add_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = map.get("properties") {
                keys.extend(properties.keys().cloned());
            }
            map.values().for_each(|value| add_keys(value, keys));
        }
        Value::Array(values) => values.iter().for_each(|value| add_keys(value, keys)),
        _ => {}
    }
}

/// Every key of every document.
fn schema_keys() -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for entry in fs::read_dir(repository_root().join("docs/formats/schemas")).unwrap().flatten() {
        let schema: Value = serde_json::from_slice(&fs::read(entry.path()).unwrap()).unwrap();
        add_keys(&schema, &mut keys);
    }
    keys
}

/// Ending of a name such as `report.json`.
fn file_ending(name: &str) -> Option<&str> {
    let letters = name.bytes().all(|it| it.is_ascii_alphanumeric() || b"_.-".contains(&it));
    let (_, ending) = name.rsplit_once('.').filter(|_| letters)?;
    FILE_ENDINGS.contains(&ending).then_some(ending)
}

/// Parts of a name such as `store.url` or `cells[].seen`.
fn dotted_parts(name: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = name.split('.').map(|part| part.trim_end_matches("[]")).collect();
    let is_key = |part: &&str| {
        part.starts_with(|it: char| it.is_ascii_lowercase())
            && part.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
    };
    (parts.len() > 1 && parts.iter().all(is_key)).then_some(parts)
}

/// Everything that names of pages are looked up in.
struct NameSources {
    keys: BTreeSet<String>,
    texts: Vec<String>,
}

impl NameSources {
    fn has(&self, name: &str) -> bool {
        OTHERS.contains(&name)
            || dotted_parts(name).is_some_and(|parts| self.has_keys(&parts))
            || self.texts.iter().any(|text| text.contains(name))
    }

    /// True if each part is a key of a document. The part behind `engines` is the name of one.
    fn has_keys(&self, parts: &[&str]) -> bool {
        let is_name = |at: usize| at == 1 && parts[0] == "engines";
        parts.iter().enumerate().all(|(at, part)| is_name(at) || self.keys.contains(*part))
    }
}

fn is_source_file(name: &str) -> bool {
    ["rs", "yaml", "yml", "toml", "py", "js", "sh", "html", "sql", "lock", "cfg", "ini", "xml", "patch", "sig", "go"]
        .iter()
        .any(|ending| PathBuf::from(name).extension().is_some_and(|it| it == *ending))
}

#[test]
fn every_dotted_key_and_file_that_a_page_names_is_there() {
    let sources = NameSources { keys: schema_keys(), texts: source_texts() };
    let (mut keys, mut files, mut lost) = (0, 0, Vec::new());
    for page in &read_pages() {
        for name in find_names(&page.text) {
            let is_file = file_ending(name).is_some();
            let is_key = !is_file && !is_source_file(name) && dotted_parts(name).is_some();
            files += usize::from(is_file);
            keys += usize::from(is_key);
            if (is_file || is_key) && !sources.has(name) {
                lost.push(format!("{}: {name}", page.name));
            }
        }
    }
    assert!(lost.is_empty(), "names that the program does not have:\n{}", lost.join("\n"));
    assert!(keys > 150 && files > 100, "{keys} keys, {files} files");
    for wrong in [["store.no_", "such_key"].concat(), ["no-such-", "file.json"].concat()] {
        assert!(!sources.has(&wrong), "control: {wrong}");
    }
    assert!(sources.has("store.url") && sources.has("engines.pi.stage") && sources.has("report.json"));
}
