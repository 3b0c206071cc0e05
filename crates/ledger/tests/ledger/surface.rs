//! No word of a database leaves the folder that speaks to it, so that a second one fits behind the same face.

use std::fs;
use std::path::Path;

/// Words of the library and of SQL, as code has them.
const WORDS: [&str; 10] = [
    "rusqlite",
    "postgres::",
    "SELECT ",
    "INSERT ",
    "UPDATE ",
    "DELETE ",
    "PRAGMA ",
    "CREATE TABLE",
    "ORDER BY",
    "json_extract",
];

/// The places outside of the folder that may name it: where the database is chosen.
const CHOICES: [&str; 15] = [
    "mod sqlite;",
    "use crate::sqlite::SqliteStore;",
    "Sqlite(store)",
    "Sqlite(_)",
    "Sqlite($store)",
    "Postgres($store)",
    "Sqlite(SqliteStore",
    "SqliteStore::open",
    "mod postgres;",
    "use crate::postgres::PostgresStore;",
    "Postgres(store)",
    "Postgres(_)",
    "Postgres(Box<PostgresStore>",
    "Postgres(Box::new(PostgresStore::open",
    // The words by which a person names a place.
    "postgres://",
];

const FOLDERS: [&str; 2] = ["sqlite/", "postgres/"];

fn is_inside(file: &str) -> bool {
    FOLDERS.iter().any(|folder| file.starts_with(folder))
}

/// The lines of a source file that break the rule.
fn strayed<'a>(file: &str, text: &'a str) -> Vec<&'a str> {
    let strays = |line: &&str| match is_inside(file) {
        true => is_public(line.trim_start()),
        false => names_database(line),
    };
    text.lines().filter(strays).collect()
}

fn names_database(line: &str) -> bool {
    let rest = CHOICES.iter().fold(line.to_owned(), |line, choice| line.replace(choice, ""));
    let shown = rest != line && line.trim_start().starts_with("pub ");
    let names = ["sqlite", "postgres"].iter().any(|name| rest.to_lowercase().contains(name));
    shown || names || WORDS.iter().any(|word| rest.contains(word))
}

/// Gives the outside something: by name, or by a trait of a type that is not the store's own.
fn is_public(line: &str) -> bool {
    let own = [
        " for StoreFault ",
        " for PostgresStore ",
        " for ConnectServerError ",
        " for VerifiedTls ",
        " for NamedTls ",
        " for ServerStream<",
    ];
    let of_trait = line.starts_with("impl") && line.contains(" for ") && !own.iter().any(|own| line.contains(own));
    line.starts_with("pub ") || of_trait
}

#[test]
fn only_the_folder_of_a_database_speaks_its_language() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let (mut strays, mut inside) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let (file, text) = (path.strip_prefix(&root).unwrap(), fs::read_to_string(&path).unwrap());
            let file = file.to_str().unwrap();
            inside += usize::from(is_inside(file) && text.contains("SELECT "));
            strays.extend(strayed(file, &text).into_iter().map(|line| format!("{file}: {line}")));
        }
    }
    assert_eq!(strays, Vec::<String>::new());
    assert!(inside > 3, "the folder was looked at");
}

#[test]
fn a_word_that_strays_is_seen() {
    for (file, line, seen) in [
        ("open.rs", "        error: rusqlite::Error,", true),
        ("sqlite/open.rs", "        error: rusqlite::Error,", false),
        ("runs.rs", "    Sqlite(#[source] Box<dyn Error + Send + Sync>),", true),
        ("request.rs", "    let sql = format!(\"SELECT {COLUMNS} FROM requests\");", true),
        ("sqlite/requests.rs", "    let sql = format!(\"SELECT {COLUMNS} FROM requests\");", false),
        ("open.rs", "        error: postgres::Error,", true),
        ("postgres/open.rs", "        error: postgres::Error,", false),
        ("store.rs", "            Self::Postgres(store) => store.read_head(),", false),
        ("store.rs", "    pub(crate) fn link(&self) -> &PostgresStore {", true),
        ("lib.rs", "pub mod postgres;", true),
        ("lib.rs", "mod sqlite;", false),
        ("lib.rs", "pub mod sqlite;", true),
        ("lib.rs", "pub use sqlite::SqliteStore;", true),
        ("store.rs", "            Self::Sqlite(store) => store.read_head(),", false),
        ("store.rs", "    pub(crate) fn connection(&self) -> &SqliteStore {", true),
        ("sqlite/mod.rs", "pub(crate) struct SqliteStore {", false),
        ("sqlite/mod.rs", "pub struct SqliteStore {", true),
        ("sqlite/mod.rs", "impl From<rusqlite::Error> for StoreFault {", false),
        ("sqlite/mod.rs", "impl From<rusqlite::Error> for ReadLedgerError {", true),
    ] {
        assert_eq!(!strayed(file, line).is_empty(), seen, "{file}: {line}");
    }
}

/// Quoted names in a text of SQL that have the form of a kind.
fn quoted_kinds(text: &str) -> Vec<&str> {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_kind = |name: &&str| name.contains('.') && name.split('.').all(is_part);
    text.split('\'').filter(is_kind).collect()
}

#[test]
fn statements_name_kinds_of_the_table_alone() {
    let mut checked = 0;
    for (folder, ending) in [("sqlite", ".rs"), ("postgres", ".sql"), ("postgres", ".rs")] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
        let entries = fs::read_dir(&folder).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        for file in files.filter(|file| file.to_string_lossy().ends_with(ending)) {
            let text = fs::read_to_string(&file).unwrap();
            for name in quoted_kinds(&text) {
                assert!(ledger::EntryKind::from_name(name).is_some(), "{}: {name}", file.display());
                checked += 1;
            }
        }
    }
    assert!(checked >= 60, "{checked}");
    assert_eq!(quoted_kinds("WHEN 'run.begun' THEN 'approval.%', 'x'"), ["run.begun"], "control");
}
